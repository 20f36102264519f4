"""What an exporter writes: one slice as plain values, built by the selectors of `aggregate`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from profcore.calltree import CallTree
from profcore.weights import TimeParts


@dataclass(frozen=True, slots=True)
class ExportOriginal:
    """Where a func is defined in its original source, by a source map. `line` and `column` are 1-based."""

    source: str
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class ExportFunc:
    """A func as it is shown.

    `label` is what to call it; `name` is the (repaired) wire name. `uri`, `line` and `column` say where it is defined,
    1-based, and are None for a built-in. `category` is one of `FUNC_CATEGORIES`, or None
    where nothing is known. All texts are hostile input.
    """

    label: str
    name: str
    uri: str | None = None
    line: int | None = None
    column: int | None = None
    category: str | None = None
    original: ExportOriginal | None = None


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
