"""A slice's functions are exact sums over its cells, in the order asked for."""

import pytest
from pytest_django import Settings

from aggregate.selectors.code.labels import label_func
from aggregate.selectors.functions.groups import select_group_table
from aggregate.selectors.functions.table import FunctionTable, select_functions
from aggregate.selectors.slice.reading import SliceTooLarge
from aggregate.selectors.slice.slices import Slice
from tests.builders import make_cell, make_func, make_hotspot, make_project

pytestmark = pytest.mark.django_db


def names(table: FunctionTable) -> list[str]:
    return [row.name for row in table.functions]


def test_sums_add_up_over_cells_and_keep_to_the_slice() -> None:
    project = make_project()
    hot, cold = make_func(project, "hot"), make_func(project, "cold")
    first = make_cell(project, release="1", views=2, traces=3, js_us=50, hidden_us=5, idle_us=7, samples=(4, 3, 2, 1))
    second = make_cell(project, release="2", views=1, traces=1, js_us=30, unobserved_us=2, profiler_us=1)
    elsewhere = make_cell(project, page="/other", views=90, js_us=900)
    make_hotspot(first, hot, self_us=40, total_us=50, views=2, samples=5)
    make_hotspot(second, hot, self_us=20, total_us=30, views=1, samples=6)
    make_hotspot(second, cold, self_us=10, total_us=10)
    make_hotspot(elsewhere, cold, self_us=900, total_us=900)

    table = select_functions(Slice(project_id=project.pk, pages=("/cart",)), limit=10)

    assert (table.views, table.traces, table.time.samples) == (3, 4, 11)
    time = table.time
    assert (time.js_us, time.hidden_us, time.idle_us, time.unobserved_us, time.profiler_us) == (80, 5, 7, 2, 1)
    assert time.span_us == 95
    assert names(table) == ["hot", "cold"]
    top = table.functions[0]
    assert (top.self_us, top.total_us, top.self_samples, top.total_samples, top.views) == (60, 80, 11, 13, 3)
    assert table.self_share(top) == 60 / 80


def test_each_sort_has_its_order_and_ties_go_by_id() -> None:
    project = make_project()
    cell = make_cell(project, js_us=100, views=9)
    for name, self_us, total_us, views in [("a", 1, 9, 5), ("b", 5, 5, 1), ("c", 3, 7, 9), ("d", 3, 7, 9)]:
        make_hotspot(cell, make_func(project, name), self_us=self_us, total_us=total_us, views=views)
    slice_ = Slice(project_id=project.pk)
    assert names(select_functions(slice_, sort="self_ms", limit=10)) == ["b", "c", "d", "a"]
    assert names(select_functions(slice_, sort="total_ms", limit=10)) == ["a", "c", "d", "b"]
    assert names(select_functions(slice_, sort="views", limit=10)) == ["c", "d", "a", "b"]


def test_a_limit_cuts_the_list_but_not_the_count_nor_the_sums() -> None:
    project = make_project()
    cell = make_cell(project, js_us=60)
    for number in range(1, 4):
        make_hotspot(cell, make_func(project, f"f{number}"), self_us=number, total_us=number)
    table = select_functions(Slice(project_id=project.pk), limit=2)
    assert names(table) == ["f3", "f2"]
    assert (table.function_count, table.time.js_us) == (3, 60)


def test_no_more_functions_are_read_than_fit_into_memory(settings: Settings) -> None:
    project = make_project()
    cell = make_cell(project, js_us=60)
    for number in range(1, 4):
        make_hotspot(cell, make_func(project, f"f{number}"), self_us=number, total_us=number)
    slice_ = Slice(project_id=project.pk)
    settings.JOB_MAX_FUNCS = 2
    assert names(select_functions(slice_, limit=2)) == ["f3", "f2"]
    with pytest.raises(SliceTooLarge, match="more than 2 functions"):
        select_group_table(slice_, "party")
    with pytest.raises(SliceTooLarge, match="more than 2 functions"):
        select_functions(slice_, limit=2, search="f1")
    settings.JOB_MAX_FUNCS = 3
    assert names(select_functions(slice_, limit=2, search="f1")) == ["f1"]


def test_functions_without_js_or_hidden_time_are_not_listed() -> None:
    project = make_project()
    cell = make_cell(project, js_us=1)
    make_hotspot(cell, make_func(project, "timeless"))
    make_hotspot(cell, make_func(project, "only-hidden"), hidden_us=4)
    make_hotspot(cell, make_func(project, "only-total"), total_us=1)
    table = select_functions(Slice(project_id=project.pk), limit=10)
    assert names(table) == ["only-total", "only-hidden"]
    assert table.function_count == 2


def test_an_empty_slice_has_zero_sums_and_no_functions() -> None:
    table = select_functions(Slice(project_id=make_project().pk), limit=10)
    assert (table.views, table.traces, table.time.span_us, table.function_count, table.functions) == (0, 0, 0, 0, [])


def test_merged_cells_do_not_count_twice() -> None:
    project = make_project()
    day = make_cell(project, views=5, js_us=10, browser="edge")
    make_cell(project, views=5, js_us=10, merged_into=day.id)
    assert select_functions(Slice(project_id=project.pk), limit=1).views == 5


def test_the_same_ids_in_another_project_stay_out() -> None:
    mine, other = make_project("mine"), make_project("other")
    for project, self_us in ((mine, 1), (other, 1_000)):
        make_hotspot(make_cell(project, js_us=self_us), make_func(project, project.slug), self_us=self_us, total_us=1)
    table = select_functions(Slice(project_id=mine.pk), limit=10)
    assert [(row.name, row.self_us) for row in table.functions] == [("mine", 1)]
    assert table.time.js_us == 1


def test_sums_beyond_32_bits_stay_exact() -> None:
    project = make_project()
    func = make_func(project, "long")
    for release in ("1", "2"):
        make_hotspot(make_cell(project, release=release, js_us=2**61), func, self_us=2**61, total_us=2**61)
    assert select_functions(Slice(project_id=project.pk), limit=1).functions[0].self_us == 2**62


@pytest.mark.parametrize(
    ("name", "uri", "line", "column", "label"),
    [
        ("render", "https://a.example/x/app.js", 3, 7, "render"),
        ("", "https://a.example/x/app.js", 3, 7, "(anonymous) app.js:3:7"),
        ("", "https://a.example/x/app.js", 1, 1, "(anonymous) app.js:1:1"),
        ("", "https://a.example/x/app.js", None, None, "(anonymous) app.js"),
        ("", "https://a.example/", 2, 9, "(anonymous) a.example:2:9"),
        ("", "https://a.example/product/:id", 2, 9, "(anonymous) :id:2:9"),
        ("", "data:", 2, 9, "(anonymous) data::2:9"),
        ("", "http://[broken", 2, 9, "(anonymous) http://[broken:2:9"),
        ("push", None, None, None, "push"),
        ("", None, None, None, "(anonymous)"),
    ],
)
def test_a_label_is_the_name_or_the_place_of_an_anonymous_function(
    name: str, uri: str | None, line: int | None, column: int | None, label: str
) -> None:
    assert label_func(name, uri, line, column) == label
