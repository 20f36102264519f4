"""A slice's cells are summed up by the database as they would be one by one."""

from datetime import timedelta

import pytest
from pytest_django import Settings

from aggregate.models import Cell
from aggregate.selectors.functions.merged_slice import merge_slice
from aggregate.selectors.functions.tree_columns import select_tree_columns
from aggregate.selectors.slice.reading import SliceTooLarge
from aggregate.selectors.slice.slices import Slice
from profcore.sums.calltree import CallTree
from profcore.trace.dimensions import BROWSERS, DEVICE_CLASSES, NAVIGATIONS
from tests.builders import MONDAY, make_call_tree, make_cell, make_func, make_project

pytestmark = pytest.mark.django_db


def test_the_sums_of_cells_have_every_place_and_time_of_them() -> None:
    project = make_project()
    later = MONDAY + timedelta(days=3, hours=5)
    cells = [
        make_cell(project, release="1", page="/a", js_us=6, hidden_us=1, views=2, traces=3),
        make_cell(project, release="1", page="/a", device="mobile-low", browser="other", js_us=8, views=4, traces=5),
        make_cell(project, release="2", page="/b", starts_at=later, navigation="prerender", js_us=1),
    ]
    make_cell(project, release="3", page="/c", traces=0, views=0)  # nothing was folded into it
    Cell.objects.filter(project=project, id=cells[0].id).update(grain=Cell.Grain.DAY)
    whole = merge_slice(Slice(project_id=project.pk))
    assert whole.cell_ids == [cell.id for cell in cells]
    assert (whole.views, whole.traces, whole.time.js_us, whole.time.hidden_us) == (7, 9, 15, 1)
    assert (whole.releases, whole.pages) == ({"1", "2"}, {"/a", "/b"})
    assert {BROWSERS[code] for code in whole.codes["browser"]} == {"chrome", "other"}
    assert {DEVICE_CLASSES[code] for code in whole.codes["device"]} == {"desktop", "mobile-low"}
    assert {NAVIGATIONS[code] for code in whole.codes["navigation"]} == {"unknown", "prerender"}
    assert (min(whole.starts), max(whole.ends)) == (MONDAY, later + timedelta(hours=1))
    first = merge_slice(Slice(project_id=project.pk, releases=("1",)))
    assert (min(first.starts), max(first.ends)) == (MONDAY, MONDAY + timedelta(days=1))


def test_nothing_is_the_sum_of_no_cells() -> None:
    whole = merge_slice(Slice(project_id=make_project().pk))
    assert (whole.views, whole.cell_ids, whole.tree, whole.starts, whole.releases) == (0, [], CallTree(), [], set())


def test_the_tree_of_one_slice_is_its_tree_beside_another_without_that() -> None:
    project = make_project()
    main, draw = (make_func(project, name) for name in ("main", "draw"))
    cell = make_cell(project, release="1", js_us=9)
    make_call_tree(cell, [(-1, main, 1), (0, draw, 2), (1, main, 3), (0, main, 3)])
    one, none = Slice(project_id=project.pk, releases=("1",)), Slice(project_id=project.pk, releases=("0",))
    alone, beside = (select_tree_columns(slices, min_share=0.0, max_nodes=99) for slices in ([one], [none, one]))
    assert [alone.prefix, alone.func, alone.sides[0].self_us] == [beside.prefix, beside.func, beside.sides[1].self_us]
    assert (alone.sides[0].total_us, alone.funcs) == (beside.sides[1].total_us, beside.funcs)


def test_a_tree_of_cells_that_is_too_large_is_not_read_at_once(settings: Settings) -> None:
    project = make_project()
    make_call_tree(make_cell(project), [(-1, make_func(project, name), 1) for name in ("main", "draw")])
    settings.JOB_MAX_NODES = 2
    assert len(merge_slice(Slice(project_id=project.pk)).tree) == 2
    settings.JOB_MAX_NODES = 1
    with pytest.raises(SliceTooLarge, match="more than 1 call nodes"):
        merge_slice(Slice(project_id=project.pk))
