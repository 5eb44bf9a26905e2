"""The tools of one run by every name a program may use for them."""

from __future__ import annotations

import builtins
import keyword
import sys
import types
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, List, Optional

from . import signature, stubs
from .errors import ToolError, ToolTimeoutError
from .signature import Entry
from .tools import Tool

if TYPE_CHECKING:
    from .calls import Channel
    from .output import Notices


# Asks the host for the rest of the table, or of one server's part of it.
Fetch = Callable[[Optional[str]], Iterable[Entry]]

# Asks the host why a tool (tool_name) or a server (server) is not in the table.
Explain = Callable[[Dict[str, str]], Optional[str]]


class Catalogue:
    """Full names, short names and ``servers``, for the entries of one tool table.

    A large table comes as a selection: the tools that the program's source can
    name, and the names of all servers. The rest is fetched when something asks
    for more.
    """

    def __init__(
        self,
        entries: Iterable[Entry],
        reserved: Iterable[str],
        servers: Iterable[str] = (),
        fetch: Optional[Fetch] = None,
        explain: Explain = lambda about: None,
    ) -> None:
        self.by_name: Dict[str, Entry] = {}
        self.by_server: Dict[str, Dict[str, Entry]] = {server: {} for server in servers}
        self._partial = set(self.by_server)
        self._fetch = fetch
        self._explain = explain
        shorts: Dict[str, Optional[Entry]] = {}
        for entry in entries:
            name = entry["t"]
            self._add(entry)
            shorts[name] = None if name in shorts else entry
        taken = {*reserved, *self.by_name}
        # The short name of a tool that one server alone has and that hides
        # nothing. A selection holds all tools of a name that the source spells.
        self.by_short_name: Dict[str, Entry] = {
            name: entry
            for name, entry in shorts.items()
            if entry is not None and name not in taken and not _hides(name)
        }

    def _add(self, entry: Entry) -> None:
        if entry["n"] not in self.by_name:
            self.by_name[entry["n"]] = entry
            server = self.by_server.get(entry["s"])
            if server is None:
                server = self.by_server[entry["s"]] = {}
            server[entry["t"]] = entry

    @property
    def whole(self) -> bool:
        """Whether every tool is here."""
        return not self._partial

    def complete(self, server: Optional[str] = None) -> None:
        """Fetch what is missing of a server's tools, or of all."""
        if self._fetch is None or (server not in self._partial if server else self.whole):
            return
        for entry in self._fetch(server):
            self._add(entry)
        self._partial -= {server} if server else set(self._partial)

    def has(self, name: str) -> bool:
        """Tell whether there is a tool of this callable name."""
        if name not in self.by_name:
            self.complete()
        return name in self.by_name

    def has_tool(self, server: str, name: str) -> bool:
        """Tell whether the server, which must be known, has the tool."""
        if name not in self.by_server[server]:
            self.complete(server)
        return name in self.by_server[server]

    def why_no_tool(self, name: str) -> Optional[str]:
        """Return what the host knows of a tool that is not here, or of its server; None for nothing."""
        return self._explain({"tool_name": name})

    def why_no_server(self, server: str) -> Optional[str]:
        """Return what the host knows of a server that is not here; None for nothing."""
        return self._explain({"server": server})

    def nearest(self, name: str) -> List[str]:
        """Return the calls of up to three tools with a name like name."""
        self.complete()
        # Without the prefix, which makes all names alike.
        full = {known[len("mcp__") :]: entry for known, entry in self.by_name.items()}
        return [signature.usage(full[near]) for near in signature.nearest(name[len("mcp__") :], list(full))]


def _hides(name: str) -> bool:
    return name.startswith("__") or keyword.iskeyword(name) or name in builtins.__dict__


class _Namespace(types.ModuleType):
    """A module that gets its last members when they are asked for, and explains missing ones."""

    def __init__(
        self,
        name: str,
        doc: str,
        complete: Callable[[], None],
        explain: Callable[[str], Optional[str]],
        find_type: Callable[[str], Any] = lambda name: None,
    ) -> None:
        super().__init__(name, doc)
        self.__path__: List[str] = []
        self.__complete__ = complete
        self.__explain__ = explain
        self.__find_type__ = find_type

    def __dir__(self) -> List[str]:
        self.__complete__()
        return list(self.__dict__)

    def __getattr__(self, name: str) -> Any:
        if name == "__all__":
            return [word for word in dir(self) if not word.startswith("_")]
        if name.startswith("__"):
            raise AttributeError(name)
        known = [word for word in dir(self) if not word.startswith("__")]
        if name in known:
            return self.__dict__[name]
        found = self.__find_type__(name)
        if found is not None:
            self.__dict__[name] = found
            return found
        why = self.__explain__(name)
        if why is not None:
            raise AttributeError(f"{self.__name__} has no {name!r}: {why}")
        near = ", ".join(signature.nearest(name, known) or sorted(known)[:10]) or "nothing"
        raise AttributeError(f"{self.__name__} has no {name!r}; nearest: {near}")

    def __setattr__(self, name: str, value: Any) -> None:
        # What import does for a module servers.x.y must not hide the tool.
        if not isinstance(value, types.ModuleType) or name not in self.__dict__:
            super().__setattr__(name, value)


def _server_module(
    catalogue: Catalogue, server: str, channel: Channel, make: Callable[[Entry], Tool]
) -> _Namespace:
    def complete() -> None:
        catalogue.complete(server)
        for short, entry in catalogue.by_server[server].items():
            if short not in module.__dict__:
                module.__dict__[short] = make(entry)

    def find_type(name: str) -> Any:
        return stubs.find_type(catalogue.by_server[server], name, channel)

    def explain(name: str) -> Optional[str]:
        return catalogue.why_no_tool(f"mcp__{server}__{name}")

    module = _Namespace(f"servers.{server}", f"The tools of the server {server}.", complete, explain, find_type)
    return module


def install(
    catalogue: Catalogue, channel: Channel, notices: Notices, namespace: Dict[str, Any]
) -> None:
    """Put the tools into a program's globals and make ``servers`` importable."""
    for name in [name for name in sys.modules if name == "servers" or name.startswith("servers.")]:
        del sys.modules[name]
    servers = _Namespace(
        "servers", "The tools of every server: servers.<server>.<tool>", lambda: None, catalogue.why_no_server
    )
    servers.__dict__["ToolError"] = ToolError
    sys.modules["servers"] = servers
    for server, entries in catalogue.by_server.items():
        module = _server_module(catalogue, server, channel, lambda entry: Tool(entry, channel, notices))
        for short, entry in entries.items():
            tool = Tool(entry, channel, notices)
            module.__dict__[short] = namespace[entry["n"]] = tool
            if short in catalogue.by_short_name:
                namespace[short] = tool
        servers.__dict__[server] = sys.modules[module.__name__] = module
    stubs.Finder(catalogue, channel).install()
    namespace.update(servers=servers, ToolError=ToolError, ToolTimeoutError=ToolTimeoutError)
