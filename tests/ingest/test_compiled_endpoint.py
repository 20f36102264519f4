"""The endpoint with the compiled kernel and without: the same answers, and the same rows."""

import gzip
import json
from typing import Any

import pytest
from pytest_django import Settings

from ingest.endpoint import parsing
from ingest.models import RawTrace, Receipt
from profcore.kernel import find_kernel
from profcore.trace.wire import Limits
from tests.envelopes import make_envelope
from tests.ingest.endpoint.posting import IngestServer

needs_kernel = pytest.mark.skipif(find_kernel().module is None, reason=find_kernel().why_pure)
ENVELOPE = make_envelope(
    "a", marks=[{"type": "longtask", "start": 1, "duration": 60}], tags={"team": "shop"}, device={"memory": 8}
)
BODY = json.dumps(ENVELOPE).encode()


def read_rows() -> list[dict[str, Any]]:  # Any: values of columns
    """Returns what is stored, apart from times of arrival and ids of rows."""
    rows: list[dict[str, Any]] = []
    for model in (Receipt, RawTrace):
        for row in model.objects.order_by("seq").values():
            rows.append({name: value for name, value in row.items() if name not in ("id", "received_at")})
    return rows


@needs_kernel
@pytest.mark.parametrize("body", [BODY, gzip.compress(BODY, mtime=0)], ids=["plain", "gzip"])
def test_both_twins_store_the_same(endpoint: IngestServer, settings: Settings, body: bytes) -> None:
    stored = []
    for choice in ("pure", "compiled"):
        settings.KERNEL = choice
        assert endpoint.post(body).json == {"accepted": 1, "rejected": []}
        stored.append(read_rows())
        RawTrace.objects.all().delete()
        Receipt.objects.all().delete()
    assert stored[0] == stored[1]
    assert len(stored[0]) == 2


@needs_kernel
def test_a_plain_envelope_is_not_decoded_by_the_pure_twin(
    endpoint: IngestServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parsing, "decode_envelope", None)
    assert endpoint.post(gzip.compress(BODY)).status == 202


@needs_kernel
@pytest.mark.parametrize(
    ("change", "reason"),
    [({"seq": -1}, "out_of_range"), ({"trace": {}}, "missing_field"), ({"marks": [{"type": "a"}]}, "missing_field")],
)
def test_the_pure_twin_says_what_is_wrong(
    endpoint: IngestServer, settings: Settings, change: dict[str, Any], reason: str
) -> None:
    answers = []
    for choice in ("pure", "compiled"):
        settings.KERNEL = choice
        answers.append(endpoint.post({**ENVELOPE, **change}).content)
    assert answers[0] == answers[1]
    assert json.loads(answers[0])["reason"] == reason


@needs_kernel
def test_batches_are_split_by_the_pure_twin(endpoint: IngestServer) -> None:
    lines = b"\n".join(json.dumps({**ENVELOPE, "seq": seq}).encode() for seq in range(3))
    assert endpoint.post(lines, content_type="application/x-ndjson").json["accepted"] == 3
    assert endpoint.post(BODY, content_type="application/x-ndjson").json == {"accepted": 1, "rejected": []}
    assert Receipt.objects.count() == 3


@needs_kernel
def test_a_large_body_is_left_to_its_turn(endpoint: IngestServer, settings: Settings) -> None:
    """`expanded` reads one large body at a time (test_gzip.py); the compiled check must not read it beside."""
    sent = gzip.compress(BODY)
    for bound, is_checked in ((len(BODY), True), (len(BODY) - 1, False)):
        parsed = parsing.parse_compiled(sent, content_type="", limits=Limits(), max_bytes=bound)
        assert (parsed is not None) == is_checked
    settings.INGEST_LARGE_BODY_BYTES = len(BODY) - 1
    assert endpoint.post(sent).status == 202
