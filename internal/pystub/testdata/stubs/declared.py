# mcp__github__list_issues, typed after the schemas of its server.
from typing import List, Literal, Optional, TypedDict

__all__ = ['ListIssuesResult', 'list_issues']


_ListIssuesAuthorRequired = TypedDict('_ListIssuesAuthorRequired', {
    'login': str,
})


_ListIssuesAuthorOptional = TypedDict('_ListIssuesAuthorOptional', {
    'is-bot': bool,
}, total=False)


class ListIssuesAuthor(_ListIssuesAuthorRequired, _ListIssuesAuthorOptional):
    pass


class _ListIssuesIssuesItemRequired(TypedDict):
    number: int
    title: str


class ListIssuesIssuesItem(_ListIssuesIssuesItemRequired, total=False):
    # Their names.
    labels: List[str]
    author: Optional[ListIssuesAuthor]


class ListIssuesResult(TypedDict):
    """One page."""

    total: int
    issues: List[ListIssuesIssuesItem]


_ListIssuesFilterRequired = TypedDict('_ListIssuesFilterRequired', {
    'field': str,
})


_ListIssuesFilterOptional = TypedDict('_ListIssuesFilterOptional', {
    'and': List['ListIssuesFilter'],
}, total=False)


class ListIssuesFilter(_ListIssuesFilterRequired, _ListIssuesFilterOptional):
    pass


async def list_issues(
    *,
    repo: str,
    state: Literal['open', 'closed', 'all'] = 'open',
    since: Optional[str] = ...,
    from_: str = ...,
    page_size: int = 30,
    filter: ListIssuesFilter = ...,
) -> ListIssuesResult:
    """Lists the issues of a repository.

    Newest first.

    Args:
        repo: Name of the repository.
        state: Which ones.
        since: (format: date-time)
        from_: sent as 'from'. Author.
        page_size: sent as 'page-size'. (minimum: 1; maximum: 100)

    Returns: One page.

    Read-only: it changes nothing.
    """
    raise NotImplementedError('list_issues can be called only in a program that ptc-mcp runs')
