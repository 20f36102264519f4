"""A trace that crashes the worker is isolated, and set aside alone; innocent kills set nothing aside."""

import os
import subprocess
import sys
from uuid import UUID

import pytest
from django.conf import settings as django_settings
from django.db import connection
from pytest_django import Settings

from aggregate.child_process import CrashedAlone
from aggregate.fold import pending
from aggregate.fold.batch import FoldedBatch
from aggregate.fold.claims import Claim, claim_batch
from aggregate.worker_leases import drop_dead_leases
from tests.aggregate.posting import be_killed, database_url, fold_all, post, rows
from tests.envelopes import make_envelope

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.kills, pytest.mark.slow(15)]


OTHER = UUID(int=1)


def run_worker(**environment: str) -> int:
    """Runs a worker in which some traces are poison, until nothing is pending or it dies; returns its exit status."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.fault_injection.worker"],
        cwd=django_settings.BASE_DIR,
        env={**os.environ, "DATABASE_URL": database_url(), **environment},
        timeout=120,
        check=False,
        capture_output=True,
    )
    return done.returncode


def end_waits() -> None:
    """Ends the waits between tries of a trace that failed alone."""
    with connection.cursor() as cursor:
        cursor.execute("UPDATE ingest_tracereceipt SET claimed_until = NULL WHERE state = 0")


def test_a_trace_that_crashes_the_worker_is_rejected_alone(key: str) -> None:
    good = [make_envelope(f"v{n}", "A\nA B") for n in range(10)]
    post(key, *good[:5], make_envelope("bad", "A", release="poison"), *good[5:])
    statuses = []
    for _ in range(8):
        statuses.append(run_worker())
        end_waits()
        if not rows("SELECT 1 FROM ingest_tracereceipt WHERE state = 0"):
            break
    assert statuses[:2] == [-11, -11]  # two batches died of it
    assert rows("SELECT state, reason, crashes FROM ingest_tracereceipt WHERE state <> 1") == [(2, "crashed", 3)]
    assert rows("SELECT sum(traces), sum(js_us) FROM aggregate_cell") == [(10, 200_000)]


@pytest.mark.nightly
def test_a_trace_that_hangs_alone_is_rejected(key: str) -> None:
    post(key, make_envelope("bad", "A", release="hang"), make_envelope("good", "A"))
    for _ in range(8):
        run_worker(FIELDFLAME_FOLD_ALONE_TIMEOUT_S="15")  # waited for once; the good trace's process needs some of it
        end_waits()
        if not rows("SELECT 1 FROM ingest_tracereceipt WHERE state = 0"):
            break
    assert rows("SELECT state, reason FROM ingest_tracereceipt WHERE state <> 1") == [(2, "crashed")]
    assert rows("SELECT sum(traces) FROM aggregate_cell") == [(1,)]


def test_a_trace_that_failed_alone_waits_and_lets_others_pass(key: str) -> None:
    post(key, make_envelope("bad", "A", release="poison"))
    for _ in range(3):
        run_worker()
    assert rows("SELECT crashes >= 1, claimed_until > now() FROM ingest_tracereceipt") == [(True, True)]
    post(key, make_envelope("good", "A"))
    assert run_worker() == 0
    assert rows("SELECT sum(traces) FROM aggregate_cell") == [(1,)]


def test_a_crash_of_what_another_worker_took_over_meanwhile_is_not_settled(
    key: str, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    post(key, make_envelope("bad", "A"))

    def crash_late(claim: Claim, **options: object) -> FoldedBatch:
        with connection.cursor() as cursor:
            cursor.execute("UPDATE ingest_tracereceipt SET claim_token = %s", [OTHER])
        raise CrashedAlone("exit status -11")

    monkeypatch.setattr(pending, "fold_claim", crash_late)
    settings.FOLD_ALONE_CRASHES = 1
    assert pending.fold_pending_batch() is pending.BatchOutcome.GIVEN_BACK
    assert rows("SELECT state, reason, claim_token FROM ingest_tracereceipt") == [(0, None, OTHER)]


def test_twenty_innocent_kills_set_nothing_aside(key: str) -> None:
    post(key, *(make_envelope(f"v{n}", "A\nA B") for n in range(5)))
    for _ in range(20):
        # A worker that is killed from outside after claiming: what it held stays pending.
        assert claim_batch() is not None
        be_killed()
        assert drop_dead_leases() == 1
    fold_all()
    assert rows("SELECT DISTINCT state, crashes FROM ingest_tracereceipt") == [(1, 0)]
    assert rows("SELECT sum(traces), sum(js_us) FROM aggregate_cell") == [(5, 100_000)]
