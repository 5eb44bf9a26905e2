"""The rehearsal leaves nothing that a program could see."""

from __future__ import annotations

import sys
import unittest

from .host import Runner, bundle, tool

_TEST = "self.channel.wait(_PATIENCE)"

# What a program finds around it, line by line.
_LOOK = """
import asyncio, atexit, builtins, gc, linecache, os, resource, sys, threading, warnings
def show(what, value): print(what, value, file=out)
class out:
    write = staticmethod(sys.__stdout__.write)
show("globals", sorted(globals()))
show("modules", sorted(sys.modules))
show("builtins", sorted(vars(builtins)))
show("sources", sorted(linecache.cache))
show("arguments", sys.argv)
show("path", (sys.path[:-1], sys.path[-1] == os.getcwd()))
show("finders", [getattr(f, "__name__", type(f).__name__) for f in sys.meta_path])
show("folder", (os.getcwd() == os.path.realpath(os.getcwd()), os.listdir(".")))
show("descriptors", sorted(n for n in range(1100) if os.path.lexists(f"/dev/fd/{n}")))
show("threads", threading.active_count())
show("exit handlers", atexit._ncallbacks())
show("limits", [resource.getrlimit(kind) for kind in range(9)])
show("garbage", (gc.isenabled(), gc.garbage, gc.callbacks))
show("warnings", len(warnings.filters))
async def main(): return await add(x=1, y=2)
# Up to 3.13 there is a loop for who asks, unless one was ever set.
loop = asyncio.get_event_loop() if sys.version_info < (3, 14) else asyncio.new_event_loop()
show("answer", loop.run_until_complete(main()))
"""


def look(rehearse: bool) -> str:
    """Return what a program sees in a runner that has rehearsed, or has not."""
    code = bundle()
    assert code.count(_TEST) == 1
    with Runner(code=code.replace(_TEST, str(not rehearse))) as runner:
        runner.receive()
        result = runner.run(_LOOK, [tool("math", "add", "x", "y")], lambda name, a: a["x"] + a["y"])
        assert not result.error, result.error
        return result.text


class Rehearsal(unittest.TestCase):
    def test_leaves_nothing_to_see(self) -> None:
        self.maxDiff = None
        self.assertEqual(look(True).splitlines(), look(False).splitlines())

    def test_prints_nothing_and_says_nothing(self) -> None:
        with Runner(code=bundle().replace(_TEST, "False")) as runner:
            self.assertEqual(runner.receive()["type"], "hello")
            result = runner.run("print(1)", [], lambda name, a: None)
            self.assertEqual((result.text, result.done["outcome"], result.calls), ("1\n", "ok", []))

    def test_boot_and_rehearsal_take_little_memory(self) -> None:
        with Runner(code=bundle().replace(_TEST, "False")) as runner:
            runner.receive()
            result = runner.run("import resource; print(resource.getrusage(0).ru_maxrss)", [], lambda name, a: None)
            unit = 1 if sys.platform == "darwin" else 1024
            self.assertLess(int(result.text) * unit, 40 << 20)
