"""Refolding in the background: who starts it, what bounds it, how it is paused, and that kills change nothing."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from pytest_django import DjangoAssertNumQueries, Settings

from aggregate.maintenance import refolding
from aggregate.maintenance.background_refold import refold_in_background
from aggregate.models import Cell, RefoldRun, WorkerLease
from aggregate.selectors.project.refolds import RefoldProgress, select_refold
from profcore.sums.fold import FOLD_VERSION
from projects.creation import create_project
from tests.aggregate.old_views import old_views
from tests.aggregate.posting import everything, fold_all, post, rows
from tests.envelopes import make_envelope

pytestmark = pytest.mark.django_db

NOW = datetime.now(UTC)


@pytest.fixture
def folded() -> tuple[object, ...]:
    """Cells that older rules folded, with spoilt sums; the sums that they should have."""
    create_project(slug="shop", key="shop-key", origins=["*"])
    post("shop-key", *old_views())
    fold_all()
    sums = everything()
    Cell.objects.update(fold_version=FOLD_VERSION - 1)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE aggregate_hotspotpiece SET self_us[1] = self_us[1] + 1")
    assert everything() != sums
    return sums


def finish() -> int:
    """Lets beat and the workers take turns until the run is done; returns how many turns it took."""
    for turn in range(1, 100):
        refold_in_background(NOW)
        fold_all()
        if RefoldRun.objects.filter(is_background=True, finished_at__isnull=False).exists():
            return turn
    raise AssertionError("it never ended")


def test_newer_rules_refold_everything_a_few_cells_at_a_time(folded: object, settings: Settings) -> None:
    settings.REFOLD_CELLS_AT_ONCE = 2
    cells = Cell.objects.filter(traces__gt=0).count()
    refold_in_background(NOW)
    run = RefoldRun.objects.get()
    assert (run.cells, run.total_cells, run.finished_at) == (2, cells, None)
    assert finish() >= cells // 2 - 1
    assert everything() == folded
    assert rows("SELECT DISTINCT fold_version FROM aggregate_cell WHERE traces > 0") == [(FOLD_VERSION,)]
    Cell.objects.update(fold_version=FOLD_VERSION - 1)
    refold_in_background(NOW)  # what was kept or is old again is not begun anew
    assert RefoldRun.objects.count() == 1


def test_nothing_starts_without_a_reason(settings: Settings) -> None:
    create_project(slug="shop", key="shop-key", origins=["*"])
    post("shop-key", make_envelope("a", "A"))
    fold_all()
    refold_in_background(NOW)
    assert not RefoldRun.objects.exists()
    Cell.objects.update(fold_version=FOLD_VERSION - 1)
    settings.REFOLD_IN_BACKGROUND = False
    refold_in_background(NOW)
    assert not RefoldRun.objects.exists()


def test_it_waits_until_workers_of_older_rules_are_gone(folded: object) -> None:
    WorkerLease.objects.update(fold_version=FOLD_VERSION - 1, heartbeat_at=NOW - timedelta(minutes=9))
    refold_in_background(NOW)
    assert not RefoldRun.objects.exists()
    refold_in_background(NOW + timedelta(minutes=2))
    assert RefoldRun.objects.get().cells > 0


def test_each_turn_reads_only_the_cells_that_it_takes_back(folded: object, settings: Settings) -> None:
    settings.REFOLD_CELLS_AT_ONCE = 1
    listed: list[int] = []

    def count(execute: Callable[..., Any], sql: str, params: object, many: bool, context: Any) -> Any:
        result = execute(sql, params, many, context)
        if "c.id > %(last)s" in sql:
            listed.append(context["cursor"].rowcount)
        return result

    refold_in_background(NOW)  # the first one counts them all
    assert Cell.objects.filter(traces__gt=0).count() > 3
    fold_all()
    with connection.execute_wrapper(count):
        refold_in_background(NOW)
    assert listed == [2]


def test_a_project_without_older_sums_is_not_searched_each_time(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    create_project(slug="shop", key="shop-key", origins=["*"])
    post("shop-key", make_envelope("a", "A"))
    fold_all()
    refold_in_background(NOW)
    with django_assert_num_queries(3):  # older workers, projects, runs
        refold_in_background(NOW)
    Cell.objects.update(fold_version=FOLD_VERSION - 1)
    WorkerLease.objects.update(fold_version=FOLD_VERSION - 1, heartbeat_at=NOW - timedelta(minutes=9))
    refold_in_background(NOW)
    refold_in_background(NOW + timedelta(minutes=2))
    assert RefoldRun.objects.get().cells > 0


def test_a_backlog_goes_first(folded: object, settings: Settings) -> None:
    settings.FOLD_BATCH_TRACES = 2
    post("shop-key", make_envelope("x", "A"), make_envelope("y", "A"))
    refold_in_background(NOW)
    assert RefoldRun.objects.get().cells == 0
    fold_all()
    refold_in_background(NOW)
    assert RefoldRun.objects.get().cells > 0


def test_a_paused_run_waits_and_a_killed_one_goes_on(
    folded: object, settings: Settings, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.REFOLD_CELLS_AT_ONCE = 1
    refold_in_background(NOW)
    fold_all()
    call_command("refold", "--project", "shop", "--pause")
    refold_in_background(NOW)
    assert RefoldRun.objects.get().cells == 1
    call_command("refold", "--project", "shop", "--list")
    total = RefoldRun.objects.get().total_cells
    assert f"paused, 1 of {total} cells done" in capsys.readouterr().out
    assert select_refold(RefoldRun.objects.get().project_id) == RefoldProgress(1, total or 0, is_paused=True)
    call_command("refold", "--project", "shop", "--resume")
    with monkeypatch.context() as patch:
        patch.setattr(refolding, "unroll_days", lambda *_: 1 / 0)  # a kill within the transaction of a cell
        with pytest.raises(ZeroDivisionError):
            refold_in_background(NOW)
    assert RefoldRun.objects.get().cells == 1
    finish()
    assert everything() == folded
    assert select_refold(RefoldRun.objects.get().project_id) is None
    with pytest.raises(CommandError, match="No background refold"):
        call_command("refold", "--project", "shop", "--pause")
