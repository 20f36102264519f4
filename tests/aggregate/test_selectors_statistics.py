"""Statistics of slices, from what the fold stored."""

from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries, Settings

from aggregate.selectors.slices import Slice, SliceQuery, resolve_slice
from aggregate.selectors.statistics import compare_slices, select_summary, select_view_sample
from ingest.models import Project
from ingest.services import create_project
from profcore.stats.views import choose_views
from tests.aggregate.posting import fold_all, post, rows
from tests.envelopes import make_envelope

pytestmark = pytest.mark.django_db


@pytest.fixture
def project() -> Project:
    made, _ = create_project(slug="shop", key="shop-key", origins=["*"])
    return made


def sliced(project: Project, *releases: str) -> Slice:
    return resolve_slice(project.pk, SliceQuery(release=releases))


def view(name: str, samples: int, release: str = "1.0.0", bundle: str = "app", **fields: Any) -> dict[str, Any]:
    """Returns a view in which `slow` runs for so many samples of 10 ms, and `steady` for two."""
    columns = "\n".join(["main slow"] * samples + ["main steady"] * 2 + ["-"])
    envelope = make_envelope(name, columns, release=release, device={"mobile": False, "cores": 8}, **fields)
    envelope["trace"]["resources"] = [f"https://shop.example/{bundle}.js"]
    # The same places in every view, whichever of them ran.
    columns_of = {"main": 10, "slow": 11, "steady": 12}
    for frame in envelope["trace"]["frames"]:
        frame["column"] = columns_of[frame["name"]]
    return envelope


def fold(*envelopes: dict[str, Any]) -> None:
    for start in range(0, len(envelopes), 50):
        post("shop-key", *envelopes[start : start + 50])
    fold_all()


def names(project: Project) -> dict[int, str]:
    return dict(rows("SELECT id, name FROM aggregate_func WHERE project_id = %s", project.pk))


def test_a_summary_counts_views_that_ran_nothing(project: Project) -> None:
    fold(*(view(f"v{n}", n % 4) for n in range(40)), make_envelope("calm", "-\n-"))
    summary = select_summary(sliced(project))
    by_name = {names(project)[each.func_id]: each for each in summary.functions}
    assert (summary.views, summary.population, summary.is_too_few) == (41, 41, False)
    assert by_name["slow"].ms_per_view.value == pytest.approx(60 * 10 / 41)
    assert by_name["slow"].views_ran == 30
    assert by_name["slow"].p50_ms.value == 10.0
    assert by_name["steady"].ms_per_view.value == pytest.approx(40 * 20 / 41)
    interval = by_name["slow"].ms_per_view.ci95
    assert interval is not None
    assert interval.low < 60 * 10 / 41 < interval.high


def test_too_few_views_are_said_to_be_too_few(project: Project) -> None:
    fold(*(view(f"v{n}", 1) for n in range(5)))
    summary = select_summary(sliced(project))
    assert summary.is_too_few
    assert summary.functions == ()


def test_of_many_views_the_sample_is_that_of_the_smallest_hashes(project: Project, settings: Settings) -> None:
    envelopes = [view(f"v{n}", 1) for n in range(30)]
    fold(*envelopes)
    settings.STATISTICS_MAX_VIEWS = 10
    sample = select_view_sample(sliced(project))
    assert (sample.views, sample.population) == (10, 30)
    chosen = choose_views([row[0] for row in rows("SELECT view_id FROM aggregate_view")], 10)
    js = dict(rows("SELECT view_id, js_us FROM aggregate_view"))
    assert sample.facts.js_us.tolist() == [js[view_id] for view_id in sorted(chosen)]


def test_a_func_that_grew_comes_first_across_hashed_bundles(project: Project) -> None:
    fold(*(view(f"b{n}", n % 3, "1.0.0", "app-QK26TYEB") for n in range(40)))
    fold(*(view(f"h{n}", 6 + n % 3, "1.1.0", "app-ALYJKYDD") for n in range(40)))
    answer = compare_slices(sliced(project, "1.0.0"), sliced(project, "1.1.0"))
    first = answer.comparison.functions[0]
    shown = answer.funcs[first.func_id]
    assert (shown.key.name, shown.key.uri) == ("slow", "https://shop.example/app-ALYJKYDD.js")
    assert (first.status, first.is_increase) == ("changed", True)
    assert first.delta_ms == pytest.approx(60.0, abs=1.0)
    others = {answer.funcs[each.func_id].key.name: each.q for each in answer.comparison.functions[1:]}
    assert others["steady"] > 0.05


def test_new_and_gone_funcs_are_tested_against_zeros(project: Project) -> None:
    fold(*(view(f"b{n}", 0, "1.0.0") for n in range(30)))
    fold(*(view(f"h{n}", 3, "1.1.0") for n in range(30)))
    answer = compare_slices(sliced(project, "1.0.0"), sliced(project, "1.1.0"))
    by_name = {answer.funcs[each.func_id].key.name: each for each in answer.comparison.functions}
    assert (by_name["slow"].status, by_name["slow"].base_ms, by_name["slow"].is_increase) == ("new", 0.0, True)
    back = compare_slices(sliced(project, "1.1.0"), sliced(project, "1.0.0"))
    gone = {back.funcs[each.func_id].key.name: each.status for each in back.comparison.functions}
    assert gone["slow"] == "gone"


def test_sample_rates_weigh_views(project: Project) -> None:
    rare = [view(f"r{n}", 9, sampleRate=0.1) for n in range(20)]
    fold(*rare, *(view(f"c{n}", 0) for n in range(40)))
    summary = select_summary(sliced(project))
    slow = next(each for each in summary.functions if names(project)[each.func_id] == "slow")
    # Twenty views stand for two hundred, forty for forty.
    assert slow.ms_per_view.value == pytest.approx(200 * 90 / 240)
    assert summary.effective_views < 60


def test_a_comparison_asks_a_constant_number_of_queries(
    project: Project, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    fold(*(view(f"v{n}", n % 3, f"1.{n % 2}.0") for n in range(60)))
    with django_assert_num_queries(5):
        compare_slices(sliced(project, "1.0.0"), sliced(project, "1.1.0"))
