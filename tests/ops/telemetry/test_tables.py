"""What `/metrics` says of the tables: few statements, whatever they hold, and nothing that a stranger named."""

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from django.db import OperationalError
from django.test import Client
from prometheus_client.parser import text_string_to_metric_families
from pytest_django import DjangoDbBlocker, Settings

from aggregate.jobs.requests import start_job
from aggregate.models import Cell, PageView
from ingest.models import Receipt
from ingest.storage.receipt_partitions import create_receipt_partitions, list_receipt_partitions
from ops.telemetry import tables
from ops.telemetry.tables import KEPT_GAUGES, LARGE_BACKLOG, count_ahead
from profcore.times import DAY
from projects.models import Project
from tests.builders import make_cell, make_receipt, make_view

Values = dict[tuple[str, str], float]  # by name and the value of its one tag


def read_values(client: Client) -> Values:
    """Returns the gauges of the stores."""
    text = client.get("/metrics").content.decode()
    return {
        (sample.name, next(iter(sample.labels.values()), "")): sample.value
        for family in text_string_to_metric_families(text)
        if family.type == "gauge"
        for sample in family.samples
    }


def store_pending(project: Project, count: int, *, age: timedelta) -> None:
    now = datetime.now(UTC)
    Receipt.objects.bulk_create(
        Receipt(
            project_id=project.pk,
            view_id=uuid4(),
            seq=0,
            group_id=1,
            received_at=now - age + timedelta(milliseconds=number),
            view_started_at=now - age,
            device_class=0,
            browser=0,
            end_reason=0,
            interval_us=10_000,
            body_bytes=100,
        )
        for number in range(count)
    )


@pytest.mark.django_db
def test_a_reading_counts_projects_and_pending_traces(client: Client) -> None:
    for number in range(3):
        store_pending(Project.objects.create(slug=f"p{number}", name="P"), 2, age=timedelta(minutes=1))
    first = read_values(client)
    assert first["fieldflame_database_up", ""] == 1
    assert first["fieldflame_projects", ""] == 3
    assert first["fieldflame_traces_pending", ""] == 6


@pytest.mark.django_db
def test_the_oldest_of_a_long_queue_is_apart_from_that_of_short_ones(client: Client) -> None:
    busy, quiet = (Project.objects.create(slug=slug, name=slug) for slug in ("busy", "quiet"))
    assert read_values(client)["fieldflame_traces_oldest_pending_seconds", "large"] == 0
    store_pending(busy, LARGE_BACKLOG, age=timedelta(hours=2))
    store_pending(quiet, 1, age=timedelta(minutes=2))
    KEPT_GAUGES.clear()
    values = read_values(client)
    assert values["fieldflame_traces_oldest_pending_seconds", "large"] == pytest.approx(7_200, abs=60)
    assert values["fieldflame_traces_oldest_pending_seconds", "small"] == pytest.approx(120, abs=60)
    assert values["fieldflame_traces_pending", ""] == LARGE_BACKLOG + 1


@pytest.mark.django_db
def test_overdue_maintenance_is_counted_from_when_it_was_due(client: Client, settings: Settings) -> None:
    project = Project.objects.create(slug="old", name="Old", keep_cells_days=10)
    midnight = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    make_cell(project, starts_at=midnight - 13 * DAY)
    values = read_values(client)
    hours = {work: values["fieldflame_maintenance_overdue_seconds", work] / 3600 for work in ("raw", "cells", "merge")}
    since_midnight = (datetime.now(UTC) - midnight).total_seconds() / 3600
    assert hours["raw"] == 0
    assert hours["cells"] == pytest.approx(2 * 24 + since_midnight, abs=0.1)
    assert hours["merge"] == pytest.approx(10 * 24 + since_midnight, abs=0.1)
    Cell.objects.all().delete()
    KEPT_GAUGES.clear()
    assert read_values(client)["fieldflame_maintenance_overdue_seconds", "merge"] == 0


@pytest.mark.django_db
@pytest.mark.parametrize("is_merged", [False, True], ids=["hours", "days"])
def test_views_past_their_retention_are_overdue_and_cells_that_stay_are_not(client: Client, *, is_merged: bool) -> None:
    project = Project.objects.create(slug="old", name="Old", keep_views_days=10)
    midnight = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    since_midnight = (datetime.now(UTC) - midnight).total_seconds() / 3600
    grain = Cell.Grain.DAY if is_merged else Cell.Grain.HOUR
    for days in (9, 10, 13, 14, 15):  # a day's views are due at the midnight that ends ten days after them
        day = make_cell(project, starts_at=midnight - days * DAY, grain=grain)
        if is_merged:  # its hours stay, without views
            make_cell(project, starts_at=midnight - days * DAY, merged_into=day.id)
            make_cell(project, starts_at=midnight - days * DAY + timedelta(hours=9), merged_into=day.id)
        if days in (9, 10, 13):
            make_view(day, make_receipt(project))
    work = ("fieldflame_maintenance_overdue_seconds", "views")
    assert read_values(client)[work] / 3600 == pytest.approx(2 * 24 + since_midnight, abs=0.1)
    PageView.objects.filter(cell_id__in=Cell.objects.filter(starts_at__lt=midnight - 10 * DAY).values("id")).delete()
    KEPT_GAUGES.clear()
    assert read_values(client)[work] == 0


