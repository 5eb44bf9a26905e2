"""How a run ended, as the done frame says it."""

from __future__ import annotations

import os
import traceback
from typing import Any, Dict, List, Optional, Sequence, Set, Tuple

_MESSAGE_LIMIT = 8 << 10
_TRACEBACK_LIMIT = 32 << 10
_MESSAGE_TYPES = 200


def exit_code(error: SystemExit) -> int:
    """Return the code a process would end with."""
    code = error.code
    if code is None:
        return 0
    if isinstance(code, int):
        return int(code) & 0xFF
    return 1


def of_exception(error: BaseException, filename: str) -> Optional[Dict[str, Any]]:
    """Describe an exception that ended the program; None for an exit without error."""
    if isinstance(error, SystemExit):
        code = exit_code(error)
        if code == 0:
            return None
        return _describe("exit", error, filename, code)
    if isinstance(error, MemoryError):
        traceback.clear_frames(error.__traceback__)
    return _describe("exception", error, filename, 1)


def of_syntax(error: BaseException, filename: str) -> Dict[str, Any]:
    """Describe why the program does not compile."""
    lines = traceback.format_exception_only(type(error), error)
    message = str(error.msg) if isinstance(error, SyntaxError) else _text(error)
    line = error.lineno if isinstance(error, SyntaxError) and error.filename == filename else 0
    return _error("syntax", type(error).__name__, message, "".join(lines), line or 0, 1)


def of_check(problems: Sequence[Tuple[int, str]], filename: str, source: str) -> Dict[str, Any]:
    """Describe what was found wrong before anything ran."""
    lines = source.splitlines()
    shown: List[str] = []
    for line, text in problems:
        shown.append(f'  File "{filename}", line {line}')
        if 0 < line <= len(lines):
            shown.append("    " + lines[line - 1].strip())
        shown.append(f"  {text}")
    message = problems[0][1]
    if len(problems) > 1:
        message += f" (and {len(problems) - 1} more)"
    shown.append(f"CheckError: {message}")
    return _error("check", "CheckError", message, "\n".join(shown) + "\n", problems[0][0], 1)


def print_exception(error: BaseException, filename: str) -> str:
    """Return the traceback of the program's own frames, as Python prints it."""
    report = traceback.TracebackException(type(error), error, error.__traceback__)
    _keep_own_frames(report, filename, set())
    return "".join(report.format())


def _describe(kind: str, error: BaseException, filename: str, code: int) -> Dict[str, Any]:
    try:
        text = print_exception(error, filename)
    except Exception:  # an exception whose own methods fail, or no memory to format it
        text = f"{type(error).__name__}: {_text(error)}\n"
    return _error(kind, type(error).__name__, _text(error), text, _line(error, filename), code)


def _error(kind: str, name: str, message: str, text: str, line: int, code: int) -> Dict[str, Any]:
    return {
        "kind": kind,
        "type": name[:_MESSAGE_TYPES],
        "message": _shorten(message, _MESSAGE_LIMIT),
        "traceback": _shorten(text, _TRACEBACK_LIMIT),
        "line": line,
        "exit_code": code,
    }


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:
        return "<the exception's text cannot be had>"


def _line(error: BaseException, filename: str) -> int:
    """Return the innermost line of the program on the way to the error."""
    line = 0
    frame = error.__traceback__
    while frame is not None:
        if frame.tb_frame.f_code.co_filename == filename:
            line = frame.tb_lineno or line
        frame = frame.tb_next
    return line


def _keep_own_frames(report: Any, filename: str, seen: Set[int]) -> None:
    """Drop the frames of the library and of the runner from a report and all it refers to."""
    scratch = os.getcwd() + os.sep
    pending = [report]
    while pending:
        report = pending.pop()
        if report is None or id(report) in seen:
            continue
        seen.add(id(report))
        if report.stack is not None:
            report.stack[:] = [
                frame
                for frame in report.stack
                if frame.filename == filename or frame.filename.startswith(scratch)
            ]
        pending += [report.__cause__, report.__context__, *(getattr(report, "exceptions", None) or ())]


def _shorten(text: str, limit: int) -> str:
    text = text.encode("utf-8", "backslashreplace").decode()  # no lone surrogates in a frame
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n[… {len(text) - 2 * half} characters left out …]\n{text[-half:]}"
