"""A small host for tests: boots the real bundle in a subprocess and speaks the channel."""

from __future__ import annotations

import hashlib
import json
import os
import re
import select
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional

RUNNER = Path(__file__).resolve().parent.parent
if hasattr(sys, "set_int_max_str_digits"):
    sys.set_int_max_str_digits(0)

TIMEOUT_SECONDS = float(os.environ.get("RUNNER_TEST_TIMEOUT", "60"))
MARKER = "00112233445566778899aabbccddeeff"
LIMITS = {"frame_bytes": 64 << 20, "emit_bytes": 1 << 20, "open_calls": 8, "memory_bytes": 0, "open_files": 0}


def modules() -> List[Path]:
    """Return the files of the package in the order embed.go takes them."""
    return sorted((RUNNER / "ptc_runner").glob("*.py"), key=lambda path: str(path.name))


def runner_hash() -> str:
    """Compute what embed.go's Hash does."""
    digest = hashlib.sha256()
    for path in modules():
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def bundle() -> str:
    """Build what embed.go's bundle does."""
    sources = {
        "ptc_runner" if path.stem == "__init__" else f"ptc_runner.{path.stem}": path.read_text("utf-8")
        for path in modules()
    }
    return (RUNNER / "loader.py").read_text("utf-8") + f"\n\nboot({runner_hash()!r}, {sources!a})\n"


def tool(server: str, name: str, *parameters: str, required: Optional[List[str]] = None, **more: Any) -> Dict[str, Any]:
    """Make an entry of the tool table; all parameters are required unless said otherwise."""
    entry: Dict[str, Any] = {"n": f"mcp__{server}__{name}", "s": server, "t": name, "p": list(parameters)}
    entry["r"] = list(parameters) if required is None else required
    return {**entry, **more}


class Result:
    """What one run left behind."""

    def __init__(self) -> None:
        self.output = b""
        self.calls: List[Dict[str, Any]] = []
        self.cancelled: List[int] = []
        self.emitted: List[Any] = []
        self.stubs: List[Dict[str, Any]] = []  # what was asked of types
        self.fetches: List[Dict[str, Any]] = []  # what was asked of the table
        self.done: Dict[str, Any] = {}

    @property
    def text(self) -> str:
        return self.output.decode()

    @property
    def error(self) -> Dict[str, Any]:
        return self.done["error"] or {}


Answer = Callable[[str, Dict[str, Any]], Any]


class Failed(Exception):
    """Raised by an answer function to have the call fail."""

    def __init__(self, kind: str, message: str, retryable: bool = False) -> None:
        super().__init__(message)
        self.frame = {"type": "error", "kind": kind, "message": message, "retryable": retryable}


