"""A group with more pending traces than a batch is folded by several workers at once, each with views of its own."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

import psycopg
import pytest
from django.conf import settings
from django.db import connection, connections
from pytest_django import Settings

from aggregate.fold import pending
from aggregate.fold.batch import fold_claim
from aggregate.fold.claims import Claim, claim_batch
from aggregate.fold.locks import try_keys
from aggregate.fold.rollups import roll_up_hours
from aggregate.fold.stripes import STRIPES, next_piece, stripe_of
from aggregate.fold.writes import write_views
from projects.creation import create_project
from projects.models import Project
from tests.aggregate.old_views import NOW, OLD, SHAPES
from tests.aggregate.posting import database_url, fold_all, post, rows
from tests.aggregate.stored_state import assert_rollup_is_exact, by_day, summed
from tests.envelopes import make_envelope, view_id_of

LIMIT_S = 240.0
BATCH = 8

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _small_batches(settings: Settings) -> None:
    settings.FOLD_BATCH_TRACES = BATCH
    create_project(slug="shop", key="shop-key", origins=["*"])
    create_project(slug="other", key="other-key", origins=["*"])


def make_traces(count: int, *, first: int = 0, seq: int = 0) -> list[dict[str, Any]]:  # Any: JSON of a browser
    return [
        make_envelope(f"v{n}", SHAPES[(n + seq) % 4], seq=seq, viewStart=OLD.timestamp() * 1000)
        for n in range(first, first + count)
    ]


def post_some(key: str, *envelopes: dict[str, Any]) -> None:
    for start in range(0, len(envelopes), 50):
        post(key, *envelopes[start : start + 50])


def stripes_in(claim: Claim) -> set[int]:
    return {stripe_of(trace.view_id) for trace in claim.traces}


def claim_some() -> Claim:
    claim = claim_batch()
    assert claim is not None
    return claim


def assert_like_other(*envelopes: dict[str, Any]) -> None:
    """Compares the sums of the shop with those of a project that folds the same traces in one batch."""
    settings.FOLD_BATCH_TRACES = 2 * len(envelopes)  # the fixture sets it back
    post_some("other-key", *envelopes)
    fold_all()
    state = by_day()
    assert summed(state, 1) == summed(state, 2)
    assert_rollup_is_exact()


def test_claims_of_a_large_group_take_different_stripes() -> None:
    post("shop-key", *make_traces(60))
    first, second = claim_some(), claim_some()
    assert first.shared_group == second.shared_group == first.traces[0].group_id
    assert len(first.traces) == len(second.traces) == BATCH
    assert not stripes_in(first) & stripes_in(second)


def test_a_batch_of_several_groups_has_them_alone() -> None:
    post("shop-key", *make_traces(3), make_envelope("w", "A", page="/w"))
    claim = claim_some()
    assert len(claim.traces) == 4
    assert claim.shared_group is None


def test_a_batch_shares_the_group_that_does_not_fit() -> None:
    post("shop-key", make_envelope("w", "A", page="/w"))
    post("shop-key", *make_traces(30))
    claim = claim_some()
    assert len(claim.traces) == BATCH
    assert claim.shared_group == claim.traces[-1].group_id != claim.traces[0].group_id


def test_a_group_with_more_bytes_than_a_batch_is_shared(settings: Settings) -> None:
    post("shop-key", *make_traces(60))
    ((size,),) = rows("SELECT sum(body_bytes) FROM ingest_tracereceipt")
    settings.FOLD_BATCH_BYTES = size // 10
    settings.FOLD_BATCH_TRACES = 200
    claims = [claim_some(), claim_some()]
    assert len(claims[0].traces) < 20
    assert not stripes_in(claims[0]) & stripes_in(claims[1])


def test_what_is_left_in_stripes_of_others_is_claimed_too() -> None:
    post("shop-key", *make_traces(60))
    claimed = [claim_some() for _ in range(7)]
    while claim := claim_batch():
        claimed.append(claim)
    assert sum(len(claim.traces) for claim in claimed) == 60


def while_one_waits(monkeypatch: pytest.MonkeyPatch, work: Callable[[], object]) -> None:
    """Claims twice. While the first batch is written, before its sums, writes the second one and does the work."""
    first, second = fold_claim(claim_some()), fold_claim(claim_some())
    is_waiting, may_go_on = threading.Event(), threading.Event()

    def write_slowly(*args: Any) -> None:
        if threading.current_thread() is not threading.main_thread():
            is_waiting.set()
            assert may_go_on.wait(LIMIT_S)
        write_views(*args)

    def write_first() -> None:
        try:
            pending.write_batch(first)
        finally:
            is_waiting.set()
            connections.close_all()

    monkeypatch.setattr(pending, "write_views", write_slowly)
    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(write_first)
        try:
            assert is_waiting.wait(LIMIT_S)
            pending.write_batch(second)
            work()
        finally:
            may_go_on.set()
        done.result(LIMIT_S)


@pytest.mark.parametrize("is_late", [False, True], ids=["in time", "after the roll-up"])
def test_two_batches_of_a_group_are_written_at_once(monkeypatch: pytest.MonkeyPatch, is_late: bool) -> None:
    early, late = make_traces(BATCH), make_traces(60, seq=1)
    post("shop-key", *early)
    fold_all()
    if is_late:
        assert roll_up_hours(NOW) == 1
    post("shop-key", *late)
    written: list[tuple[Any, ...]] = []
    while_one_waits(monkeypatch, lambda: written.extend(rows("SELECT count(*) FROM ingest_receiptcount")))
    assert written
    fold_all()
    assert_like_other(*early, *late)


def test_who_changes_the_group_otherwise_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    post("shop-key", *make_traces(60))
    may: dict[str, bool] = {}

    def look() -> None:
        (group,) = rows("SELECT project_id, id FROM ingest_group")
        with psycopg.connect(database_url(), autocommit=True) as other:
            for name in ("pg_try_advisory_xact_lock", "pg_try_advisory_xact_lock_shared"):
                row = other.execute(f"SELECT {name}(%s::int, %s::int)".encode(), group).fetchone()
                assert row is not None
                may[name] = row[0]

    while_one_waits(monkeypatch, look)
    assert may == {"pg_try_advisory_xact_lock": False, "pg_try_advisory_xact_lock_shared": True}


def test_views_in_one_stripe_are_written_one_batch_after_another() -> None:
    """The second one grows the view that the first one has written."""
    word = next(f"v{n}" for n in range(1000) if stripe_of(UUID(view_id_of(f"v{n}"))) == 3)
    traces = [make_envelope(word, SHAPES[seq % 4], seq=seq, viewStart=OLD.timestamp() * 1000) for seq in range(20)]
    post("shop-key", *traces)
    batches = [fold_claim(claim_some()) for _ in range(2)]
    assert [batch.claim.shared_group is not None for batch in batches] == [True, True]

    def write(batch: Any) -> None:
        try:
            pending.write_batch(batch)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(write, batch) for batch in batches]:
            done.result(LIMIT_S)
    fold_all()
    assert_like_other(*traces)


def test_pieces_of_a_shared_group_are_merged() -> None:
    traces = [envelope for seq in range(4) for envelope in make_traces(30, seq=seq)]
    post_some("shop-key", *traces)
    assert len(fold_all()) >= len(traces) // BATCH
    most = rows("SELECT max(n) FROM (SELECT count(*) AS n FROM aggregate_hotspotpiece GROUP BY cell_id) AS c")
    assert most <= [(settings.HOTSPOT_MAX_PIECES,)]
    most = rows("SELECT max(n) FROM (SELECT count(*) AS n FROM aggregate_calltreepiece GROUP BY cell_id) AS c")
    assert most <= [(settings.CALLTREE_MAX_PIECES,)]
    assert_like_other(*traces)


def test_a_fold_does_not_wait_for_another_that_merges_the_pieces() -> None:
    traces = make_traces(90)
    post_some("shop-key", *traces)
    project = Project.objects.get(slug="shop")
    assert pending.fold_pending_batch() is pending.BatchOutcome.FOLDED
    cells = [(cell_id,) for (cell_id,) in rows("SELECT id FROM aggregate_cell")]
    tables = ("aggregate_hotspotpiece", "aggregate_calltreepiece")
    with ThreadPoolExecutor(1) as pool:
        held, may_end = threading.Event(), threading.Event()

        def hold() -> None:
            from django.db import transaction

            try:
                with transaction.atomic():
                    assert all(all(try_keys(project.pk, table, cells)) for table in tables)
                    held.set()
                    assert may_end.wait(LIMIT_S)
            finally:
                held.set()
                connections.close_all()

        done = pool.submit(hold)
        assert held.wait(LIMIT_S)
        try:
            for _ in range(9):
                assert pending.fold_pending_batch() is pending.BatchOutcome.FOLDED
            assert rows("SELECT count(*) FROM aggregate_hotspotpiece") == [(10,)]
            assert rows("SELECT count(*) FROM aggregate_calltreepiece") == [(10,)]
        finally:
            may_end.set()
        done.result(LIMIT_S)
    fold_all()
    assert rows("SELECT count(*) <= 4 FROM aggregate_hotspotpiece") == [(True,)]
    assert_like_other(*traces)


def test_a_view_without_a_row_is_rebuilt_with_the_group_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    early, late = make_traces(30), make_traces(30, seq=1)
    post("shop-key", *early)
    fold_all()
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM aggregate_pageview")
    post("shop-key", *late)
    shared: list[int | None] = []
    lock = pending._lock

    def note_and_lock(claim: Claim) -> list[int]:
        shared.append(claim.shared_group)
        return lock(claim)

    monkeypatch.setattr(pending, "_lock", note_and_lock)
    fold_all()
    assert shared[0] is not None
    assert shared[1] is None
    post("other-key", *early)
    fold_all()
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM aggregate_pageview WHERE project_id = %s", [Project.objects.get(slug="other").pk])
    assert_like_other(*late)


def test_ids_of_pieces_are_those_of_their_stripe() -> None:
    for newest in range(40):
        new = [next_piece(range(newest + 1), stripe) for stripe in range(STRIPES)]
        assert len(set(new)) == STRIPES
        assert all(newest < piece <= newest + STRIPES for piece in new)
        assert [piece % STRIPES for piece in new] == list(range(STRIPES))
    assert next_piece([3, 7], None) == 8
    assert next_piece([], None) == 1
