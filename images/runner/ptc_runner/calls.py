"""Tool calls in flight: ids, waiting, and who reads the answers.

Answers are read without a thread where that is possible: the one event loop
that makes calls watches the descriptor itself. As soon as a second loop or
thread makes calls, a reader thread takes over, for good, and serves them all.
"""

from __future__ import annotations

import asyncio
import collections
import gc
import json
import os
import queue
import re
import select
import threading
from typing import Any, Deque, Dict, List, Optional

from .errors import tool_error
from .frames import EndOfInput, FrameReader, Payload, Truncated, frame, write_all

_scan: Any = json.JSONDecoder().scan_once  # type: ignore[attr-defined]
_LARGE = 1 << 16
_ID = re.compile(rb'"id"\s*:\s*(\d+)')


class _Answer:
    """What a thread that blocks for one answer waits on; shaped like a future."""

    def __init__(self) -> None:
        self._ready = threading.Event()
        self._value: Any = None
        self._error: Optional[BaseException] = None

    def done(self) -> bool:
        return self._ready.is_set()

    def set_result(self, value: Any) -> None:
        self._value = value
        self._ready.set()

    def set_exception(self, error: BaseException) -> None:
        self._error = error
        self._ready.set()

    def wait(self) -> None:
        self._ready.wait()

    def result(self) -> Any:
        if self._error is not None:
            raise self._error
        return self._value


class _Call:
    """One call, made or waiting to be made."""

    __slots__ = ("tool", "arguments", "loop", "future", "number")

    def __init__(
        self, tool: str, arguments: bytes, loop: Optional[asyncio.AbstractEventLoop], future: Any
    ) -> None:
        self.tool = tool
        self.arguments = arguments
        self.loop = loop
        self.future = future
        self.number = 0  # until it is made


