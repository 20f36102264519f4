"""Display rules where slices are read: tables, trees, comparisons and exports say the same, and no time changes."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import structs
from pytest_django import Settings

from aggregate.models import Func
from aggregate.selectors.exports.segments import select_difference_export
from aggregate.selectors.exports.slice_export import select_slice_export
from aggregate.selectors.functions.breakdown import select_function_breakdown
from aggregate.selectors.functions.calls import select_call_tree, select_calls, select_func
from aggregate.selectors.functions.grouped_rows import select_members
from aggregate.selectors.functions.groups import select_function_table, select_group_table
from aggregate.selectors.functions.matches import select_matches
from aggregate.selectors.functions.tree_columns import select_tree_columns
from aggregate.selectors.slice.slices import Slice
from aggregate.selectors.statistics.comparisons import compare_slices
from aggregate.selectors.statistics.estimates import TableQuery, select_estimated
from profcore.code.display_rules import display_id, read_display_rules
from profcore.sums.calltree import CallTree, picture, total_us
from projects.models import Project
from tests.acceptance.exports import find_differences
from tests.aggregate.bundled_views import HASHED, label, view
from tests.aggregate.posting import everything, fold_all, post
from tests.aggregate.selectors.displayed_app import FOLD, GROUP, NAMES, STACKS, envelope, show
from tests.builders import make_label, make_project
from tests.envelopes import view_id_of
from tests.profcore.formats.readers import READERS

pytestmark = pytest.mark.django_db

Rules = Sequence[dict[str, Any]]


def table_of(slice_: Slice, **asked: Any) -> dict[str, tuple[int, int, int | None]]:
    """Returns self ms, total ms and views by label."""
    table = select_function_table(slice_, **asked)
    assert len({row.label for row in table.functions}) == len(table.functions)
    return {row.label: (row.self_us // 1000, row.total_us // 1000, row.views) for row in table.functions}


def tree_of(slice_: Slice) -> str:
    call_tree = select_call_tree(slice_, min_share=0, max_nodes=1_000)
    return picture(replace_times(call_tree.tree), [row.label for row in call_tree.funcs])


def calls_of(slice_: Slice, row_id: int | str, direction: Literal["callers", "callees"]) -> dict[str, int]:
    return {
        call.func.label: call.total_us // 1000 for call in select_calls(slice_, row_id, direction).rows if call.func
    }


def replace_times(tree: CallTree) -> CallTree:
    return replace(tree, self_us=[us // 1000 for us in tree.self_us])


def test_without_rules_and_as_stored_everything_is_as_it_was(app: Project) -> None:
    before = table_of(show(app)), tree_of(Slice(project_id=app.pk)), everything()
    slice_ = show(app, FOLD)
    plain = replace(slice_, as_stored=True)
    assert (table_of(plain), tree_of(plain), everything()) == before
    assert (select_function_table(plain).display_rules, select_function_table(slice_).display_rules) == (0, 1)
    assert table_of(slice_) != before[0]


def test_functions_shown_as_one_are_one_row_whose_total_is_counted_once(app: Project) -> None:
    slice_ = show(app, FOLD)
    assert table_of(slice_) == {"app": (50, 130, 3), "card": (20, 40, 2), "React": (70, 100, 3)}
    table = select_function_table(slice_)
    assert (table.function_count, table.stored_count) == (3, 5)
    made = next(row for row in table.functions if row.is_made)
    assert (made.name, made.uri, made.line) == ("React", None, None)
    for sort in ("total_ms", "views"):
        assert table_of(slice_, sort=sort) == table_of(slice_)


def test_a_fold_makes_calls_in_a_row_one_and_a_group_keeps_them(app: Project) -> None:
    assert tree_of(show(app, FOLD)) == (
        "- app (total: 120, self: 40)\n"
        "  - React (total: 80, self: 40)\n"
        "    - card (total: 40, self: 20)\n"
        "      - React (total: 20, self: 20)\n"
        "- React (total: 20, self: 10)\n"
        "  - app (total: 10, self: 10)"
    )
    assert tree_of(show(app, GROUP)) == (
        "- app (total: 120, self: 40)\n"
        "  - React (total: 80, self: 20)\n"
        "    - React (total: 60, self: 20)\n"
        "      - card (total: 40, self: 20)\n"
        "        - React (total: 20, self: 0)\n"
        "          - React (total: 20, self: 20)\n"
        "- React (total: 20, self: 10)\n"
        "  - app (total: 10, self: 10)"
    )


def test_a_retitled_function_keeps_its_id_its_place_and_its_sums(app: Project) -> None:
    stored = {row.id: row for row in select_function_table(show(app)).functions}
    slice_ = show(app, {"action": "retitle", "field": "name", "pattern": "card", "title": "<{name}>", "colour": "red"})
    for row in select_function_table(slice_).functions:
        was = stored[row.id]
        assert structs.replace(row, display=None) == was
        assert row.label == ("<card>" if was.name == "card" else was.name)
    assert select_tree_columns([slice_], min_share=0, max_nodes=99).display_rules == 1
    assert "<card>" in [func.label for func in select_slice_export(slice_, project="Shop").funcs]
    card = select_func(app.pk, next(row_id for row_id, row in stored.items() if row.name == "card"))
    assert card is not None
    assert (card.label, card.display and card.display.colour) == ("<card>", "red")


rule_lists = st.lists(
    st.one_of(
        st.builds(
            lambda action, pattern, title: {"action": action, "field": "name", "pattern": pattern, "title": title},
            st.sampled_from(["retitle", "group", "fold"]),
            st.sampled_from([*NAMES, "r*", "*a*", "*"]),
            st.sampled_from(["One", "Two", "{name}", "{package}", "app"]),
        ),
        st.just({"action": "colour", "field": "name", "pattern": "r*", "colour": "blue"}),
    ),
    max_size=4,
)


def expected_sums(slice_: Slice, rules: Rules) -> tuple[Counter[str], Counter[str]]:
    """Returns self and total µs by what is shown, walked up path by path from the stored tree."""
    plain = select_call_tree(replace(slice_, as_stored=True), min_share=0, max_nodes=1_000)
    read = read_display_rules(rules)
    keys = []
    for row in plain.funcs:
        shown = read.decide(lambda field, row=row: row.name if field == "name" else None)  # type: ignore[misc]
        keys.append(shown.row_id if shown is not None and shown.row_id else str(row.id))
    self_us, total = Counter[str](), Counter[str]()
    for node, us in enumerate(plain.tree.self_us):
        path, at = set(), node
        while at >= 0:
            path.add(keys[plain.tree.func[at]])
            at = plain.tree.prefix[at]
        self_us[keys[plain.tree.func[node]]] += us
        for key in path:
            total[key] += us
    return self_us, total


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rules=rule_lists)
def test_every_view_and_every_format_says_the_same_under_any_rules(app: Project, rules: list[dict[str, Any]]) -> None:
    slice_ = show(app, *rules)
    self_us, total = expected_sums(slice_, rules)
    table = select_function_table(slice_)
    assert {str(row.id): row.self_us for row in table.functions} == dict(self_us)
    assert {str(row.id): row.total_us for row in table.functions} == dict(total)
    assert sum(self_us.values()) == table.time.js_us
    call_tree = select_call_tree(slice_, min_share=0, max_nodes=1_000)
    by_id = Counter[str]()
    for func, us in zip(call_tree.tree.func, call_tree.tree.self_us, strict=True):
        by_id[str(call_tree.funcs[func].id)] += us
    assert by_id == self_us
    columns = select_tree_columns([slice_], min_share=0, max_nodes=1_000)
    assert sorted(columns.sides[0].total_us) == sorted(total_us(call_tree.tree))
    export = select_slice_export(slice_, project="Shop")
    for format_name in READERS:
        assert find_differences(export, format_name) == [], format_name


def test_fine_slices_and_releases_with_source_maps_are_summed_up_the_same() -> None:
    project = make_project()
    for release, bundle in HASHED.items():
        views = [view(f"{release}{n}", "a\na b\na b c\nb a", release, bundle) for n in range(2)]
        post("KEY-shop", *views)
    fold_all()
    for release, bundle in HASHED.items():
        label(project, release, bundle, {"a": "render", "b": "total", "c": "sort"}, is_shared=True)
    slice_ = show(project, {"action": "fold", "field": "source", "pattern": "src/*", "title": "All of it"})
    for fine in (
        slice_,
        replace(slice_, releases=("1.0.0",)),
        replace(slice_, views=tuple(UUID(view_id_of(f"{release}{n}")) for release in HASHED for n in range(2))),
        replace(slice_, tags=(("shop", "one"),)),
    ):
        table = select_function_table(fine)
        assert [(row.label, row.self_us, row.total_us, row.views) for row in table.functions] == [
            ("All of it", table.time.js_us, table.time.js_us, None if fine.tags else table.views)
        ]
    one_build = {"action": "group", "field": "uri", "pattern": f"*{HASHED['1.0.0']}", "title": "Old build"}
    both = show(project, one_build)
    assert table_of(both) == {
        "Old build": (80, 80, 2),
        "render": (40, 80, 2),
        "total": (20, 60, 2),
        "sort": (20, 20, 2),
    }
    members = select_members(both, display_id("group", "Old build")).functions  # of one release, as the row is
    member_sums = [(row.label, row.self_us // 1000, row.total_us // 1000, row.views) for row in members]
    assert sorted(member_sums) == [("render", 40, 80, 2), ("sort", 20, 20, 2), ("total", 20, 60, 2)]
    assert Counter(func.label for func in select_slice_export(both, project="Shop").funcs) == Counter(
        ["Old build", "render", "total", "sort"]
    )


def test_a_sum_over_many_views_is_exact_too(app: Project, settings: Settings) -> None:
    slice_ = show(app, FOLD)
    settings.COPIES_MAX_VIEWS = 1
    assert table_of(slice_)["React"] == (70, 100, None)


def test_statistics_are_those_of_the_sums(app: Project) -> None:
    post("KEY-shop", *(envelope(f"more{n}") for n in range(40)))
    fold_all()
    slice_ = show(app, FOLD)
    table = select_estimated(slice_, TableQuery())
    made = next(row for row in table.functions if row.is_made)
    estimate = table.self_estimates[made.id]
    assert estimate.ms_per_view.value == pytest.approx(made.self_us / 1000 / table.views)
    assert estimate.p75_ms.value == 30


def test_two_slices_are_compared_by_what_is_shown(app: Project) -> None:
    heavier = STACKS + "\napp rEffect\napp rHooks rEffect"
    post("KEY-shop", *(envelope(f"old{n}") for n in range(30)))
    post("KEY-shop", *(envelope(f"new{n}", heavier, release="2.0.0") for n in range(30)))
    fold_all()
    slice_ = show(app, FOLD)
    base, head = (replace(slice_, releases=(release,)) for release in ("1.0.0", "2.0.0"))
    answer = compare_slices(base, head)
    shown = {answer.funcs[function.func_id].label: function for function in answer.comparison.functions}
    assert shown["React"].head_ms == 50
    assert shown["React"].is_significant
    assert answer.display_rules == 1
    categories = {"rRender": "library", "rHooks": "first-party", "rEffect": "third-party"}
    app.code_rules = {"categories": [{"category": word, "name": name} for name, word in categories.items()]}
    app.save(update_fields=["code_rules"])
    made = next(row for row in compare_slices(base, head).funcs if row.is_made)
    table = select_function_table(head).functions
    assert made.category is next(row for row in table if row.is_made).category is None  # they have none in common
    by_file = compare_slices(base, head, group_by="file")
    assert [row.label for row in by_file.funcs] == ["https://shop.example/app.js"]
    difference = select_difference_export(base, head, query="", project="Shop")
    assert {func.label for func in difference.head.funcs} == {"app", "card", "React"}
    assert select_matches(base, head) == []


def test_rows_of_one_title_by_two_actions_are_two_in_the_tree_of_one_slice_and_of_two(app: Project) -> None:
    post("KEY-shop", envelope("new", release="2.0.0"))
    fold_all()
    slice_ = show(app, {**GROUP, "pattern": "rRender"}, FOLD)
    base, head = (replace(slice_, releases=(release,)) for release in ("1.0.0", "2.0.0"))
    for slices in ([head], [base, head]):
        columns = select_tree_columns(slices, min_share=0.0, max_nodes=100)
        assert sorted(row.label for row in columns.funcs) == ["React", "React", "app", "card"]


def test_callers_and_callees_are_those_that_are_shown(app: Project) -> None:
    slice_ = show(app, FOLD)
    rows = {row.label: row for row in select_function_table(slice_).functions}
    assert calls_of(slice_, rows["card"].id, "callers") == {"React": 40}
    assert calls_of(slice_, rows["React"].id, "callees") == {"card": 40, "app": 10}
    hooks = next(
        row for row in select_function_table(replace(slice_, as_stored=True)).functions if row.name == "rHooks"
    )
    as_stored = select_calls(slice_, hooks.id, "callers")
    assert {call.func.label for call in as_stored.rows if call.func} == {"rRender", "card"}
    assert as_stored.display_rules == 0


def test_what_a_rule_made_is_found_by_its_id_with_no_sums_that_nothing_tells(app: Project) -> None:
    slice_ = show(app, FOLD)
    made = next(row for row in select_function_table(slice_).functions if row.is_made)
    func = select_func(app.pk, made.id)
    assert func is not None
    assert (func.id, func.label) == (made.id, "React")
    breakdown = select_function_breakdown(slice_, made.id, "release")
    assert [(row.self_us, row.views) for row in breakdown.rows] == [(70_000, 3)]
    assert breakdown.is_made  # so that nothing is said of its totals and views
    members = select_members(slice_, str(made.id))
    assert {row.label for row in members.functions} == {"rRender", "rHooks", "rEffect"}
    assert sum(row.self_us for row in members.functions) == 70_000
    hooks = next(
        row for row in select_function_table(replace(slice_, as_stored=True)).functions if row.name == "rHooks"
    )
    stored = select_func(app.pk, hooks.id)
    assert stored is not None
    assert (stored.label, stored.is_made) == ("rHooks", False)
    show(app)
    assert select_func(app.pk, made.id) is None


def test_groups_by_file_or_category_are_of_the_functions_as_stored(app: Project) -> None:
    by_file = select_group_table(show(app), by="file")
    assert select_group_table(show(app, FOLD), by="file").functions == by_file.functions


def test_each_vendor_is_one_row_and_the_projects_own_functions_stay() -> None:
    project = make_project()
    app_view, other = envelope("own", "app card\napp"), envelope("other", "rHooks rEffect\nrHooks")
    other["trace"]["resources"] = ["https://www.googletagmanager.com/gtm.js"]
    project.code_rules = {"parties": [{"domain": "shop.example", "owner": "own"}]}
    project.save()
    post("KEY-shop", app_view, other)
    fold_all()
    slice_ = show(project, {"action": "group", "field": "party", "pattern": "*", "title": "{party}"})
    assert table_of(slice_) == {"Google Tag Manager": (20, 20, 1), "app": (10, 20, 1), "card": (10, 10, 1)}


def test_what_was_decided_is_cached_until_rules_or_labels_change(app: Project) -> None:
    for rules in ([FOLD], [{**FOLD, "pattern": "card"}], [FOLD]):
        named = {row.label for row in select_function_table(show(app, *rules)).functions}
        assert named == (
            {"app", "card", "React"} if rules == [FOLD] else {"app", "rRender", "rHooks", "rEffect", "React"}
        )
    slice_ = show(app, {"action": "group", "field": "source", "pattern": "src/*", "title": "Ours"})
    assert "Ours" not in table_of(slice_)
    card = Func.objects.get(project=app, name="card")
    make_label(card, "1.0.0", "src/card.ts", "Card", line=1)
    assert table_of(slice_)["Ours"][0] == 20


def test_rules_of_one_project_are_none_of_anothers(app: Project) -> None:
    other = make_project("other")
    post("KEY-other", envelope("x"))
    fold_all()
    show(app, FOLD)
    assert "React" not in table_of(Slice(project_id=other.pk))
    made = next(row for row in select_function_table(Slice(project_id=app.pk)).functions if row.is_made)
    assert select_func(other.pk, made.id) is None
