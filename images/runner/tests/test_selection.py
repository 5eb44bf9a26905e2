"""Every way to reach a tool works when the host has sent only a selection of its tools."""

from __future__ import annotations

import unittest

from .host import Result
from .test_programs import TOOLS, ProgramTest, answer
from .test_tools import Calls as CallTest


class Selection(ProgramTest):
    def run_program(self, source: str, **limits: int) -> Result:
        return self.runner.run_selected(source, TOOLS, answer, **limits)

    def test_what_the_source_spells_needs_no_question(self) -> None:
        result = self.expect(
            "import servers\nfrom servers import math\nfrom servers.math import add as plus\nimport servers.shop as shop\n"
            "print(await mcp__math__add(1, 2), await add(1, 2), await servers.math.add(1, 2), await math.add(1, 2), await plus(1, 2))\n"
            "print(await shop.find('a'), servers.math.add is add is mcp__math__add)\n"
            "try:\n    find\nexcept NameError as e:\n    print(e)",
            "3 3 3 3 3\n{'query': 'a'} True\nname 'find' is not defined\n",
        )
        self.assertEqual(result.fetches, [])

    def test_globals_by_name(self) -> None:
        result = self.expect(
            "print(await globals()['mcp__' + 'math__add'](1, 2), await eval('ad' 'd')(1, 2), 'mcp__other__find' in dir())",
            "3 3 True\n",
        )
        self.assertEqual(result.fetches, [])

    def test_attributes_by_name(self) -> None:
        result = self.expect(
            "name = 'ad' + 'd'\ntool = getattr(servers.math, name)\nprint(await tool(1, 2), getattr(servers.math, name) is tool)\n"
            "import importlib\nmodule = importlib.import_module('servers.' + 'shop')\nprint([w for w in module.__all__])",
            "3 True\n['find', 'slow']\n",
        )
        self.assertEqual(result.fetches, [{"server": "math"}, {"server": "shop"}])

    def test_imports_of_everything(self) -> None:
        self.expect(
            "from servers import *\nfrom servers.math import *\nprint(await globals()['a' + 'dd'](1, 2), shop.__name__, ToolError.__name__)",
            "3 servers.shop ToolError\n",
        )
        result = self.expect("from servers.math import *\nprint(await add(1, 2))", "3\n")
        self.assertEqual(result.fetches, [{"server": "math"}])

    def test_listing(self) -> None:
        result = self.expect(
            "print(len(list_callable_tools()), [n for n in await list_callable_tools() if 'math' in n])",
            "5 ['mcp__math__add']\n",
        )
        self.assertEqual(result.fetches, [])

    def test_what_is_not_there_is_found_before_anything_runs(self) -> None:
        for source, message in (
            ("await add(1, 2)\nawait mcp__math__ad(1, 2)", "there is no tool mcp__math__ad; nearest: mcp__math__add(x, y)"),
            ("await add(1, 2)\nawait servers.shop.fnd(1)", "the server shop has no tool fnd; nearest: mcp__shop__find(query, limit=...)"),
            ("from servers.shop import fnd", "the server shop has no tool fnd; nearest: mcp__shop__find(query, limit=...)"),
            ("from servers.shp import find", "there is no server shp; nearest: shop"),
            ("await mcp__math__add(1)", "mcp__math__add: missing 'y' argument"),
        ):
            with self.subTest(source):
                self.assertEqual(self.fails(source, "check", message).calls, [])

    def test_a_name_in_wide_letters_is_asked_for(self) -> None:
        # Python takes them for the same name; the host's look at the words does not.
        result = self.expect("print(await servers.math.\uff41\uff44\uff44(1, 2))", "3\n")
        self.assertEqual(result.fetches, [{"server": "math"}])

    def test_a_missing_attribute_is_explained(self) -> None:
        self.fails("getattr(servers.shop, 'fi' + 'nt')", "exception", "servers.shop has no 'fint'; nearest: find")

    def test_fetching_from_a_thread_beside_running_calls(self) -> None:
        self.expect(
            "import asyncio\nts = [asyncio.create_task(servers.math.add(i, 0)) for i in range(20)]\nawait asyncio.sleep(0)\n"
            "s = await asyncio.to_thread(getattr, servers.shop, 'sl' + 'ow')\nprint(sum(await asyncio.gather(*ts)), s.__name__)",
            "190 mcp__shop__slow\n",
        )


class SelectedCalls(CallTest):
    """The same tests of calls, with selections."""

    def run_program(self, source: str, **limits: int) -> Result:
        return self.runner.run_selected(source, TOOLS, answer, **limits)


del CallTest  # or it would run twice

if __name__ == "__main__":
    unittest.main()
