"""Statistics of slices, from what the fold stored."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from pytest_django import Settings

from aggregate.selectors.functions.table import FunctionTable, select_functions
from aggregate.selectors.page_views.samples import select_marker_sample, select_view_sample
from aggregate.selectors.slice.slices import Slice, SliceQuery, resolve_slice
from aggregate.selectors.statistics.comparisons import compare_slices, select_summary
from aggregate.selectors.statistics.estimates import TableQuery, select_estimated
from profcore.stats.sampling import sample_key
from profcore.stats.summaries import summarise
from profcore.trace.weights import MARKERS
from projects.creation import create_project
from projects.models import Project
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
    by_name = {names(project)[function.func_id]: function for function in summary.functions}
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
    js = dict(rows("SELECT view_id, js_us FROM aggregate_pageview"))
    chosen = sorted(js, key=sample_key)[:10]
    assert sample.columns.js_us.tolist() == [js[view_id] for view_id in chosen]


def test_the_database_has_the_keys_of_the_core(project: Project) -> None:
    fold(*(view(f"v{n}", 0) for n in range(20)))
    stored = rows("SELECT view_id, fieldflame_sample_key(view_id) FROM aggregate_pageview")
    assert {view_id: sample_key(view_id) for view_id, _ in stored} == dict(stored)


def test_a_sample_of_what_is_left_is_found_however_far_it_lies(project: Project, settings: Settings) -> None:
    fold(*(view(f"v{n}", 1) for n in range(40)))
    settings.STATISTICS_MAX_VIEWS = 4
    kept = sorted((sample_key(row[0]), row[0]) for row in rows("SELECT view_id FROM aggregate_pageview"))[-3:]
    with connection.cursor() as cursor:
        cursor.execute(
            "DELETE FROM aggregate_pageview WHERE view_id <> ALL(%s::uuid[])", [[view_id for _, view_id in kept]]
        )
    sample = select_view_sample(sliced(project))
    assert (sample.views, sample.population) == (3, 40)


def test_markers_are_summed_up_over_the_views_that_came_with_them(project: Project) -> None:
    marked = []
    for number in range(30):
        envelope = view(f"m{number}", 2)
        for sample in envelope["trace"]["samples"][: number % 3]:
            sample["marker"] = "gc"
        for sample in envelope["trace"]["samples"][number % 3 :]:
            sample["marker"] = "script"
        marked.append(envelope)
    fold(*marked, *(view(f"plain{n}", 1) for n in range(10)))
    sample = select_marker_sample(sliced(project))
    assert sample.views == 30
    summary = summarise(sample)
    by_marker = {MARKERS[function.func_id]: function for function in summary.functions}
    assert set(by_marker) == {"gc", "script"}
    assert by_marker["gc"].ms_per_view.value == pytest.approx(10.0)
    assert by_marker["gc"].ran.value == pytest.approx(2 / 3)
    assert by_marker["gc"].share is not None
    assert by_marker["gc"].share.value == pytest.approx(0.2)


def test_a_func_that_grew_comes_first_across_hashed_bundles(project: Project) -> None:
    fold(*(view(f"b{n}", n % 3, "1.0.0", "app-QK26TYEB") for n in range(40)))
    fold(*(view(f"h{n}", 6 + n % 3, "1.1.0", "app-ALYJKYDD") for n in range(40)))
    answer = compare_slices(sliced(project, "1.0.0"), sliced(project, "1.1.0"))
    first = answer.comparison.functions[0]
    shown = answer.funcs[first.func_id]
    assert (shown.key.name, shown.key.uri) == ("slow", "https://shop.example/app-ALYJKYDD.js")
    assert (first.status, first.is_increase) == ("changed", True)
    assert first.delta_ms == pytest.approx(60.0, abs=1.0)
    others = {answer.funcs[function.func_id].key.name: function.q for function in answer.comparison.functions[1:]}
    assert others["steady"] > 0.05


def test_files_are_compared_without_their_content_hashes(project: Project) -> None:
    fold(*(view(f"b{n}", n % 3, "1.0.0", "app-QK26TYEB") for n in range(40)))
    fold(*(view(f"h{n}", 6 + n % 3, "1.1.0", "app-ALYJKYDD") for n in range(40)))
    answer = compare_slices(sliced(project, "1.0.0"), sliced(project, "1.1.0"), group_by="file")
    (function,) = answer.comparison.functions
    shown = answer.funcs[function.func_id]
    assert shown.id == shown.key.uri == "https://shop.example/app.js"
    assert (function.status, function.is_increase) == ("changed", True)
    assert function.delta_ms == pytest.approx(60.0, abs=1.0)


def test_new_and_gone_funcs_are_tested_against_zeros(project: Project) -> None:
    fold(*(view(f"b{n}", 0, "1.0.0") for n in range(30)))
    fold(*(view(f"h{n}", 3, "1.1.0") for n in range(30)))
    answer = compare_slices(sliced(project, "1.0.0"), sliced(project, "1.1.0"))
    by_name = {answer.funcs[function.func_id].key.name: function for function in answer.comparison.functions}
    assert (by_name["slow"].status, by_name["slow"].base_ms, by_name["slow"].is_increase) == ("new", 0.0, True)
    back = compare_slices(sliced(project, "1.1.0"), sliced(project, "1.0.0"))
    gone = {back.funcs[function.func_id].key.name: function.status for function in back.comparison.functions}
    assert gone["slow"] == "gone"


def test_sample_rates_weigh_views(project: Project) -> None:
    rare = [view(f"r{n}", 9, sampleRate=0.1) for n in range(20)]
    fold(*rare, *(view(f"c{n}", 0) for n in range(40)))
    summary = select_summary(sliced(project))
    slow = next(function for function in summary.functions if names(project)[function.func_id] == "slow")
    # Twenty views stand for two hundred, forty for forty.
    assert slow.ms_per_view.value == pytest.approx(200 * 90 / 240)
    assert summary.effective_views < 60


def table_of(project: Project, **asked: Any) -> FunctionTable:
    return select_estimated(sliced(project), TableQuery(**asked))


def test_a_table_has_exact_means_with_intervals_around_them(project: Project, settings: Settings) -> None:
    fold(*(view(f"v{n}", n % 7) for n in range(70)))
    whole = table_of(project)
    settings.TABLE_STATISTICS_MAX_VIEWS = 35
    sampled = table_of(project)
    for table, views in ((whole, 70), (sampled, 35)):
        assert table.summary is not None
        assert (table.summary.views, table.summary.population) == (views, 70)
        slow = next(row for row in table.functions if row.name == "slow")
        estimate = table.self_estimates[slow.id]
        assert estimate.ms_per_view.value == table.self_ms_per_view(slow) == pytest.approx(30.0)
        assert estimate.share is not None
        assert estimate.share.value == table.self_share(slow)
        assert estimate.ms_per_view.ci95 is not None
        assert estimate.share.ci95 is not None
        assert 20.0 < estimate.ms_per_view.ci95.low < 30.0 < estimate.ms_per_view.ci95.high < 40.0
        assert estimate.share.ci95.low < estimate.share.value < estimate.share.ci95.high


def test_intervals_from_a_sample_are_as_narrow_as_all_views_make_them(project: Project, settings: Settings) -> None:
    fold(*(view(f"v{n}", n % 7) for n in range(140)))
    widths = []
    for most in (140, 35):
        settings.TABLE_STATISTICS_MAX_VIEWS = most
        table = table_of(project)
        slow = next(row for row in table.functions if row.name == "slow")
        interval = table.self_estimates[slow.id].ms_per_view.ci95
        assert interval is not None
        widths.append(interval.high - interval.low)
    assert widths[1] == pytest.approx(widths[0], rel=0.25)  # by half the root of four, were it 35 views


def test_groups_have_estimates_of_their_own_sums(project: Project) -> None:
    fold(*(view(f"v{n}", n % 4) for n in range(40)))
    table = table_of(project, group_by="file")
    (row,) = table.functions
    estimate = table.estimates[row.id]
    # slow and steady are of one file: within a view their times go together
    assert estimate.ms_per_view.value == pytest.approx((60 * 10 + 40 * 20) / 40)
    assert (estimate.p50_ms.value, estimate.p95_ms.value) == (30.0, 50.0)
    assert estimate.ran.value == 1.0


def test_groups_of_one_category_have_estimates_of_its_funcs_alone(project: Project) -> None:
    envelopes = [view(f"v{n}", 1 + n % 3) for n in range(40)]
    for envelope in envelopes:
        envelope["trace"]["resources"].append("https://shop.example/node_modules/d3/a.js")
        next(frame for frame in envelope["trace"]["frames"] if frame["name"] == "slow")["resourceId"] = 1
    fold(*envelopes)
    table = table_of(project, group_by="origin", categories=["library"])
    (row,) = table.functions
    # steady is of the same origin and of another category: its 20 ms are in no figure here
    assert table.self_estimates[row.id].p50_ms.value == 20.0
    assert table.self_estimates[row.id].p95_ms.value == 30.0


def test_a_table_is_sorted_by_its_75th_percentile(project: Project) -> None:
    # slow has the larger sum, in few views; steady the larger p75
    fold(*(view(f"v{n}", 40 if n < 4 else 0) for n in range(40)))
    assert next(row.name for row in table_of(project, sort="self_ms").functions) == "slow"
    by_p75 = table_of(project, sort="p75_self_ms", limit=1)
    assert [row.name for row in by_p75.functions] == ["steady"]
    assert by_p75.function_count == 3


def test_each_measure_has_its_own_estimates_beside_those_of_self(project: Project) -> None:
    fold(*(view(f"v{n}", 1 + n % 3) for n in range(30)))
    table = table_of(project, measure="total")
    main = next(row for row in table.functions if row.name == "main")
    assert main.id not in table.self_estimates
    assert table.estimates[main.id].ms_per_view.value == pytest.approx(main.total_us / 1000 / 30)


def test_where_sample_rates_differ_estimates_are_of_the_field_and_not_of_the_recording(project: Project) -> None:
    rare = [view(f"r{n}", 9, sampleRate=0.1) for n in range(30)]
    fold(*rare, *(view(f"c{n}", 0) for n in range(60)))
    table = table_of(project)
    assert table.summary is not None
    assert table.summary.is_weighted
    slow = next(row for row in table.functions if row.name == "slow")
    assert slow.self_us / 1000 / 90 == pytest.approx(30.0)
    assert table.self_ms_per_view(slow) == pytest.approx(300 * 90 / 360)
    assert table.self_share(slow) == pytest.approx(300 * 90 / (300 * 90 + 360 * 20))


def test_where_contributions_have_expired_the_rest_speaks_for_itself(project: Project) -> None:
    fold(*(view(f"v{n}", 4) for n in range(40)), *(view(f"w{n}", 0) for n in range(40)))
    ran = [row[0] for row in rows("SELECT view_id FROM aggregate_pageview WHERE js_us > 20000")]
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM aggregate_pageview WHERE view_id = ANY(%s::uuid[])", [ran[:10]])
    table = table_of(project)
    assert table.summary is not None
    assert (table.summary.views, table.summary.population) == (70, 80)
    slow = next(row for row in table.functions if row.name == "slow")
    assert table.self_ms_per_view(slow) == pytest.approx(20.0)
    assert table.self_estimates[slow.id].ms_per_view.value == pytest.approx(30 * 40 / 70)


def test_a_slice_finer_than_cells_has_estimates_of_its_views(project: Project) -> None:
    fold(*(view(f"v{n}", n % 4) for n in range(60)))
    slow = next(func_id for func_id, name in names(project).items() if name == "slow")
    slice_ = resolve_slice(project.pk, SliceQuery(func_over=[f"{slow}:10"]))
    table = select_estimated(slice_, TableQuery())
    assert (table.views, table.source) == (30, "contributions")
    estimate = table.self_estimates[slow]
    assert (estimate.ms_per_view.value, estimate.p50_ms.value) == (25.0, 20.0)


def test_a_slice_by_tags_has_estimates_of_what_its_traces_add(project: Project, settings: Settings) -> None:
    fold(*(view(f"v{n}", n % 4, tags={"plan": "pro" if n % 2 else "free"}) for n in range(60)))
    slice_ = resolve_slice(project.pk, SliceQuery(tag=["plan:pro"]))
    slow = next(func_id for func_id, name in names(project).items() if name == "slow")
    for most in (100, 20):
        settings.TABLE_STATISTICS_MAX_VIEWS = most
        table = select_estimated(slice_, TableQuery())
        assert table.summary is not None
        assert (table.source, table.summary.views, table.summary.population) == ("raw", min(most, 30), 30)
        if most == 100:
            assert table.self_estimates[slow].ms_per_view.value == pytest.approx(20.0)
        else:
            assert table.summary.is_too_few


def test_the_sample_of_a_fine_slice_is_that_of_the_smallest_hashes(project: Project, settings: Settings) -> None:
    fold(*(view(f"v{n}", 1 + n) for n in range(40)))
    settings.TABLE_STATISTICS_MAX_VIEWS = 30
    js = dict(rows("SELECT view_id, js_us FROM aggregate_pageview"))
    chosen = sorted(js, key=sample_key)[:30]
    table = select_functions(resolve_slice(project.pk, SliceQuery(view=[str(view_id) for view_id in js])), limit=5)
    assert table.sample is not None
    assert table.sample.columns.js_us.tolist() == [js[view_id] for view_id in chosen]


def test_a_sample_says_when_the_oldest_views_have_expired(project: Project, settings: Settings) -> None:
    now = datetime.now(UTC)
    for name, start in (("old", now - timedelta(days=3)), ("new", now)):
        fold(*(view(f"{name}{n}", 1 + n % 3, viewStart=start.timestamp() * 1000) for n in range(60)))
    settings.TABLE_STATISTICS_MAX_VIEWS = 40
    before = table_of(project)
    assert before.summary is not None
    assert before.summary.is_complete
    with connection.cursor() as cursor:
        cursor.execute(
            """DELETE FROM aggregate_pageview v USING aggregate_cell c WHERE c.id = v.cell_id AND c.starts_at = (
               SELECT min(starts_at) FROM aggregate_cell)"""
        )
    after = table_of(project)
    assert after.summary is not None
    # the sample is as large as before, and of the newer half alone
    assert (after.summary.views, after.summary.population, after.summary.is_complete) == (40, 120, False)


def test_a_comparison_names_a_bounded_number_of_functions(project: Project, settings: Settings) -> None:
    fold(*(view(f"{release}{n}", 3, release) for release in ("1.0.0", "1.1.0") for n in range(30)))
    before = compare(project)
    settings.COMPARE_MAX_FUNCS = 1
    bounded = compare(project)
    assert sorted(before) == ["slow", "steady"]  # main has no time of its own
    assert bounded == {"slow": before["slow"], "(other)": before["steady"]}


def compare(project: Project) -> dict[str, float]:
    """Returns the ms per view of each function of the older release."""
    compared = compare_slices(sliced(project, "1.0.0"), sliced(project, "1.1.0"))
    return {compared.funcs[row.func_id].name: row.base_ms for row in compared.comparison.functions}
