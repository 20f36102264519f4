"""Profiles of sums: a slice, its segments, or the difference of two slices. Call paths are weighted samples.

The time axis is the running sum of the weights in tree order. So the stack chart is an icicle with true widths, and a
selected range is a part of the tree. Paths that are wide on the axis are several samples (`PIECES`). Hidden time is a
separate func, `(hidden)`, at the root. Idle time is one sample without a stack at the end, where it also closes the
last box of the stack chart.
"""

from collections.abc import Sequence
from itertools import pairwise
from math import fsum
from typing import Final

from profcore.formats.firefox.changes import find_changes
from profcore.formats.firefox.meta import build_meta, name_slice
from profcore.formats.firefox.rows import FuncTableRows, ProfileTables
from profcore.formats.firefox.sections import (
    AGGREGATE_CAVEATS,
    CATEGORY_CAVEATS,
    DIFFERENCE_CAVEATS,
    difference_sections,
    segment_section,
    slice_sections,
)
from profcore.formats.firefox.shapes import ExtraSection, Profile, Samples, Thread
from profcore.formats.firefox.tables import safe_text
from profcore.formats.ordering import OrderedTree, order_heaviest_first, order_signed
from profcore.formats.slice import DifferenceExport, SegmentedExport, SliceExport
from profcore.sums.calltree import CallTree, CallTreeBuilder

# The viewer's own limit on the tracks that it shows at first.
MAX_VISIBLE: Final = 15
# The viewer draws a sample from half-way to the one before it to half-way to the next, and a range has the samples that
# start in it. So no sample is wider than the axis divided by this, about a pixel. A track gets at most twice as many.
PIECES: Final = 1_000
# Pieces of whole eighths of a millisecond add up without an error, and the viewer's source view shows every digit.
GRAINS: Final = 8


def build_slice(export: SliceExport) -> Profile:
    """Returns the profile of a slice: one thread."""
    return _build(export, [(name_slice(export), export)], slice_sections(export, AGGREGATE_CAVEATS))


def build_segments(export: SegmentedExport) -> Profile:
    """Returns the profile of a slice and its segments: a thread for the whole, and below it one for each segment."""
    whole = export.whole
    labelled = [(f"{export.by}: {label or '(none)'}", part) for label, part in export.segments]
    caveats = CATEGORY_CAVEATS if export.by == "category" else AGGREGATE_CAVEATS
    sections = [*slice_sections(whole, caveats), segment_section(export.by, labelled)]
    return _build(whole, [(f"All: {name_slice(whole)}", whole), *labelled], sections)


def _build(whole: SliceExport, labelled: Sequence[tuple[str, SliceExport]], sections: list[ExtraSection]) -> Profile:
    rows = FuncTableRows()
    trees = [_tree_of(part, rows) for _, part in labelled]
    rank = rows.rank()
    tables = ProfileTables(rows, whole.contents)
    ordered = [order_heaviest_first(tree, rank) for tree in trees]
    samples = [
        _write_samples(tree, tables, 1000, part.time.idle_us) for tree, (_, part) in zip(ordered, labelled, strict=True)
    ]
    return _assemble(whole, [name for name, _ in labelled], samples, tables, sections)


def build_difference(export: DifferenceExport) -> Profile:
    """Returns the profile of head minus base, ms per page view: a signed thread, and below it one for each side."""
    rows = FuncTableRows()
    base, head = (_tree_of(side, rows) for side in (export.base, export.head))
    base_views, head_views = max(export.base.views, 1), max(export.head.views, 1)
    changes = find_changes(head, base, head_views, base_views)
    rank = rows.rank()
    tables = ProfileTables(rows, export.head.contents)
    # Whole numbers up to here, so that a path whose time did not change is exactly zero and is left out.
    unit = 1000 * base_views * head_views
    signed = order_signed(changes.tree, rank)
    samples = [_write_samples(signed, tables, unit, 0)]
    for tree, side in ((head, export.head), (base, export.base)):
        ordered = order_heaviest_first(tree, rank)
        samples.append(_write_samples(ordered, tables, 1000 * max(side.views, 1), side.time.idle_us))
    tables.recolour(changes.tree, changes.categories)
    names = [
        "Change per view",
        f"Head: {_side_name(export.head)}",
        f"Base: {_side_name(export.base)}",
    ]
    sections = difference_sections(export, DIFFERENCE_CAVEATS)
    return _assemble(export.head, names, samples, tables, sections, query=export.query, link=export.link)


