"""The program's output: text streams that write straight through to a descriptor.

Nothing is kept in a buffer, so that whatever was printed before a kill is
already with the host, in order with what children and C code write.
"""

from __future__ import annotations

import io
import os
import sys
from typing import Any

from .frames import write_all


class _Descriptor(io.FileIO):
    """A raw stream that never writes less than it was given."""

    def write(self, data: Any, /) -> int:
        view = memoryview(data).cast("B")
        written = os.write(self.fileno(), view)
        if written < len(view):
            write_all(self.fileno(), view[written:])
        return len(view)


def _text(descriptor: int) -> io.TextIOWrapper:
    raw = _Descriptor(descriptor, "w", closefd=False)
    # backslashreplace: a lone surrogate is printable, whatever it is.
    return io.TextIOWrapper(
        raw, encoding="utf-8", errors="backslashreplace", write_through=True  # type: ignore[arg-type]
    )


def open_streams() -> None:
    """Give the program fresh sys.stdin, sys.stdout and sys.stderr."""
    sys.stdin = sys.__stdin__ = io.TextIOWrapper(io.FileIO(0, closefd=False), encoding="utf-8")  # type: ignore[arg-type,misc]
    sys.stdout = sys.__stdout__ = _text(1)  # type: ignore[misc]
    sys.stderr = sys.__stderr__ = _text(2)  # type: ignore[misc]


def flush_streams() -> None:
    """Flush whatever the program has put in place of its streams."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:  # noqa: S110 - a closed or foreign stream is the program's affair
            pass


class Notices:
    """Lines of the runner's own in the program's output."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._said: set[str] = set()

    def say(self, text: str) -> None:
        """Write one line of warning."""
        try:
            write_all(self._descriptor, f"[warning: {text}]\n".encode("utf-8", "backslashreplace"))
        except OSError:
            pass  # nobody reads the output any more

    def say_once(self, kind: str, text: str) -> None:
        """Write the line unless one of its kind was written in this run."""
        if kind not in self._said:
            self._said.add(kind)
            self.say(text)

    def reset(self) -> None:
        """Begin a new run."""
        self._said.clear()
