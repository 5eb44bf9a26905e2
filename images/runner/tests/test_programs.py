"""Ordinary Python runs, on the real bundle in a process of its own."""

from __future__ import annotations

import sys
import unittest
from typing import Any, ClassVar, Dict

from .host import Failed, Result, Runner, run, tool

TOOLS = [
    tool("math", "add", "x", "y", c=True, d="Adds two numbers."),
    tool("shop", "find", "query", "limit", required=["query"]),
    tool("shop", "slow"),
    tool("other", "find", "query"),
    tool("data", "store", "record", c=True),
]


def answer(name: str, arguments: Dict[str, Any]) -> Any:
    if name == "mcp__math__add":
        return arguments["x"] + arguments["y"]
    if name == "mcp__shop__slow":
        raise Failed("timeout", "mcp__shop__slow: no answer within 60 s", retryable=True)
    return arguments


class ProgramTest(unittest.TestCase):
    """Runs every program of a class in one runner, as a kept session does."""

    runner: ClassVar[Runner]

    @classmethod
    def setUpClass(cls) -> None:
        cls.runner = Runner()
        cls.addClassCleanup(cls.runner.__exit__)
        cls.runner.receive()

    def run_program(self, source: str, **limits: int) -> Result:
        return self.runner.run(source, TOOLS, answer, **limits)

    def expect(self, source: str, output: str, **limits: int) -> Result:
        result = self.run_program(source, **limits)
        self.assertEqual(result.done, {"type": "done", "outcome": "ok", "error": None}, result.text)
        self.assertEqual(result.text, output)
        return result

    def fails(self, source: str, kind: str, message: str) -> Result:
        result = self.run_program(source)
        self.assertEqual(result.error.get("kind"), kind, result.text)
        self.assertIn(message, result.error["message"])
        return result


class OrdinaryPython(ProgramTest):
    def test_prints(self) -> None:
        self.expect("print(1)\nprint('a', 'b', sep='-', end='!')", "1\na-b!")

    def test_is_main_and_has_a_future(self) -> None:
        self.expect(
            '"""Doc."""\nfrom __future__ import annotations\nimport __main__\n'
            "def f(x: undefined) -> None: ...\n"
            "if __name__ == '__main__': print(__doc__, __main__.f.__name__, __file__ if '__file__' in globals() else '')",
            "Doc. f \n",
        )

    def test_pickles_its_own_classes(self) -> None:
        self.expect(
            "import pickle\nclass A:\n    x = 1\nprint(type(pickle.loads(pickle.dumps(A()))) is A)", "True\n"
        )

    def test_decorators_and_strings_over_lines(self) -> None:
        self.expect(
            "def twice(f):\n    return lambda: f() * 2\n@twice\ndef text():\n    return '''a\n  b\n'''\nprint(text(), end='')",
            "a\n  b\na\n  b\n",
        )

    def test_recurses_deeply(self) -> None:
        self.expect(
            "import sys\nsys.setrecursionlimit(20000)\ndef f(n): return n and 1 + f(n - 1)\nprint(f(5000))", "5000\n"
        )

    def test_recursion_without_end_is_an_error(self) -> None:
        result = self.fails("def f(): f()\nf()", "exception", "recursion")
        self.assertEqual(result.error["type"], "RecursionError")
        self.assertLess(len(result.error["traceback"]), 2000)

    def test_exits(self) -> None:
        for source in ("import sys; sys.exit()", "exit()", "quit(0)", "raise SystemExit(None)", "exit(False)"):
            with self.subTest(source):
                self.expect("print('x')\n" + source + "\nprint('never')", "x\n")

    def test_exit_codes(self) -> None:
        for source, code, message in (("exit(3)", 3, "3"), ("import sys; sys.exit('no luck')", 1, "no luck")):
            with self.subTest(source):
                result = self.fails(source, "exit", message)
                self.assertEqual(result.error["exit_code"], code)

    def test_exit_inside_a_task_ends_the_program(self) -> None:
        result = self.fails(
            "import asyncio, sys\nasync def f(): sys.exit(7)\nawait asyncio.gather(f(), asyncio.sleep(60))", "exit", "7"
        )
        self.assertEqual(result.error["exit_code"], 7)

    def test_each_run_has_its_own_globals(self) -> None:
        self.expect("x = 1\nimport math\nmath.left = 1", "")
        self.expect("print('x' in globals())", "False\n")

    def test_large_integers(self) -> None:
        self.expect("print(len(str(10 ** 5000)))\nemit(10 ** 5000)", "5001\n")

    def test_exit_handlers_run_before_the_end(self) -> None:
        self.expect("import atexit\natexit.register(print, 'bye')\nprint('hi')", "hi\nbye\n")

    def test_modules_in_the_scratch_can_be_imported(self) -> None:
        self.expect(
            "open('my_module.py', 'w').write('def f():\\n    return 7\\n')\nimport my_module\nprint(my_module.f())", "7\n"
        )

    def test_environment_is_empty(self) -> None:
        self.expect("import os\nprint(dict(os.environ), os.getenv('HOME'))", "{} None\n")

    def test_temporary_files(self) -> None:
        self.expect(
            "import os, tempfile\nwith tempfile.NamedTemporaryFile() as f:\n"
            "    print(os.path.dirname(f.name) == os.getcwd())",
            "True\n",
        )


