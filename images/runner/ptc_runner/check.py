"""Check before effect: what the source of a program shows to be wrong before it runs.

Only what is plain counts. A name that the program binds itself, arguments
passed with ``*`` or ``**``: nothing is said about them.
"""

from __future__ import annotations

import ast
from typing import Any, Dict, List, Optional, Set, Tuple

from . import literals, signature, stubs
from .catalogue import Catalogue
from .signature import Entry

Problem = Tuple[int, str]

_MOST = 10


def check(tree: ast.Module, catalogue: Catalogue) -> List[Problem]:
    """Return lines and descriptions of unknown tools and impossible calls."""
    nodes = list(ast.walk(tree))
    checker = _Checker(catalogue, nodes)
    for node in nodes:
        checker.visit(node)
    return sorted(set(checker.problems))[:_MOST]


class _Checker:
    def __init__(self, catalogue: Catalogue, nodes: List[ast.AST]) -> None:
        self.problems: List[Problem] = []
        self._catalogue = catalogue
        self._bound: Set[str] = set()
        self._imported: Dict[str, Entry] = {}
        self._opaque = False  # an import with a star binds what nobody sees
        for node in nodes:
            self._bind(node)

    def _bind(self, node: ast.AST) -> None:
        if isinstance(node, ast.Name):
            if not isinstance(node.ctx, ast.Load):
                self._bound.add(node.id)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                self._bind_import(node.module or "", alias)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.split(".")[0]
                if top != "servers" or alias.asname:
                    self._bound.add(alias.asname or top)
        elif isinstance(node, ast.arg):
            self._bound.add(node.arg)
        elif isinstance(node, ast.ExceptHandler) or type(node).__name__ in ("MatchAs", "MatchStar"):
            self._bound.add(getattr(node, "name", None) or "")
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            self._bound.add(node.name)
        elif type(node).__name__ == "MatchMapping":
            self._bound.add(getattr(node, "rest", None) or "")

    def _bind_import(self, module: str, alias: ast.alias) -> None:
        name = alias.asname or alias.name
        server, only = _server_of(module)
        entry = self._catalogue.by_server.get(server or "", {}).get(alias.name)
        if only not in (None, alias.name):
            entry = None
        if alias.name == "*":
            self._opaque = self._opaque or server is None
        elif entry is not None and self._imported.setdefault(name, entry) is entry:
            pass
        else:
            self._bound.add(name)

    def visit(self, node: ast.AST) -> None:
        if isinstance(node, ast.Name):
            self._visit_name(node)
        elif isinstance(node, ast.Attribute):
            self._visit_attribute(node)
        elif isinstance(node, ast.ImportFrom):
            self._visit_import(node)
        elif isinstance(node, ast.Call):
            entry = self._entry(node.func)
            if entry is not None:
                self._visit_call(node, entry)

    def _visit_name(self, node: ast.Name) -> None:
        name = node.id
        if (
            name.startswith("mcp__")
            and name not in self._bound
            and name not in self._imported
            and not self._opaque
            and not self._catalogue.has(name)
        ):
            why = self._catalogue.why_no_tool(name)
            if why is None:
                self._report(node, f"there is no tool {name}", self._catalogue.nearest(name))
            else:
                self.problems.append((node.lineno, why))

    def _visit_attribute(self, node: ast.Attribute) -> None:
        path = self._path(node)
        if path is None:
            return
        server, name = path
        if server not in self._catalogue.by_server:
            self._report_server(node, server)
        elif name is not None and not name.startswith("__") and not self._has(server, name):
            self._report_tool(node, server, name)

    def _visit_import(self, node: ast.ImportFrom) -> None:
        module = node.module or ""
        known = self._catalogue.by_server
        if node.level or (module != "servers" and not module.startswith("servers.")):
            return
        for alias in node.names:
            if alias.name == "*":
                continue
            if module == "servers":
                if alias.name not in known and alias.name != "ToolError":
                    self._report_server(node, alias.name)
                continue
            server, only = _server_of(module)
            if server not in known:
                self._report_server(node, server or "")
                return
            if only is not None and not self._catalogue.has_tool(server, only):
                self._report_tool(node, server, only)
                return
            if only is None:
                missing = not self._has(server, alias.name)
            else:  # beside the tool the module has types, in capitals
                missing = alias.name != only and not alias.name[:1].isupper() and not alias.name.startswith("_")
            if missing:
                self._report_tool(node, server, alias.name)

    def _has(self, server: str, name: str) -> bool:
        """Tell whether the server has a tool of this name, or one whose type it may be."""
        return self._catalogue.has_tool(server, name) or bool(
            stubs.named_after(self._catalogue.by_server[server], name)
        )

    def _visit_call(self, node: ast.Call, entry: Entry) -> None:
        if any(isinstance(value, ast.Starred) for value in node.args):
            return
        keywords: Dict[str, Any] = {}
        for item in node.keywords:
            if item.arg is None:
                return
            keywords[item.arg] = item.value
        positional: List[Any] = list(node.args)
        if len(positional) == 1 and not keywords:
            plain = _literal_keys(positional[0])
            if plain is None:
                return
            positional = [plain]
        arguments, fault = signature.match(entry, positional, keywords)
        fault = fault or literals.fault(entry.get("y", {}), arguments)
        if fault:
            self.problems.append(
                (node.lineno, f"{entry['n']}: {fault}; call it as: await {signature.usage(entry)}")
            )

    def _entry(self, node: ast.expr) -> Optional[Entry]:
        if isinstance(node, ast.Name):
            name = node.id
            if name in self._bound:
                return None
            return (
                self._imported.get(name)
                or self._catalogue.by_name.get(name)
                or self._catalogue.by_short_name.get(name)
            )
        path = self._path(node)
        if path is None or path[1] is None:
            return None
        return self._catalogue.by_server.get(path[0], {}).get(path[1])

    def _path(self, node: ast.expr) -> Optional[Tuple[str, Optional[str]]]:
        """Return server and tool of ``servers.server.tool``, or None for anything else."""
        steps: List[str] = []
        while isinstance(node, ast.Attribute):
            steps.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name) or node.id != "servers" or "servers" in self._bound:
            return None
        steps.reverse()
        if steps[0].startswith("__") or steps[0] == "ToolError" or len(steps) > 2:
            return None
        return steps[0], steps[1] if len(steps) == 2 else None

    def _report_server(self, node: Any, server: str) -> None:
        why = self._catalogue.why_no_server(server)
        if why is not None:
            self.problems.append((node.lineno, why))
            return
        names = list(self._catalogue.by_server)
        near = signature.nearest(server, names) or sorted(names)[:_MOST]
        self._report(node, f"there is no server {server}", near)

    def _report_tool(self, node: Any, server: str, name: str) -> None:
        why = self._catalogue.why_no_tool(f"mcp__{server}__{name}")
        if why is not None:
            self.problems.append((node.lineno, why))
            return
        tools = self._catalogue.by_server[server]
        near = [signature.usage(tools[word]) for word in signature.nearest(name, list(tools))]
        self._report(node, f"the server {server} has no tool {name}", near)

    def _report(self, node: Any, what: str, near: List[str]) -> None:
        hint = "nearest: " + ", ".join(near) if near else "list_callable_tools() lists what there is"
        self.problems.append((node.lineno, f"{what}; {hint}"))


def _server_of(module: str) -> Tuple[Optional[str], Optional[str]]:
    """Return server and tool of ``servers.server`` and ``servers.server.tool``."""
    if not module.startswith("servers."):
        return None, None
    server, _, tool = module[len("servers.") :].partition(".")
    return server, tool or None


def _literal_keys(node: ast.expr) -> Any:
    """Return a stand-in for the sole positional argument, or None if its keys are not plain."""
    if not isinstance(node, ast.Dict):
        # A constant or a list is no arguments object; a name or a call may be one.
        return node if isinstance(node, (ast.Constant, ast.JoinedStr, ast.List, ast.Tuple)) else None
    keys: Dict[str, Any] = {}
    for key, value in zip(node.keys, node.values):
        if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
            return None
        keys[key.value] = value
    return keys
