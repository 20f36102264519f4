"""Refolding gives identical rows, goes on after a kill, and keeps what cannot be whole again."""

from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from aggregate.maintenance.merging import merge_old_hours
from aggregate.maintenance.refolding import CellOutcome, Scope, finish_run, list_cells, reset_cell, start_run
from aggregate.models import RefoldRun
from aggregate.selectors.project.summaries import select_status
from ingest.endpoint import admission
from ingest.models import PENDING, Receipt
from ingest.storage.partitions import create_partitions
from profcore.sums.fold import FOLD_VERSION
from projects.models import Project
from tests.aggregate.old_views import NOW, OLD, old_views
from tests.aggregate.posting import everything, fold_all, post, rows
from tests.aggregate.stored_state import assert_rollup_is_exact, by_day
from tests.envelopes import make_envelope, view_id_of

pytestmark = pytest.mark.django_db


def refold(*options: str) -> None:
    call_command("refold", "--project", "shop", *options)


def spoil(where: str = "true") -> None:
    """Changes stored sums, as a fault or an older rule would have: only a real refold heals it."""
    with connection.cursor() as cursor:
        cursor.execute(f"UPDATE aggregate_hotspotpiece SET self_us[1] = self_us[1] + 1 WHERE {where}")


def test_a_refold_gives_identical_rows(key: str) -> None:
    post(key, *old_views(), make_envelope("v1", "E\nE A", seq=1, page="/p1"), make_envelope("new", "A"))
    fold_all()
    before = everything()
    spoil()
    assert everything() != before
    refold()
    assert everything() == before
    assert_rollup_is_exact()


def test_a_refold_of_merged_days_gives_identical_days(key: str) -> None:
    post(key, *old_views())
    fold_all()
    merge_old_hours(NOW)
    before = everything()
    spoil()
    refold()
    assert everything() == before
    assert rows("SELECT count(*) FROM aggregate_cell WHERE merged_into IS NULL AND grain = 0") == [(0,)]


def test_a_refold_of_one_release_leaves_others_alone(key: str) -> None:
    post(key, make_envelope("a", "A"), make_envelope("b", "A", release="2.0.0"))
    fold_all()
    spoil()
    refold("--release", "2.0.0")
    sums = rows(
        """SELECT g.release, h.self_us FROM aggregate_hotspot h JOIN aggregate_cell c ON c.id = h.cell_id
           JOIN ingest_group g ON g.id = c.group_id ORDER BY 1"""
    )
    assert sums == [("1.0.0", 10_001), ("2.0.0", 10_000)]


def test_a_killed_refold_goes_on_where_it_was(key: str) -> None:
    post(key, *old_views())
    fold_all()
    before = everything()
    project_id = Project.objects.get().pk
    run = start_run(Scope(project_id))
    cells = list_cells(run)
    assert len(cells) > 3
    for cell in cells[:2]:
        reset_cell(run, *cell)
    again = start_run(Scope(project_id))
    assert again.id == run.id
    assert list_cells(again) == cells[2:]
    assert start_run(Scope(project_id, "1.0.0")).id != run.id
    refold()
    assert everything() == before
    assert RefoldRun.objects.get(id=run.id).cells == len(cells)


def test_a_killed_refold_of_older_rules_is_not_gone_on_with(key: str) -> None:
    post(key, *old_views())
    fold_all()
    project_id = Project.objects.get().pk
    run = start_run(Scope(project_id))
    reset_cell(run, *list_cells(run)[0])
    assert start_run(Scope(project_id)).id == run.id
    RefoldRun.objects.update(fold_version=FOLD_VERSION - 1)
    anew = start_run(Scope(project_id))
    assert anew.id != run.id
    assert len(list_cells(anew)) == len(list_cells(run)) + 1


def test_going_on_is_reported_and_refolds_are_listed(key: str, capsys: pytest.CaptureFixture[str]) -> None:
    refold("--list")
    assert capsys.readouterr().out == "No refold within 30 days.\n"
    post(key, *old_views())
    fold_all()
    run = start_run(Scope(Project.objects.get().pk, "1.0.0"))
    cells = list_cells(run)
    reset_cell(run, *cells[0])
    refold("--list")
    assert "not finished  release 1.0.0: 1 cells refolded, 0 kept." in capsys.readouterr().out
    refold("--release", "1.0.0")
    out = capsys.readouterr().out
    assert f"Going on with the refold that was started at {run.started_at:%Y-%m-%d %H:%M:%S}Z: 1 cells are done" in out
    assert f"{len(cells) - 1} are left.\n{len(cells)} cells refolded, 0 kept as they are." in out
    refold("--from", "2020-01-01", "--to", "2020-01-02")
    refold("--list")
    latest, first = capsys.readouterr().out.splitlines()[-2:]
    assert "from 2020-01-01 00:00:00Z, to 2020-01-02 00:00:00Z: 0 cells refolded" in latest
    assert "  finished " in first


@pytest.mark.parametrize("reset_before", [0, 1, 3])
def test_hours_that_are_merged_while_a_refold_runs_are_refolded_in_their_day(key: str, reset_before: int) -> None:
    post(key, *old_views())
    fold_all()
    merge_old_hours(NOW)
    late = (OLD + timedelta(hours=9)).timestamp() * 1000
    post(key, make_envelope("late", "A", page="/p0", viewStart=late, device={"mobile": False, "cores": 2}))
    fold_all()  # an hour beside its day
    before = by_day()
    spoil()
    run = start_run(Scope(Project.objects.get().pk))
    for cell in list_cells(run)[:reset_before]:
        reset_cell(run, *cell)
    fold_all()
    merge_old_hours(NOW)
    for cell in list_cells(run):
        reset_cell(run, *cell)
    fold_all()
    finish_run(run)
    assert by_day() == before
    assert merge_old_hours(NOW) == 1  # what had to wait
    assert by_day() == before
    assert_rollup_is_exact()


def test_a_cell_whose_raw_traces_are_gone_is_kept_and_said(key: str) -> None:
    post(key, make_envelope("kept", "A\nB"), make_envelope("gone", "B"), make_envelope("other", "C", page="/other"))
    fold_all()
    before = everything()
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM ingest_rawtrace WHERE view_id = %s", [view_id_of("gone")])
    with pytest.raises(CommandError) as caught:
        refold()
    assert caught.value.returncode == 3
    assert everything() == before
    assert RefoldRun.objects.values_list("cells", "kept_cells").get() == (1, 1)


def test_a_cell_with_an_expired_view_is_kept(key: str) -> None:
    post(key, make_envelope("kept", "A"), make_envelope("gone", "B"))
    fold_all()
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM aggregate_pageview WHERE view_id = %s", [view_id_of("gone")])
    before = everything()
    with pytest.raises(CommandError):
        refold()
    assert everything() == before


def test_posts_go_on_while_traces_of_weeks_are_pending_again(key: str) -> None:
    post(key, *old_views())
    fold_all()
    run = start_run(Scope(Project.objects.get().pk))
    assert reset_cell(run, *list_cells(run)[0]) is CellOutcome.RESET
    create_partitions((NOW - timedelta(days=9)).date(), 1)
    Receipt.objects.update(received_at=NOW - timedelta(days=9))
    assert admission._is_below_bounds(run.project_id)
    assert select_status(run.project_id).oldest_pending_s is None
    Receipt.objects.filter(state=PENDING).update(fold_version=None)  # as of traces that were never folded
    assert not admission._is_below_bounds(run.project_id)
