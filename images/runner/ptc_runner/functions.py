"""The functions beside the tools.

Those that the host itself answers (emit, list_callable_tools, search_tools,
inspect_tool, server_status) work with and without ``await``, so their results are what they
should be and can be awaited as well. Those that go to servers, for resources
and prompts, are called like tools.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Callable, Dict, Generator, List, Optional, cast

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
    *("emit", "list_callable_tools", "search_tools", "inspect_tool", "server_status"),
    *(entry["n"] for entry in _OFFERS),
    *("servers", "ToolError", "ToolTimeoutError"),
)


class _AwaitableDict(Dict[str, Any]):
    def __await__(self) -> Generator[Any, None, Dict[str, Any]]:
        return self
        yield


class _AwaitableList(List[Any]):
    def __await__(self) -> Generator[Any, None, List[Any]]:
        return self
        yield


class _AwaitableStr(str):
    def __await__(self) -> Generator[Any, None, str]:
        return str(self)
        yield


class _Done:
    """What emit returns: nothing, but it may be awaited."""

    def __await__(self) -> Generator[Any, None, None]:
        return None
        yield


def _unless(default: str, value: str) -> Optional[str]:
    return None if value == default else value


def _name(tool: Any) -> str:
    return tool.__name__ if isinstance(tool, (Tool, ToolCall)) else str(tool)


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

    def ask(function: str, **arguments: Any) -> Any:
        given = {name: value for name, value in arguments.items() if value is not None}
        value = channel.call_blocking(function, json.dumps(given).encode())
        if isinstance(value, str):
            return _AwaitableStr(value)
        return _AwaitableList(value) if isinstance(value, list) else _AwaitableDict(value)

    def list_callable_tools(server: Optional[str] = None, detail: str = "names") -> List[Any]:
        """Return the names of all tools or of one server's, sorted; with detail="signatures" objects."""
        if isinstance(server, dict):  # the arguments as the API's programs pass them
            return list_callable_tools(**server)
        if server is None and detail == "names" and catalogue.whole:
            return _AwaitableList(sorted(catalogue.by_name))
        return cast(List[Any], ask("list_callable_tools", server=server, detail=_unless("names", detail)))

    def search_tools(query: Any, limit: Optional[int] = None, server: Optional[str] = None) -> Dict[str, Any]:
        """Return the tools that fit a few words best, each with name, signature and description."""
        if isinstance(query, dict):
            return search_tools(**query)
        return cast(Dict[str, Any], ask("search_tools", query=query, limit=limit, server=server))

    def inspect_tool(tool_name: Any, format: str = "json") -> Any:  # noqa: A002
        """Return a tool's name, description, inputSchema and outputSchema, or its Python; of several a list."""
        if isinstance(tool_name, dict):
            if len(tool_name) > 1:
                return inspect_tool(**tool_name)
            (tool_name,) = tool_name.values()
        several = isinstance(tool_name, (list, tuple, set))
        names = [_name(tool) for tool in (tool_name if several else [tool_name])]
        return ask("inspect_tool", tool_name=names if several else names[0], format=_unless("json", format))

    def server_status() -> Dict[str, Any]:
        """Return ``{server: {"connected": …, "tools": …, "error": …}}``."""
        return cast(Dict[str, Any], ask("server_status"))

    made: List[Any] = [emit, list_callable_tools, search_tools, inspect_tool, server_status]
    for function in made:
        function.__module__, function.__qualname__ = "__main__", function.__name__
    made.extend(Tool({**entry, "c": True}, channel, notices) for entry in _OFFERS)
    return {function.__name__: function for function in made}
