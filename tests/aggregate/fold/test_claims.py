"""Claims: who may fold what, and what happens to a claim whose worker is gone."""

import threading
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import psycopg
import pytest
from django.db import connection, connections
from pytest_django import Settings

from aggregate.fold.batch import fold_claim
from aggregate.fold.claims import claim_batch, release_claim
from aggregate.fold.pending import BatchOutcome, ClaimLost, fold_pending_batch, write_batch
from aggregate.worker_leases import drop_dead_leases
from projects.creation import create_project
from tests.aggregate.posting import be_killed, everything, fold_all, post, rows
from tests.envelopes import make_envelope

LIMIT_S = 120.0

pytestmark = pytest.mark.django_db(transaction=True)


def test_what_is_claimed_is_not_claimed_again_while_its_claimant_lives(key: str) -> None:
    post(key, make_envelope("a"), make_envelope("b"))
    first = claim_batch()
    assert first is not None
    assert len(first.traces) == 2
    assert claim_batch() is None


def test_a_claim_is_void_as_soon_as_somebody_on_its_machine_sees_its_process_gone(key: str) -> None:
    post(key, make_envelope("a"))
    assert claim_batch() is not None
    assert drop_dead_leases() == 0
    be_killed()
    assert claim_batch() is None
    assert drop_dead_leases() == 1
    claim = claim_batch()
    assert claim is not None
    assert claim.traces[0].attempts == 2


def test_a_claim_is_void_when_its_lease_runs_out(key: str) -> None:
    post(key, make_envelope("a"))
    assert claim_batch() is not None
    with connection.cursor() as cursor:
        cursor.execute("UPDATE ingest_tracereceipt SET claimed_until = now() - interval '1 second'")
    assert claim_batch() is not None


def test_attempts_are_counted_before_the_work(key: str) -> None:
    post(key, make_envelope("a"))
    claim = claim_batch()
    assert claim is not None
    assert rows("SELECT attempts, state FROM ingest_tracereceipt") == [(1, 0)]


def test_a_trace_whose_batches_failed_twice_is_claimed_alone(key: str) -> None:
    post(key, *(make_envelope(f"v{n}") for n in range(3)))
    for _ in range(2):
        claim = claim_batch()
        assert claim is not None
        assert not claim.is_alone
        assert len(claim.traces) == 3
        release_claim(claim)
    claim = claim_batch()
    assert claim is not None
    assert claim.is_alone
    assert len(claim.traces) == 1


def test_a_batch_takes_several_small_groups_of_one_project(key: str) -> None:
    create_project(slug="other", key="other-key", origins=["*"])
    post(key, make_envelope("a", page="/a"), make_envelope("b", page="/b"))
    post("other-key", make_envelope("c"))
    claim = claim_batch()
    assert claim is not None
    assert len({trace.group_id for trace in claim.traces}) == 2


def test_projects_take_turns_whatever_one_of_them_has_waiting(key: str, settings: Settings) -> None:
    settings.FOLD_BATCH_TRACES = 2
    for slug in ("other", "third"):
        create_project(slug=slug, key=f"{slug}-key", origins=["*"])
    post(key, *(make_envelope(f"v{n}") for n in range(9)))  # far behind
    post("other-key", make_envelope("a"))
    post("third-key", make_envelope("b"))
    shop, other, third = (project_id for (project_id,) in rows("SELECT id FROM projects_project ORDER BY id"))
    served = []
    while (claim := claim_batch()) is not None:
        served.append(claim.project_id)
    assert served == [shop, other, third, shop, shop, shop, shop]


def test_a_batch_that_takes_long_falls_apart_and_the_rest_counts_no_attempt(key: str, settings: Settings) -> None:
    settings.FOLD_BATCH_CPU_S = 0
    post(key, *(make_envelope(f"v{n}", "A\nA B") for n in range(3)))
    for folded in range(1, 4):
        assert fold_pending_batch() is BatchOutcome.FOLDED
        assert rows("SELECT count(*) FROM ingest_tracereceipt WHERE state = 1") == [(folded,)]
        assert rows("SELECT coalesce(max(attempts), 0) FROM ingest_tracereceipt WHERE state = 0") == [(0,)]
    assert fold_pending_batch() is BatchOutcome.NOTHING_PENDING
    assert rows("SELECT sum(traces), sum(js_us) FROM aggregate_cell") == [(3, 60_000)]


