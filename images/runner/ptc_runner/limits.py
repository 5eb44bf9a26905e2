"""The runner's own resource limits, below the sandbox's.

They turn the end of a sandbox into an error inside the program. A program can
undo them; the sandbox's cannot be undone.
"""

from __future__ import annotations

import os
import resource

_HEADROOM = 16 << 20  # below the sandbox's memory limit
# Above what is in use already: memory that an earlier program has freed may
# still count.
_LEAST_ROOM = 16 << 20

# RLIMIT_DATA counts private writable memory. RLIMIT_AS would count address
# space, of which every thread reserves 70 to 140 MB without using it.
_MEMORY = resource.RLIMIT_DATA


def apply(memory_bytes: int, open_files: int) -> None:
    """Lower the soft limits; 0 leaves one as it is."""
    _lower(resource.RLIMIT_CORE, 0)
    if memory_bytes > 0:
        _lower(_MEMORY, max(memory_bytes - _HEADROOM, _data_in_use() + _LEAST_ROOM))
    if open_files > 0:
        _lower(resource.RLIMIT_NOFILE, open_files)


def lift_memory() -> None:
    """Give back the headroom, so that an error about memory can be reported."""
    hard = resource.getrlimit(_MEMORY)[1]
    try:
        resource.setrlimit(_MEMORY, (hard, hard))
    except (OSError, ValueError):
        pass


def _lower(kind: int, value: int) -> None:
    hard = resource.getrlimit(kind)[1]
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    try:
        resource.setrlimit(kind, (value, hard))
    except (OSError, ValueError):
        pass  # a platform without this limit


def _data_in_use() -> int:
    """Return the bytes RLIMIT_DATA counts now, or a guess where /proc is absent.

    Read as bytes, at once: a text file would have to import its codec, which is
    half of what a small program waits for.
    """
    try:
        status = os.open("/proc/self/status", os.O_RDONLY | os.O_CLOEXEC)
        try:
            _, found, rest = os.read(status, 8192).partition(b"VmData:")
        finally:
            os.close(status)
        if found:
            return int(rest.split(None, 1)[0]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    return 32 << 20
