"""Which pages a channel gets messages about."""

from collections.abc import Sequence
from typing import Final

ANY: Final = "*"


def is_page_wanted(patterns: Sequence[str] | None, page: str | None) -> bool:
    """Tells whether a page is among some patterns. Without patterns each one is.

    `page` is None for what is about all pages together: no pattern has that.
    """
    if patterns is None:
        return True
    return page is not None and any(matches(pattern, page) for pattern in patterns)


def matches(pattern: str, page: str) -> bool:
    """Tells whether a page is what a pattern says. `*` is any text, also none; all else stands for itself.

    Linear in both, whatever strangers call their pages: a regular expression with several stars is not.
    """
    first, *rest = pattern.split(ANY)
    if not rest:
        return page == pattern
    *between, last = rest
    at, end = len(first), len(page) - len(last)
    if at > end or not page.startswith(first) or not page.endswith(last):
        return False
    for part in between:
        found = page.find(part, at, end)
        if found < 0:
            return False
        at = found + len(part)
    return True
