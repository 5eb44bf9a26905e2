"""The functions beside the tools.

Those that the host itself answers (emit, list_callable_tools, inspect_tool,
server_status) work with and without ``await``, so their results are what they
should be and can be awaited as well. Those that go to servers, for resources
and prompts, are called like tools.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Callable, Dict, Generator, List

from .tools import Tool, ToolCall
from .values import Converter

if TYPE_CHECKING:
    from .calls import Channel
    from .catalogue import Catalogue
    from .output import Notices

_OFFERS: List[Dict[str, Any]] = [
    {
        "n": "list_resources",
        "p": ["server"],
        "d": "List the resources and resource templates of one server or of all, each an object with its server.",
    },
    {
        "n": "read_resource",
        "p": ["uri", "server"],
        "r": ["uri"],
        "d": "Return a resource's text (parsed if it is JSON), or its parts, with uri, mimeType and text or blob.",
    },
    {
        "n": "list_prompts",
        "p": ["server"],
        "d": "List the prompts of one server or of all, each an object with its server.",
    },
    {
        "n": "get_prompt",
        "p": ["name", "arguments", "server"],
        "r": ["name"],
        "d": "Return a prompt as an object with its messages.",
    },
]

NAMES = (
    *("emit", "list_callable_tools", "inspect_tool", "server_status"),
    *(entry["n"] for entry in _OFFERS),
    *("servers", "ToolError", "ToolTimeoutError"),
)


class _AwaitableDict(Dict[str, Any]):
    def __await__(self) -> Generator[Any, None, Dict[str, Any]]:
        return self
        yield


class _AwaitableList(List[str]):
    def __await__(self) -> Generator[Any, None, List[str]]:
        return self
        yield


class _Done:
    """What emit returns: nothing, but it may be awaited."""

    def __await__(self) -> Generator[Any, None, None]:
        return None
        yield


def functions(
    catalogue: Catalogue, channel: Channel, notices: Notices, emit_limit: int
) -> Dict[str, Callable[..., Any]]:
    """Make the functions of one run."""

    def emit(value: Any) -> _Done:
        """Return a JSON value to the caller beside the output. The last call wins."""
        encoded = Converter("value", notices.say_once).encode(value)
        if len(encoded) > emit_limit:
            raise ValueError(
                f"emit: {len(encoded)} bytes are over the limit of {emit_limit}: emit a summary of the value"
            )
        channel.emit(encoded)
        return _Done()

    def list_callable_tools() -> List[str]:
        """Return the names of all tools, sorted."""
        if catalogue.whole:
            return _AwaitableList(sorted(catalogue.by_name))
        return _AwaitableList(channel.call_blocking("list_callable_tools", b"{}"))

    def inspect_tool(tool_name: Any) -> Dict[str, Any]:
        """Return a tool's name, description, inputSchema and outputSchema."""
        if isinstance(tool_name, dict) and len(tool_name) == 1:
            (tool_name,) = tool_name.values()
        name = tool_name.__name__ if isinstance(tool_name, (Tool, ToolCall)) else str(tool_name)
        return _AwaitableDict(channel.call_blocking("inspect_tool", json.dumps({"tool_name": name}).encode()))

    def server_status() -> Dict[str, Any]:
        """Return ``{server: {"connected": …, "tools": …, "error": …}}``."""
        return _AwaitableDict(channel.call_blocking("server_status", b"{}"))

    made: List[Any] = [emit, list_callable_tools, inspect_tool, server_status]
    for function in made:
        function.__module__, function.__qualname__ = "__main__", function.__name__
    made.extend(Tool({**entry, "c": True}, channel, notices) for entry in _OFFERS)
    return {function.__name__: function for function in made}
