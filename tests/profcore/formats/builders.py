"""Small slices for tests, from stacks written as text: `{"main render": 3}` is 3 µs of `render` called by `main`."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from profcore.formats.segments import sum_exports
from profcore.formats.slice import (
    DifferenceExport,
    ExportFunc,
    SegmentedExport,
    SliceExport,
    SourceTexts,
    TimelineExport,
)
from profcore.formats.timeline import UNKNOWN_DIMENSIONS, ViewTrace, build_timeline
from profcore.sums.calltree import CallTree, CallTreeBuilder
from profcore.trace.funcs import FuncTable
from profcore.trace.marks import read_marks
from profcore.trace.weights import TimeParts
from profcore.trace.wire import Limits, decode_envelope

URI = "https://shop.example/assets/app.js"


def export_of(
    stacks: Mapping[str, int],
    *,
    funcs: Sequence[ExportFunc] | None = None,
    hidden_us: int = 0,
    engine_us: int = 0,
    idle_us: int = 0,
    unobserved_us: int = 0,
    profiler_us: int = 0,
    pages: Sequence[str] = ("/checkout",),
    releases: Sequence[str] = ("1.1.0",),
) -> SliceExport:
    """Returns a slice. The words of a stack are labels, root first; `funcs` has those that are not plain ones of
    `URI`, found by their label.
    """
    known = list(funcs or ())
    index = {func.label: position for position, func in enumerate(known)}
    builder = CallTreeBuilder()
    for stack, self_us in stacks.items():
        node = -1
        for label in stack.split():
            if label not in index:
                index[label] = len(known)
                known.append(ExportFunc(label=label, name=label, uri=URI, line=len(known) + 1, column=1))
            node = builder.node(node, index[label])
        builder.tree.self_us[node] += self_us
        builder.tree.self_samples[node] += 1
    js_us = sum(stacks.values())
    time = TimeParts(
        js_us=js_us,
        hidden_us=hidden_us,
        engine_us=engine_us,
        idle_us=idle_us,
        unobserved_us=unobserved_us,
        profiler_us=profiler_us,
        span_us=js_us + hidden_us + engine_us + idle_us + unobserved_us + profiler_us,
        js_samples=len(stacks),
    )
    return SliceExport(
        project="shop",
        query="release=1.1.0&page=/checkout",
        funcs=known,
        tree=builder.tree,
        time=time,
        views=3,
        traces=4,
        samples=len(stacks),
        interval_ms=10.0,
        started_at_ms=1_795_000_000_000,
        ended_at_ms=1_795_003_600_000,
        releases=releases,
        pages=pages,
        dimensions={"browsers": ("chrome",), "devices": ("desktop-high",), "navigations": ()},
        link="https://flame.example/projects/shop/?page=/checkout",
    )


def read_from(texts: Mapping[str, str]) -> SourceTexts:
    """Returns texts of sources, by path, each in parts of seven characters."""

    def read(sources: Sequence[str]) -> Iterator[list[str] | None]:
        for text in map(texts.get, sources):
            yield None if text is None else [text[at : at + 7] for at in range(0, len(text), 7)]

    return SourceTexts(read, len(texts))


def export_tree(prefix: list[int], func_count: int) -> SliceExport:
    """Returns a slice of any shape: `prefix[node]` is the node's caller, and the funcs repeat."""
    count = len(prefix)
    func = [node * 7919 % func_count for node in range(count)]
    self_us = [node % 5 * 1_000 + node % 3 for node in range(count)]
    tree = CallTree(prefix, func, self_us, [1] * count, [0] * count)
    funcs = [
        ExportFunc(label=f"f{n}", name=f"f{n}", uri=f"https://a.test/{n % 40}.js", line=n + 1, column=1)
        for n in range(func_count)
    ]
    time_parts = TimeParts(js_us=sum(self_us), span_us=sum(self_us))
    return replace(export_of({}), funcs=funcs, tree=tree, time=time_parts)


def timeline(*envelopes: dict[str, Any]) -> TimelineExport:  # envelopes as JSON has them
    """Returns an export of views: envelopes with the same view id are its traces."""
    funcs = FuncTable()
    by_view: dict[str, list[ViewTrace]] = {}
    for envelope in envelopes:
        body = json.dumps(envelope).encode()
        trace = ViewTrace(decode_envelope(body, Limits()), read_marks(body, page_url=None, page="/cart"))
        by_view.setdefault(envelope["viewId"], []).append(trace)
    dimensions = UNKNOWN_DIMENSIONS | {"browser": "chrome", "device": "desktop"}
    views = [build_timeline(traces, page="/cart", funcs=funcs, dimensions=dimensions) for traces in by_view.values()]
    export_funcs = [
        ExportFunc(label=key.name, name=key.name, uri=key.uri, line=key.line, column=key.column) for key in funcs.keys
    ]
    return TimelineExport(
        project="shop", query="view=x", funcs=export_funcs, views=views, link="https://flame.example/view"
    )


OLD, NEW = (
    export_of({"main": 1_000, "main render": 3_000}, releases=[release], hidden_us=500 * factor, idle_us=70)
    for release, factor in (("1.0.0", 1), ("2.0.0", 3))
)
BASE = replace(export_of({"main": 3_000, "main gone": 600}, releases=["1.0.0"], idle_us=30), views=3)
HEAD = replace(export_of({"main": 1_000, "main render": 4_000}, releases=["2.0.0"], hidden_us=200), views=2)
BY_RELEASE = SegmentedExport("release", sum_exports([OLD, NEW], query=""), [("1.0.0", OLD), ("2.0.0", NEW)])


DIFFERENCE = DifferenceExport(
    project="shop", query="base_release=1.0.0&head_release=2.0.0", base=BASE, head=HEAD, link="https://flame.example/"
)
