"""Funcs beyond a project's room for new ones in a day count as "(other)", exactly; unused funcs go."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from aggregate.maintenance import old_funcs
from aggregate.maintenance.erasing import erase_view
from aggregate.maintenance.old_funcs import expire_funcs
from aggregate.models import Cell, Func
from profcore.caching import clear_caches
from profcore.trace.funcs import OTHER_FUNC
from projects.creation import create_project
from projects.models import Project
from tests.aggregate.posting import everything, fold_all, post, rows
from tests.aggregate.stored_state import assert_rollup_is_exact
from tests.envelopes import make_envelope, view_id_of

pytestmark = pytest.mark.django_db
NOW = datetime.now(UTC)
LATER = NOW + timedelta(hours=4)


@pytest.fixture
def project(db: None) -> Project:
    return create_project(slug="shop", key="shop-key", origins=["*"])[0]


def hotspots() -> dict[str, tuple[int, int]]:
    """Returns self and total samples by the name of the func."""
    spots = rows(
        """SELECT f.name, sum(h.self_samples)::int, sum(h.total_samples)::int FROM aggregate_hotspot h
           JOIN aggregate_func f ON (f.project_id, f.id) = (h.project_id, h.func_id) GROUP BY 1"""
    )
    return {name: (self_samples, total) for name, self_samples, total in spots}


def test_funcs_beyond_the_days_room_count_as_other(project: Project, settings: Settings) -> None:
    settings.FOLD_MAX_NEW_FUNCS = 1
    post("shop-key", make_envelope("a", "A\nA\nA"))
    fold_all()
    post("shop-key", make_envelope("b", "A B\nA B C\nC"))
    fold_all()
    assert hotspots() == {"A": (3, 5), OTHER_FUNC.name: (3, 3)}
    assert rows("SELECT made, beyond FROM aggregate_funcday") == [(1, 2)]
    assert_rollup_is_exact()


def test_two_of_them_in_one_stack_count_its_time_once(project: Project, settings: Settings) -> None:
    settings.FOLD_MAX_NEW_FUNCS = 0
    post("shop-key", make_envelope("a", "A B C\nA B"))
    fold_all()
    assert hotspots() == {OTHER_FUNC.name: (2, 2)}


def test_known_funcs_need_no_room(project: Project, settings: Settings) -> None:
    post("shop-key", make_envelope("a", "A B"))
    fold_all()
    settings.FOLD_MAX_NEW_FUNCS = 0
    clear_caches()
    post("shop-key", make_envelope("b", "A B"))
    fold_all()
    assert hotspots() == {"A": (0, 2), "B": (2, 2)}


def test_the_next_day_has_room_again(project: Project, settings: Settings) -> None:
    settings.FOLD_MAX_NEW_FUNCS = 1
    post("shop-key", make_envelope("a", "A"))
    fold_all()
    rows("UPDATE aggregate_funcday SET day_on = day_on - 1 RETURNING 1")
    post("shop-key", make_envelope("b", "B"))
    fold_all()
    assert hotspots() == {"A": (1, 1), "B": (1, 1)}


def test_another_trace_of_a_view_that_counted_as_other_keeps_the_sums_exact(
    project: Project, settings: Settings
) -> None:
    settings.FOLD_MAX_NEW_FUNCS = 0
    post("shop-key", make_envelope("a", "A B"))
    fold_all()
    settings.FOLD_MAX_NEW_FUNCS = 10
    post("shop-key", make_envelope("a", "A B", seq=1))
    fold_all()
    assert hotspots() == {OTHER_FUNC.name: (1, 1), "A": (0, 1), "B": (1, 1)}
    assert_rollup_is_exact()


def test_an_erased_view_with_other_leaves_its_tree_and_takes_its_sums(project: Project, settings: Settings) -> None:
    post("shop-key", make_envelope("a", "A B"), make_envelope("c", "A B"))
    settings.FOLD_MAX_NEW_FUNCS = 0
    fold_all()
    settings.FOLD_MAX_NEW_FUNCS = 10
    post("shop-key", make_envelope("d", "A B"))
    fold_all()
    assert erase_view(project.pk, UUID(view_id_of("a"))).kept_trees == 1
    assert hotspots() == {OTHER_FUNC.name: (1, 1), "A": (0, 1), "B": (1, 1)}
    assert_rollup_is_exact()


def test_a_dear_view_is_rebuilt_whole(project: Project, settings: Settings) -> None:
    """The bound on a batch's processor time holds for claims alone: half a view would be half erased."""
    post("shop-key", *(make_envelope("a", "A B", seq=seq) for seq in range(3)), make_envelope("b", "C"))
    fold_all()
    settings.FOLD_BATCH_CPU_S = 0
    assert erase_view(project.pk, UUID(view_id_of("a"))).kept_trees == 0
    assert hotspots() == {"C": (1, 1)}
    assert [path for *_, path in everything()[2]] == [path for *_, path in everything()[2] if "A" not in str(path)]


def test_unused_funcs_are_marked_first_and_deleted_hours_later(project: Project) -> None:
    post("shop-key", make_envelope("a", "A B"), make_envelope("b", "A", page="/other"))
    fold_all()
    assert expire_funcs(project.pk, NOW) == 0
    (cell,) = rows("SELECT c.id FROM aggregate_cell c JOIN ingest_group g ON g.id = c.group_id WHERE page <> '/other'")
    rows("DELETE FROM aggregate_hotspotpiece WHERE cell_id = %s RETURNING 1", cell[0])
    rows("DELETE FROM aggregate_dayhotspot RETURNING 1")
    assert expire_funcs(project.pk, NOW) == 0
    assert expire_funcs(project.pk, NOW + timedelta(hours=1)) == 0
    assert expire_funcs(project.pk, LATER) == 1
    assert [func.name for func in Func.objects.all()] == ["A"]


def test_hotspots_are_read_twice_however_many_funcs_are_deleted(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    post("shop-key", make_envelope("a", "A B C D"))
    fold_all()
    for table in ("aggregate_cell", "aggregate_hotspotpiece", "aggregate_dayhotspot"):
        rows(f"DELETE FROM {table} RETURNING 1")
    expire_funcs(project.pk, NOW)
    monkeypatch.setattr(old_funcs, "BATCH_FUNCS", 1)
    with CaptureQueriesContext(connection) as queries:
        assert expire_funcs(project.pk, LATER) == 4
    assert len([query for query in queries if "aggregate_hotspotpiece" in query["sql"]]) == 2


def test_a_func_that_is_used_again_stays_with_its_id(project: Project) -> None:
    post("shop-key", make_envelope("a", "A"))
    fold_all()
    before = everything()
    Cell.objects.all().delete()
    for table in ("aggregate_hotspotpiece", "aggregate_pageview", "aggregate_calltreepiece", "aggregate_dayhotspot"):
        rows(f"DELETE FROM {table} RETURNING 1")
    expire_funcs(project.pk, NOW)
    assert Func.objects.get().unused_since == NOW
    post("shop-key", make_envelope("b", "A"))  # this process has its id cached
    fold_all()
    assert expire_funcs(project.pk, LATER) == 0
    assert Func.objects.get().unused_since is None
    assert [row[10] for row in everything()[0]] == [row[10] for row in before[0]]


def test_an_uncached_func_that_is_used_again_is_in_use_at_once(project: Project) -> None:
    post("shop-key", make_envelope("a", "A"))
    fold_all()
    Func.objects.update(unused_since=NOW)
    clear_caches()
    post("shop-key", make_envelope("b", "A"))
    fold_all()
    assert Func.objects.get().unused_since is None
