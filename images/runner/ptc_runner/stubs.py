"""Types of tools, from the wrapper files that the host writes.

A file is fetched when something asks for a tool's types: help, inspect.signature,
typing.get_type_hints, or an import of its result's class. It becomes the module
``servers.<server>.<tool>``, whose function is the real tool. The same files lie
in the folder ``servers`` of programs that look there.
"""

from __future__ import annotations

import ast
import inspect
import json
import os
import sys
import types
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Set

from . import signature
from .errors import ToolError
from .signature import Entry

if TYPE_CHECKING:
    from .calls import Channel
    from .catalogue import Catalogue
    from .output import Notices

FOLDER = "servers"


def module(entry: Entry, channel: Channel) -> Optional[types.ModuleType]:
    """Return the module of a tool's types; None when the host has none to give."""
    server, name = entry.get("s"), entry.get("t")
    if server is None or name is None:  # a function of the host's own
        return None
    full = f"{FOLDER}.{server}.{name}"
    known = sys.modules.get(full)
    if known is not None:
        return known
    try:
        source = channel.call_blocking("tool_stub", json.dumps({"tool_name": entry["n"]}).encode())
    except ToolError:
        return None
    made = types.ModuleType(full)
    sys.modules[full] = made
    exec(compile(source, f"{FOLDER}/{server}/{name}.py", "exec", dont_inherit=True), made.__dict__)
    made.__dict__["__typed__"] = made.__dict__[name]
    made.__dict__[name] = getattr(sys.modules[f"{FOLDER}.{server}"], name)
    return made


def _typed(entry: Entry, channel: Channel) -> Any:
    """Return the function of a tool's wrapper file, or None."""
    found = module(entry, channel)
    return None if found is None else found.__dict__["__typed__"]


def typed_signature(entry: Entry, channel: Channel) -> inspect.Signature:
    """Return the signature by which the tool is called, with types where they are known."""
    plain = signature.signature(entry)
    typed = _typed(entry, channel)
    if typed is None:
        return plain
    known = inspect.signature(typed)
    parameters = []
    for parameter in plain.parameters.values():
        twin = known.parameters.get(parameter.name)
        if twin is not None:
            default = parameter.default if parameter.default is parameter.empty else twin.default
            parameter = parameter.replace(annotation=twin.annotation, default=default)
        parameters.append(parameter)
    return plain.replace(parameters=parameters, return_annotation=known.return_annotation)


def documentation(entry: Entry, channel: Channel) -> str:
    """Return what help() shows of a tool."""
    typed = _typed(entry, channel)
    description = entry.get("d") if typed is None else inspect.cleandoc(typed.__doc__)
    call = f"await {signature.usage(entry)}"
    return f"{call}\n\n{description}" if description else call


def attribute(entry: Entry, channel: Channel, name: str) -> Any:
    """Return an attribute that functions have and a tool gets from its types, or None."""
    typed = _typed(entry, channel)
    return None if typed is None else getattr(typed, name)


def _folded(name: str) -> str:
    return name.replace("_", "").lower()


def named_after(tools: Dict[str, Entry], name: str) -> List[str]:
    """Return the tools among whose types the name may be: list_issues for ListIssuesResult.

    The longest come first, for it is the likeliest.
    """
    if not name[:1].isupper() and name[:1] != "_":
        return []
    wanted = _folded(name)
    found = [tool for tool in tools if _folded(tool) and wanted.startswith(_folded(tool))]
    return sorted(found, key=len, reverse=True)[:4]


def find_type(tools: Dict[str, Entry], name: str, channel: Channel) -> Any:
    """Return the type of this name that belongs to one of a server's tools, or None."""
    for tool in named_after(tools, name):
        found = module(tools[tool], channel)
        if found is not None and name in found.__dict__ and name not in tools:
            return found.__dict__[name]
    return None


