"""Rows are deleted some at a time, by their places or, on a cluster, by their keys."""

import pytest

from aggregate.maintenance import batches
from aggregate.maintenance.batches import delete_some
from ingest.models import Receipt
from projects.creation import create_project
from tests.aggregate.posting import post
from tests.envelopes import make_envelope


@pytest.mark.django_db
@pytest.mark.parametrize("has_citus", [False, True])
def test_a_batch_has_rows_of_one_project_that_meet_the_condition(
    has_citus: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop, _ = create_project(slug="shop", key="shop", origins=["*"])
    create_project(slug="other", key="other", origins=["*"])
    for key in ("shop", "other"):
        post(key, *(make_envelope(f"{key}{n}", "A", seq=n % 2) for n in range(10)))
    if has_citus:
        monkeypatch.setattr(batches, "has_citus", lambda: True)
    deleted = []
    for _ in range(3):
        deleted.append(
            delete_some(
                "ingest_tracereceipt",
                ("view_id", "seq", "received_at"),
                "t.project_id = %(project_id)s AND t.seq = %(seq)s",
                {"project_id": shop.pk, "seq": 1},
                most=3,
            )
        )
    assert deleted == [3, 2, 0]
    left = Receipt.objects.filter(project=shop)
    assert (left.count(), left.filter(seq=1).count(), Receipt.objects.count()) == (5, 0, 15)
