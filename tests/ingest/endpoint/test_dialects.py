"""Envelopes whose trace is in the API's first proposal are translated; any other format is refused as before."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from profcore.trace.wire import Limits, decode_envelope
from tests.envelopes import make_envelope, view_id_of
from tests.ingest.endpoint.posting import IngestServer, ndjson

IMPORTS = Path(__file__).parents[2] / "data" / "imports"


def drafted(view: str = "a", **fields: object) -> dict[str, Any]:
    """Returns an envelope with a trace of the first proposal."""
    return {**make_envelope(view), "trace": json.loads((IMPORTS / "explainer.json").read_bytes()), **fields}


def stored(endpoint: IngestServer) -> list[bytes]:
    """Returns the bodies that are kept, expanded."""
    rows = endpoint.rows(
        "SELECT is_gzip, body FROM ingest_rawtrace WHERE project_id = %(project)s ORDER BY view_id, seq"
    )
    return [gzip.decompress(bytes(body)) if is_gzip else bytes(body) for is_gzip, body in rows]


def test_a_trace_of_the_first_proposal_is_kept_in_the_specs_dialect_with_all_else_as_it_came(
    endpoint: IngestServer,
) -> None:
    sent = drafted(tags={"plan": "free"}, page="/draft", unknown=[1, {"a": None}])
    assert endpoint.post(sent).json == {"accepted": 1, "rejected": []}
    (body,) = stored(endpoint)
    kept = json.loads(body)
    assert {**kept, "trace": None} == {**sent, "trace": None}
    trace = decode_envelope(body, Limits()).trace
    assert [len(table) for table in (trace.frames, trace.samples)] == [
        len(sent["trace"]["frames"]),
        len(sent["trace"]["samples"]),
    ]
    assert set(trace.resources) == {frame["uri"] for frame in sent["trace"]["frames"] if "uri" in frame}


@pytest.mark.parametrize("is_gzip", [True, False])
def test_in_a_batch_each_envelope_has_its_own_dialect(endpoint: IngestServer, is_gzip: bool) -> None:
    spec = make_envelope("b")
    lines = ndjson(drafted("a"), spec, {**drafted("c"), "trace": {"frames": [], "stacks": []}})
    answer = endpoint.post(gzip.compress(lines) if is_gzip else lines)
    assert (answer.json["accepted"], [row["index"] for row in answer.json["rejected"]]) == (2, [2])
    by_view = {json.loads(body)["viewId"]: body for body in stored(endpoint)}
    assert json.loads(by_view[view_id_of("b")]) == spec
    assert "resources" in json.loads(by_view[view_id_of("a")])["trace"]


def test_a_packed_one_is_taken(endpoint: IngestServer) -> None:
    assert endpoint.post(gzip.compress(json.dumps(drafted()).encode())).status == 202
    assert "resources" in json.loads(stored(endpoint)[0])["trace"]


@pytest.mark.parametrize(
    ("change", "reason", "path"),
    [
        (lambda e: e["trace"]["stacks"].append({"frameId": 99}), "dangling_id", "$.trace.stacks[{stacks}].frameId"),
        (lambda e: e["trace"]["samples"].append({"timestamp": 1, "stackId": 99}), "dangling_id", None),
        (lambda e: e["trace"]["samples"].append({"timestamp": "1"}), "wrong_type", None),
        (lambda e: e["trace"]["samples"].append({"timestamp": 1e300}), "out_of_range", None),
        (lambda e: e["trace"]["stacks"].append({"frameId": 0, "parentId": 99}), "parent_order", None),
        (lambda e: e.pop("seq"), "missing_field", "$"),
        (lambda e: e.update(release=""), "invalid_value", "$.release"),
        (lambda e: e["trace"].pop("samples"), "wrong_type", None),  # of its first frame, as in the spec's dialect
        (lambda e: e.update(trace=json.loads((IMPORTS / "lab.cpuprofile").read_bytes())), "wrong_type", None),
    ],
)
def test_a_fault_in_it_is_named_by_reason_and_path(
    endpoint: IngestServer, change: Any, reason: str, path: str | None
) -> None:
    envelope = drafted()
    count = len(envelope["trace"]["stacks"])
    change(envelope)
    answer = endpoint.post(envelope)
    assert (answer.status, answer.reason) == (400, reason)
    assert answer.json["path"].startswith("$.trace." if path is None else path.format(stacks=count))
    assert stored(endpoint) == []


def test_one_posted_again_changes_nothing(endpoint: IngestServer) -> None:
    assert [endpoint.post(drafted()).status for _ in range(2)] == [202, 202]
    assert len(stored(endpoint)) == 1
