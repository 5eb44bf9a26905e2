"""The life of the runner: boot, hello, then run after run until its input ends."""

from __future__ import annotations

import fcntl
import gc
import json
import os
import re
import resource
import sys
from typing import Any, Dict, Optional, Tuple

from . import failure, limits, output, patches, program, rehearsal, stubs
from .calls import Channel
from .catalogue import Catalogue, install
from .check import check
from .errors import ToolError
from .frames import EndOfInput, write_all
from .functions import NAMES, functions
from .tools import ToolCall

PROTOCOL = 1

# How long after hello a program comes if somebody waits for this sandbox: the
# host answers within a millisecond.
_PATIENCE = 0.004


def main(runner_hash: str) -> None:
    """Serve the channel on descriptors 0 and 1. Does not return."""
    frames_in, frames_out, printed = _take_descriptors()
    os.environ.clear()
    if hasattr(sys, "set_int_max_str_digits"):
        sys.set_int_max_str_digits(0)  # large integers are values like any other
    patches.apply()
    _keep_freed_memory()
    session = _Session(Channel(frames_in, frames_out), printed)
    session.say(
        {
            "type": "hello",
            "protocol": PROTOCOL,
            "python": ".".join(map(str, sys.version_info[:3])),
            "runner": runner_hash,
        }
    )
    session.rehearse_unless_wanted()
    # What is here now stays, so that no collection need look at it. None is
    # made until a program runs: reading a large start makes no garbage.
    gc.freeze()
    try:
        while True:
            session.run(session.channel.next_start())
            program.forget()
    except EndOfInput:
        os._exit(0)


def _take_descriptors() -> Tuple[int, int, int]:
    """Return copies of the channel's and the output's descriptors.

    The copies are high, so that a program that closes low descriptors does not
    hit them, and closed in children.
    """
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    lowest = max(3, (1024 if soft == resource.RLIM_INFINITY else min(soft, 1024)) - 16)
    moved = tuple(fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, lowest) for descriptor in range(3))
    for descriptor in moved:
        os.set_blocking(descriptor, True)
    return moved[0], moved[1], moved[2]


def _keep_freed_memory() -> None:
    """Have the C library use freed memory again, instead of giving it back at once.

    The first large block that glibc frees raises the size up to which it does
    (mallopt(3), M_MMAP_THRESHOLD). Its pages are never touched: bytes, unlike
    bytearray, leaves the zeros to the kernel. What is parsed of a large result
    then goes where its bytes were, which saves a third of the page faults.
    """
    bytes((32 << 20) - (64 << 10))


