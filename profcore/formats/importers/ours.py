"""The additional content of our own exports: metadata of the slice, and time that does not belong to the page's code.

Their weights are durations, even if the format uses weights for something else. `(hidden)` is busy time without a
stack, and `(engine)` is busy time of the engine's own.
"""

from datetime import datetime
from typing import Final

import msgspec

from profcore.formats.importers.shapes import Draft

HIDDEN: Final = "(hidden)"
ENGINE: Final = "(engine)"
PAGE_SUFFIX: Final = " [page]"  # after a func's name that readers would take for the engine's


class SliceMetadata(msgspec.Struct, gc=False, rename={"begins": "from"}, kw_only=True):
    """The metadata of an exported slice that an import uses."""

    releases: list[str] = []
    pages: list[str] = []
    interval_ms: float | None = None
    begins: str | list[str] | None = None
    origin_us: float | None = None


def fill(draft: Draft, metadata: SliceMetadata) -> None:
    """Fills a draft's release, page and time from metadata that names only one of each."""
    draft.release = metadata.releases[0] if len(metadata.releases) == 1 else None
    draft.page = metadata.pages[0] if len(metadata.pages) == 1 else None
    begins = [metadata.begins] if isinstance(metadata.begins, str) else metadata.begins or []
    draft.timeOrigin = read_time(begins[0]) if len(begins) == 1 else None


def read_time(text: str | None) -> float | None:
    """Returns an ISO 8601 time with a zone as epoch ms; None for other texts."""
    try:
        at = datetime.fromisoformat(text or "")
        return at.timestamp() * 1000 if at.tzinfo is not None else None
    except (ValueError, OverflowError):
        return None
