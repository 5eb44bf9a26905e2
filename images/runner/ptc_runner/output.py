"""The program's output: text streams that write straight through to a descriptor.

Nothing is kept in a buffer, so that whatever was printed before a kill is
already with the host, in order with what children and C code write.
"""

from __future__ import annotations

import builtins
import contextlib
import functools
import io
import sys
from typing import Any, Optional

from .frames import write_all

_builtin_print = builtins.print


class _Raw(io.FileIO):
    """A raw stream that never writes less than it was given."""

    def write(self, data: Any, /) -> int:
        view = memoryview(data).cast("B")
        write_all(self.fileno(), view)
        return len(view)


class _Text(io.TextIOWrapper):
    """A text stream without a buffer: one write, one system call."""

    def __init__(self, descriptor: int) -> None:
        raw: Any = _Raw(descriptor, "w", closefd=False)
        # backslashreplace: a lone surrogate is printable, whatever it is.
        super().__init__(raw, encoding="utf-8", errors="backslashreplace", write_through=True)
        self._descriptor = descriptor

    def write(self, text: str, /) -> int:
        data = str.encode(text, "utf-8", "backslashreplace")
        write_all(self._descriptor, data)
        return len(text)


@functools.wraps(_builtin_print)
def _print(
    *values: Any, sep: Optional[str] = " ", end: Optional[str] = "\n", file: Any = None, flush: bool = False
) -> None:
    """Print in one write, so that lines of several threads do not mix."""
    stream = sys.stdout if file is None else file
    if type(stream) is not _Text:
        _builtin_print(*values, sep=sep, end=end, file=file, flush=flush)
        return
    text = (" " if sep is None else sep).join(map(str, values))
    stream.write(text + ("\n" if end is None else end))


def open_streams() -> None:
    """Give the program a fresh print, sys.stdin, sys.stdout and sys.stderr."""
    nothing: Any = io.FileIO(0, closefd=False)
    sys.stdin = io.TextIOWrapper(nothing, encoding="utf-8")
    sys.stdout, sys.stderr = _Text(1), _Text(2)
    originals: Any = sys
    originals.__stdin__, originals.__stdout__, originals.__stderr__ = sys.stdin, sys.stdout, sys.stderr
    builtins.print = _print


def flush_streams() -> None:
    """Flush whatever the program has put in place of its streams."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):  # a closed or foreign stream is the program's affair
            stream.flush()


class Notices:
    """Lines of the runner's own in the output of one run."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._said: set[str] = set()
        self._ended = False

    def say_once(self, kind: str, text: str) -> None:
        """Write one line of warning unless one of its kind was written in this run."""
        if self._ended or kind in self._said:
            return
        self._said.add(kind)
        with contextlib.suppress(OSError):  # nobody reads the output any more
            write_all(self._descriptor, f"[warning: {text}]\n".encode("utf-8", "backslashreplace"))

    def end(self) -> None:
        """Say no more: the run has ended, and what it leaves behind concerns no other."""
        self._ended = True
