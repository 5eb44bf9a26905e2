"""The few places where the standard library is made to fit models' habits."""

from __future__ import annotations

import asyncio
import builtins
import functools
import json
import sys
from _sitebuiltins import Quitter, _Helper
from typing import Any, Callable

from .tools import ToolCall


def apply() -> None:
    """Patch json and asyncio, and add the builtins that -S leaves out."""
    json.loads = _loads(json.loads)
    json.JSONEncoder.default = _default(json.JSONEncoder.default)  # type: ignore[assignment]
    asyncio.run = asyncio.runners.run = _run(asyncio.run)
    for name in ("exit", "quit"):
        setattr(builtins, name, Quitter(name, "Ctrl-D (i.e. EOF)"))
    builtins.help = _Helper()  # type: ignore[assignment]


def apply_to_source(source: str, scratch: str) -> None:
    """Patch modules that only some programs use; importing them always would cost every boot."""
    if "tempfile" in source:
        import tempfile

        tempfile.tempdir = scratch
    if sys.version_info >= (3, 14) and ("multiprocessing" in source or "ProcessPool" in source):
        # The default since 3.14 imports the main module from a file, which a program is not.
        from multiprocessing import context

        methods: Any = context._default_context
        methods._default_context = methods.get_context("fork")


def _loads(loads: Callable[..., Any]) -> Callable[..., Any]:
    """Return parsed values unchanged: ``json.loads(await tool(...))`` is a common idiom.

    A str is parsed as always: a tool's text that is no JSON raises, as it does
    where tools return strings.
    """

    @functools.wraps(loads)
    def patched(s: Any, **options: Any) -> Any:
        if s is None or isinstance(s, (dict, list, int, float)):
            return s
        if isinstance(s, ToolCall):
            s._misused()
        return loads(s, **options)

    return patched


def _default(default: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(default)
    def patched(self: json.JSONEncoder, o: Any) -> Any:
        if isinstance(o, ToolCall):
            o._misused()
        return default(self, o)

    return patched


def _run(run: Callable[..., Any]) -> Callable[..., Any]:
    """Let asyncio.run work below a running loop, which stands still meanwhile.

    Programs mix top-level await with ``asyncio.run(main())``.
    """

    @functools.wraps(run)
    def patched(main: Any, **options: Any) -> Any:
        outer = asyncio._get_running_loop()
        if outer is None:
            return run(main, **options)
        task = asyncio.current_task(outer)
        if task is not None:
            asyncio.tasks._leave_task(outer, task)
        asyncio._set_running_loop(None)
        try:
            return run(main, **options)
        finally:
            asyncio.set_event_loop(outer)
            asyncio._set_running_loop(outer)
            if task is not None:
                asyncio.tasks._enter_task(outer, task)

    return patched