@pytest.mark.django_db
def test_what_a_cluster_is_asked_instead_has_the_same_answers(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    shop, busy = (Project.objects.create(slug=slug, name=slug, keep_views_days=10) for slug in ("shop", "busy"))
    midnight = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    make_view(make_cell(shop, starts_at=midnight - 12 * DAY), make_receipt(shop))
    make_cell(shop, starts_at=midnight - 500 * DAY)
    store_pending(shop, 2, age=timedelta(minutes=3))
    store_pending(busy, LARGE_BACKLOG, age=timedelta(hours=2))
    plain = read_values(client)
    KEPT_GAUGES.clear()
    monkeypatch.setattr(tables, "_too_hard", {tables.PENDING_AGES, tables.OLDEST_CELLS})
    spread = read_values(client)
    assert (
        plain["fieldflame_maintenance_overdue_seconds", "views"]
        > 0
        < plain["fieldflame_maintenance_overdue_seconds", "cells"]
    )
    names = ("projects", "traces_pending", "traces_oldest_pending_seconds", "maintenance_overdue_seconds")
    for key in plain:
        if key[0].removeprefix("fieldflame_") in names:
            assert spread[key] == pytest.approx(plain[key], abs=600), key


@pytest.mark.django_db
def test_receipts_past_their_retention_are_overdue(client: Client, settings: Settings) -> None:
    work = ("fieldflame_maintenance_overdue_seconds", "receipts")
    assert read_values(client)[work] == 0
    settings.KEEP_RECEIPTS_DAYS = settings.KEEP_VIEWS_DAYS = settings.KEEP_RAW_DAYS = 10
    midnight = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    create_receipt_partitions((midnight - 30 * DAY).date(), 1)
    end_at = list_receipt_partitions()[0].end_at
    KEPT_GAUGES.clear()
    late = (datetime.now(UTC) - end_at - 10 * DAY).total_seconds()
    assert read_values(client)[work] == pytest.approx(max(late, 0), abs=600)
    Project.objects.create(slug="long", name="Long", keep_views_days=400)
    KEPT_GAUGES.clear()
    assert read_values(client)[work] == 0


@pytest.mark.django_db
def test_jobs_are_counted_by_state(client: Client) -> None:
    project = Project.objects.create(slug="jobs", name="Jobs")
    start_job(project.pk, kind="functions", params=[("release", "1")], link="")
    values = read_values(client)
    assert values["fieldflame_jobs_unfinished", "queued"] == 1
    assert values["fieldflame_jobs_unfinished", "running"] == 0
    assert values["fieldflame_jobs_oldest_seconds", "queued"] >= 0


@pytest.mark.django_db
def test_partitions_and_valkey_are_there(client: Client) -> None:
    values = read_values(client)
    assert values["fieldflame_partitions_ahead", ""] >= 2  # the tests' fixture makes three, a migration more
    assert values["fieldflame_valkey_up", ""] == 1
    assert values["fieldflame_tasks_waiting", "maintenance"] >= 0


def test_only_days_in_a_row_are_ahead() -> None:
    today = datetime.now(UTC).date()
    assert count_ahead([today, today + DAY, today + 3 * DAY], today) == 1
    assert count_ahead([today - DAY], today) == 0


def test_a_database_that_does_not_answer_is_said(
    client: Client, django_db_blocker: DjangoDbBlocker, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(now: datetime) -> None:
        raise OperationalError(f"gone at {now}")

    monkeypatch.setattr(tables, "read_tables", fail)
    with django_db_blocker.unblock():
        values = read_values(client)
    assert values["fieldflame_database_up", ""] == 0
    assert ("fieldflame_traces_pending", "") not in values
    assert values["fieldflame_valkey_up", ""] == 1


@pytest.mark.django_db
def test_the_build_is_said(client: Client, settings: Settings) -> None:
    settings.KERNEL = "pure"
    values = read_values(client)
    assert values["fieldflame_kernel", "pure"] == 1
    assert values["fieldflame_kernel", "compiled"] == 0
    assert 'fieldflame_build_info{fold_version="' in client.get("/metrics").content.decode()