class Output(ProgramTest):
    def test_keeps_the_order_of_all_writers(self) -> None:
        self.expect(
            "import os, subprocess, sys\n"
            "print('1'); os.write(1, b'2\\n'); print('3', end='\\n', file=sys.stderr)\n"
            "subprocess.run(['/bin/sh', '-c', 'echo 4; echo 5 >&2']); sys.stdout.buffer.write(b'6\\n')\n"
            "sys.stdout.write('7\\n'); sys.stderr.writelines(['8', '\\n']); os.system('echo 9')",
            "1\n2\n3\n4\n5\n6\n7\n8\n9\n",
        )

    def test_lone_surrogates(self) -> None:
        self.expect("print('a\\ud800b', '\\U0001f600')", "a\\ud800b \U0001f600\n")

    def test_input_is_at_its_end(self) -> None:
        self.fails("input('name? ')", "exception", "EOF when reading a line")

    def test_unfinished_lines_survive_a_kill(self) -> None:
        with Runner() as runner:
            runner.receive()
            with self.assertRaises(EOFError) as caught:
                runner.run("print('unfinished', end='')\nimport os\nos.kill(os.getpid(), 9)")
            self.assertIn("unfinished", str(caught.exception))

    def test_redirected_print(self) -> None:
        self.expect(
            "import contextlib, io\nwith contextlib.redirect_stdout(io.StringIO()) as f: print('x')\nprint([f.getvalue()])",
            "['x\\n']\n",
        )

    def test_lines_of_threads_do_not_mix(self) -> None:
        result = self.run_program(
            "import threading\n"
            "ts = [threading.Thread(target=lambda: [print('a' * 50) for _ in range(200)]) for _ in range(4)]\n"
            "[t.start() for t in ts]; [t.join() for t in ts]"
        )
        self.assertEqual(set(result.text.splitlines()), {"a" * 50})

    def test_closing_the_streams_harms_nothing(self) -> None:
        self.expect("import os, sys\nprint('x')\nsys.stdout.close()\nos.close(0); os.close(1); os.close(2)", "x\n")

    def test_closing_low_descriptors_harms_nothing(self) -> None:
        with Runner() as runner:
            runner.receive()
            result = runner.run("import os\nos.closerange(0, 100)")
            self.assertEqual(result.done["outcome"], "ok")

    def test_a_reconfigured_stream_works(self) -> None:
        self.expect("import sys\nsys.stdout.reconfigure(encoding='utf-8', line_buffering=True)\nprint('é')", "é\n")


