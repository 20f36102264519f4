"""What an exporter writes, as plain values: a slice's sums, several of them, one view's timeline, or a difference.

The selectors of `aggregate` build them. `profcore.formats.registry` says which format can write which.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from profcore.calltree import CallTree
from profcore.formats.timeline import ViewTimeline
from profcore.weights import TimeParts


@dataclass(frozen=True, slots=True)
class ExportOriginal:
    """Where a func is defined in its original source, by a source map. `line` and `column` are 1-based.

    `source_id` is what the caller finds the source's text by; it tells no originals apart.
    """

    source: str
    line: int
    column: int
    source_id: int | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class ExportFunc:
    """A func as it is shown.

    `label` is what to call it; `name` is the (repaired) wire name. `uri`, `line` and `column` say where it is defined,
    1-based, and are None for a built-in. `category` is one of `FUNC_CATEGORIES`, or None
    where nothing is known. `identity` says which function it is across releases, None where only the rest of its facts
    tells (profcore/identity.py). A display rule may give a `colour`, one of `profcore.display_rules.COLOURS`, and with
    `is_made` it is several functions that one shows as one. All texts are hostile input.
    """

    label: str
    name: str
    uri: str | None = None
    line: int | None = None
    column: int | None = None
    category: str | None = None
    original: ExportOriginal | None = None
    identity: str | None = None
    colour: str | None = None
    is_made: bool = False


@dataclass(frozen=True, slots=True)
class Pruned:
    """What the size guard took out of a call tree: call nodes whose total was below `below_us`, and their self µs."""

    call_nodes: int
    self_us: int
    below_us: int


# The categories of DESIGN.md, "Funcs", with the words shown to people. Order is that of the exports: append only.
FUNC_CATEGORIES: Final = {
    "first-party": "First party",
    "third-party": "Third party",
    "library": "Library",
    "extension": "Extension",
    "built-in": "Built-in",
    "eval": "Eval",
    "webassembly": "WebAssembly",
    "inline": "Inline",
    "profiler": "Profiler",
}


@dataclass(frozen=True, slots=True)
class SliceExport:
    """A slice of a project, ready to be written in any format.

    `query` is the slice as asked for, in the read API's words (`release=1.1.0&page=/force`), `""` for everything.
    `tree.func` indexes `funcs`, which need not be in any order nor all be used; the tree's self µs sum up to
    `time.js_us`. `views`, `traces` and `samples` count what the slice holds. `interval_ms` is the effective sampling
    interval (the usual one, where traces differ; > 0). `releases`, `pages`, `browsers` and `devices` are those found
    in the slice, in the order to show. `started_at_ms` and `ended_at_ms` are the slice's bounds after rounding to
    buckets, epoch milliseconds. `link` leads back to the slice's page; it goes into the file, so it carries no token.
    `contents` are texts of original sources, by `ExportOriginal.source`, as far as they are kept and wanted.
    `pruned` says what the size guard took out of `tree` (profcore/formats/pruning.py), `display_rules` how many rules
    say how its functions are shown.
    """

    project: str
    query: str
    funcs: Sequence[ExportFunc]
    tree: CallTree
    time: TimeParts
    views: int
    traces: int
    samples: int
    interval_ms: float
    started_at_ms: int
    ended_at_ms: int
    releases: Sequence[str] = ()
    pages: Sequence[str] = ()
    browsers: Sequence[str] = ()
    devices: Sequence[str] = ()
    link: str | None = None
    contents: Mapping[str, str] = field(default_factory=dict)
    pruned: Pruned | None = None
    display_rules: int = 0


@dataclass(frozen=True, slots=True)
class SegmentedExport:
    """A slice and its parts: `whole` is the sum of `segments`, which are by one dimension and in the order to show.

    A segment is (its label, its sums). `by` is one of `SEGMENTS`. A category is no part of views: the segments of that
    dimension hold the time whose leaf is of it, with all callers, and each counts all views.
    """

    by: str
    whole: SliceExport
    segments: Sequence[tuple[str, SliceExport]]


SEGMENTS: Final = ("release", "page", "device", "browser", "category")


@dataclass(frozen=True, slots=True)
class TimelineExport:
    """Some views, each on a clock of its own. The stacks of all are over `funcs`; the rest is as in `SliceExport`.

    `engine_leaves` asks formats that can for a leaf for what the engine did (`gc`, `style`, `layout`, `paint`), below
    the function in which it did it: that function's self time is the less, its total the same.
    """

    project: str
    query: str
    funcs: Sequence[ExportFunc]
    views: Sequence[ViewTimeline]
    link: str | None = None
    contents: Mapping[str, str] = field(default_factory=dict)
    engine_leaves: bool = False
    display_rules: int = 0


@dataclass(frozen=True, slots=True)
class DifferenceExport:
    """Two slices, to be shown as head minus base for each page view. `query` is the difference as asked for.

    What is one function on both sides is one `ExportFunc` (profcore/formats/matching.py).
    """

    project: str
    query: str
    base: SliceExport
    head: SliceExport
    link: str | None = None


Export = SliceExport | SegmentedExport | TimelineExport | DifferenceExport
