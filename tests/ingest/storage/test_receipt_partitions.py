"""Receipts in partitions: a trace that is sent again is recognised in whatever partition its receipt is."""

import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine
from django.db import connection, transaction

from ingest.storage.partitions import create_partitions
from ingest.storage.receipt_partitions import (
    NEAR_BORDER,
    PARTITION_DAYS,
    DedupMode,
    create_receipt_partitions,
    dedup_mode_of,
    list_receipt_partitions,
    partition_bounds,
)
from profcore.times import DAY, start_of_day
from tests.envelopes import make_envelope
from tests.ingest.endpoint.posting import IngestResponse, IngestServer, ndjson
from tests.partitions import drop_made_partitions

LIMIT_S = 120.0
SECOND = timedelta(seconds=1)
# A border between two partitions, which are so far ahead that no test has them yet.
BORDER, NEXT_BORDER = partition_bounds(start_of_day(datetime.now(UTC)) + 60 * DAY)


@pytest.fixture
def partitions(db: None) -> None:
    """The partitions around the border."""
    create_partitions((BORDER - 10 * DAY).date(), 17)


@pytest.fixture
def lasting_partitions(transactional_db: None) -> Iterator[None]:
    """The partitions around the border, for tests that commit."""
    create_partitions((BORDER - DAY).date(), 2)
    yield
    drop_made_partitions(BORDER - DAY, BORDER)


def post_at(endpoint: IngestServer, at: datetime, *envelopes: dict[str, Any]) -> None:
    with time_machine.travel(at, tick=False):
        answer = endpoint.post(ndjson(*envelopes))
    assert answer.status == 202, answer.content


def trace(word: str = "a", *, began: datetime, **fields: Any) -> dict[str, Any]:
    return make_envelope(word, timeOrigin=began.timestamp() * 1000, viewStart=began.timestamp() * 1000, **fields)


def places(endpoint: IngestServer) -> list[str]:
    """Returns the table of each receipt."""
    return [name for (name,) in endpoint.rows("SELECT tableoid::regclass::text FROM ingest_tracereceipt ORDER BY 1")]


def test_partitions_have_their_days_and_each_is_made_once(db: None) -> None:
    before = list_receipt_partitions()
    assert create_receipt_partitions(BORDER.date(), PARTITION_DAYS) == 1
    assert create_receipt_partitions(BORDER.date(), PARTITION_DAYS + 1) == 1
    made = list_receipt_partitions()[len(before) :]
    assert [(partition.start_at, partition.end_at) for partition in made] == [
        (BORDER, NEXT_BORDER),
        (NEXT_BORDER, NEXT_BORDER + PARTITION_DAYS * DAY),
    ]
    assert made[0].name == f"ingest_tracereceipt_{BORDER:%Y%m%d}"
    # No day between the present partitions and the others is left out or in two of them.
    assert create_receipt_partitions(before[-1].end_at.date(), (BORDER - before[-1].end_at).days) > 0
    listed = list_receipt_partitions()
    assert [one.end_at for one in listed[:-1]] == [one.start_at for one in listed[1:]]


def test_a_partition_has_the_indexes_of_the_whole_table_and_a_key(db: None) -> None:
    create_receipt_partitions(BORDER.date(), 1)
    name = list_receipt_partitions()[-1].name
    with connection.cursor() as cursor:
        defined = []
        for table in ("ingest_tracereceipt", name):
            cursor.execute(
                """SELECT regexp_replace(indexdef, '^.* USING ', '') FROM pg_indexes WHERE tablename = %s ORDER BY 1""",
                [table],
            )
            defined.append({definition for (definition,) in cursor.fetchall()})
    whole, part = defined
    assert len(whole) == 4
    assert part == whole | {"btree (project_id, view_id, seq)"}


