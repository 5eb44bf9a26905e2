"""What a program calls: tools, the coroutines their calls return, and ``servers``."""

from __future__ import annotations

import asyncio
import collections.abc
import inspect
from typing import TYPE_CHECKING, Any, Coroutine, Generator, NoReturn, Optional

from . import signature, stubs
from .signature import Entry
from .values import Converter

if TYPE_CHECKING:
    from .calls import Channel
    from .output import Notices


class ToolCall(collections.abc.Coroutine):  # type: ignore[type-arg]
    """One call of a tool. It is made when it is first awaited, like any coroutine.

    Every other use is a forgotten ``await`` and says so.
    """

    __slots__ = ("_tool", "_arguments", "_inner", "__weakref__")

    def __init__(self, tool: Tool, arguments: bytes) -> None:
        self._tool = tool
        self._arguments = arguments
        self._inner: Optional[Coroutine[Any, Any, Any]] = None

    def _start(self) -> Coroutine[Any, Any, Any]:
        if self._inner is None:
            tool = self._tool
            self._inner = tool._channel.call(tool.__name__, self._arguments)
        return self._inner

    def __await__(self) -> Generator[Any, Any, Any]:
        return self._start().__await__()

    def send(self, value: Any) -> Any:
        return self._start().send(value)

    def throw(self, *error: Any) -> Any:
        return self._start().throw(*error)

    def close(self) -> None:
        self._start().close()

    @property
    def __name__(self) -> str:  # type: ignore[override]
        return self._tool.__name__

    def warn_unless_awaited(self) -> None:
        """Say that the call was never made, once a run."""
        if self._inner is None and self._tool._channel.in_own_process:
            name = self._tool.__name__
            text = f"{name}(...) was not awaited, so it was not called: write `await {name}(...)`"
            self._tool._notices.say_once("await", text)

    __del__ = warn_unless_awaited

    def _misused(self, *_: Any) -> NoReturn:
        self.close()  # said once is enough
        raise TypeError(f"missing await: write `x = await {self._tool.__name__}(...)` and use x")

    __getitem__ = __setitem__ = __contains__ = __iter__ = __len__ = __bool__ = _misused
    __str__ = __format__ = __int__ = __float__ = __index__ = __bytes__ = _misused
    __add__ = __radd__ = __sub__ = __mul__ = __mod__ = __or__ = __and__ = _misused
    __lt__ = __le__ = __gt__ = __ge__ = __call__ = __enter__ = __aenter__ = __aiter__ = __reversed__ = _misused

    def __eq__(self, other: object) -> bool:
        if isinstance(other, ToolCall):
            return self is other
        self._misused()

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"<call of {self._tool.__name__}: missing await>"

    def __getattr__(self, name: str) -> str:
        if name == "__qualname__":
            return self.__name__
        # Names such as cr_frame are how asyncio and inspect look at coroutines.
        if name.startswith(("_", "cr_", "gi_", "ag_")):
            raise AttributeError(name)
        self._misused()


class Tool:
    """One callable tool. Thousands are made at the start of a run, so all else is computed on demand."""

    __slots__ = ("_entry", "_channel", "_notices", "__weakref__")

    # How asyncio (to 3.13) and inspect (from 3.12) recognise coroutine functions.
    _is_coroutine = getattr(asyncio.coroutines, "_is_coroutine", None)
    _is_coroutine_mark = _is_coroutine_marker = getattr(inspect, "_is_coroutine_mark", None)

    def __init__(self, entry: Entry, channel: Channel, notices: Notices) -> None:
        self._entry = entry
        self._channel = channel
        self._notices = notices

    def __call__(self, /, *args: Any, **kwargs: Any) -> ToolCall:
        arguments = signature.bind(self._entry, args, kwargs)
        return ToolCall(self, Converter("arguments", self._notices.say_once).encode(arguments))

    @property
    def __name__(self) -> str:
        return str(self._entry["n"])

    def __getattr__(self, name: str) -> Any:
        if name == "__qualname__":
            return self.__name__
        if name in ("__annotations__", "__globals__"):
            value = stubs.attribute(self._entry, self._channel, name)
            if value is not None:
                return value
        raise AttributeError(f"{self!r} has no attribute {name!r}")

    @property
    def __signature__(self) -> inspect.Signature:
        return stubs.typed_signature(self._entry, self._channel)

    @property
    def __doc__(self) -> str:  # type: ignore[override]
        return stubs.documentation(self._entry, self._channel)

    def __repr__(self) -> str:
        return f"<tool {signature.usage(self._entry)}>"
