"""Functions by their originals: what is one function across releases is one row, with exact sums and statistics."""

from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from django.db.models import F
from pytest_django import Settings

from aggregate.label_models import Label, ReleaseScript
from aggregate.models import CallTreePiece, PageView
from aggregate.selectors.exports.slice_export import select_slice_export
from aggregate.selectors.functions.breakdown import EXPRESSIONS, select_function_breakdown
from aggregate.selectors.functions.calls import select_call_tree, select_calls, select_func
from aggregate.selectors.functions.groups import select_function_table, select_group_table
from aggregate.selectors.functions.table import FunctionRow, FunctionTable
from aggregate.selectors.functions.tree_columns import select_tree_columns
from aggregate.selectors.page_views.picked_views import select_views
from aggregate.selectors.slice.reading import Reading
from aggregate.selectors.slice.slices import Slice
from aggregate.selectors.statistics.comparisons import compare_slices
from aggregate.selectors.statistics.estimates import TableQuery, select_estimated
from profcore.sums.calltree import picture
from projects.models import Project
from tests.aggregate.bundled_views import HASHED, func, label, view
from tests.aggregate.posting import fold_all, post
from tests.builders import make_label, make_project
from tests.envelopes import view_id_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def hashed() -> Project:
    """Two releases of hashed bundles: `a` and `b` of 1.0.0 are `c` and `a` of 2.0.0, `render` and `total`."""
    project = make_project()
    post(
        "KEY-shop",
        *(view(f"old{n}", "a\na b\na b", "1.0.0", HASHED["1.0.0"]) for n in range(3)),
        *(view(f"new{n}", "c\nc a\nc a\nc a", "2.0.0", HASHED["2.0.0"]) for n in range(2)),
    )
    fold_all()
    label(project, "1.0.0", HASHED["1.0.0"], {"a": "render", "b": "total"}, is_shared=True)
    label(project, "2.0.0", HASHED["2.0.0"], {"c": "render", "a": "total"}, is_shared=True)
    return project


@pytest.fixture
def plain() -> Project:
    """Two releases under one URL, where `a` and `b` changed their places: what was `render` is `total`."""
    project = make_project()
    post(
        "KEY-shop",
        *(view(f"old{n}", "a\na b\na b", "1.0.0", "app.js") for n in range(3)),
        *(view(f"new{n}", "b\nb a\nb a\nb a", "2.0.0", "app.js") for n in range(2)),
    )
    fold_all()
    label(project, "1.0.0", "app.js", {"a": "render", "b": "total"})
    label(project, "2.0.0", "app.js", {"b": "render", "a": "total"})
    return project


