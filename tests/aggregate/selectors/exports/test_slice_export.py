"""A slice for the exporters: the cells' trees merged, the funcs they name, and a digest that tells a change."""

from datetime import timedelta

import pytest
from pytest_django import Settings

from aggregate.models import Cell
from aggregate.selectors.exports.slice_export import fingerprint_slice, select_slice_export
from aggregate.selectors.slice.reading import Reading
from aggregate.selectors.slice.slices import Slice
from profcore.sums.calltree import picture
from projects.models import Project
from tests.builders import (
    MONDAY,
    make_call_tree,
    make_cell,
    make_func,
    make_hotspot,
    make_project,
    make_receipt,
    make_view,
)

pytestmark = pytest.mark.django_db


def test_the_trees_of_all_pieces_and_cells_are_merged() -> None:
    project = make_project()
    make_func(project, "unused")
    main, draw, other = (make_func(project, name) for name in ("main", "draw", "other"))
    first = make_cell(project, release="1", js_us=6)
    second = make_cell(project, release="2", js_us=8)
    make_call_tree(first, [(-1, main, 1), (0, draw, 2)])
    make_call_tree(first, [(-1, main, 0), (0, draw, 3)])
    make_call_tree(second, [(-1, other, 1), (-1, main, 0), (1, draw, 7)])
    elsewhere = make_cell(project, page="/other", js_us=50)
    make_call_tree(elsewhere, [(-1, other, 50)])

    export = select_slice_export(
        Slice(project_id=project.pk, pages=("/cart",)), project="Shop", link="https://x.example/"
    )

    labels = [func.label for func in export.funcs]
    assert labels == ["main", "draw", "other"]
    assert picture(export.tree, labels).splitlines() == [
        "- main (total: 13, self: 1)",
        "  - draw (total: 12, self: 12)",
        "- other (total: 1, self: 1)",
    ]
    assert sum(export.tree.self_us) == export.time.js_us == 14
    assert (export.releases, export.pages) == (["1", "2"], ["/cart"])
    assert export.dimensions.items() >= {"browsers": ["chrome"], "devices": ["desktop"]}.items()
    assert (export.views, export.traces, export.samples) == (2, 2, 2)
    assert (export.project, export.query, export.link) == ("Shop", "page=/cart", "https://x.example/")


def test_an_anonymous_function_is_labelled_by_its_place() -> None:
    project = make_project()
    func = make_func(project, "", uri="https://a.example/app.js", line=2, column=5)
    make_call_tree(make_cell(project), [(-1, func, 1)])
    (exported,) = select_slice_export(Slice(project_id=project.pk), project="Shop").funcs
    assert (exported.label, exported.name, exported.uri) == (
        "(anonymous) app.js:2:5",
        "",
        "https://a.example/app.js",
    )
    assert (exported.line, exported.column) == (2, 5)


def test_the_bounds_are_those_asked_for_or_those_of_the_cells() -> None:
    project = make_project()
    make_cell(project, starts_at=MONDAY)
    make_cell(project, starts_at=MONDAY + timedelta(days=1, hours=-9), grain=Cell.Grain.DAY)

    def bounds(*ranges: tuple[object, object]) -> tuple[float, float]:
        export = select_slice_export(Slice(project_id=project.pk, ranges=ranges), project="Shop")  # type: ignore[arg-type]
        monday_ms = MONDAY.timestamp() * 1000
        return (export.started_at_ms - monday_ms) / 3_600_000, (export.ended_at_ms - monday_ms) / 3_600_000

    assert bounds() == (0, 39)
    assert bounds((MONDAY - timedelta(hours=5), None)) == (-5, 39)
    assert bounds((None, MONDAY + timedelta(hours=2))) == (0, 2)


def test_the_interval_is_that_of_most_traces_in_the_slice() -> None:
    project = make_project()
    cell, elsewhere = make_cell(project), make_cell(project, page="/other")
    for interval_us in (16_000, 16_000, 10_000):
        make_view(cell, make_receipt(project, interval_us=interval_us))
    for _ in range(5):
        make_view(elsewhere, make_receipt(project, page="/other", interval_us=4_000))
    assert select_slice_export(Slice(project_id=project.pk, pages=("/cart",)), project="Shop").interval_ms == 16


def test_an_empty_slice_is_an_empty_tree() -> None:
    export = select_slice_export(Slice(project_id=make_project().pk), project="Shop")
    assert (len(export.tree), export.funcs, export.views, export.time.span_us) == (0, [], 0, 0)
    assert export.interval_ms > 0


def test_another_projects_funcs_and_trees_stay_out() -> None:
    mine, other = make_project("mine"), make_project("other")
    for project in (mine, other):
        make_call_tree(make_cell(project, js_us=1), [(-1, make_func(project, project.slug), 1)])
    export = select_slice_export(Slice(project_id=mine.pk), project="Mine")
    assert [func.label for func in export.funcs] == ["mine"]
    assert export.tree.self_us == [1]


def test_the_fingerprint_tells_a_fold_into_the_slice_and_no_other() -> None:
    project = make_project()
    cell, elsewhere = make_cell(project), make_cell(project, page="/other")
    slice_ = Slice(project_id=project.pk, pages=("/cart",))
    before = fingerprint_slice(slice_)
    Cell.objects.filter(project=project, id=elsewhere.id).update(traces=9)
    make_hotspot(cell, make_func(project, "irrelevant"))
    assert fingerprint_slice(slice_) == before
    Cell.objects.filter(project=project, id=cell.id).update(traces=2)
    assert fingerprint_slice(slice_) != before


@pytest.mark.django_db(transaction=True)
def test_a_reading_in_pages_fetches_as_it_goes_and_may_write_and_commit_meanwhile(
    monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    monkeypatch.setattr("aggregate.selectors.functions.merged_slice.ROWS_AT_ONCE", 2)
    settings.TREE_BATCH_NODES = 3
    settings.JOB_BATCH_TRACES = 1
    project = make_project()
    main, draw = (make_func(project, name) for name in ("main", "draw"))
    for number in range(7):
        cell = make_cell(project, release=str(number), js_us=5, traces=2)
        make_call_tree(cell, [(-1, main, 2), (0, draw, 3)])
    seen: list[int] = []

    def note(traces: int) -> None:
        Project.objects.filter(pk=project.pk).update(name=f"{traces}")
        seen.append(traces)

    paged = select_slice_export(Slice(project_id=project.pk), project="Shop", reading=Reading.in_pages(note))
    assert paged == select_slice_export(Slice(project_id=project.pk), project="Shop")
    assert (seen, paged.traces, sum(paged.tree.self_us), paged.time.js_us) == ([2] * 7, 14, 35, 35)