def test_a_batch_is_bounded_by_bytes(key: str, settings: pytest.FixtureRequest) -> None:
    post(key, *(make_envelope(f"v{n}") for n in range(5)))
    (size,) = rows("SELECT max(body_bytes) FROM ingest_tracereceipt")[0]
    settings.FOLD_BATCH_BYTES = size + 1  # type: ignore[attr-defined]  # pytest-django's settings
    claim = claim_batch()
    assert claim is not None
    assert len(claim.traces) == 2


def test_a_worker_whose_claim_was_taken_over_writes_nothing(key: str) -> None:
    post(key, make_envelope("a"))
    claim = claim_batch()
    assert claim is not None
    batch = fold_claim(claim)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE ingest_tracereceipt SET claim_token = %s", [uuid4()])
    with pytest.raises(ClaimLost):
        write_batch(batch)
    assert rows("SELECT count(*) FROM aggregate_pageview") == [(0,)]


def test_a_trace_that_was_folded_meanwhile_is_not_counted_twice(key: str) -> None:
    post(key, make_envelope("a"))
    claim = claim_batch()
    assert claim is not None
    batch = fold_claim(claim)
    write_batch(batch)
    before = everything()
    with pytest.raises(ClaimLost):
        write_batch(batch)
    assert everything() == before


def test_four_workers_on_the_same_cells_count_everything_once(key: str, settings: pytest.FixtureRequest) -> None:
    settings.FOLD_BATCH_TRACES = 3  # type: ignore[attr-defined]  # pytest-django's settings
    envelopes = [make_envelope(f"v{n % 30}", "A\nA B\nC", seq=n // 30, page=f"/p{n % 2}") for n in range(90)]
    post(key, *envelopes)
    barrier = threading.Barrier(4, timeout=LIMIT_S)

    def work() -> int:
        try:
            folded = int(fold_pending_batch() is BatchOutcome.FOLDED)
            barrier.wait()  # nobody takes a second batch before everybody has had one
            while (outcome := fold_pending_batch()) is not BatchOutcome.NOTHING_PENDING:
                folded += outcome is BatchOutcome.FOLDED
            return folded
        finally:
            connections.close_all()

    with ThreadPoolExecutor(4) as pool:
        counts = [future.result() for future in [pool.submit(work) for _ in range(4)]]
    fold_all()  # what was locked by another when the last of the four looked
    assert sum(1 for count in counts if count) > 1  # the work was shared
    assert rows("SELECT sum(traces), sum(views), sum(js_us) FROM aggregate_cell") == [(90, 30, 2_700_000)]
    assert rows("SELECT DISTINCT state FROM ingest_tracereceipt") == [(1,)]


def test_a_database_fault_gives_the_claim_back(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from django.db import OperationalError

    post(key, make_envelope("a"))

    def fail(*args: object) -> None:
        raise OperationalError("as when a deadlock was resolved against us")

    monkeypatch.setattr("aggregate.fold.pending.add_to_hotspots", fail)
    with pytest.raises(OperationalError):
        fold_pending_batch()
    monkeypatch.undo()
    assert fold_all() == [BatchOutcome.FOLDED]
    assert rows("SELECT sum(traces) FROM aggregate_cell") == [(1,)]


def test_a_session_killed_in_mid_transaction_leaves_no_effect(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from aggregate.fold import pending

    post(key, make_envelope("a"))
    original = pending.mark_receipts

    def kill_session_first(*args: object) -> None:
        (pid,) = rows("SELECT pg_backend_pid()")[0]
        settings = connection.settings_dict
        with psycopg.connect(
            host=settings["HOST"], port=settings["PORT"], user=settings["USER"], dbname=settings["NAME"]
        ) as other:
            other.execute("SELECT pg_terminate_backend(%s)", [pid])
        original(*args)  # type: ignore[arg-type]  # passes on what it got

    monkeypatch.setattr(pending, "mark_receipts", kill_session_first)
    with pytest.raises(Exception, match=r"terminating|closed|consuming"):
        fold_pending_batch()
    monkeypatch.undo()
    connection.close()
    assert rows("SELECT count(*) FROM aggregate_pageview") == [(0,)]
    assert fold_all() == [BatchOutcome.FOLDED]
    assert rows("SELECT sum(traces) FROM aggregate_cell") == [(1,)]
