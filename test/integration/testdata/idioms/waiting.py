import asyncio

try:
    await asyncio.wait_for(mcp__t__sleep(seconds=30), 0.2)
except asyncio.TimeoutError:
    print("gave up")

task = asyncio.create_task(mcp__t__echo(message="task"))
print(await task)
done, pending = await asyncio.wait([asyncio.ensure_future(mcp__t__echo(message="waited"))])
print(done.pop().result(), len(pending))
for next_done in asyncio.as_completed([mcp__t__echo(message="x")]):
    print(await next_done)

task = asyncio.create_task(mcp__t__sleep(seconds=30))
await asyncio.sleep(0.05)
task.cancel()
try:
    await task
except asyncio.CancelledError:
    print("cancelled")
print(await mcp__t__echo(message="still works"))

# prints:
# gave up
# task
# waited 0
# x
# cancelled
# still works