def _side_name(side: SliceExport) -> str:
    return ", ".join(side.releases) or name_slice(side)


def _tree_of(export: SliceExport, rows: FuncTableRows) -> CallTree:
    """Returns an export's call tree over `rows`, with hidden and engine time at the root.

    Nodes of equal funcs are merged.
    """
    builder = CallTreeBuilder()
    builder.add_tree(export.tree, rows.add(export.funcs))
    time = export.time
    for func, us, samples in (
        (rows.hidden, time.hidden_us, time.hidden_samples),
        (rows.engine, time.engine_us, time.engine_samples),
    ):
        if us > 0:
            node = builder.node(-1, func)
            builder.tree.self_us[node] += us
            builder.tree.self_samples[node] += samples
    return builder.tree


def _write_samples(ordered: OrderedTree, tables: ProfileTables, per_ms: int, idle: int) -> Samples:
    """Returns the samples of a tree whose self time is in whole units, `per_ms` of them in a millisecond."""
    stacks, units = _cut_wide(tables.stacks(ordered.prefix, ordered.func), ordered.self_us, per_ms // GRAINS)
    weights = [unit / per_ms for unit in units]
    return Samples(
        length=len(stacks) + 1,
        stack=[*stacks, None],
        timeDeltas=[0.0, *map(abs, weights)],
        weight=[*weights, idle / per_ms],
        weightType="tracing-ms",
    )


def _cut_wide(place: Sequence[int], self_units: Sequence[int], grain: int) -> tuple[list[int], list[int]]:
    """Returns the stack and weight of each sample, those of wide call paths in about equal pieces with the same sum.

    Pieces are multiples of `grain` units, except the last one of a path; of single units if these are too wide.
    """
    widest = -(-sum(map(abs, self_units)) // PIECES)
    if widest < grain:
        grain = 1
    stacks, units = [], []
    for stack, weight in zip(place, self_units, strict=True):
        if -widest <= weight <= widest:
            if weight:
                stacks.append(stack)
                units.append(weight)
            continue
        grains, rest = divmod(abs(weight), grain)
        count = -(-(grains + (rest > 0)) // (widest // grain))
        bounds = [-(-grains * piece // count) * grain for piece in range(count)] + [abs(weight)]
        sign = 1 if weight > 0 else -1
        stacks += [stack] * count
        units += [sign * (end - start) for start, end in pairwise(bounds)]
    return stacks, units


def _assemble(
    export: SliceExport,
    names: Sequence[str],
    samples: Sequence[Samples],
    tables: ProfileTables,
    sections: list[ExtraSection],
    **overrides: str | None,
) -> Profile:
    """Returns the profile with all threads below the first one, in this order, which `keepProfileThreadOrder` keeps."""
    project = safe_text(export.project)
    threads = [
        Thread(name=safe_text(name), processName=project, samples=rows, isMainThread=index == 0, tid=index + 1)
        for index, (name, rows) in enumerate(zip(names, samples, strict=True))
    ]
    meta = build_meta(
        title=export.project,
        query=overrides.get("query") or export.query,
        link=overrides.get("link") or export.link,
        interval_ms=export.interval_ms,
        started_at_ms=export.started_at_ms,
        # The closing sample is at the end of the axis and must be inside; the viewer takes an end of 0 for none.
        end_ms=max(fsum(rows.timeDeltas) for rows in samples) + export.interval_ms,
        releases=export.releases,
        sections=sections,
        visible=list(range(min(len(threads), MAX_VISIBLE))),
    )
    return Profile(meta, [], tables.write(), threads)
