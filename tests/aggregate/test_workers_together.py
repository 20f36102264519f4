"""Four workers fold amid merges, refolds, expiries of views and raw traces, and an erasure: no deadlock, exact sums."""

import threading
from collections.abc import Callable
from datetime import timedelta
from uuid import UUID

import pytest
from django.db import connection, transaction

from aggregate.erasing import erase_view
from aggregate.merging import merge_old_hours
from aggregate.refolding import Scope, finish_run, list_cells, reset_cell, start_run
from aggregate.retention import Expired, expire_all
from aggregate.services import BatchOutcome, fold_pending_batch
from ingest.models import Project
from ingest.services import create_project
from tests.aggregate.aftermath import assert_rollup_is_exact, by_day, summed
from tests.aggregate.posting import fold_all, post
from tests.aggregate.test_merging import NOW, OLD, SHAPES
from tests.envelopes import make_envelope, view_id_of

ROUNDS = 4


@pytest.mark.django_db(transaction=True)
def test_folds_merges_refolds_expiries_and_erasures_at_once_give_exact_sums(settings: pytest.FixtureRequest) -> None:
    settings.FOLD_BATCH_TRACES = 7  # type: ignore[attr-defined]  # pytest-django's settings
    create_project(slug="shop", key="shop-key", origins=["*"])
    create_project(slug="brief", key="brief-key", origins=["*"])
    project_id, brief_id = Project.objects.order_by("id").values_list("pk", flat=True)
    # Views of one project expire at once, and are rebuilt from raw traces; raw traces of the other do, once folded.
    Project.objects.filter(pk=project_id).update(keep_views_days=5)
    Project.objects.filter(pk=brief_id).update(keep_raw_days=1)
    envelopes = [
        make_envelope(
            f"v{n % 60}",
            SHAPES[n % 4],
            seq=n // 60,
            page=f"/p{n % 3}",
            viewStart=(OLD + timedelta(hours=n % 60 % 5)).timestamp() * 1000,
        )
        for n in range(180)
    ]
    erased = view_id_of("v7")
    faults: list[BaseException] = []
    posted = threading.Event()

    def in_thread(work: Callable[[], None]) -> threading.Thread:
        def run() -> None:
            try:
                work()
            except BaseException as error:  # the test's thread tells it
                faults.append(error)
            finally:
                connection.close()

        return threading.Thread(target=run)

    def post_all() -> None:
        for start in range(0, len(envelopes), 20):
            batch = envelopes[start : start + 20]
            post("shop-key", *batch)
            post("brief-key", *(envelope for envelope in batch if envelope["viewId"] != erased))
        posted.set()
        erase_view(project_id, UUID(erased))

    def fold() -> None:
        while not (fold_pending_batch() is BatchOutcome.NOTHING_PENDING and posted.is_set()):
            pass

    def merge() -> None:
        while not posted.is_set():
            merge_old_hours(NOW)

    def refold() -> None:
        rounds = 0
        while rounds < ROUNDS or not posted.is_set():
            rounds += 1
            run = start_run(Scope((project_id, brief_id)[rounds % 2]))
            for cell in list_cells(run):
                reset_cell(run, *cell)
            finish_run(run)

    def expire() -> None:
        while not posted.is_set():
            expired.append(expire_all(NOW + timedelta(days=2)))

    expired: list[Expired] = []
    threads = [in_thread(work) for work in (post_all, fold, fold, fold, fold, merge, refold, expire)]
    connection.close()  # the pool has eight: one for each thread
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("UPDATE ingest_receipt SET claimed_until = NULL")  # of claims an erasure made void
    fold_all()
    merge_old_hours(NOW)
    assert_rollup_is_exact()
    create_project(slug="other", key="other-key", origins=["*"])
    for envelope in envelopes:
        if envelope["viewId"] != erased:
            post("other-key", envelope)
    fold_all()
    state = by_day()
    assert summed(state, 1) == summed(state, 3)
    assert summed(state, 2) == summed(state, 3)
    assert sum(one.views for one in expired) > 0
    assert sum(one.raw_traces for one in expired) > 0