@pytest.mark.parametrize(
    ("began", "first", "second"),
    [
        pytest.param(-10 * DAY, -9 * DAY, 5 * DAY, id="a view of the older partition"),
        pytest.param(-10 * SECOND, -SECOND, SECOND, id="on both sides of the border"),
        pytest.param(2 * DAY, -3 * DAY, 3 * DAY, id="a clock that is five days ahead"),
        pytest.param(-30 * DAY, -3 * DAY, 3 * DAY, id="a clock that is weeks behind"),
        pytest.param(-10 * SECOND, SECOND, -SECOND, id="a server whose clock is behind"),
        pytest.param(3 * DAY, 4 * DAY, 5 * DAY, id="in one partition"),
    ],
)
def test_a_trace_that_is_sent_again_is_recognised(
    endpoint: IngestServer, partitions: None, began: timedelta, first: timedelta, second: timedelta
) -> None:
    sent = trace(began=BORDER + began)
    post_at(endpoint, BORDER + first, sent)
    before = endpoint.receipts("received_at")
    post_at(endpoint, BORDER + second, sent)
    assert endpoint.receipts("received_at") == before
    assert len(endpoint.bodies()) == 1


def test_other_traces_of_the_view_are_stored_in_the_next_partition(endpoint: IngestServer, partitions: None) -> None:
    began = BORDER - timedelta(minutes=5)
    post_at(endpoint, BORDER - SECOND, trace(began=began))
    post_at(endpoint, BORDER + SECOND, trace(began=began, seq=1), trace(began=began))
    post_at(endpoint, BORDER + DAY, trace(began=began, seq=2), trace(began=began, seq=1))
    assert endpoint.receipts("seq") == [(0,), (1,), (2,)]
    assert len(set(places(endpoint))) == 2


def test_only_what_may_be_elsewhere_is_looked_for_there() -> None:
    began, middle = BORDER.timestamp() * 1000, BORDER + 5 * DAY
    assert dedup_mode_of([began], middle) is DedupMode.NONE
    assert dedup_mode_of([began, began - 1], middle) is DedupMode.LOOK_BACK
    assert dedup_mode_of([began - 1, NEXT_BORDER.timestamp() * 1000], middle) is DedupMode.TAKE_BORDER
    assert dedup_mode_of([began], BORDER + SECOND) is DedupMode.TAKE_BORDER
    near = [BORDER + offset for offset in (-NEAR_BORDER, -SECOND, NEAR_BORDER - SECOND)]
    far = [BORDER + NEAR_BORDER, BORDER - NEAR_BORDER - SECOND]
    modes = [dedup_mode_of([at.timestamp() * 1000], at) for at in near + far]
    assert modes == [DedupMode.TAKE_BORDER] * 3 + [DedupMode.NONE] * 2


def test_identities_near_a_border_are_noted_and_others_are_not(endpoint: IngestServer, partitions: None) -> None:
    noted = "SELECT count(*) FROM ingest_borderreceipt"
    post_at(endpoint, BORDER + 5 * DAY, trace("a", began=BORDER + 5 * DAY), trace("b", began=BORDER - DAY))
    assert endpoint.rows(noted) == [(0,)]
    post_at(endpoint, BORDER + SECOND, trace("c", began=BORDER))
    assert endpoint.rows(noted) == [(1,)]


@pytest.mark.parametrize("is_undone", [False, True])
def test_a_trace_that_is_posted_twice_at_the_border_waits_for_the_first(
    open_endpoint: IngestServer, lasting_partitions: None, is_undone: bool
) -> None:
    """The first is not committed yet, and no key of a partition can tell the second one of it."""
    body, answers = ndjson(trace(began=BORDER - 5 * SECOND)), list[IngestResponse]()

    def repost() -> None:
        try:
            answers.append(open_endpoint.post(body))
        finally:
            connection.close()

    second = threading.Thread(target=repost)
    with time_machine.travel(BORDER - SECOND, tick=True) as clock:
        open_endpoint.post(trace("other", began=BORDER - DAY))  # interns the group
        with transaction.atomic():
            open_endpoint.post(body)
            clock.move_to(BORDER + SECOND, tick=True)
            second.start()
            second.join(0.3)
            assert answers == []
            transaction.set_rollback(is_undone)
        second.join(LIMIT_S)
    assert [answer.status for answer in answers] == [202]
    assert open_endpoint.bodies().count(body) == 1
    assert len(open_endpoint.receipts()) == 2
    assert len(set(places(open_endpoint))) == (2 if is_undone else 1)
