"""A function that a release only renamed is one function in comparisons, differences and trends."""

from collections.abc import Callable

import pytest

from aggregate.label_models import Label
from aggregate.selectors.code.refs import find_ref
from aggregate.selectors.code.symbols import load_symbols
from aggregate.selectors.exports.segments import select_difference_export
from aggregate.selectors.functions.calls import select_func
from aggregate.selectors.functions.groups import select_function_table
from aggregate.selectors.functions.renames import select_other_names
from aggregate.selectors.slice.slices import Slice
from aggregate.selectors.statistics.comparisons import SliceComparison, compare_slices
from profcore.caching import clear_caches
from profcore.symbolicate.scopes import ScopeTree
from projects.models import Project
from tests.aggregate.bundled_views import HASHED, func, view
from tests.aggregate.posting import fold_all, post
from tests.builders import make_label, make_project

pytestmark = pytest.mark.django_db

BODY = """function {name}(values, share) {{
  const sorted = [...values].sort((a, b) => a - b);
  return values.length > 99 ? {name}(values.slice(9), share) : sorted[Math.floor(sorted.length * share)];
}}
"""
OTHER = BODY.replace("Math.floor", "Math.ceil")
Side = dict[str, tuple[str | None, str]]  # name in the bundle → its original name and its text
Build = Callable[..., Project]


@pytest.fixture
def build() -> Build:
    """Makes a project of two releases, each with 30 views of functions of the original `src/stats.ts`."""

    def make(old: Side, new: Side, *, path: str = "src/stats.ts", maps: bool = True) -> Project:
        project = make_project()
        for release, side in (("1.0.0", old), ("2.0.0", new)):
            stacks = "\n".join(side)
            for start in range(0, 30, 10):
                numbers = range(start, start + 10)
                post("KEY-shop", *(view(f"{release}-{n}", stacks, release, HASHED[release]) for n in numbers))
            fold_all()
            text, line = "// five lines more\n" * (5 if release == "2.0.0" else 1), 0
            for _, body in side.values():
                text += body
            for name, (original, body) in side.items():
                if not maps:
                    continue
                before = text[: text.index(body)]
                line = before.count("\n") + 1
                at = func(project, name, HASHED[release])
                scope = ScopeTree(text, path).find(line, 10)
                make_label(
                    at,
                    release,
                    path if release == "1.0.0" else (path if "moved" not in path else "src/elsewhere.ts"),
                    original,
                    line=line,
                    column=10,
                    content=text,
                    body=scope.body_hash if scope else None,
                    is_shared=True,
                )
        return project

    return make


def compared(project: Project) -> SliceComparison:
    return compare_slices(*(Slice(project_id=project.pk, releases=(release,)) for release in ("1.0.0", "2.0.0")))


def changes_of(answer: SliceComparison) -> set[tuple[str, str, str | None]]:
    """Returns label, status and old label of each function of a comparison."""
    changes: set[tuple[str, str, str | None]] = set()
    for function in answer.comparison.functions:
        row = answer.funcs[function.func_id]
        changes.add((row.label, function.status, row.renamed_from.label if row.renamed_from else None))
    return changes


def text(name: str, body: str = BODY) -> tuple[str, str]:
    return name, body.format(name=name)


def test_a_renamed_function_is_compared_as_one(build: Build) -> None:
    project = build({"a": text("percentile")}, {"b": text("quantile")})
    answer = compared(project)
    assert changes_of(answer) == {("quantile", "changed", "percentile")}
    (difference,) = answer.comparison.functions
    assert (difference.base_views_ran, difference.head_views_ran) == (30, 30)
    assert not difference.is_significant


def test_white_space_and_comments_are_no_difference(build: Build) -> None:
    changed = BODY.replace("{{\n", "{{ // sorted first\n\n    ", 1).replace("{name}", "quantile", 1)
    new = changed.format(name="quantile")
    project = build({"a": text("percentile")}, {"b": ("quantile", new)})
    assert changes_of(compared(project)) == {("quantile", "changed", "percentile")}