class Runner:
    """One booted runner."""

    def __init__(self, python: str = sys.executable, code: Optional[str] = None) -> None:
        self._scratch = tempfile.TemporaryDirectory()
        self.scratch = self._scratch.name
        self.stubs: Dict[str, str] = {}  # wrapper files by callable name
        self.absent: Dict[str, str] = {}  # what is said of tools and servers that are not there
        self.process = subprocess.Popen(
            [python, "-I", "-S", "-B", "-c", code or bundle()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=self.scratch,
            bufsize=0,
        )
        self._output = bytearray()
        self._output_changed = threading.Condition()
        self._drain = threading.Thread(target=self._read_output, daemon=True)
        self._drain.start()

    def __enter__(self) -> Runner:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        self._drain.join()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()
        self._scratch.cleanup()

    def _read_output(self) -> None:
        assert self.process.stderr is not None
        while True:
            chunk = os.read(self.process.stderr.fileno(), 1 << 16)
            with self._output_changed:
                self._output += chunk
                self._output_changed.notify_all()
            if not chunk:
                return

    def output_until(self, end: bytes) -> bytes:
        """Return the output up to end, waiting for it; all of it if the runner ends first."""
        with self._output_changed:
            self._output_changed.wait_for(lambda: end in self._output or not self._drain.is_alive(), timeout=60)
            before, found, after = bytes(self._output).partition(end)
            self._output = bytearray(after)
            return before

    def send(self, frame: Dict[str, Any]) -> None:
        self.send_raw(json.dumps(frame).encode())

    def send_raw(self, payload: bytes) -> None:
        assert self.process.stdin is not None
        data = memoryview(len(payload).to_bytes(4, "big") + payload)
        while data:
            data = data[os.write(self.process.stdin.fileno(), data) :]

    def receive(self) -> Dict[str, Any]:
        size = int.from_bytes(self._read(4), "big")
        frame: Dict[str, Any] = json.loads(self._read(size))
        return frame

    def _read(self, size: int) -> bytes:
        assert self.process.stdout is not None
        data = b""
        descriptor = self.process.stdout.fileno()
        while len(data) < size:
            if not select.select([descriptor], [], [], TIMEOUT_SECONDS)[0]:
                self.process.kill()
                raise AssertionError("the runner is silent; its output: " + repr(self.output_until(b"\0never")))
            chunk = os.read(self.process.stdout.fileno(), size - len(data))
            if not chunk:
                raise EOFError(self.output_until(b"\0never").decode("utf-8", "replace"))
            data += chunk
        return data

    def start(self, source: str, tools: Any = (), servers: Any = None, **limits: int) -> None:
        """Send a program."""
        tools = sorted(tools, key=lambda entry: str(entry["n"]))
        self.send(
            {
                "type": "start",
                "protocol": 1,
                "source": source,
                "filename": "<program>",
                "marker": MARKER,
                "tools": tools,
                "servers": servers,
                "limits": {**LIMITS, **limits},
                "options": {},
            }
        )

    def run(self, source: str, tools: Any = (), answer: Optional[Answer] = None, **limits: int) -> Result:
        """Run one program to its done frame, answering calls in the order they come."""
        self.start(source, tools, **limits)
        return self._finish(answer)

    def run_selected(self, source: str, tools: Any = (), answer: Optional[Answer] = None, **limits: int) -> Result:
        """Do the same as a host that has many tools and sends only those the source can name."""
        tools = sorted(tools, key=lambda entry: str(entry["n"]))
        words = set(re.findall(r"\w+", source))
        selection, servers = tools, None
        if not words & {"globals", "locals", "vars", "dir", "eval", "exec", "modules", "__dict__"}:
            selection = [entry for entry in tools if {entry["n"], entry["t"]} & words]
            servers = sorted({entry["s"] for entry in tools})
        self.start(source, selection, servers, **limits)

        def answer_own(name: str, arguments: Dict[str, Any]) -> Any:
            if name == "tool_table":
                return [entry for entry in tools if arguments.get("server") in (None, entry["s"])]
            if name == "list_callable_tools":
                return [entry["n"] for entry in tools]
            return answer(name, arguments) if answer else arguments

        result = self._finish(answer_own)
        result.fetches = [call["arguments"] for call in result.calls if call["tool"] == "tool_table"]
        result.calls = [call for call in result.calls if call["tool"] not in ("tool_table", "list_callable_tools")]
        return result

    def _finish(self, answer: Optional[Answer]) -> Result:
        result = Result()
        while True:
            frame = self.receive()
            if frame["type"] == "done":
                result.done = frame
                break
            if frame["type"] == "emit":
                result.emitted.append(frame["value"])
                continue
            if frame["type"] == "cancel":
                result.cancelled.append(frame["id"])
                continue
            if frame["tool"] == "tool_absence":
                self._answer(frame, lambda _, about: self.absent.get("".join(about.values())))
                continue
            if frame["tool"] in ("tool_stub", "server_stubs"):
                result.stubs.append(frame["arguments"])
                self._answer(frame, self._answer_stubs)
                continue
            result.calls.append(frame)
            self._answer(frame, answer)
        result.output = self.output_until(bytes.fromhex(MARKER))
        return result

    def _answer_stubs(self, function: str, arguments: Dict[str, Any]) -> Any:
        if function == "tool_stub":
            if arguments["tool_name"] not in self.stubs:
                raise Failed("unknown_tool", "no such tool")
            return self.stubs[arguments["tool_name"]]
        prefix = f"mcp__{arguments['server']}__"
        return {name[len(prefix) :]: text for name, text in self.stubs.items() if name.startswith(prefix)}

    def _answer(self, call: Dict[str, Any], answer: Optional[Answer]) -> None:
        try:
            value = answer(call["tool"], call["arguments"]) if answer else call["arguments"]
        except Failed as failed:
            self.send({**failed.frame, "id": call["id"]})
        else:
            self.send({"type": "result", "id": call["id"], "value": value})


def run(source: str, tools: Any = (), answer: Optional[Answer] = None, **limits: int) -> Result:
    """Boot a runner, run one program and throw both away."""
    with Runner() as runner:
        if runner.receive()["type"] != "hello":
            raise AssertionError("no hello")
        return runner.run(source, tools, answer, **limits)
