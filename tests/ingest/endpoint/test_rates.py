"""How much a project may send: traces a second, and traces that wait."""

from typing import Any

import pytest
from django.db import connection
from pytest_django import Settings

from ingest.endpoint import admission
from ingest.endpoint.admission import ADMISSION, PENDING_CHECK_S
from projects.creation import create_project
from tests.envelopes import make_envelope
from tests.ingest.endpoint.posting import IngestServer


class Clock:
    """A clock that goes when told to."""

    def __init__(self) -> None:
        self.now_s = 1000.0

    def monotonic(self) -> float:
        return self.now_s


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("ingest.endpoint.admission.time", clock)
    return clock


def batch(count: int, view: str = "a") -> list[dict[str, Any]]:
    return [make_envelope(view, seq=seq) for seq in range(count)]


def test_the_traces_that_a_project_may_send_a_second_are_limited(
    endpoint: IngestServer, settings: Settings, clock: Clock
) -> None:
    settings.INGEST_RATE_PER_S = 3
    assert [endpoint.post(make_envelope(str(n))).status for n in range(4)] == [202, 202, 202, 429]
    clock.now_s += 0.34
    assert [endpoint.post(make_envelope(str(n))).status for n in range(2)] == [202, 429]


def test_a_batch_is_never_refused_for_its_size_but_the_next_waits_for_it(
    endpoint: IngestServer, settings: Settings, clock: Clock
) -> None:
    settings.INGEST_RATE_PER_S = 2
    assert endpoint.post(batch(12)).json["accepted"] == 12
    answer = endpoint.post(make_envelope("b"))
    assert (answer.status, answer.reason) == (429, "rate_limited")
    assert answer.headers["Retry-After"] == "6"  # a debt of 10, and 1 to come in, at 2 a second
    clock.now_s += 5.4
    assert endpoint.post(make_envelope("b")).status == 429
    clock.now_s += 0.2
    assert endpoint.post(make_envelope("b")).status == 202


def test_refused_envelopes_count_for_the_rate(endpoint: IngestServer, settings: Settings, clock: Clock) -> None:
    settings.INGEST_RATE_PER_S = 3
    assert endpoint.post([1, 2, 3]).status == 202
    assert endpoint.post(make_envelope("a")).status == 429
    clock.now_s += 1
    assert [endpoint.post(b"{").status for _ in range(4)] == [400, 400, 400, 429]


def test_waiting_does_not_save_up_for_more_than_a_second(
    endpoint: IngestServer, settings: Settings, clock: Clock
) -> None:
    settings.INGEST_RATE_PER_S = 2
    endpoint.post(make_envelope("a"))
    clock.now_s += 3600
    assert [endpoint.post(make_envelope(str(n))).status for n in range(3)] == [202, 202, 429]


def test_a_post_above_the_rate_is_refused_unread(
    endpoint: IngestServer, settings: Settings, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.INGEST_RATE_PER_S = 1
    endpoint.post(make_envelope("a"))
    monkeypatch.setattr("ingest.endpoint.views.read_bounded", lambda *_, **__: pytest.fail("The body was read."))
    assert endpoint.post(make_envelope("b")).status == 429
    assert endpoint.refusals() == {"rate_limited": 1}


def test_one_project_does_not_use_up_anothers_rate(endpoint: IngestServer, settings: Settings, clock: Clock) -> None:
    settings.INGEST_RATE_PER_S = 1
    _, other = create_project(slug="other", key="other-key", origins=["*"])
    assert endpoint.post(make_envelope("a")).status == 202
    assert endpoint.post(make_envelope("a"), key=other.public_key).status == 202
    assert endpoint.post(make_envelope("a")).status == 429


def test_a_project_with_too_many_pending_traces_is_asked_to_come_again(
    endpoint: IngestServer, settings: Settings, clock: Clock
) -> None:
    settings.INGEST_MAX_PENDING = 3
    assert endpoint.post(batch(3)).json["accepted"] == 3
    clock.now_s += PENDING_CHECK_S + 0.1
    answer = endpoint.post(make_envelope("b"))
    assert (answer.status, answer.reason) == (429, "too_many_pending")
    assert int(answer.headers["Retry-After"]) > 0
    assert len(endpoint.receipts()) == 3
    assert endpoint.refusals() == {"too_many_pending": 1}
    endpoint.rows("UPDATE ingest_tracereceipt SET state = 1 WHERE seq = 0 RETURNING 1")
    clock.now_s += PENDING_CHECK_S + 0.1
    assert endpoint.post(make_envelope("b")).status == 202


@pytest.mark.parametrize(
    ("name", "value", "status", "reason"),
    [
        ("INGEST_MAX_PENDING_BYTES", 1, 429, "too_many_pending"),
        ("INGEST_MAX_PENDING_AGE_S", 3_600, 429, "too_many_pending"),
        ("INGEST_MAX_TOTAL_PENDING_BYTES", 1, 503, "unavailable"),
        ("INGEST_MIN_FREE_BYTES", 2**62, 503, "unavailable"),
    ],
)
def test_each_bound_of_what_waits_has_its_answer(
    endpoint: IngestServer, clock: Clock, settings: Settings, name: str, value: int, status: int, reason: str
) -> None:
    assert endpoint.post(make_envelope("a")).status == 202
    endpoint.rows("UPDATE ingest_tracereceipt SET received_at = received_at - interval '2 hours' RETURNING 1")
    setattr(settings, name, value)
    clock.now_s += PENDING_CHECK_S + 0.1
    answer = endpoint.post(make_envelope("b"))
    assert (answer.status, answer.reason) == (status, reason)
    assert int(answer.headers["Retry-After"]) > 0
    assert len(endpoint.receipts()) == 1


def test_one_thread_counts_while_the_others_go_on(endpoint: IngestServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counting a long queue takes a connection and its time: the pool has few."""
    asked: list[bool] = []

    class Connection:
        def cursor(self) -> None:
            asked.append(ADMISSION.has_room(endpoint.project_id))  # another thread, in the meantime
            raise LookupError

    ADMISSION.clear()
    monkeypatch.setattr(admission, "connection", Connection())
    with pytest.raises(LookupError):
        ADMISSION.has_room(endpoint.project_id)
    assert asked == [True]


def test_the_longer_counting_takes_the_longer_it_holds(
    endpoint: IngestServer, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts: list[float] = []

    class SlowConnection:
        def cursor(self) -> Any:  # Any: as the database's
            clock.now_s += 1.0
            counts.append(clock.now_s)
            return connection.cursor()

    monkeypatch.setattr(admission, "connection", SlowConnection())
    assert ADMISSION.has_room(endpoint.project_id)  # took a second
    clock.now_s += 49
    assert ADMISSION.has_room(endpoint.project_id)
    assert len(counts) == 1
    clock.now_s += 2
    assert ADMISSION.has_room(endpoint.project_id)
    assert len(counts) == 2
