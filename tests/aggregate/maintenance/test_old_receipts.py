"""Receipts go by whole partitions: once they are old, of no use to anybody, and not pending."""

from datetime import UTC, datetime, timedelta

import psycopg
import pytest
import time_machine
from pytest_django import Settings

from aggregate.maintenance import old_receipts
from aggregate.maintenance.old_receipts import drop_receipt_partitions
from aggregate.maintenance.project_deletion import delete_marked_projects
from aggregate.maintenance.retention import expire_all
from ingest.storage.partitions import create_partitions
from ingest.storage.receipt_partitions import PARTITION_DAYS, list_receipt_partitions, partition_bounds
from profcore.times import DAY, start_of_day
from projects.creation import create_project
from projects.lifecycle import mark_for_deletion
from projects.models import Project
from tests.aggregate.posting import database_url, fold_all, post, rows
from tests.envelopes import make_envelope
from tests.partitions import drop_made_partitions

pytestmark = pytest.mark.django_db
START, END = partition_bounds(start_of_day(datetime.now(UTC)) + 60 * DAY)
COUNTS = "SELECT count(*) FROM ingest_receiptcount"


@pytest.fixture
def projects(settings: Settings) -> None:
    """Two projects with a trace each in two partitions, folded."""
    settings.KEEP_RECEIPTS_DAYS = settings.KEEP_VIEWS_DAYS = settings.KEEP_RAW_DAYS = 40
    for slug in ("shop", "other"):
        create_project(slug=slug, key=slug, origins=["*"])
    for at in (START + DAY, END + DAY):
        post_at(at, f"{at:%j}")
    fold_all()


def post_at(at: datetime, word: str, slugs: tuple[str, ...] = ("shop", "other")) -> None:
    create_partitions(at.date(), 1)
    with time_machine.travel(at, tick=False):
        for slug in slugs:
            began = (at - timedelta(minutes=1)).timestamp() * 1000
            post(slug, make_envelope(word, timeOrigin=began, viewStart=began))


def test_a_partition_is_dropped_once_its_last_receipt_is_old_enough(projects: None) -> None:
    assert rows(COUNTS) == [(4,)]
    drop_receipt_partitions(START + 40 * DAY)  # the present ones
    assert drop_receipt_partitions(END + 40 * DAY - timedelta(seconds=1)) == 0
    assert rows("SELECT count(*) FROM ingest_tracereceipt") == [(4,)]
    assert drop_receipt_partitions(END + 40 * DAY) == 1
    assert {partition.start_at for partition in list_receipt_partitions()} == {END}
    assert rows("SELECT count(*) FROM ingest_tracereceipt") == [(2,)]
    assert drop_receipt_partitions(END + 40 * DAY) == 0
    assert rows(COUNTS) == [(4,)]


def test_counts_of_an_hour_stay_as_long_as_sums_and_as_its_receipts(projects: None) -> None:
    Project.objects.update(keep_cells_days=45)
    expire_all(END + 45 * DAY - timedelta(hours=1))
    assert rows(f"{COUNTS} WHERE folded = 1") == rows(COUNTS) == [(4,)]
    Project.objects.update(keep_raw_days=60)
    expire_all(END + 47 * DAY)
    assert rows(COUNTS) == [(2,)]
    expire_all(END + 100 * DAY)  # drops the last receipts
    expire_all(END + 100 * DAY)
    assert rows(COUNTS) == [(0,)]


def test_a_pending_receipt_keeps_its_partition(projects: None) -> None:
    post_at(END - timedelta(hours=5), "late")
    drop_receipt_partitions(START + 40 * DAY)  # the present ones
    assert drop_receipt_partitions(END + 41 * DAY) == 0
    assert rows("SELECT count(*) FROM ingest_tracereceipt") == [(6,)]
    fold_all()
    assert drop_receipt_partitions(END + 41 * DAY) == 1


@pytest.mark.parametrize("name", ["keep_views_days", "keep_raw_days"])
def test_receipts_stay_while_a_project_has_views_or_raw_traces_of_their_time(projects: None, name: str) -> None:
    Project.objects.filter(slug="other").update(**{name: 40 + PARTITION_DAYS})
    drop_receipt_partitions(END + 54 * DAY)
    assert rows("SELECT count(*) FROM ingest_tracereceipt") == [(4,)]
    drop_receipt_partitions(END + 55 * DAY)
    assert rows("SELECT count(*) FROM ingest_tracereceipt") == [(2,)]


def test_identities_near_borders_are_kept_as_long(projects: None) -> None:
    post_at(END - timedelta(seconds=1), "near")
    fold_all()
    assert rows("SELECT count(*) FROM ingest_borderreceipt") == [(2,)]
    drop_receipt_partitions(END + 40 * DAY - timedelta(seconds=1))
    assert rows("SELECT count(*) FROM ingest_borderreceipt") == [(2,)]
    drop_receipt_partitions(END + 40 * DAY)
    assert rows("SELECT count(*) FROM ingest_borderreceipt") == [(0,)]


def test_deleting_a_project_takes_no_receipt_of_another_one(projects: None, settings: Settings) -> None:
    """Rows of two partitions may have the same place."""
    post_at(START + 2 * DAY, "in order")
    post_at(END + 2 * DAY, "in the other order", ("other", "shop"))
    settings.DELETE_GRACE_S = 0
    shop, other = Project.objects.get(slug="shop"), Project.objects.get(slug="other")
    mark_for_deletion(shop)
    assert delete_marked_projects(datetime.now(UTC)) == 1
    assert rows("SELECT project_id, count(*) FROM ingest_tracereceipt GROUP BY 1") == [(other.pk, 4)]


@pytest.mark.django_db(transaction=True)
def test_a_partition_that_somebody_reads_is_left_for_the_next_run() -> None:
    name = f"ingest_tracereceipt_{START:%Y%m%d}"
    create_partitions(START.date(), 1)
    later = END + 500 * DAY
    try:
        with psycopg.connect(database_url()) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM ingest_tracereceipt")
            assert _drop_only(name, later) == 0
            reader.rollback()
        assert _drop_only(name, later) == 1
    finally:
        drop_made_partitions(START)


def _drop_only(name: str, now: datetime) -> int:
    """Drops one partition. Other tests need the present ones."""
    only = [partition for partition in list_receipt_partitions() if partition.name == name]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(old_receipts, "list_receipt_partitions", lambda: only)
        return drop_receipt_partitions(now)
