"""Claimants: whose claims hold, whose are void, and what a worker that was away may still write."""

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from uuid import UUID

import pytest
from django.conf import settings as django_settings
from django.db import connection, connections

from aggregate import worker_leases
from aggregate.fold import pending
from aggregate.fold.batch import FoldedBatch, fold_claim
from aggregate.fold.claims import Claim, claim_batch
from aggregate.fold.pending import BatchOutcome, ClaimLost, fold_pending_batch, write_batch
from aggregate.maintenance.retention import expire_all
from aggregate.models import WorkerLease
from aggregate.worker_leases import beating, drop_dead_leases, name_process, own_token, register_lease
from profcore.times import DAY
from tests.aggregate.posting import be_killed, everything, fold_all, post, rows
from tests.envelopes import make_envelope

LIMIT_S = 120.0
RECEIPTS = "SELECT state, attempts, claim_token FROM ingest_tracereceipt ORDER BY view_id"

pytestmark = pytest.mark.django_db(transaction=True)


def be_silent() -> None:
    """Lets so much time pass since this process's last beat that others take it for dead."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE aggregate_workerlease SET host = 'elsewhere', heartbeat_at = now() - make_interval(secs => %s)",
            [django_settings.CLAIM_SILENCE_S + 1],
        )


def test_a_claim_holds_while_its_worker_beats_on_whatever_machine(key: str) -> None:
    post(key, make_envelope("a"))
    assert claim_batch() is not None
    be_killed()
    WorkerLease.objects.update(host="elsewhere")
    assert drop_dead_leases() == 0
    assert claim_batch() is None
    be_silent()
    claim = claim_batch()
    assert claim is not None
    assert claim.traces[0].attempts == 2


def test_a_worker_that_slept_while_others_folded_writes_nothing(key: str) -> None:
    post(key, make_envelope("a", "A\nA B"))
    claim = claim_batch()
    assert claim is not None
    batch = fold_claim(claim)
    be_silent()
    worker_leases.TOKEN.clear()  # from now on this is another process
    assert fold_all() == [BatchOutcome.FOLDED]
    before = everything()
    with pytest.raises(ClaimLost):
        write_batch(batch)
    assert everything() == before


def test_a_worker_that_slept_while_another_had_its_claim_writes_nothing(key: str) -> None:
    post(key, make_envelope("a", "A\nA B"))
    claim = claim_batch()
    assert claim is not None
    batch = fold_claim(claim)
    be_silent()
    worker_leases.TOKEN.clear()
    assert claim_batch() is not None  # claimed by the other, and not folded yet
    with pytest.raises(ClaimLost):
        write_batch(batch)
    assert rows("SELECT count(*) FROM aggregate_pageview") == [(0,)]


def test_a_worker_that_slept_unnoticed_still_writes(key: str) -> None:
    post(key, make_envelope("a", "A\nA B"))
    claim = claim_batch()
    assert claim is not None
    be_silent()
    write_batch(fold_claim(claim))
    assert rows("SELECT sum(traces) FROM aggregate_cell") == [(1,)]


@pytest.mark.parametrize("end", [SystemExit, KeyboardInterrupt])
def test_a_process_that_is_told_to_end_releases_its_claim_and_counts_no_attempt(
    key: str, monkeypatch: pytest.MonkeyPatch, end: type[BaseException]
) -> None:
    post(key, make_envelope("a"))

    def stop(*args: object, **kwargs: object) -> FoldedBatch:
        raise end

    monkeypatch.setattr(pending, "fold_claim", stop)
    with pytest.raises(end):
        fold_pending_batch()
    assert rows(RECEIPTS) == [(0, 0, None)]


def test_a_claim_that_could_not_be_released_is_free_again_at_the_next_look(
    key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from django.db import OperationalError

    post(key, make_envelope("a"))

    def fail(*args: object, **kwargs: object) -> None:
        raise OperationalError("as while the server restarts")

    with monkeypatch.context() as patch:
        patch.setattr(pending, "fold_claim", fail)
        patch.setattr(pending, "release_claim", fail)
        with pytest.raises(OperationalError):
            fold_pending_batch()
    assert fold_all() == [BatchOutcome.FOLDED]
    assert rows(RECEIPTS) == [(1, 2, None)]


def test_while_a_batch_is_folded_its_worker_beats(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_leases, "BEAT_S", 0.01)
    post(key, make_envelope("a"))

    def fold_for_long(claim: Claim, **options: object) -> FoldedBatch:
        be_silent()
        deadline = time.monotonic() + LIMIT_S
        while rows("SELECT heartbeat_at < now() - interval '1 second' FROM aggregate_workerlease") == [(True,)]:
            assert time.monotonic() < deadline, "no heartbeat came"
            time.sleep(0.01)
        return fold_claim(claim, expired=())

    monkeypatch.setattr(pending, "fold_claim", fold_for_long)
    assert fold_pending_batch() is BatchOutcome.FOLDED


def test_heartbeats_end_with_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    beats: list[object] = []

    def note(has_ended: threading.Event, token: UUID) -> None:
        beats.append((has_ended.wait(LIMIT_S), token))

    monkeypatch.setattr(worker_leases, "_beat_until", note)
    with beating():
        assert beats == []
    deadline = time.monotonic() + LIMIT_S
    while not beats:
        assert time.monotonic() < deadline, "the thread did not end"
        time.sleep(0.01)
    assert beats == [(True, own_token())]


def test_a_process_that_ended_elsewhere_leaves_no_row_for_ever() -> None:
    register_lease()
    expire_all(datetime.now(UTC))
    assert WorkerLease.objects.count() == 1
    expire_all(datetime.now(UTC) + 2 * DAY)
    assert not WorkerLease.objects.exists()


def test_a_process_is_named_by_its_start_too_and_a_dead_one_by_nothing() -> None:
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    name = name_process(process.pid)
    assert name is not None
    assert name.startswith(f"{process.pid}:")
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # dead, and its parent has not looked
    assert name_process(process.pid) is None
    process.communicate()
    assert process.returncode == -signal.SIGKILL


def test_a_forked_process_has_a_token_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    mine = own_token()
    assert own_token() == mine
    monkeypatch.setattr(os, "getpid", lambda: 1)
    assert own_token() != mine


def test_two_that_clean_up_at_once_do_not_wait_for_each_other() -> None:
    for _ in range(20):
        register_lease()
        be_killed()

    def drop() -> int:
        try:
            return drop_dead_leases()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(4) as pool:
        dropped = [future.result(LIMIT_S) for future in [pool.submit(drop) for _ in range(4)]]
    assert sum(dropped) == 20
    assert not WorkerLease.objects.exists()