class Failures(ProgramTest):
    def test_traceback_shows_only_the_program(self) -> None:
        result = self.fails(
            "import json\n\nasync def inner():\n    json.loads('nonsense')\n\nawait inner()", "exception", "Expecting value"
        )
        error = result.error
        self.assertEqual((error["type"], error["line"]), ("JSONDecodeError", 4))
        self.assertIn('  File "<program>", line 4, in inner\n    json.loads(\'nonsense\')', error["traceback"])
        self.assertTrue(error["traceback"].rstrip().splitlines()[-1].startswith("json.decoder.JSONDecodeError: "))
        self.assertNotIn("ptc_runner", error["traceback"])
        self.assertNotIn("decoder.py", error["traceback"])

    def test_causes_are_shown(self) -> None:
        result = self.fails(
            "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    raise ValueError('outer') from e", "exception", "outer"
        )
        self.assertIn("ZeroDivisionError: division by zero", result.error["traceback"])
        self.assertIn("direct cause", result.error["traceback"])
        self.assertEqual(result.error["line"], 4)

    @unittest.skipIf(sys.version_info < (3, 11), "exception groups came with 3.11")
    def test_groups_are_shown(self) -> None:
        result = self.fails(
            "import asyncio\nasync def bad(): raise KeyError('k')\n"
            "async with asyncio.TaskGroup() as g:\n    g.create_task(bad())",
            "exception",
            "unhandled errors in a TaskGroup",
        )
        self.assertIn("KeyError: 'k'", result.error["traceback"])
        self.assertNotIn("taskgroups.py", result.error["traceback"])

    def test_syntax_errors(self) -> None:
        for source, line in (("x = (\n", 1), ("a\nb = = 1", 2), ("return 1", 1), ("x = '\0'", 0), ("'\ud800'", 0)):
            with self.subTest(source):
                result = self.fails(source, "syntax", "")
                if line:
                    self.assertEqual(result.error["line"], line)
        self.fails("(" * 5000, "syntax", "")

    def test_keyboard_interrupt_is_an_exception(self) -> None:
        self.assertEqual(self.fails("raise KeyboardInterrupt", "exception", "").error["type"], "KeyboardInterrupt")

    def test_exceptions_that_cannot_be_shown(self) -> None:
        self.fails("class E(Exception):\n    def __str__(self): raise ValueError\nraise E", "exception", "")

    def test_huge_messages_are_cut(self) -> None:
        result = self.fails("raise ValueError('x' * 10_000_000)", "exception", "left out")
        self.assertLess(len(result.error["traceback"]), 100_000)

    def test_surrogates_in_messages(self) -> None:
        self.fails("raise ValueError('\\ud800')", "exception", "\\ud800")

    def test_running_out_of_memory(self) -> None:
        with Runner() as runner:
            runner.receive()
            result = runner.run("x = []\nwhile True: x.append('x' * 1_000_000 + str(len(x)))", memory_bytes=128 << 20)
            self.assertEqual((result.error["type"], result.error["line"]), ("MemoryError", 2))


