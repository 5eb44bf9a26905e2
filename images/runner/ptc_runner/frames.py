"""Frames of the channel: a 4-byte big-endian length, then one JSON object.

This module knows bytes and descriptors, and nothing of what a frame means.
"""

from __future__ import annotations

import os
import select
from typing import List, Union

_CHUNK = 1 << 16  # what a pipe holds; larger frames are read into one buffer

Payload = Union[bytes, bytearray]


class Truncated(bytes):
    """The start of a frame that did not fit into memory; the rest is gone."""


class EndOfInput(Exception):
    """The host has closed the channel."""


class FrameReader:
    """Cuts what arrives on a descriptor into frames. Not for two threads at once."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._rest: bytes = b""

    def read(self) -> List[Payload]:
        """Wait for bytes and return the frames they complete, perhaps none."""
        chunk = os.read(self._descriptor, _CHUNK)
        if not chunk:
            raise EndOfInput
        data = self._rest + chunk if self._rest else chunk
        frames: List[Payload] = []
        start, size = 0, len(data)
        while size - start >= 4:
            length = int.from_bytes(data[start : start + 4], "big")
            start += 4
            if start + length <= size:
                frames.append(data[start : start + length])
                start += length
            elif length > _CHUNK:
                frames.append(self._read_large(data[start:], length))
                start = size
            else:
                start -= 4
                break
        self._rest = data[start:]
        return frames

    def _read_large(self, head: bytes, length: int) -> Payload:
        try:
            body = bytearray(length)
        except MemoryError:
            self._discard(length - len(head))
            return Truncated(head)
        body[: len(head)] = head
        view, filled = memoryview(body), len(head)
        while filled < length:
            count = os.readv(self._descriptor, [view[filled:]])
            if not count:
                raise EndOfInput
            filled += count
        return body

    def _discard(self, count: int) -> None:
        while count:
            chunk = os.read(self._descriptor, min(count, _CHUNK))
            if not chunk:
                raise EndOfInput
            count -= len(chunk)


def write_all(descriptor: int, data: Union[Payload, memoryview]) -> None:
    """Write every byte, also when a signal or a full non-blocking pipe interferes."""
    written = 0
    while True:
        try:
            written += os.write(descriptor, memoryview(data)[written:] if written else data)
            if written >= len(data):
                return
        except BlockingIOError:
            poll = select.poll()
            poll.register(descriptor, select.POLLOUT)
            poll.poll()


def frame(payload: bytes) -> bytes:
    """Return a payload as a frame."""
    return len(payload).to_bytes(4, "big") + payload
