"""Segments of a slice as values: their sum, and a slice split by the categories of its funcs."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from profcore.code.categories import FUNC_CATEGORIES
from profcore.formats.slice import ExportFunc, SegmentedExport, SliceExport
from profcore.sums.calltree import CallTree, CallTreeBuilder
from profcore.trace.weights import TimeParts

NO_CATEGORY: Final = "unknown"


def sum_exports(exports: Sequence[SliceExport], *, query: str) -> SliceExport:
    """Returns the sum of slices that share no view; equal call paths of equal funcs are merged.

    The interval is that of most traces, and the bounds cover all slices. Raises `ValueError` for no slices.
    """
    if not exports:
        raise ValueError("there are no slices to sum")
    index: dict[ExportFunc, int] = {}
    builder, time, intervals = CallTreeBuilder(), TimeParts(), Counter[float]()
    for export in exports:
        builder.add_tree(export.tree, [index.setdefault(func, len(index)) for func in export.funcs])
        time.add(export.time)
        intervals[export.interval_ms] += export.traces
    return replace(
        exports[0],
        query=query,
        funcs=list(index),
        tree=builder.tree,
        time=time,
        views=sum(export.views for export in exports),
        traces=sum(export.traces for export in exports),
        samples=sum(export.samples for export in exports),
        interval_ms=max(sorted(intervals), key=intervals.__getitem__),
        started_at_ms=min(export.started_at_ms for export in exports),
        ended_at_ms=max(export.ended_at_ms for export in exports),
        releases=_union(export.releases for export in exports),
        pages=_union(export.pages for export in exports),
        dimensions={name: _union(export.dimensions[name] for export in exports) for name in exports[0].dimensions},
    )


def _union(lists: Iterable[Sequence[str]]) -> list[str]:
    return sorted({word for some in lists for word in some})


def split_by_category(export: SliceExport) -> SegmentedExport:
    """Returns a slice split by the category of the func on top of the stack, in the order of `FUNC_CATEGORIES`.

    Each segment keeps the call paths to its time. Categories without self time are left out. So are hidden and idle
    time, which have no category: the whole is larger than the sum by these.
    """
    categories = [func.category or NO_CATEGORY for func in export.funcs]
    tree = export.tree
    segments = []
    for category, label in {**FUNC_CATEGORIES, NO_CATEGORY: "Unknown"}.items():
        is_in_category = [categories[func] == category for func in tree.func]
        self_us = [us if is_in else 0 for us, is_in in zip(tree.self_us, is_in_category, strict=True)]
        samples = [count if is_in else 0 for count, is_in in zip(tree.self_samples, is_in_category, strict=True)]
        js_us, js_samples = sum(self_us), sum(samples)
        if js_us:
            part = CallTree(tree.prefix, tree.func, self_us, samples, [0] * len(tree))
            time = TimeParts(js_us=js_us, span_us=js_us, js_samples=js_samples)
            segments.append((label, replace(export, tree=part, time=time, samples=js_samples)))
    return SegmentedExport("category", export, segments)
