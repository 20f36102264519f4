"""What our own exports say beside their format: the slice's facts, and time that is no page's own.

Their weights are durations, whatever the format takes them for elsewhere; `(hidden)` is busy time without a stack.
"""

from datetime import datetime
from typing import Final

import msgspec

from profcore.formats.importers.shapes import Draft

HIDDEN: Final = "(hidden)"
PAGE_SUFFIX: Final = " [page]"  # after a page's name that readers would take for the engine's


class Facts(msgspec.Struct, gc=False, rename={"begins": "from"}):
    """The facts of an exported slice, as far as an import has use for them."""

    releases: list[str] = []
    pages: list[str] = []
    interval_ms: float | None = None
    begins: str | list[str] | None = None
    origin_us: float | None = None


def fill(draft: Draft, facts: Facts) -> None:
    """Adds to a draft what facts say of one release, one page and one time."""
    draft.release = facts.releases[0] if len(facts.releases) == 1 else None
    draft.page = facts.pages[0] if len(facts.pages) == 1 else None
    begins = [facts.begins] if isinstance(facts.begins, str) else facts.begins or []
    draft.timeOrigin = read_time(begins[0]) if len(begins) == 1 else None


def read_time(text: str | None) -> float | None:
    """Returns an ISO 8601 time with a zone as epoch ms, None for what is none."""
    try:
        at = datetime.fromisoformat(text or "")
        return at.timestamp() * 1000 if at.tzinfo is not None else None
    except (ValueError, OverflowError):
        return None