class _Session:
    def __init__(self, channel: Channel, printed: int) -> None:
        self.channel = channel
        self._printed = printed
        self._scratch = os.getcwd()
        self._tree = stubs.Tree()
        self._restore_descriptors()

    def say(self, frame: Dict[str, Any]) -> None:
        """Send a frame of the runner's own."""
        self.channel.send(json.dumps(frame, separators=(",", ":")).encode())

    def _restore_descriptors(self) -> None:
        """Make 0 /dev/null, and 1 and 2 the output, whatever an earlier program did to them."""
        null = os.open(os.devnull, os.O_RDWR)
        if null != 0:
            os.dup2(null, 0)
            os.close(null)
        os.set_inheritable(0, True)
        os.dup2(self._printed, 1)
        os.dup2(self._printed, 2)

    def rehearse_unless_wanted(self) -> None:
        """Run a program that nobody sees, unless a real one comes at once."""
        gc.disable()
        if self.channel.wait(_PATIENCE):
            return
        self._prepare(rehearsal.START)
        catalogue = self._catalogue(rehearsal.START)
        code, namespace, _ = self._load(rehearsal.START, catalogue, output.Notices(self._printed))
        program.run(code, namespace)
        self.channel.end()
        rehearsal.end()
        program.forget()

    def run(self, start: Dict[str, Any]) -> None:
        """Run one program and send done."""
        error = self._run(start)
        gc.disable()
        limits.lift_memory()
        output.flush_streams()
        self.channel.end()
        write_all(self._printed, bytes.fromhex(start["marker"]))
        self.say({"type": "done", "outcome": "error" if error else "ok", "error": error})

    def _run(self, start: Dict[str, Any]) -> Any:
        filename, bounds = start["filename"], start["limits"]
        self._prepare(start)
        catalogue = self._catalogue(start)
        notices = output.Notices(self._printed)
        code, namespace, flaw = self._load(start, catalogue, notices)
        if flaw:
            return flaw
        del start
        limits.apply(bounds["memory_bytes"], bounds["open_files"])
        gc.enable()
        error = program.run(code, namespace)
        if not self.channel.in_own_process:
            _end_fork(error, filename)
        limits.lift_memory()
        if isinstance(error, NameError):
            _explain_name(error, catalogue)
        described = failure.of_exception(error, filename) if error is not None else None
        for value in list(namespace.values()):
            if isinstance(value, ToolCall):
                value.warn_unless_awaited()
        program.run_exit_handlers()
        notices.end()
        return described

    def _catalogue(self, start: Dict[str, Any]) -> Catalogue:
        return Catalogue(start["tools"], NAMES, start["servers"] or (), self._fetch_tools, self._explain)

    def _load(
        self, start: Dict[str, Any], catalogue: Catalogue, notices: output.Notices
    ) -> Tuple[Any, Dict[str, Any], Any]:
        """Return a program's code and its globals, or else what is wrong with it."""
        source, filename, bounds = start["source"].lstrip("\ufeff"), start["filename"], start["limits"]
        self.channel.begin(bounds["open_calls"], bounds["frame_bytes"])
        try:
            tree = program.parse(source, filename)
            problems = check(tree, catalogue)
            if problems:
                return None, {}, failure.of_check(problems, filename, source)
            code = program.compile_tree(tree, filename)
        except program.COMPILE_ERRORS as flaw:
            return None, {}, failure.of_syntax(flaw, filename)
        namespace = program.new_main()
        install(catalogue, self.channel, notices, namespace)
        namespace.update(functions(catalogue, self.channel, notices, bounds["emit_bytes"]))
        if stubs.FOLDER in source:
            self._tree.plant(tree, catalogue, self.channel, notices)
        return code, namespace, None

    def _fetch_tools(self, server: Optional[str]) -> Any:
        """Ask the host for the table's rows, all or one server's."""
        arguments = {"server": server} if server else {}
        return self.channel.call_blocking("tool_table", json.dumps(arguments).encode())

    def _explain(self, about: Dict[str, str]) -> Optional[str]:
        """Ask the host why a tool or a server is not in the table; None when it has nothing to say."""
        try:
            why: Optional[str] = self.channel.call_blocking("tool_absence", json.dumps(about).encode())
        except ToolError:
            return None
        return why

    def _prepare(self, start: Dict[str, Any]) -> None:
        os.chdir(self._scratch)
        sys.argv = [start["filename"]]
        if self._scratch not in sys.path:
            sys.path.append(self._scratch)  # last: a file there hides no library module
        self._restore_descriptors()
        output.open_streams()
        patches.apply_to_source(start["source"], self._scratch)


def _explain_name(error: NameError, catalogue: Catalogue) -> None:
    """Say in the error what is known of a tool that was called by its short name and is not here."""
    named = re.match(r"name '(\w+)' is not defined", str(error))
    why = catalogue.why_no_tool(named[1]) if named else None
    if why is not None:
        error.args = (f"{error}; {why}",)


def _end_fork(error: Any, filename: str) -> None:
    """End a child that the program forked and let run to the program's end."""
    code = 0
    if isinstance(error, SystemExit):
        code = failure.exit_code(error)
    elif error is not None:
        code = 1
        print(failure.print_exception(error, filename), end="", file=sys.stderr)
    program.run_exit_handlers()
    output.flush_streams()
    os._exit(code)
