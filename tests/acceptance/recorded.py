"""Slices folded from the recorded corpus, without a database, for tests of the exporters."""

import gzip
import json
from functools import cache
from typing import Any

from profcore.formats.slice import ExportFunc, SliceExport
from profcore.sums.calltree import CallTreeBuilder
from profcore.sums.fold import fold_trace
from profcore.trace.funcs import FuncTable
from profcore.trace.weights import TimeParts
from profcore.trace.wire import Envelope, Limits, decode_envelope
from tests.corpus import DATA, corpus_envelopes

Group = tuple[str, str, str]


@cache
def recorded_traces() -> dict[Group, list[Envelope]]:
    """Returns the recorded traces as envelopes, by app, release and page."""
    groups: dict[Group, list[Envelope]] = {}
    for app, wire in corpus_envelopes():
        envelope = decode_envelope(json.dumps(wire).encode(), Limits())
        groups.setdefault((app, wire["release"], wire["page"]), []).append(envelope)
    return groups


@cache
def expected_groups() -> dict[Group, dict[str, Any]]:
    """Returns the independent oracle's result for each group, from its JSON."""
    with gzip.open(DATA / "expected.json.gz") as file:
        return {(group["app"], group["release"], group["page"]): group for group in json.load(file)}


def export_group(group: Group) -> SliceExport:
    """Returns one group of the corpus folded into a slice; labels are the wire's names."""
    app, release, page = group
    envelopes = recorded_traces()[group]
    funcs, tree, parts, samples = FuncTable(), CallTreeBuilder(), TimeParts(), 0
    for envelope in envelopes:
        fold = fold_trace(envelope, page=page, funcs=funcs)
        tree.add_stacks(fold.prefix, fold.func, fold.stack_us, fold.stack_samples, fold.stack_hidden_us)
        parts.add(fold.parts)
        samples += len(envelope.trace.samples)
    return SliceExport(
        project=app,
        query=f"release={release}&page={page}",
        funcs=[
            ExportFunc(label=key.name, name=key.name, uri=key.uri, line=key.line, column=key.column)
            for key in funcs.keys
        ],
        tree=tree.tree,
        time=parts,
        views=len(envelopes),
        traces=len(envelopes),
        samples=samples,
        interval_ms=envelopes[0].sampleInterval,
        started_at_ms=int(min(envelope.timeOrigin for envelope in envelopes)),
        ended_at_ms=int(max(envelope.timeOrigin for envelope in envelopes)),
        releases=(release,),
        pages=(page,),
    )


def groups() -> list[Group]:
    """Returns the groups of the corpus, in order."""
    return sorted(expected_groups())
