"""Calling tools, on the real bundle."""

from __future__ import annotations

import select
import sys
import unittest
from typing import Any, Dict, List

from .host import Failed, Runner, run, tool
from .test_programs import ProgramTest


class Calls(ProgramTest):
    def test_every_way_to_name_a_tool(self) -> None:
        self.expect(
            "import servers\nfrom servers import math\nfrom servers.math import add as plus\nimport servers.shop as shop\n"
            "print(await mcp__math__add(1, 2), await add(1, 2), await servers.math.add(1, 2), await math.add(1, 2))\n"
            "print(await plus(1, 2), await shop.find('a'), await globals()['mcp__other__find']('b'))",
            "3 3 3 3\n3 {'query': 'a'} {'query': 'b'}\n",
        )

    def test_a_short_name_that_two_servers_have_is_not_there(self) -> None:
        self.fails("await find('x')", "exception", "name 'find' is not defined")

    def test_what_is_known_of_a_tool_that_is_not_there_is_said(self) -> None:
        self.runner.absent = {
            "mcp__mail__send": 'mcp__mail__send: server "mail" is not connected',
            "send": 'send: server "mail" is not connected',
            "mail": 'server "mail" is not connected',
            "mcp__math__sub": "mcp__math__sub: withdrawn",
        }
        self.addCleanup(self.runner.absent.clear)
        for source, kind, message in (
            ("await mcp__mail__send()", "check", 'mcp__mail__send: server "mail" is not connected'),
            ("await servers.mail.send()", "check", 'server "mail" is not connected'),
            ("from servers.mail import send", "check", 'server "mail" is not connected'),
            ("await servers.math.sub(1)", "check", "mcp__math__sub: withdrawn"),
            ("from servers.math import sub", "check", "mcp__math__sub: withdrawn"),
            ("await send()", "exception", "name 'send' is not defined; send: server \"mail\" is not connected"),
            ("getattr(servers, 'ma' + 'il')", "exception", "servers has no 'mail': server \"mail\" is not connected"),
            ("getattr(servers.math, 'su' + 'b')", "exception", "servers.math has no 'sub': mcp__math__sub: withdrawn"),
            ("import importlib\nimportlib.import_module('servers.' + 'mail')", "exception", 'server "mail" is not connected'),
            ("await mcp__mail__other()", "check", "there is no tool mcp__mail__other"),
            ("undefined", "exception", "name 'undefined' is not defined"),
        ):
            with self.subTest(source):
                self.assertEqual(self.fails(source, kind, message).calls, [])

    def test_every_way_to_pass_arguments(self) -> None:
        for call in ("add(1, 2)", "add(1, y=2)", "add(x=1, y=2)", "add({'x': 1, 'y': 2})", "add(**{'x': 1, 'y': 2})"):
            with self.subTest(call):
                self.expect(f"print(await {call})", "3\n")

    def test_a_dict_for_the_only_parameter(self) -> None:
        self.expect("print(await store({'a': 1}))\nprint(await store({'record': 1}))", "{'record': {'a': 1}}\n{'record': 1}\n")

    def test_wrong_arguments_show_the_correct_call(self) -> None:
        for call, message in (
            ("add(*[1])", "mcp__math__add: missing 'y' argument; call it as: await mcp__math__add(x, y)"),
            ("add(*[1, 2, 3])", "takes 2 arguments, 3 were given"),
            ("add(1, **{'x': 1})", "argument 'x' was given twice"),
            ("add(**{'x': 1, 'y': 2, 'z': 3})", "unknown 'z' argument"),
        ):
            with self.subTest(call):
                result = self.fails(f"await {call}", "exception", message)
                self.assertEqual(result.error["type"], "TypeError")
                self.assertEqual(result.calls, [])

    def test_signature_and_documentation(self) -> None:
        self.expect(
            "import inspect\nprint(inspect.signature(add), add.__name__, add.__qualname__)\nprint(add.__doc__)\n"
            "print(inspect.signature(servers.shop.find))",
            "(x, y) mcp__math__add mcp__math__add\nawait mcp__math__add(x, y)\n\nAdds two numbers.\n"
            "(query, limit=Ellipsis, **extra)\n",
        )

    def test_a_tool_is_a_coroutine_function(self) -> None:
        # Before 3.12 inspect takes nothing but functions for one.
        known = sys.version_info >= (3, 12)
        self.expect("import inspect\nprint(inspect.iscoroutinefunction(add))", f"{known}\n")

    @unittest.skipIf(sys.version_info >= (3, 14), "deprecated in 3.14")
    def test_a_tool_is_a_coroutine_function_to_asyncio(self) -> None:
        self.expect("import asyncio\nprint(asyncio.iscoroutinefunction(add))", "True\n")

    def test_help_shows_the_call(self) -> None:
        self.assertIn("await mcp__math__add(x, y)", self.run_program("help(add)").text)

    def test_a_call_is_a_coroutine(self) -> None:
        self.expect(
            "import asyncio, collections.abc, inspect\nc = add(1, 2)\n"
            "print(isinstance(c, collections.abc.Coroutine), inspect.isawaitable(c), asyncio.iscoroutine(c), await c)\n"
            "print(await asyncio.create_task(add(1, 1), name='t'), await asyncio.ensure_future(add(2, 2)))",
            "True True True 3\n2 4\n",
        )

    def test_nothing_is_called_before_it_is_awaited(self) -> None:
        result = self.run_program("x = add(1, 2)")
        self.assertEqual(result.calls, [])
        self.assertEqual(
            result.text,
            "[warning: mcp__math__add(...) was not awaited, so it was not called: write `await mcp__math__add(...)`]\n",
        )

    def test_using_a_call_without_await_says_so(self) -> None:
        for use in ("r['a']", "r.get('a')", "[x for x in r]", "len(r)", "print(r)", "f'{r}'", "bool(r)", "'a' in r",
                    "json.dumps(r)", "json.dumps([r])", "json.loads(r)", "r + 1", "r > 1", "r == 3", "emit(r)",
                    "emit({'a': [r]})", "asyncio.run(store(r))", "int(r)", "r()"):
            with self.subTest(use):
                self.fails(f"import asyncio, json\nr = add(1, 2)\n{use}", "exception", "missing await")

    def test_json_loads_of_a_parsed_result(self) -> None:
        self.expect(
            "import json\nfrom json import loads\nprint(json.loads(await add({'x': 1, 'y': 2})), loads(await store({'a': 1})), loads('[1]'))\n"
            "print(json.loads(None), json.loads(b'{}'), json.loads('1', parse_int=float))",
            "3 {'record': {'a': 1}} [1]\nNone {} 1.0\n",
        )

    def test_errors(self) -> None:
        self.expect(
            "import asyncio\ntry:\n    await slow()\nexcept TimeoutError as e:\n"
            "    print(isinstance(e, ToolError), isinstance(e, asyncio.TimeoutError), e.tool, e.kind, e.retryable, e)\n"
            "    from servers import ToolError as T; print(T is ToolError, str(e) == e.message)",
            "True True mcp__shop__slow timeout True mcp__shop__slow: no answer within 60 s\nTrue True\n",
        )

    def test_an_uncaught_error_is_shown_briefly(self) -> None:
        result = self.fails("await slow()", "exception", "mcp__shop__slow: no answer within 60 s")
        self.assertEqual(
            result.error["traceback"],
            'Traceback (most recent call last):\n  File "<program>", line 1, in <module>\n    await slow()\n'
            "ToolTimeoutError: mcp__shop__slow: no answer within 60 s\n",
        )

    def test_an_abandoned_call_is_dropped(self) -> None:
        self.expect(
            "import asyncio\nt = asyncio.create_task(add(1, 2))\nawait asyncio.sleep(0)\nt.cancel()\n"
            "try:\n    await t\nexcept asyncio.CancelledError:\n    print('cancelled')\nprint(await add(1, 1))",
            "cancelled\n2\n",
        )

    def test_no_more_calls_are_open_than_the_host_takes(self) -> None:
        with Runner() as runner:
            runner.receive()
            most = self._most_open(runner, "import asyncio\nprint(sum(await asyncio.gather(*(add(i, 0) for i in range(20)))))")
            self.assertEqual(most, 3)

    def _most_open(self, runner: Runner, source: str) -> int:
        """Answer only when the runner has been silent with calls open, and count those."""
        runner.start(source, [tool("math", "add", "x", "y")], open_calls=3)
        most = 0
        open_calls: List[Dict[str, Any]] = []
        while True:
            assert runner.process.stdout is not None
            if not open_calls or select.select([runner.process.stdout], [], [], 0.1)[0]:
                frame = runner.receive()
                if frame["type"] == "done":
                    return most
                open_calls.append(frame)
                most = max(most, len(open_calls))
            else:
                call = open_calls.pop()
                runner.send({"type": "result", "id": call["id"], "value": call["arguments"]["x"]})

    def test_ids_grow(self) -> None:
        result = self.run_program("import asyncio\nawait asyncio.gather(*(add(i, 0) for i in range(50)))")
        ids = [call["id"] for call in result.calls]
        self.assertEqual(ids, sorted(set(ids)))


