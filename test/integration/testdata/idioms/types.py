import glob
import inspect
import os
import pathlib
import typing

from servers.t import add, AddResult
from servers.t.echo import echo

total: AddResult = await add(a=1, b=2)
print(total["sum"], typing.get_type_hints(AddResult)["sum"] in (int, float))
hints = typing.get_type_hints(mcp__t__add)
print(sorted(hints), hints["return"] is AddResult, hints["a"] in (int, float))
print(list(inspect.signature(servers.t.add).parameters), inspect.signature(add).return_annotation is AddResult)
print((await echo(message="from its own module")) == await servers.t.echo("from its own module"))
print("await mcp__t__echo(message" in echo.__doc__, echo.__doc__ == servers.t.echo.__doc__)

# The same as files.
print(os.listdir("servers"), "add.py" in os.listdir("servers/t"))
print(len(glob.glob("servers/t/*.py")) > 5)
print("async def add(" in open("servers/t/add.py").read())
for path in sorted(pathlib.Path("servers").rglob("*.py")):
    compile(path.read_text(), str(path), "exec")
import servers

print((await servers.t.add(a=2, b=3))["sum"])

try:
    from servers.t import AddNothing
except ImportError as e:
    print("AddNothing" in str(e))

# prints:
# 3 True
# ['a', 'b', 'return'] True True
# ['a', 'b'] True
# True
# True True
# ['t'] True
# True
# True
# 5
# True
