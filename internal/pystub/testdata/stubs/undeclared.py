# mcp__github__list_issues, typed after the schemas of its server.
from typing import Any

__all__ = ['ListIssuesResult', 'list_issues']

ListIssuesResult = Any  # the server declares no output schema


async def list_issues(
    **extra: Any,
) -> Any:
    """Lists the issues of a repository.

    Newest first.

    Read-only: it changes nothing.
    """
    raise NotImplementedError('list_issues can be called only in a program that ptc-mcp runs')