class Functions(ProgramTest):
    def test_emit(self) -> None:
        result = self.expect("emit(1)\nawait emit({'a': (1, 2)})", "")
        self.assertEqual(result.emitted, [1, {"a": [1, 2]}])

    def test_emit_is_limited(self) -> None:
        result = self.run_program("emit('x' * 100)", emit_bytes=50)
        self.assertEqual(result.emitted, [])
        self.assertIn("102 bytes are over the limit of 50", result.error["message"])

    def test_listing_and_inspecting(self) -> None:
        self.expect(
            "import json\nnames = list_callable_tools()\nprint(json.dumps(names) == json.dumps(await list_callable_tools()), len(names))\n"
            "print(inspect_tool('math.add'), await inspect_tool(tool_name='math.add'))\n"
            "print(inspect_tool(add), inspect_tool({'tool_name': 'nope'}), server_status())",
            "True 5\n{'tool_name': 'math.add'} {'tool_name': 'math.add'}\n"
            "{'tool_name': 'mcp__math__add'} {'tool_name': 'nope'} {}\n",
        )

    def test_what_discovery_asks_the_host(self) -> None:
        self.expect(
            "print(list_callable_tools('math'), list_callable_tools(detail='signatures'), list_callable_tools({'server': 'math'}))\n"
            "print(search_tools('add numbers'), await search_tools('add', limit=3, server='math'), search_tools({'query': 'x'}))\n"
            "print(inspect_tool([add, 'math.add']), await inspect_tool(('x',), format='python'), inspect_tool({'tool_name': 'x', 'format': 'python'}))",
            "{'server': 'math'} {'detail': 'signatures'} {'server': 'math'}\n"
            "{'query': 'add numbers'} {'query': 'add', 'limit': 3, 'server': 'math'} {'query': 'x'}\n"
            "{'tool_name': ['mcp__math__add', 'math.add']} {'tool_name': ['x'], 'format': 'python'} {'tool_name': 'x', 'format': 'python'}\n",
        )

    def test_what_the_host_answers_can_be_awaited(self) -> None:
        source = "print(inspect_tool('a').upper(), (await inspect_tool('a')).upper(), list_callable_tools('x')[0], (await list_callable_tools('x'))[0])"
        result = run(source, (), lambda name, _: "def a" if name == "inspect_tool" else ["first"])
        self.assertEqual(result.output, b"DEF A DEF A first first\n")

    def test_blocking_functions_beside_running_calls(self) -> None:
        self.expect(
            "import asyncio, threading\nts = [asyncio.create_task(add(i, 0)) for i in range(30)]\nawait asyncio.sleep(0)\n"
            "print(server_status())\nt = threading.Thread(target=lambda: print(server_status())); t.start(); t.join()\n"
            "print(sum(await asyncio.gather(*ts)))",
            "{}\n{}\n435\n",
        )


