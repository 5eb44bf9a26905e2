"""What a program calls: tools, the coroutines their calls return, and ``servers``."""

from __future__ import annotations

import asyncio
import collections.abc
import inspect
from typing import TYPE_CHECKING, Any, Callable, Generator, NoReturn, Optional

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

    # send and throw are the inner coroutine's own, which spares the steps of a
    # task two calls each.
    __slots__ = ("_tool", "_inner", "_awaited", "send", "throw", "__weakref__")
    send: Any
    throw: Any

    def __init__(self, tool: Tool, arguments: bytes) -> None:
        self._tool = tool
        self._inner: Any = tool._channel.call(tool.__name__, arguments)
        self._awaited = False
        self.send = self._inner.send
        self.throw = self._inner.throw

    def __await__(self) -> Generator[Any, Any, Any]:
        self._awaited = True
        return self._inner.__await__()  # type: ignore[no-any-return]

    def close(self) -> None:
        self._inner.close()

    @property
    def __name__(self) -> str:  # type: ignore[override]
        return self._tool.__name__

    def warn_unless_awaited(self) -> None:
        """Say that the call was never made, once a run."""
        inner = self._inner
        if self._awaited or inner.cr_frame is None or inspect.getcoroutinestate(inner) != inspect.CORO_CREATED:
            return
        inner.close()  # or Python would warn too
        if self._tool._channel.in_own_process:
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
    """One callable tool. Thousands may be made at the start of a run, so all else is computed on demand."""

    __slots__ = ("_entry", "_channel", "_notices", "_encode", "_known", "_required", "__weakref__")

    # How asyncio (to 3.13) and inspect (from 3.12) recognise coroutine functions.
    _is_coroutine = getattr(asyncio.coroutines, "_is_coroutine", None)
    _is_coroutine_mark = _is_coroutine_marker = getattr(inspect, "_is_coroutine_mark", None)

    def __init__(self, entry: Entry, channel: Channel, notices: Notices) -> None:
        self._entry = entry
        self._channel = channel
        self._notices = notices
        self._encode: Optional[Callable[[Any], bytes]] = None

    def __call__(self, /, *args: Any, **kwargs: Any) -> ToolCall:
        encode = self._encode or self._prepare()
        # The usual call needs no binding: keywords spelled like the parameters.
        if args or not self._required <= kwargs.keys() <= self._known:
            kwargs = signature.bind(self._entry, args, kwargs)
        return ToolCall(self, encode(kwargs))

    def _prepare(self) -> Callable[[Any], bytes]:
        self._known = frozenset(self._entry["p"])
        self._required = frozenset(self._entry.get("r", ()))
        self._encode = Converter("arguments", self._notices.say_once).encode
        return self._encode

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