def ms_by_label(table: FunctionTable) -> dict[str, tuple[int, int, int | None]]:
    """Returns self ms, total ms and views by label."""
    assert len({row.label for row in table.functions}) == len(table.functions)
    return {row.label: (row.self_us // 1000, row.total_us // 1000, row.views) for row in table.functions}


def row_named(table: FunctionTable, name: str) -> FunctionRow:
    return next(row for row in table.functions if row.label == name)


@pytest.mark.parametrize("shop", ["hashed", "plain"])
@pytest.mark.parametrize("kind", ["cells", "views", "raw"])
def test_one_function_of_two_releases_is_one_row_with_exact_sums(
    shop: str, kind: str, request: pytest.FixtureRequest
) -> None:
    project: Project = request.getfixturevalue(shop)
    slice_ = Slice(project_id=project.pk)
    if kind == "views":
        slice_ = replace(slice_, views=tuple(UUID(view_id_of(f"{it}{n}")) for it in ("old", "new") for n in range(3)))
    elif kind == "raw":
        slice_ = replace(slice_, tags=(("shop", "one"),))
    table = select_function_table(slice_)
    assert table.source == {"cells": "cells", "views": "contributions", "raw": "raw"}[kind]
    assert ms_by_label(table) == {"render": (50, 170, 5), "total": (120, 120, 5)}
    assert table.function_count == 2
    for release, expected in (("1.0.0", (30, 90, 3)), ("2.0.0", (20, 80, 2))):
        assert ms_by_label(select_function_table(replace(slice_, releases=(release,))))["render"] == expected


def test_an_id_is_the_same_in_every_slice_and_leads_to_the_function(hashed: Project) -> None:
    whole = row_named(select_function_table(Slice(project_id=hashed.pk)), "render")
    for release in HASHED:
        assert (
            row_named(select_function_table(Slice(project_id=hashed.pk, releases=(release,))), "render").id == whole.id
        )
    for asked in (whole.id, func(hashed, "a", HASHED["1.0.0"]).id, func(hashed, "c", HASHED["2.0.0"]).id):
        function = select_func(hashed.pk, asked)
        assert function is not None
        assert (function.id, function.label, function.uri) == (whole.id, "render", whole.uri)


@pytest.mark.parametrize("shop", ["hashed", "plain"])
def test_drill_down_by_its_id_tells_the_same_as_the_table(shop: str, request: pytest.FixtureRequest) -> None:
    project: Project = request.getfixturevalue(shop)
    slice_ = Slice(project_id=project.pk)
    table = select_function_table(slice_)
    for name in ("render", "total"):
        row = row_named(table, name)
        for by in EXPRESSIONS:
            breakdown = select_function_breakdown(slice_, row.id, by).rows
            assert sum(part.self_us for part in breakdown) == row.self_us
            assert sum(part.total_us or 0 for part in breakdown) == row.total_us
            assert sum(part.func_views or 0 for part in breakdown) == row.views
        views = select_views(slice_, func_id=row.id, order="worst", limit=10)
        assert sum(page_view.self_us for page_view in views.views) == row.self_us
        callers = select_calls(slice_, row.id, "callers").rows
        assert sum(caller.self_us for caller in callers) == row.self_us
    callers = select_calls(slice_, row_named(table, "total").id, "callers").rows
    assert [(caller.func and caller.func.label, caller.total_us // 1000) for caller in callers] == [("render", 120)]
    over = Slice(project_id=project.pk, func_over=((row_named(table, "total").id, 20_000),))
    assert ms_by_label(select_function_table(over)) == {"render": (20, 80, 2), "total": (60, 60, 2)}


@pytest.mark.parametrize("shop", ["hashed", "plain"])
def test_call_trees_and_exports_have_one_path_for_it(shop: str, request: pytest.FixtureRequest) -> None:
    project: Project = request.getfixturevalue(shop)
    drawn = ["- render (total: 170000, self: 50000)", "  - total (total: 120000, self: 120000)"]
    pruned = select_call_tree(Slice(project_id=project.pk), min_share=0, max_nodes=10)
    assert picture(pruned.tree, [row.label for row in pruned.funcs]).splitlines() == drawn
    export = select_slice_export(Slice(project_id=project.pk), project="Shop")
    assert picture(export.tree, [export_func.label for export_func in export.funcs]).splitlines() == drawn
    originals = {
        export_func.label: export_func.original and export_func.original.source for export_func in export.funcs
    }
    assert originals == {"render": "src/cart.ts", "total": "src/cart.ts"}


@pytest.mark.parametrize("shop", ["hashed", "plain"])
def test_groups_sum_by_the_original(shop: str, request: pytest.FixtureRequest) -> None:
    project: Project = request.getfixturevalue(shop)
    assert ms_by_label(select_group_table(Slice(project_id=project.pk), "file")) == {"src/cart.ts": (170, 170, 5)}
    assert ms_by_label(select_group_table(Slice(project_id=project.pk), "category")) == {"first-party": (170, 170, 5)}
    assert ms_by_label(select_group_table(Slice(project_id=project.pk), "package")) == {"(none)": (170, 170, 5)}
    assert ms_by_label(select_group_table(Slice(project_id=project.pk), "party")) == {"(first party)": (170, 170, 5)}


@pytest.mark.parametrize("shop", ["hashed", "plain"])
@pytest.mark.parametrize("measure", ["self", "total", "hidden", "self+hidden"])
def test_statistics_are_of_the_function(shop: str, measure: Any, request: pytest.FixtureRequest) -> None:
    project: Project = request.getfixturevalue(shop)
    post("KEY-shop", *(view(f"more{n}", "a b", "1.0.0", "other.js") for n in range(30)))
    fold_all()
    table = select_estimated(Slice(project_id=project.pk), TableQuery(measure=measure))
    row = row_named(table, "total")
    assert table.summary is not None
    assert (table.summary.views, table.self_estimates[row.id].views_ran) == (35, 5)
    assert table.self_estimates[row.id].ms_per_view.value == pytest.approx(120 / 35)
    if measure in ("self", "total"):
        assert table.estimates[row.id].ms_per_view.value == pytest.approx(120 / 35)


def test_copies_in_one_release_count_a_sample_once(hashed: Project) -> None:
    """One module in two bundles of a release, one copy called by the other, and both in one view."""
    post("KEY-shop", make_two_copies())
    fold_all()
    for script in ("x.js", "y.js"):
        make_label(func(hashed, "z", script), "3.0.0", "src/shared.ts", "step", line=4)
    table = select_function_table(Slice(project_id=hashed.pk, releases=("3.0.0",)))
    assert ms_by_label(table) == {"step": (20, 20, 1)}
    row = row_named(table, "step")
    drawn = select_call_tree(Slice(project_id=hashed.pk, releases=("3.0.0",)), min_share=0, max_nodes=10)
    assert sum(drawn.tree.self_us) == row.self_us
    whole = ms_by_label(select_function_table(Slice(project_id=hashed.pk)))
    assert whole["step"] == (20, 20, 1)
    assert whole["render"] == (50, 170, 5)


def test_copies_that_never_ran_in_one_view_are_summed_without_their_trees(hashed: Project) -> None:
    """A build for old browsers beside one for new ones; the second project's trees are gone, and nobody asks."""
    post("KEY-shop", view("old-browser", "z", "3.0.0", "x.js"), view("new-browser", "z\nz", "3.0.0", "y.js"))
    fold_all()
    for script in ("x.js", "y.js"):
        make_label(func(hashed, "z", script), "3.0.0", "src/shared.ts", "step", line=4)
    CallTreePiece.objects.all().delete()
    assert ms_by_label(select_function_table(Slice(project_id=hashed.pk, releases=("3.0.0",)))) == {"step": (30, 30, 2)}


def test_of_many_views_copies_count_alone_and_views_are_not_counted(hashed: Project, settings: Settings) -> None:
    settings.COPIES_MAX_VIEWS = 0
    post("KEY-shop", make_two_copies())
    fold_all()
    for script in ("x.js", "y.js"):
        make_label(func(hashed, "z", script), "3.0.0", "src/shared.ts", "step", line=4)
    slice_ = Slice(project_id=hashed.pk, releases=("3.0.0",))
    assert ms_by_label(select_function_table(slice_)) == {"step": (20, 30, None)}
    assert ms_by_label(select_function_table(slice_, reading=Reading.in_pages())) == {"step": (20, 20, 1)}


def test_copies_on_different_pages_are_complete_however_many(hashed: Project, settings: Settings) -> None:
    settings.COPIES_MAX_VIEWS = 0
    post("KEY-shop", view("one", "z", "3.0.0", "x.js"), view("two", "z\nz", "3.0.0", "y.js", page="/other"))
    fold_all()
    for script in ("x.js", "y.js"):
        make_label(func(hashed, "z", script), "3.0.0", "src/shared.ts", "step", line=4)
    assert ms_by_label(select_function_table(Slice(project_id=hashed.pk, releases=("3.0.0",)))) == {"step": (30, 30, 2)}


def test_where_contributions_have_expired_totals_come_from_trees_and_views_are_not_counted(hashed: Project) -> None:
    post("KEY-shop", make_two_copies())
    fold_all()
    for script in ("x.js", "y.js"):
        make_label(func(hashed, "z", script), "3.0.0", "src/shared.ts", "step", line=4)
    PageView.objects.filter(project=hashed, view_id=view_id_of("copies")).delete()
    assert ms_by_label(select_function_table(Slice(project_id=hashed.pk, releases=("3.0.0",)))) == {
        "step": (20, 20, None)
    }


def make_two_copies() -> dict[str, Any]:
    envelope = view("copies", "z\nz y", "3.0.0", "x.js")
    trace = envelope["trace"]
    trace["resources"].append("https://shop.example/y.js")
    trace["frames"][1] |= {"name": "z", "column": 26, "resourceId": 1}
    return envelope


def test_a_name_that_several_functions_of_a_source_have_does_not_merge_them(hashed: Project) -> None:
    Label.objects.filter(project=hashed, name="total").update(name="render")
    Label.objects.filter(project=hashed, release="2.0.0").update(line=F("line") + 10)
    ReleaseScript.objects.filter(project=hashed).update(attempts=9)
    table = select_function_table(Slice(project_id=hashed.pk))
    assert sorted((row.label, row.self_us // 1000) for row in table.functions) == [
        ("render", 20), ("render", 30), ("render", 60), ("render", 60),
    ]  # fmt: skip
    bodies = {("1.0.0", "a"): b"r", ("2.0.0", "c"): b"r", ("1.0.0", "b"): b"t", ("2.0.0", "a"): b"t"}
    for (release, name), body in bodies.items():
        made = func(hashed, name, HASHED[release])
        Label.objects.filter(project=hashed, func_id=made.id).update(body_hash=body)
    ReleaseScript.objects.filter(project=hashed).update(attempts=10)
    table = select_function_table(Slice(project_id=hashed.pk))
    assert sorted(row.self_us // 1000 for row in table.functions) == [50, 120]


def test_an_anonymous_function_is_named_by_its_place_and_known_by_its_body(hashed: Project) -> None:
    Label.objects.filter(project=hashed, name="total").update(name=None, body_hash=b"t")
    ReleaseScript.objects.filter(project=hashed).update(attempts=9)
    table = select_function_table(Slice(project_id=hashed.pk))
    assert {row.label.split(":")[0] for row in table.functions} == {"render", "(anonymous) cart.ts"}
    assert sorted(row.self_us // 1000 for row in table.functions) == [50, 120]


def test_a_late_map_relabels_and_a_deleted_one_unlabels(hashed: Project) -> None:
    assert set(ms_by_label(select_function_table(Slice(project_id=hashed.pk)))) == {"render", "total"}
    Label.objects.filter(project=hashed).delete()
    ReleaseScript.objects.filter(project=hashed).delete()
    assert sorted(row.name for row in select_function_table(Slice(project_id=hashed.pk)).functions) == [
        "a",
        "a",
        "b",
        "c",
    ]


def test_a_release_without_a_script_of_that_url_has_another_releases_label_if_the_url_has_a_hash(
    hashed: Project,
) -> None:
    post("KEY-shop", view("later", "a b", "2.1.0", HASHED["1.0.0"]))
    fold_all()
    assert ms_by_label(select_function_table(Slice(project_id=hashed.pk, releases=("2.1.0",)))) == {
        "render": (0, 10, 1),
        "total": (10, 10, 1),
    }


def test_an_override_makes_two_functions_one(hashed: Project) -> None:
    Label.objects.filter(project=hashed, release="1.0.0", name="total").update(name="sum")
    ReleaseScript.objects.filter(project=hashed).update(attempts=9)
    before = select_function_table(Slice(project_id=hashed.pk))
    assert {row.label for row in before.functions} == {"render", "sum", "total"}
    ids = {row.label: str(row.id) for row in before.functions}
    Project.objects.filter(pk=hashed.pk).update(code_rules={"same_funcs": [{"from": ids["sum"], "to": ids["total"]}]})
    after = select_function_table(Slice(project_id=hashed.pk))
    assert ms_by_label(after)["total"] == (120, 120, 5)
    function = select_func(hashed.pk, ids["sum"])
    assert function is None or str(function.id) == ids["total"]
    breakdown = select_function_breakdown(Slice(project_id=hashed.pk), ids["total"], "release").rows
    assert {row.value: row.self_us // 1000 for row in breakdown} == {"1.0.0": 60, "2.0.0": 60}


def test_unmapped_functions_can_be_said_to_be_the_same() -> None:
    project = make_project()
    post("KEY-shop", view("one", "a", "1.0.0", "app.js"), view("two", "b", "2.0.0", "app.js"))
    fold_all()
    old, new = func(project, "a", "app.js"), func(project, "b", "app.js")
    same = [{"from": str(old.id), "to": str(new.id)}]
    Project.objects.filter(pk=project.pk).update(code_rules={"same_funcs": same})
    table = select_function_table(Slice(project_id=project.pk))
    assert [(row.id, row.label, row.self_us // 1000, row.views) for row in table.functions] == [(new.id, "b", 20, 2)]


@pytest.mark.parametrize("shop", ["hashed", "plain"])
def test_compare_meets_functions_by_their_identity(shop: str, request: pytest.FixtureRequest) -> None:
    project: Project = request.getfixturevalue(shop)
    script = HASHED if shop == "hashed" else {"1.0.0": "app.js", "2.0.0": "app.js"}
    old, new = ("a b\na b", "c a\nc a\nc a\nc a") if shop == "hashed" else ("a b\na b", "b a\nb a\nb a\nb a")
    post("KEY-shop", *(view(f"o{n}", old, "1.0.0", script["1.0.0"]) for n in range(30)))
    post("KEY-shop", *(view(f"n{n}", new, "2.0.0", script["2.0.0"]) for n in range(30)))
    fold_all()
    answer = compare_slices(
        Slice(project_id=project.pk, releases=("1.0.0",)), Slice(project_id=project.pk, releases=("2.0.0",))
    )
    changes = {answer.funcs[function.func_id].label: function for function in answer.comparison.functions}
    assert {name: change.status for name, change in changes.items()} == {"render": "changed", "total": "changed"}
    assert changes["total"].is_increase
    by_file = compare_slices(
        Slice(project_id=project.pk, releases=("1.0.0",)),
        Slice(project_id=project.pk, releases=("2.0.0",)),
        group_by="file",
    )
    assert [by_file.funcs[function.func_id].uri for function in by_file.comparison.functions] == ["src/cart.ts"]


def test_one_project_never_sees_anothers_labels(hashed: Project) -> None:
    other = make_project("other")
    post("KEY-other", view("x", "a b", "1.0.0", HASHED["1.0.0"]))
    fold_all()
    assert {row.label for row in select_function_table(Slice(project_id=other.pk)).functions} == {"a", "b"}
    row = row_named(select_function_table(Slice(project_id=hashed.pk)), "render")
    assert select_func(other.pk, row.id) is None


def test_two_releases_are_one_tree_by_their_originals(hashed: Project) -> None:
    sides = [Slice(project_id=hashed.pk, releases=(release,)) for release in HASHED]
    columns = select_tree_columns(sides, min_share=0.0, max_nodes=10)
    names = [row.label for row in columns.funcs]
    assert sorted(names) == ["render", "total"]
    paths: list[str] = []
    for prefix, index in zip(columns.prefix, columns.func, strict=True):
        paths.append(f"{paths[prefix]} {names[index]}" if prefix >= 0 else names[index])
    assert paths == ["render", "render total"]
    base, head = (dict(zip(paths, side.self_us, strict=True)) for side in columns.sides)
    assert base["render"] > 0 < head["render"]
    assert base["render total"] > 0 < head["render total"]
