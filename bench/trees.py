"""The time of each format for a call tree beyond the size guard, larger than those of recorded pages."""

import random
import time
from collections.abc import Iterator
from dataclasses import dataclass

from django.conf import settings

from profcore.formats.pruning import prune_export
from profcore.formats.registry import EXPORTERS
from profcore.formats.slice import ExportFunc, SliceExport
from profcore.sums.calltree import CallTree, CallTreeBuilder
from profcore.trace.weights import TimeParts

FUNCS = 5_000
DEPTHS = (5, 40)
SEED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeResult:
    """One format's file of a synthetic tree, with seconds of this process."""

    format: str
    nodes: int
    prune_s: float
    first_s: float
    total_s: float
    bytes: int


def make_tree(nodes: int) -> CallTree:
    """Returns a tree of about so many call nodes: few functions call most others, few paths take most of the time."""
    draw, builder = random.Random(SEED), CallTreeBuilder()  # noqa: S311  # not for secrets
    while len(builder.tree) < nodes:
        node = -1
        for _ in range(draw.randrange(*DEPTHS)):
            node = builder.node(node, int(draw.paretovariate(0.35)) % FUNCS)
        builder.tree.self_us[node] += 500 * int(draw.paretovariate(0.8) * 100) + draw.randrange(5)
        builder.tree.self_samples[node] += 1
    return builder.tree


def bench_trees(nodes: int) -> Iterator[TreeResult]:
    """Yields the time to prune and write a synthetic tree in every format, without a database."""
    tree = make_tree(nodes)
    funcs = [
        ExportFunc(
            label=f"f{n}",
            name=f"f{n}",
            uri=f"https://shop.example/{n % 40}.js",
            line=n + 1,
            column=3,
            category="first-party",
        )
        for n in range(FUNCS)
    ]
    js_us, samples = sum(tree.self_us), sum(tree.self_samples)
    time_parts = TimeParts(js_us=js_us, span_us=js_us, js_samples=samples)
    export = SliceExport(
        project="made",
        query="",
        funcs=funcs,
        tree=tree,
        time=time_parts,
        views=1,
        traces=1,
        samples=samples,
        interval_ms=10.0,
        started_at_ms=0,
        ended_at_ms=3_600_000,
    )
    for name, exporter in EXPORTERS.items():
        began = time.process_time()
        pruned = export if exporter.needs_all else prune_export(export, settings.EXPORT_MAX_CALL_NODES)
        prune_s = time.process_time() - began
        pieces = exporter.write(pruned)
        size = len(next(pieces))
        first_s = time.process_time() - began
        size += sum(len(piece) for piece in pieces)
        yield TreeResult(
            format=name,
            nodes=len(pruned.tree),
            prune_s=prune_s,
            first_s=first_s,
            total_s=time.process_time() - began,
            bytes=size,
        )


def describe_tree(result: TreeResult) -> str:
    """Returns the line to show."""
    return (
        f"  {result.format:12} {result.nodes:9,} nodes left   pruned {result.prune_s:5.2f} s   "
        f"first piece {result.first_s:5.2f} s   all {result.total_s:5.2f} s   {result.bytes / 1e6:6.1f} MB"
    )
