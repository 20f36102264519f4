"""Four workers fold while hours are merged, a refold runs and a view is erased: no deadlock, and exact sums."""

import threading
from collections.abc import Callable
from datetime import timedelta
from uuid import UUID

import pytest
from django.db import connection, transaction

from aggregate.erasing import erase_view
from aggregate.merging import merge_old_hours
from aggregate.refolding import Scope, finish_run, list_cells, reset_cell, start_run
from aggregate.services import BatchOutcome, fold_pending_batch
from ingest.models import Project
from ingest.services import create_project
from tests.aggregate.aftermath import assert_rollup_is_exact, by_day, summed
from tests.aggregate.posting import fold_all, post
from tests.aggregate.test_merging import NOW, OLD, SHAPES
from tests.envelopes import make_envelope, view_id_of

ROUNDS = 4


@pytest.mark.django_db(transaction=True)
def test_folds_merges_refolds_and_erasures_at_once_give_exact_sums(settings: pytest.FixtureRequest) -> None:
    settings.FOLD_BATCH_TRACES = 7  # type: ignore[attr-defined]  # pytest-django's settings
    create_project(slug="shop", key="shop-key", origins=["*"])
    project_id = Project.objects.get().pk
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
            post("shop-key", *envelopes[start : start + 20])
        posted.set()

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
            run = start_run(Scope(project_id))
            for cell in list_cells(run):
                reset_cell(run, *cell)
            finish_run(run)

    def erase() -> None:
        posted.wait()
        erase_view(project_id, UUID(erased))

    threads = [in_thread(work) for work in (post_all, fold, fold, fold, fold, merge, refold, erase)]
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
    assert summed(state, 1) == summed(state, 2)