class Results(unittest.TestCase):
    def test_unreadable_results_are_errors_of_their_call(self) -> None:
        deep = b"[" * 200_000 + b"]" * 200_000
        with Runner() as runner:
            runner.receive()
            runner.start("try:\n    await get()\nexcept ToolError as e:\n    print(e.kind, e)\nprint(await get())", [tool("a", "get")])
            first = runner.receive()
            runner.send_raw(b'{"type":"result","id":%d,"value":%b}' % (first["id"], deep))
            second = runner.receive()
            runner.send({"type": "result", "id": second["id"], "value": "fine"})
            self.assertEqual(runner.receive()["outcome"], "ok")

    def test_a_result_larger_than_memory_is_a_memory_error(self) -> None:
        with Runner() as runner:
            runner.receive()
            result = runner.run(
                "try:\n    await get()\nexcept MemoryError as e:\n    print(type(e).__name__)\nprint(len(await get()))",
                [tool("a", "get")],
                Sizes(),
                memory_bytes=96 << 20,
            )
            self.assertEqual(result.text, "MemoryError\n10\n")

    def test_large_results_arrive(self) -> None:
        value = {"text": "x" * 5_000_000, "list": list(range(100_000))}
        result = run("r = await get()\nprint(len(r['text']), sum(r['list']))", [tool("a", "get")], lambda *_: value)
        self.assertEqual(result.text, f"5000000 {sum(range(100_000))}\n")

    def test_a_failed_call_does_not_end_the_others(self) -> None:
        def fail_some(_: str, arguments: Dict[str, Any]) -> Any:
            if arguments["i"] % 20 == 0:
                raise Failed("error_result", "mcp__a__get: no")
            return arguments["i"]

        result = run(
            "import asyncio\nrs = await asyncio.gather(*(get(i) for i in range(1000)), return_exceptions=True)\n"
            "print(sum(isinstance(r, ToolError) for r in rs), sum(r for r in rs if isinstance(r, int)))",
            [tool("a", "get", "i")],
            fail_some,
        )
        self.assertEqual(result.text, f"50 {sum(i for i in range(1000) if i % 20)}\n")


class Sizes:
    """Answers first too much, then little."""

    def __init__(self) -> None:
        self.next = ["x" * 100_000_000, "x" * 10]

    def __call__(self, _: str, __: Dict[str, Any]) -> Any:
        return self.next.pop(0)


if __name__ == "__main__":
    unittest.main()
