"""A small program that the runner runs for itself while it waits for the first one.

What a first run finds untouched it has to pay for: pages of a forked
interpreter to copy, code never run, tables never filled. In a sandbox that
waits, that is done before anybody asks.
"""

from __future__ import annotations

import asyncio
import linecache
from typing import Any, Dict

_SOURCE = """\
import json
async def main():
    return await mcp__rehearsal__tool(text=f"{json.dumps([1])}")
print(end="")
"""

# Like a frame from the host (docs/channel.md). Limits of 0 change none.
START: Dict[str, Any] = {
    "source": _SOURCE,
    "filename": "<rehearsal>",
    "tools": [{"n": "mcp__rehearsal__tool", "s": "rehearsal", "t": "tool", "p": ["text"], "r": ["text"]}],
    "servers": None,
    "limits": {"open_calls": 1, "frame_bytes": 1 << 20, "emit_bytes": 1 << 20, "memory_bytes": 0, "open_files": 0},
}


def end() -> None:
    """Use an event loop once, and leave no trace of the rehearsal.

    The loop is not set: asyncio.get_event_loop() shall still make one.
    """
    loop = asyncio.new_event_loop()
    try:
        loop.run_until_complete(asyncio.sleep(0))
    finally:
        loop.close()
    linecache.cache.pop(START["filename"], None)
