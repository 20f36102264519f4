"""Retention and quota: what holds, what there is, a question before something is deleted."""

from datetime import UTC, datetime, timedelta

from django.db import connection
from django.test import Client
from pytest_django import Settings

from aggregate.selectors.project.storage import select_storage
from ingest.count_models import DayBytes, DayCount
from projects.models import Project
from tests.builders import make_cell, make_project, make_receipt, now
from tests.dashboard.pages.settings.conftest import follow, read, send, text_in

NONE = {"keep_raw_days": "", "keep_views_days": "", "keep_cells_days": "", "max_traces_per_day": ""}


def early(days_ago: int) -> datetime:
    """Returns one o'clock in the morning of a day."""
    return (now() - timedelta(days=days_ago)).replace(hour=1, minute=0, second=0, microsecond=0)


def test_own_values_and_defaults_are_shown(owner: Client, shop: Project, settings: Settings) -> None:
    settings.KEEP_VIEWS_DAYS = 77
    Project.objects.update(keep_raw_days=500)
    text = read(owner, "retention/")
    assert "Active: 500 days ; the server’s default is 30" in text
    assert "Active: 77 days , the server’s default" in text
    assert "No quota." in text


def test_longer_retention_is_saved_at_once_and_an_empty_field_gives_it_back(owner: Client, shop: Project) -> None:
    limits = {"keep_cells_days": "500", "max_traces_per_day": "9"}
    assert "The limits are saved." in follow(owner, "retention/", **(NONE | limits))
    project = Project.objects.get(pk=shop.pk)
    assert (project.keep_cells_days, project.max_traces_per_day) == (500, 9)
    follow(owner, "retention/", **NONE)
    project.refresh_from_db()
    assert (project.keep_cells_days, project.max_traces_per_day) == (None, None)


def test_what_would_be_deleted_is_asked_first(owner: Client, shop: Project) -> None:
    make_cell(shop, starts_at=early(20))
    shorter = NONE | {"keep_cells_days": "10", "keep_raw_days": "29"}
    question = send(owner, "retention/", **shorter)
    text = text_in(question)
    assert question.status_code == 200
    assert f"Sums from before {early(10):%Y-%m-%d} are deleted by the next hourly run" in text
    assert "Raw traces from" not in text  # none is that old
    assert 'name="keep_cells_days" value="10"' in question.content.decode()
    assert Project.objects.get(pk=shop.pk).keep_cells_days is None
    follow(owner, "retention/", **shorter, confirmed="1")
    project = Project.objects.get(pk=shop.pk)
    assert (project.keep_cells_days, project.keep_raw_days) == (10, 29)


def test_a_wrong_value_is_named_and_changes_nothing(owner: Client, shop: Project) -> None:
    response = send(owner, "retention/", **(NONE | {"keep_raw_days": "0", "max_traces_per_day": "many"}))
    assert response.status_code == 400
    assert "greater than or equal to 1" in text_in(response)
    assert "Enter a whole number" in text_in(response)


def test_todays_use_of_a_quota_is_shown(owner: Client, shop: Project) -> None:
    Project.objects.update(max_traces_per_day=200)
    DayCount.objects.create(project=shop, day_on=datetime.now(UTC).date(), traces=50)
    assert "50 of 200 received today (25.0 %)" in read(owner, "retention/")


def test_what_is_kept_is_of_one_project_and_near_what_there_is(db: None) -> None:
    shop, other = make_project("a"), make_project("b")
    for day in range(3):
        make_cell(shop, starts_at=early(day), views=10)
        make_receipt(shop, age=timedelta(days=day))
    for day in (0, 40):
        make_cell(other, starts_at=early(day), views=1_000)
    make_receipt(other)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE aggregate_cell, ingest_receiptcount")
    kept = select_storage(shop.pk, raw_since=now() - timedelta(hours=29), views_since=early(9))
    assert (kept.views.rows, kept.views.oldest_on) == (30, early(2).date())
    assert kept.raw.rows == 2
    assert kept.cells.oldest_on == early(2).date()
    assert 1 <= kept.cells.rows <= 4
    empty = select_storage(make_project("c").pk, raw_since=early(0), views_since=early(0))
    assert (empty.cells.rows, empty.cells.oldest_on, empty.raw.rows) == (0, None, 0)


def test_the_quotas_of_bytes_show_what_is_used(owner: Client, shop: Project) -> None:
    DayBytes.objects.create(project=shop, day_on=datetime.now(UTC).date(), shard=0, bytes=7_400_000_000)
    text = read(owner, "retention/").replace("\u202f", " ")
    assert "7 400 MB of 20 000 received today (37.0 %)" in text
    assert "7 400 MB of 200 000 kept (3.7 %)" in text
    follow(owner, "retention/", **(NONE | {"max_mb_per_day": "0", "max_kept_mb": "5000"}))
    shop.refresh_from_db()
    assert (shop.max_mb_per_day, shop.max_kept_mb) == (0, 5_000)
    assert "7 400 MB received today; no quota." in read(owner, "retention/").replace("\u202f", " ")
