"""What a program sees of tools' types, and when they are asked for."""

from __future__ import annotations

import unittest
from typing import Any

from ptc_runner import stubs
from ptc_runner.program import parse

from .host import Result, Runner, tool

LIST_ISSUES = '''
from typing import List, Literal, Optional, TypedDict

__all__ = ['ListIssuesResult', 'list_issues']


class _ListIssuesItemRequired(TypedDict):
    title: str


class ListIssuesItem(_ListIssuesItemRequired, total=False):
    parent: Optional['ListIssuesItem']


class ListIssuesResult(TypedDict):
    items: List[ListIssuesItem]


async def list_issues(*, repo: str, state: Literal['open', 'closed'] = 'open') -> ListIssuesResult:
    """Lists the issues.

    Args:
        repo: Name of the repository.
    """
    raise NotImplementedError('list_issues')
'''
GET = '''
from typing import Any

__all__ = ['GetResult', 'get']
GetResult = Any


async def get(**extra: Any) -> Any:
    """Gets."""
    raise NotImplementedError('get')
'''
TOOLS = [tool("github", "list_issues", "repo", "state", required=["repo"], c=True, d="Lists the issues."), tool("web", "get")]


def answer(name: str, arguments: Any) -> Any:
    return {"items": [{"title": name}], "sent": arguments}


class Programs(unittest.TestCase):
    selected = False

    def run_program(self, source: str, **limits: int) -> Result:
        with Runner() as runner:
            self.assertEqual(runner.receive()["type"], "hello")
            runner.stubs = {"mcp__github__list_issues": LIST_ISSUES, "mcp__web__get": GET}
            run = runner.run_selected if self.selected else runner.run
            return run(source, TOOLS, answer, **limits)

    def expect(self, source: str, printed: str) -> Result:
        result = self.run_program(source)
        self.assertEqual((result.error.get("message"), result.text), (None, printed))
        return result

    def test_a_program_without_types_asks_for_none(self) -> None:
        result = self.expect(
            "from servers.github import list_issues\nimport servers.web\nx = {'servers': 1}\nprint((await list_issues(repo='a'))['items'][0]['title'])",
            "mcp__github__list_issues\n",
        )
        self.assertEqual(result.stubs, [])

    def test_signature_annotations_and_type_hints(self) -> None:
        result = self.expect(
            "import inspect, typing\n"
            "print(inspect.signature(mcp__github__list_issues))\n"
            "print(sorted(typing.get_type_hints(servers.github.list_issues)))\n"
            "print(list_issues.__annotations__['repo'])",
            "(repo: str, state: Literal['open', 'closed'] = 'open') -> servers.github.list_issues.ListIssuesResult\n"
            "['repo', 'return', 'state']\n"
            "<class 'str'>\n",
        )
        self.assertEqual(len(result.stubs), 1)

    def test_types_are_imported_beside_tools(self) -> None:
        self.expect(
            "from servers.github import list_issues, ListIssuesResult\n"
            "import typing\n"
            "page: ListIssuesResult = await list_issues(repo='a')\n"
            "print(page['items'][0]['title'], list(typing.get_type_hints(ListIssuesResult)), typing.get_type_hints(servers.github.ListIssuesItem)['title'])\n"
            "from servers.web import GetResult\n"
            "print(GetResult)",
            "mcp__github__list_issues ['items'] <class 'str'>\ntyping.Any\n",
        )

    def test_a_module_for_each_tool(self) -> None:
        self.expect(
            "from servers.github.list_issues import list_issues, ListIssuesItem\n"
            "import servers.github.list_issues as again, importlib\n"
            "print(again is list_issues is servers.github.list_issues, ListIssuesItem.__module__)\n"
            "module = importlib.import_module('servers.github.list_issues')\n"
            "print(module.list_issues is list_issues, servers.github.list_issues is list_issues)\n"
            "print((await list_issues('b'))['sent'])\n"
            "try:\n    importlib.import_module('servers.github.nothing')\nexcept ImportError as e:\n    print('ImportError')",
            "True servers.github.list_issues\nTrue True\n{'repo': 'b'}\nImportError\n",
        )

    def test_help(self) -> None:
        text = self.run_program("help(list_issues)\nprint(list_issues.__doc__)").text
        self.assertIn("await mcp__github__list_issues(repo, state=...)", text)
        self.assertIn("repo: Name of the repository.", text)

    def test_a_type_that_is_not_there_is_explained(self) -> None:
        result = self.run_program("from servers.github import ListIssuesNothing")
        self.assertEqual((result.error["kind"], result.error["type"]), ("exception", "ImportError"))
        self.assertEqual(self.run_program("from servers.github import Nothing").error["kind"], "check")
        self.assertEqual(self.run_program("from servers.github.list_isues import x").error["kind"], "check")
        self.assertEqual(self.run_program("from servers.github.list_issues import list_isues").error["kind"], "check")

    def test_the_tree(self) -> None:
        result = self.expect(
            "import os, glob, pathlib\n"
            "print(sorted(os.listdir('servers')), os.listdir('servers/github'))\n"
            "print(sorted(glob.glob('servers/*/*.py')))\n"
            "print('repo: Name' in open('servers/github/list_issues.py').read(), pathlib.Path('servers', 'web', 'get.py').read_text() != '')\n"
            "import servers\nfrom servers.web import get\nprint((await servers.github.list_issues(repo='x'))['sent'])",
            "['github', 'web'] ['list_issues.py']\n['servers/github/list_issues.py', 'servers/web/get.py']\nTrue True\n{'repo': 'x'}\n",
        )
        self.assertEqual([asked["server"] for asked in result.stubs], ["github", "web"])

    def test_only_what_is_named_of_the_tree(self) -> None:
        result = self.expect("print(len(open('./servers/web/get.py').read()) > 10)", "True\n")
        self.assertEqual(result.stubs, [{"server": "web"}])

    def test_a_folder_of_the_programs_own_is_left_alone(self) -> None:
        with Runner() as runner:
            runner.receive()
            runner.stubs = {"mcp__web__get": GET}
            runner.run("import os\nname = 'serv' + 'ers'\nos.mkdir(name)\nopen(name + '/x', 'w').close()", TOOLS)
            result = runner.run("import os\nprint(os.listdir('servers'))", TOOLS)
            self.assertEqual((result.text, result.stubs), ("['x']\n", []))


