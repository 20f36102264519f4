"""Which pages a channel gets messages about."""

from collections.abc import Sequence

from profcore.code.display_rules import make_fit


def is_page_wanted(patterns: Sequence[str] | None, page: str | None) -> bool:
    """Returns whether a page is among some patterns, in which `*` is any text. Without patterns each page is.

    `page` is None for what is about all pages together: no pattern has that. Linear in a page, whatever it is called.
    """
    if patterns is None:
        return True
    return page is not None and any(make_fit(pattern)(page) for pattern in patterns)
