"""Groups without data go, and no trace is lost by it."""

from datetime import UTC, datetime, timedelta

import pytest

from aggregate.maintenance.old_groups import expire_groups
from ingest.models import Group, Receipt
from ingest.storage.partitions import create_partitions
from projects.creation import create_project
from projects.models import Project
from tests.aggregate.posting import fold_all, post, rows
from tests.envelopes import make_envelope

pytestmark = pytest.mark.django_db
NOW = datetime.now(UTC)
LATER = NOW + timedelta(hours=4)
RAW_BEFORE = NOW - timedelta(days=30)


@pytest.fixture
def project(db: None) -> Project:
    return create_project(slug="shop", key="shop-key", origins=["*"])[0]


def make_old(project: Project, page: str, days: int = 60) -> int:
    """Makes a group that was first seen some days ago, and has nothing; returns its id."""
    post("shop-key", make_envelope(page, page=page))
    group = Group.objects.get(project=project, page=page)
    Receipt.objects.filter(group_id=group.pk[1]).delete()
    Group.objects.filter(project=project, page=page).update(first_seen_at=NOW - timedelta(days=days))
    return int(group.pk[1])


def expire(project: Project, now: datetime = NOW) -> int:
    return expire_groups(project.pk, now, raw_before=RAW_BEFORE)


def pages() -> list[str]:
    return [page for (page,) in rows("SELECT page FROM ingest_group WHERE closed_at IS NULL ORDER BY page")]


def test_an_empty_group_is_closed_first_and_deleted_hours_later(project: Project) -> None:
    make_old(project, "/old")
    assert (expire(project), Group.objects.count(), pages()) == (0, 1, [])
    assert expire(project, NOW + timedelta(hours=1)) == 0
    assert (expire(project, LATER), Group.objects.count()) == (1, 0)


def test_groups_with_sums_or_pending_traces_stay(project: Project) -> None:
    for page in ("/folded", "/pending"):
        post("shop-key", make_envelope(page, page=page))
        if page == "/folded":
            fold_all()
    Group.objects.update(first_seen_at=NOW - timedelta(days=60))
    Receipt.objects.filter(state=Receipt.State.FOLDED).delete()
    create_partitions((NOW - timedelta(days=60)).date(), 1)
    Receipt.objects.update(received_at=NOW - timedelta(days=60))
    assert (expire(project), expire(project, LATER), pages()) == (0, 0, ["/folded", "/pending"])


def test_a_young_group_and_one_with_readable_receipts_stay(project: Project) -> None:
    make_old(project, "/young", days=1)
    post("shop-key", make_envelope("rejected", page="/rejected"))
    Receipt.objects.update(state=Receipt.State.REJECTED)
    Group.objects.filter(page="/rejected").update(first_seen_at=NOW - timedelta(days=60))
    assert (expire(project), expire(project, LATER), pages()) == (0, 0, ["/rejected", "/young"])


def test_a_trace_stored_by_a_process_that_still_has_the_group_cached_keeps_it(project: Project) -> None:
    group_id = make_old(project, "/old")
    expire(project)
    post("shop-key", make_envelope("late", page="/old"))  # this process has the id cached
    assert Receipt.objects.get().group_id == group_id
    assert (expire(project, LATER), pages()) == (0, ["/old"])
    fold_all()
    assert rows("SELECT views FROM aggregate_cell") == [(1,)]
