"""`bench giant` compares one project with many, and sees which statements wait for locks."""

import threading
from collections import defaultdict

import psycopg
import pytest

from bench.giant.command import describe_giant, describe_round
from bench.giant.run import Round
from bench.giant.waits import Waits, name_statement, watched_waits
from tests.aggregate.posting import database_url

LIMIT_S = 240.0


def make_round(kind: str, *, is_giant: bool, fold_s: float, lock_s: float = 0.0) -> Round:
    return Round(
        kind=kind,
        is_giant=is_giant,
        traces=600,
        post_s=1.0,
        fold_s=fold_s,
        batches=4,
        processor_ms={"web": 1.0, "worker": 0.5, "postgres": 0.75},
        waits=Waits(defaultdict(float, {("fold: locks cells", "transactionid"): lock_s})),
    )


def test_the_ratio_is_the_median_of_rounds_that_followed_each_other() -> None:
    rounds = []
    for many_s, giant_s in ((1.0, 2.0), (4.0, 4.0), (3.0, 2.0)):
        rounds += [
            make_round("backlog", is_giant=True, fold_s=giant_s, lock_s=0.2),
            make_round("backlog", is_giant=False, fold_s=many_s),
        ]
    lines = list(describe_giant(rounds))
    assert lines[0] == "backlog: one project folds 1.00 of what many do (0.50, 1.00, 1.50)"
    assert lines[1].startswith("  many projects    200 traces/s, 150 in a batch, waits for locks 0.0 ms/batch; ")
    assert lines[-1] == "        50.0 ms/batch fold: locks cells (transactionid)"
    assert describe_round(rounds[0]).startswith("backlog  one project   folded    300 traces/s in   4 batches")


def test_a_statement_is_named_by_what_it_does() -> None:
    assert name_statement("SELECT id FROM aggregate_cell ORDER BY id FOR NO KEY UPDATE") == "fold: locks cells"
    assert name_statement("SELECT pg_advisory_xact_lock(1, 2)") == "fold: locks its groups"
    assert name_statement("SELECT  1\n + 1") == "SELECT 1 + 1"


@pytest.mark.django_db(transaction=True)
def test_a_session_that_waits_for_a_lock_is_seen() -> None:
    with (
        psycopg.connect(database_url(), autocommit=True) as holder,
        psycopg.connect(database_url(), autocommit=True) as waiter,
        watched_waits(database_url()) as waits,
    ):
        holder.execute("SELECT pg_advisory_lock(46)")
        thread = threading.Thread(target=lambda: waiter.execute("SELECT pg_advisory_lock(46)"))
        thread.start()
        waited = threading.Event()
        for _ in range(int(LIMIT_S / 0.02)):
            if waits.lock_s() > 0:
                break
            waited.wait(0.02)
        holder.execute("SELECT pg_advisory_unlock(46)")
        thread.join(LIMIT_S)
    assert waits.lock_s() > 0
    assert {event for _, event in waits.locks} == {"advisory"}
