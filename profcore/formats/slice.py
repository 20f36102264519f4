"""The exports as plain values: a slice's sums, several slices, the timeline of views, or a difference.

The selectors of `aggregate` build them. `profcore.formats.registry` tells which format can write which.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from profcore.formats.timeline import ViewTimeline
from profcore.sums.calltree import CallTree
from profcore.trace.dimensions import DIMENSIONS
from profcore.trace.weights import TimeParts


@dataclass(frozen=True, slots=True)
class ExportOriginal:
    """The place of a func's definition in its original source, by a source map. `line` and `column` are 1-based.

    `source_id` lets the caller find the source's text; it is not part of the comparison of originals.
    """

    source: str
    line: int
    column: int
    source_id: int | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportFunc:
    """A func as it is shown.

    `label` is its shown name; `name` is the (repaired) wire name. `uri`, `line` and `column` are the place of its
    definition, 1-based, and are None for a built-in. `category` is one of `FUNC_CATEGORIES`, or None if it is not
    known. `identity` names the function across releases; None if only its other facts do (profcore/code/identity.py).
    A display rule may give a `colour`, one of `profcore.code.display_rules.COLOURS`. With `is_made` a display rule
    shows several functions as this one. `original_name` and `body_hash` are of its original, to find renamed functions;
    they are not part of the comparison of funcs. All texts are hostile input.
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
    original_name: str | None = field(default=None, compare=False)
    body_hash: bytes | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Pruned:
    """What the size guard removed from a call tree: call nodes with a total below `below_us`, and their self µs."""

    call_nodes: int
    self_us: int
    below_us: int


@dataclass(frozen=True, slots=True)
class SourceTexts:
    """Texts of original sources, `count` of them, which are read only while a file is written.

    `read` takes sources (`ExportOriginal.source`) and yields the parts of each one's text, None for one without a text.
    `left_out` texts are larger than an export may have.
    """

    read: Callable[[Sequence[str]], Iterator[Iterable[str] | None]]
    count: int
    left_out: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceExport:
    """A slice of a project, ready to be written in any format.

    `query` is the slice as requested, in the read API's words (`release=1.1.0&page=/force`), `""` for everything.
    `tree.func` indexes `funcs`, which may be in any order and may have unused entries. The sum of the tree's self µs
    is `time.js_us`. `views`, `traces` and `samples` are counts of the slice. `interval_ms` is the effective sampling
    interval (the most common one if traces differ; > 0). `releases`, `pages` and the values of `dimensions` (by the
    plural of each) are those found in the slice, in the order to show. `started_at_ms` and `ended_at_ms` are the
    slice's bounds after rounding to buckets, epoch milliseconds. `link` leads back to the slice's page; it goes into
    the file, so it carries no token. `contents` are the texts of its original sources, if they are wanted. `pruned`
    tells what the size guard removed from `tree` (profcore/formats/pruning.py). `display_rules` is the number of
    rules for how its functions are shown.
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
    dimensions: Mapping[str, Sequence[str]] = field(default_factory=dict)
    link: str | None = None
    contents: SourceTexts | None = None
    pruned: Pruned | None = None
    display_rules: int = 0


@dataclass(frozen=True, slots=True)
class SegmentedExport:
    """A slice and its parts: `whole` is the sum of `segments`, which are by one dimension and in the order to show.

    A segment is (its label, its sums). `by` is one of `SEGMENTS`. Categories do not split views: a segment by category
    holds the time whose leaf is of that category, with all callers, and counts all views.
    """

    by: str
    whole: SliceExport
    segments: Sequence[tuple[str, SliceExport]]


SEGMENTS: Final = ("release", "page", *(dimension.name for dimension in DIMENSIONS), "category")


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineExport:
    """Some views, each on its own clock. The stacks of all are over `funcs`; the rest is as in `SliceExport`.

    `engine_leaves` asks for leaves for the engine's work (`gc`, `style`, `layout`, `paint`), below the function in
    which it happened. That function's self time is then smaller; its total is the same. Some formats ignore this.
    """

    project: str
    query: str
    funcs: Sequence[ExportFunc]
    views: Sequence[ViewTimeline]
    link: str | None = None
    contents: SourceTexts | None = None
    engine_leaves: bool = False
    display_rules: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DifferenceExport:
    """Two slices, to be shown as head minus base per page view. `query` is the difference as requested.

    A function that is on both sides is one `ExportFunc` (profcore/formats/matching.py). `verdict` is the one sentence
    that says how certain the change is, "" if there is none.
    """

    project: str
    query: str
    base: SliceExport
    head: SliceExport
    link: str | None = None
    verdict: str = ""


Export = SliceExport | SegmentedExport | TimelineExport | DifferenceExport