def test_another_text_is_no_rename(build: Build) -> None:
    project = build({"a": text("percentile")}, {"b": text("quantile", OTHER)})
    assert changes_of(compared(project)) == {("quantile", "new", None), ("percentile", "gone", None)}


def test_names_of_other_things_must_be_equal(build: Build) -> None:
    # Both have one body without names (`matches` offers them), and not one text.
    project = build({"a": text("percentile")}, {"b": text("quantile", BODY.replace("share", "weight"))})
    assert {status for _, status, _ in changes_of(compared(project))} == {"new", "gone"}


def test_two_candidates_are_no_rename(build: Build) -> None:
    one = build({"a": text("percentile")}, {"b": text("quantile"), "c": text("median")})
    assert {old for _, _, old in changes_of(compared(one))} == {None}


def test_two_functions_that_ran_in_one_release_are_no_rename(build: Build) -> None:
    project = build({"a": text("percentile")}, {"b": text("quantile")})
    label = Label.objects.filter(project=project, release="1.0.0").values().get()
    Label.objects.create(**{**label, "release": "2.0.0"})  # in views that are not compared
    clear_caches()
    assert changes_of(compared(project)) == {("quantile", "new", None), ("percentile", "gone", None)}


def test_the_same_name_elsewhere_is_no_rename(build: Build) -> None:
    project = build({"a": text("percentile")}, {"b": text("percentile")}, path="src/moved.ts")
    assert changes_of(compared(project)) == {("percentile", "new", None), ("percentile", "gone", None)}


def test_without_maps_or_texts_nothing_is_claimed(build: Build) -> None:
    unmapped = build({"a": text("percentile")}, {"b": text("quantile")}, maps=False)
    assert {old for _, _, old in changes_of(compared(unmapped))} == {None}


def test_without_the_digest_of_a_text_nothing_is_claimed(build: Build) -> None:
    project = build({"a": text("percentile")}, {"b": text("quantile")})
    project.label_set.update(text_digest=None)
    assert {old for _, _, old in changes_of(compared(project))} == {None}


def test_an_override_wins(build: Build) -> None:
    old = {"a": text("percentile"), "d": text("sum", OTHER)}
    project = build(old, {"b": text("quantile"), "e": text("add", OTHER)})
    assert ("add", "changed", "sum") in changes_of(compared(project))
    ids = {row.label: row.id for row in select_function_table(Slice(project_id=project.pk)).functions}
    project.code_rules = {"same_funcs": [{"from": ids["percentile"], "to": ids["add"]}]}
    project.save()
    assert changes_of(compared(project)) == {("add", "changed", None), ("quantile", "new", None), ("sum", "gone", None)}


def test_differences_have_one_function(build: Build) -> None:
    project = build({"a": text("percentile")}, {"b": text("quantile")})
    sides = [Slice(project_id=project.pk, releases=(release,)) for release in ("1.0.0", "2.0.0")]
    export = select_difference_export(sides[0], sides[1], query="", project="shop")
    assert {export_func.label for side in (export.base, export.head) for export_func in side.funcs} == {"quantile"}


def test_its_trend_goes_on_over_the_rename(build: Build) -> None:
    project = build({"a": text("percentile")}, {"b": text("quantile")})
    for name, other, release in (("b", "percentile", "1.0.0"), ("a", "quantile", "2.0.0")):
        at = func(project, name, HASHED["2.0.0" if name == "b" else "1.0.0"])
        row = select_func(project.pk, at.id)
        assert row is not None
        (other_name,) = select_other_names(load_symbols(project.pk), row)
        assert (other_name.label, list(other_name.releases)) == (other, [release])
        assert other_name.ref.row_id != find_ref(project.pk, at.id).row_id


def test_a_trend_does_not_go_on_if_a_release_has_both(build: Build) -> None:
    project = build({"a": text("percentile"), "c": text("median")}, {"b": text("quantile")})
    row = select_func(project.pk, func(project, "b", HASHED["2.0.0"]).id)
    assert row is not None
    assert select_other_names(load_symbols(project.pk), row) == []
