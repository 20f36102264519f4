"""When the endpoint tells a page to stop sending: only if further posts of the page would be in vain for certain."""

from datetime import UTC, datetime, timedelta

import pytest
from pytest_django import Settings

from ingest.count_models import DayBytes
from ingest.endpoint.admission import ADMISSION
from ingest.endpoint.responses import STOP_S
from profcore.times import next_midnight
from projects.key_cache import clear_keys
from projects.models import Project
from tests.envelopes import make_envelope
from tests.ingest.endpoint.posting import IngestResponse, IngestServer, ndjson


def change(**fields: object) -> None:
    Project.objects.update(**fields)
    clear_keys()
    ADMISSION.clear()


def assert_stops_until_midnight(answer: IngestResponse) -> None:
    left_s = (next_midnight(datetime.now(UTC)) - datetime.now(UTC)).total_seconds()
    assert 1 <= answer.json["stop"] <= 86_400
    assert abs(answer.json["stop"] - left_s) < 300 or left_s < 300


def test_a_page_that_may_go_on_is_told_nothing(endpoint: IngestServer) -> None:
    assert endpoint.post(make_envelope("a")).json == {"accepted": 1, "rejected": []}


@pytest.mark.parametrize("body", [make_envelope("a"), [make_envelope("a"), make_envelope("b")], []])
def test_a_project_that_collects_nothing_takes_what_comes_and_says_stop(endpoint: IngestServer, body: object) -> None:
    change(collection_off=True)
    answer = endpoint.post(body)
    assert (answer.status, answer.json["stop"]) == (202, STOP_S)
    assert answer.json["accepted"] == len(endpoint.receipts())


def test_a_foreign_origin_is_told_to_stop(endpoint: IngestServer) -> None:
    endpoint.rows("UPDATE projects_ingestkey SET origins = '{https://other.example}' RETURNING 1")
    answer = endpoint.post(make_envelope("a"), origin="https://shop.example")
    assert (answer.status, answer.json["stop"]) == (403, STOP_S)


def test_a_used_up_quota_of_traces_stops_until_the_next_day(endpoint: IngestServer) -> None:
    change(max_traces_per_day=1)
    endpoint.post(make_envelope("a"))
    answer = endpoint.post(make_envelope("b"))
    assert answer.status == 429
    assert_stops_until_midnight(answer)
    batch = endpoint.post(ndjson(make_envelope("c"), make_envelope("d")), content_type="text/plain")
    assert (batch.status, batch.json["accepted"]) == (202, 0)
    assert_stops_until_midnight(batch)


@pytest.mark.parametrize("quota", ["max_mb_per_day", "max_kept_mb"])
def test_a_used_up_quota_of_megabytes_stops_until_the_next_day(endpoint: IngestServer, quota: str) -> None:
    change(**{quota: 1})
    for days in (0, 1):
        day_on = datetime.now(UTC).date() - timedelta(days=days)
        DayBytes.objects.create(project_id=endpoint.project_id, day_on=day_on, shard=0, bytes=1_000_000)
    answer = endpoint.post(make_envelope("a"))
    assert (answer.status, answer.reason) == (429, "quota_exceeded")
    assert_stops_until_midnight(answer)


def test_what_may_soon_be_otherwise_stops_nobody(endpoint: IngestServer, settings: Settings) -> None:
    assert "stop" not in endpoint.post(b"{").json
    assert "stop" not in endpoint.post(make_envelope("a"), key="nobody").json
    assert "stop" not in endpoint.post([{}]).json
    settings.INGEST_MAX_PENDING = 0
    answer = endpoint.post(make_envelope("a"))
    assert answer.status in (202, 429)
    assert "stop" not in answer.json
    settings.INGEST_RATE_PER_S = 1
    answers = [endpoint.post(make_envelope(str(n))) for n in range(3)]
    assert "rate_limited" in {reply.json.get("reason") for reply in answers}
    assert all("stop" not in reply.json for reply in answers)
