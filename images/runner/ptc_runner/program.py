"""One program: compiled once as a module with top-level await, run, and wound down."""

from __future__ import annotations

import ast
import asyncio
import atexit
import gc
import inspect
import linecache
import os
import sys
import types
from typing import Any, Dict, Optional

# How long cancelled tasks may take to clean up after the program has ended.
_GRACE_SECONDS = 1.0

# What compiling can raise: besides SyntaxError for NUL characters, lone
# surrogates, and source nested too deeply for the parser.
COMPILE_ERRORS = (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError)


def parse(source: str, filename: str) -> ast.Module:
    """Parse a program, or raise one of COMPILE_ERRORS."""
    flags = ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    tree: ast.Module = compile(source, filename, "exec", flags, dont_inherit=True)
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    return tree


def compile_tree(tree: ast.Module, filename: str) -> types.CodeType:
    """Compile a parsed program, or raise one of COMPILE_ERRORS."""
    code: types.CodeType = compile(
        tree, filename, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True
    )
    return code


def new_main() -> Dict[str, Any]:
    """Make a fresh ``__main__`` and return its globals."""
    module = types.ModuleType("__main__")
    module.__dict__["__builtins__"] = __builtins__
    sys.modules["__main__"] = module
    return module.__dict__


def forget() -> None:
    """Free what the last program left, while there is nothing else to do."""
    new_main()
    gc.collect()


def run(code: types.CodeType, namespace: Dict[str, Any]) -> Optional[BaseException]:
    """Run a program to its end and return what ended it, None if it just ended."""
    try:
        if code.co_flags & inspect.CO_COROUTINE:
            _run_async(eval(code, namespace))
        else:
            exec(code, namespace)
    except BaseException as error:  # SystemExit and KeyboardInterrupt are ends too
        return error
    return None


def run_exit_handlers() -> None:
    """Run what the program has registered with atexit."""
    try:
        atexit._run_exitfuncs()
    except BaseException:  # noqa: S110 - printed already
        pass


def _run_async(main: Any) -> None:
    process = os.getpid()
    loop = asyncio.new_event_loop()
    loop.set_exception_handler(_report)
    asyncio.set_event_loop(loop)
    try:
        loop.run_until_complete(main)
    finally:
        if os.getpid() == process:  # a forked child shares the loop's descriptors
            try:
                _wind_down(loop)
            finally:
                asyncio.set_event_loop(None)
                loop.close()


def _report(loop: asyncio.AbstractEventLoop, context: Dict[str, Any]) -> None:
    """Report a task's forgotten exception as asyncio does, but not an exit: it ended the program."""
    if not isinstance(context.get("exception"), (SystemExit, KeyboardInterrupt)):
        loop.default_exception_handler(context)


def _wind_down(loop: asyncio.AbstractEventLoop) -> None:
    tasks = asyncio.all_tasks(loop)
    for task in tasks:
        task.cancel()
    if tasks:
        loop.run_until_complete(asyncio.wait(tasks, timeout=_GRACE_SECONDS))
    loop.run_until_complete(asyncio.wait_for(loop.shutdown_asyncgens(), _GRACE_SECONDS))
