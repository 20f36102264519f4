"""What all pages of a project share: its tabs, and the slice bar, whose whole state is the address."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from urllib.parse import urlencode

from django.http import HttpRequest
from django.urls import reverse

from aggregate.selectors import ReleaseRow, Slice, select_overview
from aggregate.selectors.slices import format_instant
from ingest.models import Project
from profcore.dimensions import BROWSERS, DEVICE_CLASSES

# (name of its address, word, does it take a slice)
TABS: Final = (
    ("project", "Overview", True),
    ("page", "Functions", True),
    ("tree", "Flame graph", True),
    ("views", "Views", True),
)
PRESETS: Final = (("Last 24 hours", timedelta(days=1)), ("7 days", timedelta(days=7)), ("30 days", timedelta(days=30)))
MAX_CHOICES: Final = 500  # of one field, beside those that are chosen; an address may name any


@dataclass(frozen=True, slots=True)
class Tab:
    """One page of a project; the slice goes along."""

    word: str
    link: str
    is_here: bool


@dataclass(frozen=True, slots=True)
class Choice:
    """One value that a field of the slice can have, and how many page views have it, where that is known."""

    value: str
    views: int | None
    is_chosen: bool


@dataclass(frozen=True, slots=True)
class ChoiceField:
    """One field of the slice: what it can be, and what was chosen of it (nothing: all)."""

    name: str
    word: str
    all_word: str
    choices: Sequence[Choice]
    chosen: Sequence[str]


@dataclass(frozen=True, slots=True)
class Preset:
    """A span of time up to now."""

    word: str
    link: str
    is_chosen: bool


@dataclass(frozen=True, slots=True)
class SliceBar:
    """The bar's fields; `kept` are parameters that are no part of it and go along, such as the order of a table.

    `start` and `end` are None where they are open, or where the slice has several spans of time.
    """

    fields: Sequence[ChoiceField]
    presets: Sequence[Preset]
    range_count: int
    start: datetime | None
    end: datetime | None
    tags: str
    kept: Sequence[tuple[str, str]]
    clear_link: str
    is_everything: bool


@dataclass(frozen=True, slots=True)
class Shell:
    """The tabs and the bar of one page."""

    tabs: Sequence[Tab]
    bar: SliceBar | None


def build_tabs(project: Project, slice_: Slice | None = None, here: str = "") -> list[Tab]:
    """Returns the project's tabs; those that show a slice show this one. `here` is none on a page beside them."""
    query = slice_.query() if slice_ else ""
    return [
        Tab(word, reverse(name, args=[project.slug]) + (f"?{query}" if query and takes_slice else ""), name == here)
        for name, word, takes_slice in TABS
    ]


def build_shell(
    request: HttpRequest,
    project: Project,
    slice_: Slice,
    here: str,
    *,
    releases: Sequence[ReleaseRow],
    now: datetime,
    kept: Sequence[tuple[str, str]] = (),
) -> Shell:
    """Returns the tabs and the bar of a page that shows a slice. One statement."""
    pages = select_overview(Slice(project.pk), ["page"], limit=MAX_CHOICES).rows
    fields = [
        _field("release", "All releases", [(row.release, row.views) for row in releases], slice_.releases),
        _field("page", "All pages", [(row.page or "", row.views) for row in pages], slice_.pages),
        _field("device", "All devices", [(word, None) for word in DEVICE_CLASSES], slice_.devices),
        _field("browser", "All browsers", [(word, None) for word in BROWSERS], slice_.browsers),
    ]
    start, end = slice_.ranges[0] if len(slice_.ranges) == 1 else (None, None)
    bar = SliceBar(
        fields,
        _presets(request.path, slice_, now, kept),
        len(slice_.ranges),
        start,
        end,
        " ".join(f"{key}:{value}" for key, value in slice_.tags),
        kept,
        f"{request.path}?{urlencode(kept)}" if kept else request.path,
        not slice_.params(),
    )
    return Shell(build_tabs(project, slice_, here), bar)


def _field(name: str, all_word: str, known: Sequence[tuple[str, int | None]], chosen: Sequence[str]) -> ChoiceField:
    views_of = dict(known[:MAX_CHOICES])
    values = [*views_of, *(value for value in chosen if value not in views_of)]
    choices = [Choice(value, views_of.get(value), value in chosen) for value in values]
    return ChoiceField(name, name.capitalize(), all_word, choices, chosen)


def _presets(path: str, slice_: Slice, now: datetime, kept: Sequence[tuple[str, str]]) -> list[Preset]:
    others = [pair for pair in slice_.params() if pair[0] not in ("from", "to")]
    presets = [Preset("All time", f"{path}?{urlencode([*others, *kept], safe='/:')}", not slice_.ranges)]
    for word, span in PRESETS:
        start = (now - span).replace(minute=0, second=0, microsecond=0)
        query = urlencode([*others, ("from", format_instant(start)), *kept], safe="/:")
        presets.append(Preset(word, f"{path}?{query}", slice_.ranges == ((start, None),)))
    return presets
