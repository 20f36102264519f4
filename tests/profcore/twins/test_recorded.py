"""Both twins fold recorded traces alike, to the byte."""

import gzip
import json
from collections import defaultdict
from uuid import UUID

from tests.corpus import DATA, corpus_envelopes
from tests.envelopes import make_envelope
from tests.heavy_traces import SIZES, make_heavy_envelope
from tests.profcore.edge import EDGE
from tests.profcore.twins.comparing import SentBody, SentTrace, compare_twins, needs_kernel, packed

pytestmark = needs_kernel


def test_the_corpus() -> None:
    apps: dict[str, list[SentTrace]] = defaultdict(list)
    for app, wire in corpus_envelopes():
        page = wire.get("page") or "/"
        apps[app].append(SentTrace(packed(wire), page, wire["release"] + page, UUID(wire["viewId"])))
    outcomes = [compare_twins(traces) for traces in apps.values()]
    assert sum(outcome.folded for outcome in outcomes) == 560
    assert sum(outcome.left for outcome in outcomes) == 0


def test_the_traces_with_known_truth() -> None:
    with gzip.open(DATA / "truth.jsonl.gz") as lines:
        recordings = [json.loads(line) for line in lines]
    traces = [SentTrace(packed(recording["envelope"]), recording["page"]) for recording in recordings]
    outcome = compare_twins(traces)
    assert (outcome.folded, outcome.left) == (len(traces), 0)
    assert traces


def test_recorded_edge_cases() -> None:
    """A batch of each alone, and one of all."""
    traces = []
    for path in sorted(EDGE.glob("*.trace.json")):
        wire = json.dumps(make_envelope("edge", url="https://a.corpus.test/page.html", trace=None)).encode()
        body = wire.replace(b'"trace": null', b'"trace":' + path.read_bytes())
        traces.append(SentTrace(SentBody(body), "/edge"))
        assert compare_twins(traces[-1:]).left == 0
    outcome = compare_twins(traces)
    assert (outcome.folded, outcome.left) == (len(traces), 0)
    assert traces


def test_heavy_traces() -> None:
    for kind in SIZES:
        wires = [make_heavy_envelope(number, kind) for number in range(3)]
        outcome = compare_twins([SentTrace(packed(wire), wire["page"]) for wire in wires])
        assert (outcome.folded, outcome.left) == (3, 0)
