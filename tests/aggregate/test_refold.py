"""Refolding gives identical rows, goes on after a kill, and keeps what cannot be whole again."""

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from aggregate.merging import merge_old_hours
from aggregate.models import RefoldRun
from aggregate.refolding import Scope, list_cells, reset_cell, start_run
from ingest.models import Project
from ingest.services import create_project
from tests.aggregate.aftermath import assert_rollup_is_exact
from tests.aggregate.posting import everything, fold_all, post, rows
from tests.aggregate.test_merging import NOW, old_views
from tests.envelopes import make_envelope, view_id_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def key() -> str:
    create_project(slug="shop", key="shop-key", origins=["*"])
    return "shop-key"


def refold(*options: str) -> None:
    call_command("refold", "--project", "shop", *options)


def spoil(where: str = "true") -> None:
    """Changes stored sums, as a fault or an older rule would have: only a real refold heals it."""
    with connection.cursor() as cursor:
        cursor.execute(f"UPDATE aggregate_hotspot SET self_us = self_us + 1 WHERE {where}")


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
        cursor.execute("DELETE FROM aggregate_view WHERE view_id = %s", [view_id_of("gone")])
    before = everything()
    with pytest.raises(CommandError):
        refold()
    assert everything() == before