class Finder:
    """Finds the modules of tools' types for ``import``."""

    def __init__(self, catalogue: Catalogue, channel: Channel) -> None:
        self._catalogue = catalogue
        self._channel = channel

    def install(self) -> None:
        """Take the place of an earlier run's finder."""
        sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, Finder)]
        sys.meta_path.append(self)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Find ``servers.<server>.<tool>``."""
        parts = name.split(".")
        if len(parts) == 2 and parts[0] == FOLDER:  # a known one is a module already
            why = self._catalogue.why_no_server(parts[1])
            if why is not None:
                raise ModuleNotFoundError(f"No module named {name!r}: {why}", name=name)
        if len(parts) != 3 or parts[0] != FOLDER or parts[1] not in self._catalogue.by_server:
            return None
        if not self._catalogue.has_tool(parts[1], parts[2]):
            return None
        spec: Any = type(sys.__spec__)
        return spec(name, self)

    def create_module(self, spec: Any) -> types.ModuleType:
        """Make the module, complete."""
        _, server, name = spec.name.split(".")
        made = module(self._catalogue.by_server[server][name], self._channel)
        if made is None:
            raise ImportError(f"the types of {spec.name} are not to be had", name=spec.name)
        return made

    def exec_module(self, module: types.ModuleType) -> None:
        """Do nothing: the module is complete."""


# Functions and classes to which a bare "servers" is a path.
_OF_PATHS = {
    *("listdir", "scandir", "walk", "fwalk", "glob", "iglob", "rglob", "open", "stat", "chdir", "copytree"),
    *("Path", "PosixPath", "PurePath", "exists", "isdir", "isfile", "is_dir", "join", "joinpath", "getsize"),
}


def browsed(tree: ast.Module) -> Optional[Set[str]]:
    """Return the servers whose files a program's source names, "" for all; None when it names none.

    Paths count that begin with ``servers/``, and the word itself where it can
    only be a path: as an argument of a function that takes one, beside the
    operator of paths, or as what a variable is set to.
    """
    found: Set[str] = set()
    parts: Set[int] = set()  # of f-strings: what follows may go on with the name
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts.update(map(id, node.values))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value[2:] if node.value.startswith("./") else node.value
            if text.startswith(FOLDER + "/"):
                server, more, _ = text[len(FOLDER) + 1 :].partition("/")
                found.add(server if server.isidentifier() and (more or id(node) not in parts) else "")
        elif any(_is_folder(child) for child in _paths_of(node)):
            found.add("")
    return found or None


def _is_folder(node: Any) -> bool:
    return isinstance(node, ast.Constant) and node.value in (FOLDER, "./" + FOLDER)


def _paths_of(node: ast.AST) -> List[Any]:
    if isinstance(node, ast.Call):
        called = getattr(node.func, "attr", None) or getattr(node.func, "id", None)
        if called in _OF_PATHS:
            return [*node.args, *(item.value for item in node.keywords)]
    elif isinstance(node, (ast.Assign, ast.AnnAssign)):
        return [node.value]
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        return [node.left, node.right]
    return []


class Tree:
    """The folder ``servers`` in the scratch folder, with one file a tool."""

    def __init__(self) -> None:
        self._ours = False

    def plant(self, tree: ast.Module, catalogue: Catalogue, channel: Channel, notices: Notices) -> None:
        """Write the files that the program's source shows it to read, if any."""
        wanted = browsed(tree)
        if wanted is None or (os.path.lexists(FOLDER) and not self._ours):
            return
        self._ours = True
        # Half of what there is stays the program's.
        space = os.statvfs(".")
        room, files = space.f_bavail * space.f_frsize // 2, space.f_favail // 2
        for server in sorted(catalogue.by_server):
            os.makedirs(os.path.join(FOLDER, server), exist_ok=True)
            if "" not in wanted and server not in wanted:
                continue
            try:
                stubs = channel.call_blocking("server_stubs", json.dumps({"server": server}).encode())
            except ToolError:
                continue
            for name, text in stubs.items():
                data = text.encode()
                room -= max(len(data), 4096)
                files -= 1
                if room < 0 or files < 0:
                    notices.say_once(
                        "servers", "not all files of servers/ fit the scratch folder: use inspect_tool for the others"
                    )
                    return
                with open(os.path.join(FOLDER, server, name + ".py"), "wb") as file:
                    file.write(data)