class Channel:
    """The runner's end of the channel. Calls may come from any thread or loop."""

    def __init__(self, descriptor_in: int, descriptor_out: int) -> None:
        self._in = descriptor_in
        self._out = descriptor_out
        self._reader = FrameReader(descriptor_in)
        self._reading = threading.Lock()
        self._lock = threading.RLock()  # all that follows, and writing
        self._open: Dict[int, _Call] = {}
        self._waiting: Deque[_Call] = collections.deque()
        self._outgoing: List[bytes] = []
        self._last_id = 0
        self._running = False
        self._open_limit = 1
        self._frame_limit = 1 << 20
        # Who reads: the loop that watches the descriptor, the thread that
        # blocks on it for one answer, or the reader thread.
        self._watcher: Optional[asyncio.AbstractEventLoop] = None
        self._blocked: Optional[int] = None
        self._threaded = False
        self._starts: queue.SimpleQueue[Optional[Dict[str, Any]]] = queue.SimpleQueue()
        self.in_own_process = True  # False in a child that the program forked
        os.register_at_fork(after_in_child=self._forked)

    # The runner's side.

    def send(self, payload: bytes) -> None:
        """Write one frame."""
        with self._lock:
            self._outgoing.append(frame(payload))
            self._flush()

    def wait(self, seconds: float) -> bool:
        """Wait for something to read, and tell whether there is."""
        poll = select.poll()
        poll.register(self._in, select.POLLIN)
        return bool(poll.poll(seconds * 1000))

    def next_start(self) -> Dict[str, Any]:
        """Block until the host starts a run, or raise EndOfInput."""
        while self._starts.empty() and not self._threaded:
            self._receive()
        start = self._starts.get()
        if start is None:
            raise EndOfInput
        return start

    def begin(self, open_limit: int, frame_limit: int) -> None:
        """Let calls be made. Ids go on from run to run: a late answer finds nobody."""
        with self._lock:
            self._open_limit = max(1, open_limit)
            self._frame_limit = frame_limit
            self._running = True

    def end(self) -> None:
        """Refuse calls from now on and forget those in flight."""
        with self._lock:
            self._running = False
            self._open.clear()
            self._waiting.clear()
            self._outgoing.clear()
            self._watcher = None

    def _forked(self) -> None:
        self.in_own_process = False
        os.close(self._in)
        os.close(self._out)

    # The program's side.

    async def call(self, tool: str, arguments: bytes) -> Any:
        """Call a tool with its arguments as JSON and return its value, or raise its error."""
        loop = asyncio.get_running_loop()
        future = loop.create_future()
        call = _Call(tool, arguments, loop, future)
        self._submit(call)
        try:
            return await future
        except asyncio.CancelledError:
            self._give_up(call)
            raise

    def call_blocking(self, tool: str, arguments: bytes) -> Any:
        """Do the same from code that cannot await; a running loop stands still meanwhile."""
        answer = _Answer()
        self._submit(_Call(tool, arguments, None, answer))
        try:
            while not answer.done():
                if self._threaded:
                    answer.wait()
                else:
                    self._receive()
        finally:
            self._blocked = None
        return answer.result()

    def emit(self, value: bytes) -> None:
        """Send the program's result."""
        self._check("emit", len(value))
        self.send(b'{"type":"emit","value":%b}' % value)

    def _check(self, tool: str, size: int) -> None:
        if not self.in_own_process:
            raise tool_error(f"{tool}: only the program's first process can do this", tool, "cancelled")
        if not self._running:
            raise tool_error(f"{tool}: the program has ended", tool, "cancelled")
        if size > self._frame_limit - 1024:
            raise tool_error(
                f"{tool}: {size} bytes are more than the {self._frame_limit - 1024} that can be sent: send less",
                tool,
                "invalid_argument",
            )

    def _submit(self, call: _Call) -> None:
        with self._lock:
            self._check(call.tool, len(call.arguments))
            loop = call.loop
            if not self._threaded and (loop is not self._watcher or loop is None or self._blocked is not None):
                self._find_reader(loop)
            if len(self._open) < self._open_limit:
                self._make(call)
            else:
                self._waiting.append(call)
            if loop is None:
                self._flush()

    def _make(self, call: _Call) -> None:
        self._last_id = number = call.number = self._last_id + 1
        self._open[number] = call
        text = b'{"type":"call","id":%d,"tool":"%b","arguments":%b}' % (number, call.tool.encode(), call.arguments)
        outgoing = self._outgoing
        outgoing.append(len(text).to_bytes(4, "big"))
        outgoing.append(text)
        # A write costs more than all the rest of a call. A lone call is written
        # at once; of many, all that the loop makes in one turn go together.
        if len(self._open) == 1 or call.loop is not self._watcher or self._threaded or self._blocked:
            self._flush()
        elif call.loop is not None and len(outgoing) == 2:
            call.loop.call_soon(self._flush)

    def _give_up(self, call: _Call) -> None:
        """Tell the host that nobody waits for a call any more. Its answer still comes."""
        with self._lock:
            if self._running and call.number in self._open:
                self._outgoing.append(frame(b'{"type":"cancel","id":%d}' % call.number))
                self._flush()

    def _flush(self) -> None:
        with self._lock:
            if self._outgoing:
                data = b"".join(self._outgoing)
                self._outgoing.clear()
                write_all(self._out, data)

    # Who reads.

    def _find_reader(self, loop: Optional[asyncio.AbstractEventLoop]) -> None:
        watcher = self._watcher
        if watcher is not None and watcher.is_closed():
            watcher = self._watcher = None
        if loop is None:
            if self._blocked is None and (watcher is None or watcher is asyncio._get_running_loop()):
                self._blocked = threading.get_ident()
            else:
                self._start_thread()
        elif watcher is None and self._blocked is None:
            try:
                loop.add_reader(self._in, self._readable, loop)
                self._watcher = loop
            except NotImplementedError:
                self._start_thread()
        elif watcher is not loop or self._blocked is not None:
            self._start_thread()

    def _start_thread(self) -> None:
        self._threaded = True
        threading.Thread(target=self._read_always, name="ptc-channel", daemon=True).start()

    def _read_always(self) -> None:
        try:
            while True:
                self._receive()
        except EndOfInput:
            self._starts.put(None)
            if self._running:
                os._exit(1)  # the host is gone: nobody will ever answer

    def _readable(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._threaded or self._watcher is not loop:
            loop.remove_reader(self._in)
            return
        try:
            self._receive()
        except EndOfInput:
            os._exit(1)

    # What is read.

    def _receive(self) -> None:
        with self._reading:
            frames = self._reader.read()
        while frames:
            self._dispatch(frames.pop(0))

    def _dispatch(self, payload: Payload) -> None:
        head = payload[:256]
        try:
            if isinstance(payload, Truncated):
                raise MemoryError
            text = str(payload, "utf-8")
            del payload  # its memory is where the value can go
            message = _parse(text)
        except (ValueError, RecursionError, MemoryError) as error:
            self._deliver_unreadable(head, error)
            return
        kind = message["type"]
        if kind == "result":
            self._deliver(message["id"], message["value"])
        elif kind == "error":
            self._deliver(message["id"], None, message)
        elif kind == "start":
            self._starts.put(message)

    def _deliver_unreadable(self, head: Payload, error: BaseException) -> None:
        found = _ID.search(head)
        if found is None:
            raise error
        if isinstance(error, MemoryError):
            self._deliver(int(found[1]), None, MemoryError("the result does not fit into memory"))
            return
        cause = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        failure = {"message": f"the result cannot be read: {cause}", "kind": "invalid_result"}
        self._deliver(int(found[1]), None, failure)

    def _deliver(self, number: int, value: Any, failure: Any = None) -> None:
        with self._lock:
            call = self._open.pop(number, None)
            while self._waiting and len(self._open) < self._open_limit:
                following = self._waiting.popleft()
                if not following.future.done():
                    self._make(following)
        if call is None:
            return
        if failure is not None and isinstance(failure, dict):
            failure = tool_error(
                failure["message"], call.tool, failure["kind"], failure.get("retryable", False)
            )
        if call.loop is None or (call.loop is self._watcher and not self._threaded):
            _settle(call.future, value, failure)
            return
        try:
            call.loop.call_soon_threadsafe(_settle, call.future, value, failure)
        except RuntimeError:
            pass  # the loop was closed: nobody waits any more


def _parse(text: str) -> Any:
    if len(text) < _LARGE or not gc.isenabled():
        return _scan_whole(text)
    # Everything decoded is kept, so looking for garbage meanwhile is in vain.
    gc.disable()
    try:
        return _scan_whole(text)
    finally:
        gc.enable()


def _scan_whole(text: str) -> Any:
    try:
        return _scan(text, 0)[0]
    except StopIteration:
        raise ValueError("no JSON value") from None


def _settle(future: Any, value: Any, failure: Optional[BaseException]) -> None:
    """Hand over an answer, unless whoever waited has given up."""
    if future.done():
        return
    if failure is None:
        future.set_result(value)
    else:
        future.set_exception(failure)
