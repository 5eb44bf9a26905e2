"""What can go wrong with a call, and what to do about it.

A failed call raises ToolError, an ordinary exception: .tool says which, .kind
what happened (error_result, timeout, connection_lost, ...), .retryable whether
the same call may be made again without repeating an effect. A call that took
too long raises one that is a TimeoutError too.
"""

import asyncio


async def retry(call, attempts=3):
    """The result of call(), tried again while that can help."""
    for attempt in range(attempts):
        try:
            return await call()
        except ToolError as error:
            if not error.retryable or attempt == attempts - 1:
                raise
            await asyncio.sleep(0.2 * 2**attempt)


# An error of the server: handled here, so the program goes on.
try:
    await mcp__filesystem__read_text_file(path="orders/2031-01.json")
except ToolError as error:
    print(f"{error.tool}: {error.kind}, retryable: {error.retryable}")

# Several calls, some of which fail: keep what came back.
paths = ["customers.csv", "no-such-file.csv", "products.json"]
results = await asyncio.gather(
    *(retry(lambda path=path: mcp__filesystem__get_file_info(path=path)) for path in paths),
    return_exceptions=True,
)
for path, result in zip(paths, results):
    print(f"{path}: {'failed' if isinstance(result, ToolError) else 'ok'}")

# A time limit of the program's own.
try:
    await asyncio.wait_for(mcp__everything__trigger_long_running_operation(duration=30, steps=3), timeout=1)
except asyncio.TimeoutError:
    print("gave up after a second")