class SelectedPrograms(Programs):
    """The same with a table that holds what the source can name."""

    selected = True


class Browsing(unittest.TestCase):
    def test_what_is_browsing(self) -> None:
        for source, expected in (
            ("os.listdir('servers')", {""}),
            ("for x in os.walk('./servers'): pass", {""}),
            ("Path('servers').iterdir()", {""}),
            ("root = 'servers'\nglob.glob(root + '/*')", {""}),
            ("p = Path('.') / 'servers' / name", {""}),
            ("open(f'servers/{s}/{t}.py')", {""}),
            ("open('servers/github/list_issues.py')", {"github"}),
            ("os.listdir('servers/github/')", {"github"}),
            ("os.listdir('servers/github')", {"github"}),
            ("os.listdir(f'servers/git{x}')", {""}),
            ("open(f'servers/github/{x}.py')", {"github"}),
            ("glob.glob('servers/*/get*.py')", {""}),
            ("import servers\nservers.github.list_issues()", None),
            ("data['servers'] = {'servers': 1}\nprint('servers', data.get('servers'))", None),
            ("x == 'servers'", None),
            ("print('all servers/hosts')", None),
        ):
            with self.subTest(source):
                self.assertEqual(stubs.browsed(parse(source, "<program>")), expected)

    def test_types_are_found_by_the_names_of_tools(self) -> None:
        tools: Any = dict.fromkeys(["list", "list_issues", "get_user_v2", "import_"])
        for name, expected in (
            ("ListIssuesResult", ["list_issues", "list"]),
            ("GetUserV2Result", ["get_user_v2"]),
            ("ImportResult", ["import_"]),
            ("Nothing", []),
            ("listing", []),
        ):
            self.assertEqual(stubs.named_after(tools, name), expected)


if __name__ == "__main__":
    unittest.main()
