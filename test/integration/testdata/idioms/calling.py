import inspect

print(await mcp__t__add(a=1, b=2), await mcp__t__add(1, 2), await mcp__t__add({"a": 1, "b": 2}), await mcp__t__add(1, b=2))
print(await echo(message="short"), await servers.t.echo(message="attribute"))
from servers.t import add as plus

print((await plus(a=20, b=22))["sum"])
print(list(inspect.signature(mcp__t__add).parameters), mcp__t__add.__name__)

# Where the source does not show it plainly, a wrong call is an error of its own.
for f, args, kwargs in ((mcp__t__add, (1, 2, 3), {}), (mcp__t__add, (1,), {"a": 1}), (mcp__t__echo, (), {"message": object()})):
    try:
        await f(*args, **kwargs)
    except TypeError as e:
        print("TypeError", "mcp__t__" in str(e) or "arguments.message" in str(e))

for use in (lambda r: r["sum"], lambda r: len(r), lambda r: [x for x in r], lambda r: "%s" % r, lambda r: r.sum):
    try:
        use(mcp__t__add(a=1, b=2))
    except TypeError as e:
        print("await" in str(e))

names = list_callable_tools()
print("mcp__t__add" in names, "mcp__t__add" in await list_callable_tools())
print("inputSchema" in inspect_tool(tool_name="mcp__t__add"), (await inspect_tool(tool_name="mcp__t__add"))["name"])
print(server_status()["t"]["connected"])

try:
    await mcp__t__fail(every=1)
except ToolError as e:
    print(e.tool, e.kind, str(e).startswith("mcp__t__fail: "), isinstance(e, Exception))

# prints:
# {'sum': 3} {'sum': 3} {'sum': 3} {'sum': 3}
# short attribute
# 42
# ['a', 'b'] mcp__t__add
# TypeError True
# TypeError True
# TypeError True
# True
# True
# True
# True
# True
# True True
# True mcp__t__add
# True
# mcp__t__fail error_result True True
