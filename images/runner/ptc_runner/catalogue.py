"""The tools of one run by every name a program may use for them."""

from __future__ import annotations

import builtins
import keyword
import sys
import types
from typing import TYPE_CHECKING, Any, Dict, Iterable, List, Optional

from . import signature
from .errors import ToolError, ToolTimeoutError
from .signature import Entry
from .tools import Tool

if TYPE_CHECKING:
    from .calls import Channel
    from .output import Notices


class Catalogue:
    """Full names, short names and ``servers``, for the entries of one tool table."""

    def __init__(self, entries: Iterable[Entry], reserved: Iterable[str]) -> None:
        self.by_name: Dict[str, Entry] = {}
        self.by_server: Dict[str, Dict[str, Entry]] = {}
        shorts: Dict[str, Optional[Entry]] = {}
        for entry in entries:
            name = entry["t"]
            self.by_name[entry["n"]] = entry
            server = self.by_server.get(entry["s"])
            if server is None:
                server = self.by_server[entry["s"]] = {}
            server[name] = entry
            shorts[name] = None if name in shorts else entry
        taken = {*reserved, *self.by_name}
        # The short name of a tool that one server alone has and that hides nothing.
        self.by_short_name: Dict[str, Entry] = {
            name: entry
            for name, entry in shorts.items()
            if entry is not None and name not in taken and not _hides(name)
        }

    def find(self, name: str) -> Optional[Entry]:
        """Find a tool by any spelling: callable, short or original name, ``-`` or ``_``."""
        entry = self.by_name.get(name) or self.by_short_name.get(name)
        if entry is not None:
            return entry
        wanted = signature.plain(name)
        for entry in self.by_name.values():
            if wanted in spellings(entry):
                return entry
        return None

    def nearest(self, name: str) -> List[str]:
        """Return the calls of up to three tools with a name like name."""
        # Without the prefix, which makes all names alike.
        full = {known[len("mcp__") :]: entry for known, entry in self.by_name.items()}
        return [signature.usage(full[near]) for near in signature.nearest(name[len("mcp__") :], list(full))]


def spellings(entry: Entry) -> List[str]:
    """Return the spellings of a tool's full name, reduced to what ``plain`` leaves of them."""
    found = [signature.plain(entry["n"]), signature.plain(f"{entry['s']}.{entry['t']}")]
    if "a" in entry:
        server, name = entry["a"]
        found.append(signature.plain(f"mcp__{server}__{name}"))
        found.append(signature.plain(f"{server}.{name}"))
    return found


def _hides(name: str) -> bool:
    return name.startswith("__") or keyword.iskeyword(name) or name in builtins.__dict__


class _Namespace(types.ModuleType):
    """A module whose missing attributes are explained."""

    def __init__(self, name: str, doc: str) -> None:
        super().__init__(name, doc)
        self.__path__: List[str] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        known = [word for word in self.__dict__ if not word.startswith("__")]
        near = ", ".join(signature.nearest(name, known) or sorted(known)[:10]) or "nothing"
        raise AttributeError(f"{self.__name__} has no {name!r}; nearest: {near}")


def install(
    catalogue: Catalogue, channel: Channel, notices: Notices, namespace: Dict[str, Any]
) -> None:
    """Put the tools into a program's globals and make ``servers`` importable."""
    for name in [name for name in sys.modules if name == "servers" or name.startswith("servers.")]:
        del sys.modules[name]
    servers = _Namespace("servers", "The tools of every server: servers.<server>.<tool>")
    servers.__dict__["ToolError"] = ToolError
    sys.modules["servers"] = servers
    for server, entries in catalogue.by_server.items():
        module = _Namespace(f"servers.{server}", f"The tools of the server {server}.")
        for short, entry in entries.items():
            tool = Tool(entry, channel, notices)
            module.__dict__[short] = namespace[entry["n"]] = tool
            if short in catalogue.by_short_name:
                namespace[short] = tool
        servers.__dict__[server] = sys.modules[module.__name__] = module
    namespace.update(servers=servers, ToolError=ToolError, ToolTimeoutError=ToolTimeoutError)
