"""The error a failed tool call raises in the program."""

from __future__ import annotations

import asyncio
import sys


class ToolError(Exception):
    """A tool call failed.

    ``message`` begins with the tool's name and says what to do; ``kind`` is
    one of error_result, protocol_error, timeout, budget, invalid_result,
    too_large, connection_lost, unknown_tool, invalid_argument, cancelled;
    ``retryable`` is true when making the same call again may succeed and
    cannot repeat an effect.
    """

    def __init__(
        self, message: str = "", tool: str = "", kind: str = "error_result", retryable: bool = False
    ) -> None:
        super().__init__(message)
        self.message = message
        self.tool = tool
        self.kind = kind
        self.retryable = retryable


if sys.version_info >= (3, 11):

    class ToolTimeoutError(ToolError, TimeoutError):
        """A tool call took too long; also caught as TimeoutError."""

else:

    class ToolTimeoutError(ToolError, TimeoutError, asyncio.TimeoutError):
        """A tool call took too long; also caught as TimeoutError."""


# They are globals of the program: tracebacks name them without a module, and
# they can be pickled.
ToolError.__module__ = ToolTimeoutError.__module__ = "__main__"


def tool_error(message: str, tool: str, kind: str, retryable: bool = False) -> ToolError:
    """Make the error that stands for kind."""
    cls = ToolTimeoutError if kind == "timeout" else ToolError
    return cls(message, tool, kind, retryable)
