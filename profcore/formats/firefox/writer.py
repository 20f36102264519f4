"""Writes a slice as a Firefox profile: one thread, one sample for each call path, weighted in ms.

The time axis is the running sum of the weights in tree order, so the stack chart is an icicle with true widths and a
selected range is a part of the tree. Hidden time is a func of its own, `(hidden)`, at the root; idle time is one
sample without a stack, at the end, where it closes the last box of the stack chart too.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from profcore.calltree import CallTreeBuilder
from profcore.formats.firefox.categories import HIDDEN_CHOICE, Choice, choose_category, is_built_in
from profcore.formats.firefox.meta import build_meta, name_thread
from profcore.formats.firefox.shapes import NativeSymbols, Profile, Samples, Shared, StackTable, Thread
from profcore.formats.firefox.tables import FuncRow, SharedTables, safe_text
from profcore.formats.ordering import OrderedTree, order_heaviest_first
from profcore.formats.slice import ExportFunc, ExportOriginal, SliceExport
from profcore.formats.streaming import stream_json

ANONYMOUS: Final = "(anonymous)"
# Neither JS nor a label of JS, as no func of a page is: a page's own func of this name stays apart from it.
HIDDEN_ROW: Final = FuncRow("(hidden)", is_js=False, relevant_for_js=False, uri=None, line=None, column=None)


def write_profile(export: SliceExport) -> Iterator[bytes]:
    """Yields the processed profile of a slice as JSON (UTF-8) in pieces; equal input gives equal bytes.

    Weights are ms: µs / 1000, unrounded. Σ weight = js + hidden + idle of `export.time`; unobserved time and the
    profiler's own are told in `meta.extra` alone. Call paths without time are left out.
    """
    yield from stream_json(build_profile(export))


def build_profile(export: SliceExport) -> Profile:
    """Builds the profile in memory, some 300 bytes for each call node."""
    rows = _FuncRows(export.funcs)
    builder = CallTreeBuilder()
    builder.add_tree(export.tree, rows.row_of)
    if export.time.hidden_us > 0:
        builder.tree.self_us[builder.node(-1, rows.hidden)] += export.time.hidden_us
    ordered = order_heaviest_first(builder.tree, rows.rank())
    tables = SharedTables()
    stacks = _write_stacks(ordered, rows, tables)
    samples = _write_samples(ordered, export.time.idle_us)
    thread = Thread(name_thread(export), safe_text(export.project), samples)
    meta = build_meta(export, busy_ms=sum(ordered.self_us) / 1000, call_nodes=len(ordered.func))
    shared = Shared(
        tables.strings.array,
        stacks,
        tables.frames,
        tables.funcs,
        tables.resources,
        NativeSymbols(),
        tables.sources,
        tables.locations,
    )
    return Profile(meta, [], shared, [thread])


@dataclass(frozen=True, slots=True)
class _Func:
    row: FuncRow
    choice: Choice
    original: ExportOriginal | None


class _FuncRows:
    """The distinct rows of a slice's funcs, the `(hidden)` one last; `row_of` leads there from `export.funcs`."""

    def __init__(self, funcs: Sequence[ExportFunc]) -> None:
        self.funcs: list[_Func] = []
        self.row_of: list[int] = []
        index: dict[FuncRow, int] = {}
        for func in funcs:
            row = _row(func)
            found = index.setdefault(row, len(self.funcs))
            if found == len(self.funcs):
                self.funcs.append(_Func(row, choose_category(func), func.original))
            self.row_of.append(found)
        self.hidden = len(self.funcs)
        self.funcs.append(_Func(HIDDEN_ROW, HIDDEN_CHOICE, None))

    def rank(self) -> list[int]:
        """Returns the place of each row when sorted by what a person reads: name, then place of definition."""
        order = sorted(range(len(self.funcs)), key=lambda index: _sort_key(self.funcs[index].row))
        rank = [0] * len(order)
        for place, index in enumerate(order):
            rank[index] = place
        return rank


def _row(func: ExportFunc) -> FuncRow:
    built_in = is_built_in(func)
    uri = None if func.uri is None else safe_text(func.uri)
    return FuncRow(safe_text(func.label) or ANONYMOUS, not built_in, built_in, uri, func.line, func.column)


def _sort_key(row: FuncRow) -> tuple[str, str, int, int, bool, bool, bool]:
    line, column = row.line, row.column
    return (
        row.name,
        row.uri or "",
        -1 if line is None else line,
        -1 if column is None else column,
        row.uri is None,
        row.is_js,
        row.relevant_for_js,
    )


def _write_stacks(ordered: OrderedTree, rows: _FuncRows, tables: SharedTables) -> StackTable:
    frame_of: dict[int, int] = {}
    for index in ordered.func:
        if index not in frame_of:
            func = rows.funcs[index]
            frame_of[index] = tables.add_func(func.row, func.choice, func.original)
    frames = [frame_of[index] for index in ordered.func]
    offsets = [0 if prefix < 0 else stack - prefix for stack, prefix in enumerate(ordered.prefix)]
    return StackTable(len(frames), frames, offsets)


def _write_samples(ordered: OrderedTree, idle_us: int) -> Samples:
    stacks: list[int | None] = [stack for stack, self_us in enumerate(ordered.self_us) if self_us > 0]
    weights = [self_us / 1000 for self_us in ordered.self_us if self_us > 0]
    return Samples(
        length=len(stacks) + 1,
        stack=[*stacks, None],
        timeDeltas=[0.0, *weights],
        weight=[*weights, idle_us / 1000],
        weightType="tracing-ms",
    )