class Loops(ProgramTest):
    def test_asyncio_run_without_top_level_await(self) -> None:
        self.expect(
            "import asyncio\nasync def main():\n    print(await mcp__math__add(x=1, y=2))\nasyncio.run(main())\nasyncio.run(main())",
            "3\n3\n",
        )

    def test_asyncio_run_below_top_level_await(self) -> None:
        self.expect(
            "import asyncio\nt = asyncio.create_task(add(1, 1))\nawait asyncio.sleep(0)\n"
            "async def main():\n    return await add(1, 2), asyncio.current_task().get_name() != ''\n"
            "print(asyncio.run(main()), await add(2, 2), await t)\nprint(asyncio.current_task() is not None)",
            "(3, True) 4 2\nTrue\n",
        )

    def test_gather_wait_and_as_completed(self) -> None:
        self.expect(
            "import asyncio\nprint(sum(await asyncio.gather(*(add(i, 0) for i in range(300)))))\n"
            "tasks = [asyncio.create_task(add(i, 0)) for i in range(3)]\ndone, _ = await asyncio.wait(tasks)\nprint(len(done))\n"
            "print(sorted([await f for f in asyncio.as_completed([add(i, 0) for i in range(3)])]))\n"
            "print(await asyncio.wait_for(add(1, 1), 5), await asyncio.shield(add(2, 2)))",
            "44850\n3\n[0, 1, 2]\n2 4\n",
        )

    def test_tools_from_threads_and_other_loops(self) -> None:
        self.expect(
            "import asyncio, threading\n"
            "async def work(n): return sum(await asyncio.gather(*(add(i, 0) for i in range(n))))\n"
            "found = []\n"
            "ts = [threading.Thread(target=lambda: found.append(asyncio.run(work(50)))) for _ in range(4)]\n"
            "[t.start() for t in ts]\nprint(await work(50))\n"
            "print(await asyncio.to_thread(lambda: asyncio.run(work(3))) if hasattr(asyncio, 'to_thread') else 3)\n"
            "[t.join() for t in ts]\nprint(found)",
            "1225\n3\n[1225, 1225, 1225, 1225]\n",
        )
        self.expect("print(await add(1, 1))", "2\n")  # the next run, now with the reader thread

    def test_a_thread_calls_while_the_main_thread_joins(self) -> None:
        with Runner() as runner:
            runner.receive()
            result = runner.run(
                "import asyncio, threading\nasync def f(): print(await add(1, 2))\n"
                "t = threading.Thread(target=lambda: asyncio.run(f())); t.start(); t.join()\nawait f()",
                TOOLS,
                answer,
            )
            self.assertEqual(result.text, "3\n3\n")

    def test_loops_taking_turns(self) -> None:
        self.expect(
            "import asyncio\na, b = asyncio.new_event_loop(), asyncio.new_event_loop()\n"
            "async def f(): return await add(1, 2)\n"
            "for loop in (a, b, a, b): print(loop.run_until_complete(f()), end=' ')\na.close(); b.close()",
            "3 3 3 3 ",
        )

    def test_pending_tasks_are_cancelled_at_the_end(self) -> None:
        self.expect(
            "import asyncio\nasync def f():\n    try:\n        await asyncio.sleep(60)\n    finally:\n        print('cleaned')\n"
            "asyncio.create_task(f())\nawait asyncio.sleep(0)\nprint('end')",
            "end\ncleaned\n",
        )

    def test_threads_do_not_keep_the_program_from_ending(self) -> None:
        self.expect("import threading, time\nthreading.Thread(target=time.sleep, args=(60,)).start()\nprint('end')", "end\n")

    def test_children_do_not_disturb_the_channel(self) -> None:
        result = run(
            "import asyncio, os\nasync def main(): print(await add(1, 2))\nasyncio.run(main())\npid = os.fork()\n"
            "if pid == 0:\n    print('child')\nelse:\n    os.waitpid(pid, 0)\n    asyncio.run(main())",
            TOOLS,
            answer,
        )
        self.assertEqual(result.text, "3\nchild\n3\n")

    def test_a_forked_child_cannot_call(self) -> None:
        result = run(
            "import asyncio, os\nasync def main(): await add(1, 2)\npid = os.fork()\nif pid == 0:\n    asyncio.run(main())\n"
            "print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))",
            TOOLS,
            answer,
        )
        self.assertIn("ToolError: mcp__math__add: only the program's first process", result.text)
        self.assertTrue(result.text.endswith("1\n"))

    def test_multiprocessing(self) -> None:
        self.expect(
            "import multiprocessing\nhere, there = multiprocessing.Pipe()\n"  # a pool needs /dev/shm
            "def square(x): there.send(x * x); print('child')\n"
            "p = multiprocessing.Process(target=square, args=(3,)); p.start(); p.join()\n"
            "print(here.recv(), p.exitcode, await add(1, 2))",
            "child\n9 0 3\n",
        )


if __name__ == "__main__":
    unittest.main()
