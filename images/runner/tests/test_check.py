"""What the check before effect says, and about what it is silent."""

from __future__ import annotations

import inspect
import unittest
from random import Random
from typing import Any, Callable, Dict, List

from ptc_runner import signature
from ptc_runner.catalogue import Catalogue
from ptc_runner.check import check
from ptc_runner.functions import NAMES
from ptc_runner.program import parse

from .host import tool

CATALOGUE = Catalogue(
    [
        tool("github", "list_issues", "owner", "repo", "state", required=["owner", "repo"], c=True),
        tool("github", "print", "x"),
        tool("open", "search", "user_name", required=[]),
        tool(
            "strict", "find", "state", "limit", "all", "q", required=[], c=True,
            y={"state": ["open", "closed", "in_review"], "limit": "integer"},
        ),
        tool("odd", "headers", "content-type", "class", "from", required=["content-type"], a=["odd one", "head.ers"]),
    ],
    NAMES,
)


def problems(source: str) -> List[str]:
    return [f"{line}: {text}" for line, text in check(parse(source, "<program>"), CATALOGUE)]


class Check(unittest.TestCase):
    def test_problems(self) -> None:
        usage = "mcp__github__list_issues(owner, repo, state=...)"
        for source, expected in (
            ("await mcp__github__list_isues()", f"there is no tool mcp__github__list_isues; nearest: {usage}, mcp__github__print(x)"),
            ("f = mcp__zzz__qqq", "there is no tool mcp__zzz__qqq; list_callable_tools() lists what there is"),
            ("servers.githb.list_issues", "there is no server githb; nearest: github"),
            ("servers.github.list_isue", f"the server github has no tool list_isue; nearest: {usage}"),
            ("from servers.github import list_isues", f"the server github has no tool list_isues; nearest: {usage}"),
            ("servers.zzz", "there is no server zzz; nearest: github, odd, open, strict"),
            ("from servers.nope import x", "there is no server nope; nearest: open"),
            ("from servers import nope", "there is no server nope; nearest: open"),
            ("list_issues('a')", f"mcp__github__list_issues: missing 'repo' argument; call it as: await {usage}"),
            ("list_issues({'owner': 1})", f"mcp__github__list_issues: missing 'repo' argument; call it as: await {usage}"),
            ("servers.github.list_issues(1, 2, 3, 4)", f"mcp__github__list_issues: takes 3 arguments, 4 were given; call it as: await {usage}"),
            ("mcp__github__list_issues(1, 2, owner=1)", f"mcp__github__list_issues: argument 'owner' was given twice; call it as: await {usage}"),
            ("list_issues(1, 2, label=3)", f"mcp__github__list_issues: unknown 'label' argument; call it as: await {usage}"),
            ("from servers.github import list_issues as li\nli(1)", f"mcp__github__list_issues: missing 'repo' argument; call it as: await {usage}"),
            ("search(userName=1)", "mcp__open__search: unknown 'userName' argument; call it as: await mcp__open__search(user_name=...)"),
        ):
            with self.subTest(source):
                self.assertEqual([text.split(": ", 1)[1] for text in problems(source)], [expected])

    def test_literals_that_cannot_be_right(self) -> None:
        usage = "call it as: await mcp__strict__find(state=..., limit=..., all=..., q=...)"
        for source, expected in (
            ("find(state='opened')", "argument 'state' cannot be 'opened', only 'open' or 'closed' or 'in_review'; nearest: 'open'"),
            ("find({'state': 'xyz'})", "argument 'state' cannot be 'xyz', only 'open' or 'closed' or 'in_review'"),
            ("find('clsed')", "argument 'state' cannot be 'clsed', only 'open' or 'closed' or 'in_review'; nearest: 'closed'"),
            ("find(limit='many')", "argument 'limit' must be an integer, not 'many'"),
            ("servers.strict.find(limit={'x': 1})", "argument 'limit' must be an integer, not a dict"),
        ):
            with self.subTest(source):
                self.assertEqual(problems(source), [f"1: mcp__strict__find: {expected}; {usage}"])

    def test_what_the_schema_allows_is_never_refused(self) -> None:
        random = Random(1)
        values: Dict[str, Callable[[], Any]] = {
            "state": lambda: random.choice(["open", "closed", "in_review", "Open", "IN REVIEW", "in-review"]),
            "limit": lambda: random.choice([random.randint(-(10**20), 10**20), str(random.randint(-9, 9)), random.random(), "1_000"]),
            "all": lambda: random.choice([True, False, "yes", 0, None]),
            "q": lambda: random.choice(["", "x", 1, None, [], {"state": "opened"}, "integer"]),
        }
        calls = ("find({})", "await servers.strict.find({})", "mcp__strict__find({})")
        for _ in range(500):
            names = random.sample(sorted(values), random.randint(0, 4))
            given = {name: values[name]() for name in names}
            written = ", ".join(f"{name}={value!r}" for name, value in given.items())
            for source in (random.choice(calls).format(written), f"find({given!r})", f"find(**{given!r})"):
                with self.subTest(source):
                    self.assertEqual(problems(source), [])

    def test_silence(self) -> None:
        for source in (
            # What a server may take although it declares otherwise.
            "find(state='Open')\nfind(state=' closed')\nfind(state='in-review')\nfind(state='')\nfind(state=None)\nfind(state=1)",
            "find(limit='5')\nfind(limit='1e3')\nfind(limit=' 10 ')\nfind(limit=5.0)\nfind(limit=True)\nfind(limit=None)\nfind(limit='10 items')\nfind(limit='')\nfind(limit=[5])\nfind(limit='-inf')",
            "find(all='true')\nfind(all='maybe')\nfind(all=0)\nfind(all=[])",
            "find(state=x)\nfind(state=f'{x}')\nfind(limit=-5)\nfind(limit=int('many'))\nfind(limit='a' + b)\nfind(q='anything')",
            "from servers.github.list_issues import list_issues, Optional, _Private\nfrom servers.github import ListIssuesResult",
            "await mcp__github__list_issues('a', repo='b')",
            "args = {}\nawait list_issues(args)\nawait list_issues(*args)\nawait list_issues(**args)\nawait list_issues({**args})",
            "def mcp__my__own(): pass\nmcp__my__own()",
            "from helpers import *\nmcp__my__own()",
            "def list_issues(): pass\nlist_issues()",
            "servers = {}\nservers.nope.nope",
            "async def f(list_issues): list_issues()",
            "import servers\nservers.github.__doc__\nservers.__name__\nservers.github.list_issues.__doc__",
            "search(anything=1)",
            "headers(content_type=1, class_=2, from_=3)\nheaders({'content-type': 1})",
            "from servers import github, ToolError\ngithub.list_issues(1)",
        ):
            with self.subTest(source):
                self.assertEqual(problems(source), [])

    def test_all_problems_are_reported_in_order(self) -> None:
        found = problems("list_issues(1)\nmcp__a__b()\nservers.c.d()")
        self.assertEqual([text.split(":")[0] for text in found], ["1", "2", "3"])


class Names(unittest.TestCase):
    def test_short_names_hide_nothing(self) -> None:
        self.assertEqual(sorted(CATALOGUE.by_short_name), ["find", "headers", "list_issues", "search"])


class Signature(unittest.TestCase):
    def test_parameters(self) -> None:
        for entry, expected in (
            (tool("a", "b", "x", "y", required=["x"], c=True), "(x, y=Ellipsis)"),
            (tool("a", "b", "x", "y", required=["y"], c=True), "(x=Ellipsis, *, y)"),
            (tool("a", "b", "content-type", "class", "1st"), "(content_type, class_, _1st, **extra)"),
            (tool("a", "b", "a-b", "a_b"), "(**arguments)"),
            (tool("a", "b", c=True), "()"),
        ):
            with self.subTest(expected):
                self.assertEqual(str(signature.signature(entry)), expected)
                self.assertIsInstance(signature.signature(entry), inspect.Signature)

    def test_keywords_stand_for_names_that_are_no_identifiers(self) -> None:
        entry = tool("a", "b", "content-type", "class")
        self.assertEqual(
            signature.bind(entry, (), {"content_type": 1, "class_": 2}), {"content-type": 1, "class": 2}
        )


if __name__ == "__main__":
    unittest.main()
