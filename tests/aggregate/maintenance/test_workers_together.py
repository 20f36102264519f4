"""Four workers fold amid roll-ups, merges, refolds, expiries and an erasure: no deadlock, exact sums."""

import threading
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import connection, transaction
from pytest_django import Settings

from aggregate.fold.pending import BatchOutcome, fold_pending_batch
from aggregate.fold.rollups import roll_up_hours
from aggregate.maintenance.erasing import erase_view
from aggregate.maintenance.merging import merge_old_hours
from aggregate.maintenance.refolding import Scope, finish_run, list_cells, reset_cell, start_run
from aggregate.maintenance.retention import expire_all
from projects.creation import create_project
from projects.models import Project
from tests.aggregate.old_views import OLD, SHAPES
from tests.aggregate.posting import fold_all, post
from tests.aggregate.stored_state import assert_rollup_is_exact, by_day, summed
from tests.builders import now
from tests.envelopes import make_envelope, view_id_of

ROUNDS = 4
LIMIT_S = 300.0
IDLE_S = 0.01
ERASED = view_id_of("v7")


class Crowd:
    """Threads that work on two projects until each has met what it is there for, and counts of what they met."""

    def __init__(self, envelopes: list[dict[str, Any]], project_ids: tuple[int, int]) -> None:
        self.envelopes = envelopes
        self.project_ids = project_ids
        self.posted = threading.Event()
        self.others_ended = threading.Event()
        self.faults: list[BaseException] = []
        self.rolled = self.merged = self.reset = self.expired_views = self.expired_raw_traces = 0

    def run(self) -> None:
        """Runs all of them to their end; the test asks for faults."""
        others = [self.in_thread(work) for work in (self.post_all, self.merge, self.refold, self.expire)]
        folders = [self.in_thread(self.fold) for _ in range(4)]
        connection.close()  # the pool has eight: one for each thread
        for thread in (*folders, *others):
            thread.start()
        for thread in others:
            thread.join()
        self.others_ended.set()
        for thread in folders:
            thread.join()

    def in_thread(self, work: Callable[[], None]) -> threading.Thread:
        def run() -> None:
            try:
                work()
            except BaseException as error:  # the test's thread tells it
                self.faults.append(error)
            finally:
                connection.close()

        return threading.Thread(target=run)

    def repeat(self, work: Callable[[], None], is_enough: Callable[[], bool], what: str) -> None:
        """Repeats until all is posted and `what` was met, which the busiest machine only delays: folds go on."""
        deadline = time.monotonic() + LIMIT_S
        while not (self.posted.is_set() and is_enough()) and not self.faults:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{what}: not in {LIMIT_S:.0f} s")
            work()

    def post_all(self) -> None:
        shop_id, _ = self.project_ids
        for start in range(0, len(self.envelopes), 20):
            batch = self.envelopes[start : start + 20]
            post("shop-key", *batch)
            post("brief-key", *(envelope for envelope in batch if envelope["viewId"] != ERASED))
        self.posted.set()
        erase_view(shop_id, UUID(ERASED))

    def fold(self) -> None:
        while True:
            if fold_pending_batch() is BatchOutcome.NOTHING_PENDING and self.others_ended.wait(IDLE_S):
                return

    def merge(self) -> None:
        rounds = 0

        def merge_once() -> None:
            nonlocal rounds
            rounds += 1
            self.rolled += roll_up_hours(now())
            if rounds % 3 == 0:  # in between, folds and refolds meet hours that are rolled and not merged
                self.merged += merge_old_hours(now())

        self.repeat(merge_once, lambda: self.rolled > 0 and self.merged > 0, "hours are rolled up and merged")

    def refold(self) -> None:
        rounds = 0

        def refold_once() -> None:
            nonlocal rounds
            rounds += 1
            run = start_run(Scope(self.project_ids[rounds % 2]))
            for cell in list_cells(run):
                reset_cell(run, *cell)
                self.reset += 1
            finish_run(run)

        self.repeat(refold_once, lambda: rounds >= ROUNDS and self.reset > 0, "cells are set back")

    def expire(self) -> None:
        def expire_once() -> None:
            expired = expire_all(now() + timedelta(days=2))
            self.expired_views += expired.views
            self.expired_raw_traces += expired.raw_traces

        self.repeat(
            expire_once,
            lambda: self.expired_views > 0 and self.expired_raw_traces > 0,
            "views and raw traces expire",
        )


def make_envelopes() -> list[dict[str, Any]]:
    """Returns three traces of each of sixty views, over five hours four days ago, on three pages."""
    return [
        make_envelope(
            f"v{n % 60}",
            SHAPES[n % 4],
            seq=n // 60,
            page=f"/p{n % 3}",
            viewStart=(OLD + timedelta(hours=n % 60 % 5)).timestamp() * 1000,
        )
        for n in range(180)
    ]


@pytest.mark.slow(10)
@pytest.mark.django_db(transaction=True)
def test_folds_merges_refolds_expiries_and_erasures_at_once_give_exact_sums(settings: Settings) -> None:
    settings.FOLD_BATCH_TRACES = 7
    create_project(slug="shop", key="shop-key", origins=["*"])
    create_project(slug="brief", key="brief-key", origins=["*"])
    shop_id, brief_id = Project.objects.order_by("id").values_list("pk", flat=True)
    # Views of one project expire at once, and are rebuilt from raw traces; raw traces of the other do, once folded.
    Project.objects.filter(pk=shop_id).update(keep_views_days=5)
    Project.objects.filter(pk=brief_id).update(keep_raw_days=1)
    envelopes = make_envelopes()
    crowd = Crowd(envelopes, (shop_id, brief_id))
    crowd.run()
    assert crowd.faults == []
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("UPDATE ingest_tracereceipt SET claimed_until = NULL")  # of claims an erasure made void
    fold_all()
    merge_old_hours(now())
    assert_rollup_is_exact()
    create_project(slug="other", key="other-key", origins=["*"])
    for envelope in envelopes:
        if envelope["viewId"] != ERASED:
            post("other-key", envelope)
    fold_all()
    state = by_day()
    assert summed(state, 1) == summed(state, 3)
    assert summed(state, 2) == summed(state, 3)
    assert crowd.rolled > 0
    assert crowd.merged > 0
    assert crowd.reset > 0
    assert crowd.expired_views > 0
    assert crowd.expired_raw_traces > 0
