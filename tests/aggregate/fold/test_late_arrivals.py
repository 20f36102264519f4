"""A trace of a view whose contribution was dropped adds what is new, or is set aside."""

from collections.abc import Collection
from itertools import permutations

import pytest
from django.db import connection

from aggregate.fold import pending
from aggregate.fold.batch import FoldedBatch, ViewKey, fold_claim
from aggregate.fold.claims import Claim
from projects.creation import create_project
from tests.aggregate.posting import everything, fold_all, post, rows
from tests.envelopes import make_envelope, view_id_of

pytestmark = pytest.mark.django_db

PARTS = [
    make_envelope("v", "A\nA B", seq=0),
    make_envelope("v", "A B\nC\n-", seq=1, reason="pagehide"),
    make_envelope("v", "-\nA C", seq=2),
]


def drop_views() -> None:
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM aggregate_pageview")


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_a_straggler_is_folded_from_its_views_raw_traces(key: str, order: tuple[int, ...]) -> None:
    for n in order:
        post(key, PARTS[n])
        fold_all()
        drop_views()
    post(key, make_envelope("v", "D", seq=3))
    fold_all()
    late = everything()
    create_project(slug="other", key="other-key", origins=["*"])
    with connection.cursor() as cursor:
        for table in ("cell", "hotspotpiece", "pageview", "calltreepiece", "pageday"):
            cursor.execute(f"DELETE FROM aggregate_{table}")
    post("other-key", *PARTS, make_envelope("v", "D", seq=3))
    fold_all()
    assert everything() == late


def test_views_that_expire_while_a_batch_is_tried_again_are_rejected_too(
    key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    views = ["v", "w"]
    post(key, *(make_envelope(view, "A") for view in views))
    fold_all()
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM ingest_rawtrace")
    post(key, *(make_envelope(view, "B", seq=1) for view in views))

    def drop_one_more(claim: Claim, *, expired: Collection[ViewKey], cpu_s: float) -> FoldedBatch:
        with connection.cursor() as cursor:
            cursor.execute(
                "DELETE FROM aggregate_pageview WHERE view_id = %s", [view_id_of([*views, ""][len(expired)])]
            )
        return fold_claim(claim, expired=expired, cpu_s=cpu_s)

    monkeypatch.setattr(pending, "fold_claim", drop_one_more)
    assert pending.fold_pending_batch() is pending.BatchOutcome.FOLDED
    assert rows("SELECT state, count(*) FROM ingest_tracereceipt GROUP BY 1 ORDER BY 1") == [(1, 2), (2, 2)]


def test_a_straggler_without_raw_traces_is_rejected_and_counted(key: str) -> None:
    post(key, PARTS[0])
    fold_all()
    drop_views()
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM ingest_rawtrace")
    before = everything()
    post(key, PARTS[1], make_envelope("w", "B", page="/other"))
    fold_all()
    assert rows("SELECT seq, state, reason FROM ingest_tracereceipt WHERE state = 2") == [(1, 2, "view_expired")]
    assert rows("SELECT sum(views), sum(traces) FROM aggregate_cell") == [(2, 2)]
    hotspots, _, trees, _ = everything()
    assert [row for row in hotspots if row[1] == "/cart"] == before[0]
    assert [row for row in trees if row[1] == "/cart"] == before[2]
