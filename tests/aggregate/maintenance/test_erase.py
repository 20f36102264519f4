"""Erasing a view equals never having received it."""

from uuid import UUID

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from aggregate.maintenance.erasing import erase_view
from aggregate.maintenance.merging import merge_old_hours
from profcore.sums.calltree import CallTreeBuilder
from profcore.sums.subtraction import NotContained, subtract_call_tree
from projects.creation import create_project
from projects.models import Project
from tests.aggregate.old_views import NOW, old_views
from tests.aggregate.posting import everything, fold_all, post, rows
from tests.aggregate.stored_state import assert_rollup_is_exact, by_day, summed
from tests.envelopes import make_envelope, view_id_of

pytestmark = pytest.mark.django_db


def erase(view: str) -> None:
    call_command("erase_view", "--project", "shop", view_id_of(view))


def test_folding_then_erasing_equals_never_having_received_it(key: str) -> None:
    post(key, *old_views())
    fold_all()
    before = everything()
    marked = make_envelope("x", "A\nA B\nZ", page="/p0", reason="pagehide")
    marked["trace"]["samples"][0]["marker"] = "script"
    post(key, marked, make_envelope("x", "A B\nA B C D", seq=1, page="/p0"), make_envelope("x", "Q", seq=2, page="/q"))
    fold_all()
    assert everything() != before
    erase("x")
    assert everything() == before
    assert_rollup_is_exact()
    assert rows("SELECT count(*) FROM ingest_tracereceipt WHERE view_id::text = %s", view_id_of("x")) == [(0,)]
    assert rows("SELECT count(*) FROM ingest_rawtrace WHERE view_id::text = %s", view_id_of("x")) == [(0,)]
    assert rows("SELECT func_id FROM aggregate_hotspot GROUP BY cell_id, func_id HAVING sum(views) = 0") == []


@pytest.mark.parametrize("view", ["v0", "v1", "v2", "v3"])
def test_erasing_from_a_merged_day_equals_never_having_received_it(key: str, view: str) -> None:
    post(key, *old_views())
    fold_all()
    merge_old_hours(NOW)
    erase(view)
    assert_rollup_is_exact()
    create_project(slug="other", key="other-key", origins=["*"])
    post("other-key", *(v for v in old_views() if v["viewId"] != view_id_of(view)))
    fold_all()
    state = by_day()
    assert summed(state, 1) == summed(state, 2)


def test_a_view_that_waits_is_erased_too_and_never_folded(key: str) -> None:
    post(key, make_envelope("x", "A"), make_envelope("y", "B"))
    erase("x")
    fold_all()
    assert rows("SELECT sum(views) FROM aggregate_cell") == [(1,)]


def test_without_raw_traces_the_sums_go_and_the_call_tree_stays(key: str) -> None:
    post(key, make_envelope("x", "A"), make_envelope("y", "B"))
    fold_all()
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM ingest_rawtrace")
    erasure = erase_view(Project.objects.get().pk, UUID(view_id_of("x")))
    assert (erasure.traces, erasure.views, erasure.kept_trees) == (1, 1, 1)
    hotspots, cells, trees, _ = everything()
    assert [row[10] for row in hotspots] == ["B"]
    assert cells[0][7:10] == (1, 1, 10_000)
    assert len(trees) == 2


def test_an_expired_view_is_erased_from_the_sums_by_its_raw_traces(key: str) -> None:
    post(key, make_envelope("y", "B\nA"))
    fold_all()
    before = everything()
    post(key, make_envelope("x", "A\nA B"))
    fold_all()
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM aggregate_pageview WHERE view_id = %s", [view_id_of("x")])
    erase("x")
    assert everything() == before


def test_an_unknown_view_is_an_error(key: str) -> None:
    with pytest.raises(CommandError):
        erase("nobody")


def test_subtraction_refuses_what_was_never_merged() -> None:
    whole, part = CallTreeBuilder(), CallTreeBuilder()
    whole.add_stacks([-1, 0], [1, 2], [5, 5], [1, 1], [0, 0])
    part.add_stacks([-1, 0], [1, 3], [5, 5], [1, 1], [0, 0])
    with pytest.raises(NotContained):
        subtract_call_tree(whole.tree, part.tree)
    assert len(subtract_call_tree(whole.tree, whole.tree)) == 0
