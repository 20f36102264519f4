"""What one function costs, in a slice and by its dimensions: exact sums with intervals, as tables of functions have."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from msgspec import structs
from pytest_django import Settings

from aggregate.models import Func
from aggregate.selectors.code.refs import FuncRef, find_ref
from aggregate.selectors.functions.breakdown import EXPRESSIONS, select_function_breakdown
from aggregate.selectors.functions.calls import select_func
from aggregate.selectors.functions.group_sums import sum_groups
from aggregate.selectors.page_views.contributions import sample_slice_views, select_slice_views
from aggregate.selectors.slice.slices import Slice, SliceError
from aggregate.selectors.statistics.estimates import TableQuery, select_estimated
from aggregate.selectors.statistics.function_costs import FuncCosts, select_costs
from aggregate.selectors.statistics.function_steps import select_homes, select_kin, select_step
from profcore.stats.views import MEASURES, Measure
from profcore.trace.dimensions import DEVICE_CLASSES
from projects.models import Project
from tests.aggregate.posting import fold_all, post
from tests.builders import make_label, make_project
from tests.envelopes import YESTERDAY, make_envelope, view_id_of

pytestmark = pytest.mark.django_db

DEVICES: tuple[dict[str, Any], ...] = ({"mobile": False, "cores": 8}, {"mobile": True, "memory": 2})


def view(n: int, samples: int, release: str = "1.0.0", bundle: str = "app", **fields: Any) -> dict[str, Any]:
    """Returns a view in which `main` calls `slow` for so many samples of 10 ms, and `steady` for two."""
    columns = "\n".join(["main slow"] * samples + ["main steady"] * 2 + ["-"])
    fields = (
        {"page": f"/p{n % 3}", "device": DEVICES[n % 2], "navigation": (None, "route")[n % 2]}
        | {"cache": (None, "cold")[n % 2], "tags": (None, {"sdk": "sentry"})[n % 2]}
        | fields
    )
    envelope = make_envelope(f"{release}-{n}", columns, release=release, **fields)
    envelope["trace"]["resources"] = [f"https://shop.example/{bundle}.js"]
    for frame in envelope["trace"]["frames"]:  # at the same place in every view
        frame["column"] = {"main": 10, "slow": 11, "steady": 12}[frame["name"]]
    return envelope


@pytest.fixture
def project() -> Project:
    """1.0.0 with sixty views, 2.0.0 with sixty in which `slow` takes thrice as long, 3.0.0 with six."""
    made = make_project("shop")
    earlier = (YESTERDAY - timedelta(days=1)).timestamp() * 1000
    sizes = (("1.0.0", 60, 1), ("2.0.0", 60, 3), ("3.0.0", 6, 1))
    for release, count, times in sizes:
        views = [view(n, times * (n % 4), release) for n in range(count)]
        post(
            "KEY-shop",
            *(envelope | ({"timeOrigin": earlier} if n % 5 == 0 else {}) for n, envelope in enumerate(views)),
        )
    fold_all()
    return made


def ref_of(project: Project, name: str) -> FuncRef:
    return find_ref(project.pk, Func.objects.filter(project=project, name=name).latest("id").id)


def costs_by(slice_: Slice, ref: FuncRef, by: str | None, **fields: Any) -> FuncCosts:
    return select_costs(slice_, ref, by, measures=MEASURES, **fields)


@pytest.mark.parametrize("measure", MEASURES)
def test_over_a_slice_it_costs_what_the_table_of_functions_says(project: Project, measure: Measure) -> None:
    slice_ = Slice(project_id=project.pk, releases=("2.0.0",))
    ref = ref_of(project, "slow")
    table = select_estimated(slice_, TableQuery(measure=measure))
    row = next(row for row in table.functions if row.id == ref.row_id)
    (cost,) = costs_by(slice_, ref, None).rows
    assert cost.estimate(measure) == (
        None if (estimate := table.estimates.get(row.id)) is None else structs.replace(estimate, func_id=0)
    )
    assert (cost.sums.self_us, cost.sums.total_us, cost.sums.func_views) == (row.self_us, row.total_us, row.views)
    assert cost.sums.slice_js_us == table.time.js_us
    if measure == "self":
        assert cost.ms_per_view("self") == row.self_us / 1000 / 60
        assert cost.share("self") == row.self_us / table.time.js_us


@pytest.mark.parametrize("by", EXPRESSIONS)
def test_each_part_costs_what_the_slice_of_it_costs(project: Project, by: str) -> None:
    ref = ref_of(project, "slow")
    whole = Slice(project_id=project.pk)
    costs = costs_by(whole, ref, by)
    assert sum(row.sums.self_us for row in costs.rows) == costs_by(whole, ref, None).rows[0].sums.self_us
    assert costs.row_count == len(costs.rows) > (by not in ("browser", "environment", "capture"))
    for row in costs.rows:
        (alone,) = costs_by(narrow(whole, by, row.sums.value), ref, None).rows
        assert replace(row.sums, value="") == alone.sums
        for measure in MEASURES:
            assert row.estimate(measure) == alone.estimate(measure)
            assert row.ms_per_view(measure) == alone.ms_per_view(measure)


def narrow(slice_: Slice, by: str, value: str) -> Slice:
    if by == "day":
        start = datetime.strptime(value, "%Y-%m-%d").replace(tzinfo=UTC)
        return replace(slice_, ranges=((start, start + timedelta(days=1)),))
    return slice_.with_values(by, value)


@pytest.mark.parametrize("by", [None, *EXPRESSIONS])
def test_a_fine_slice_of_all_views_costs_the_same(project: Project, by: str | None) -> None:
    ref = ref_of(project, "slow")
    whole = Slice(project_id=project.pk)
    views = tuple(dict.fromkeys(view.view_id for view in select_slice_views(whole)))
    fine = costs_by(replace(whole, views=views), ref, by)
    assert fine.source == "contributions"
    assert fine.rows == costs_by(whole, ref, by).rows


@pytest.mark.parametrize("by", ["release", "page", "day"])
def test_the_roll_up_tells_what_cells_tell(project: Project, by: str) -> None:
    ref = ref_of(project, "slow")
    rolled = select_function_breakdown(Slice(project_id=project.pk), ref.row_id, by)
    from_cells = Slice(project_id=project.pk).with_values("device", *DEVICE_CLASSES)
    assert select_function_breakdown(from_cells, ref.row_id, by) == rolled  # from cells
    with connection.cursor() as cursor:
        cursor.execute("UPDATE aggregate_cell SET is_rolled = false WHERE project_id = %s", [project.pk])
    assert (
        select_function_breakdown(Slice(project_id=project.pk), ref.row_id, by) == rolled
    )  # none of it is in the roll-up


def test_rows_can_be_picked_and_cut(project: Project) -> None:
    ref, whole = ref_of(project, "slow"), Slice(project_id=project.pk)
    picked = costs_by(whole, ref, "release", values=["9", "3.0.0", "1.0.0"])
    assert [row.sums.value for row in picked.rows] == ["3.0.0", "1.0.0"]
    days = costs_by(whole, ref, "day", limit=1)  # the last one
    assert [row.sums.value for row in days.rows] == [f"{YESTERDAY:%Y-%m-%d}"]
    assert days.row_count == 2


def test_too_few_views_have_sums_and_no_interval(project: Project) -> None:
    (cost,) = costs_by(Slice(project_id=project.pk), ref_of(project, "slow"), "release", values=["3.0.0"]).rows
    assert cost.is_too_few
    assert cost.estimate("self") is None
    assert cost.ms_per_view("self") == cost.sums.self_us / 1000 / 6


def test_where_it_never_ran_there_is_a_zero_and_views(project: Project) -> None:
    post("KEY-shop", *(make_envelope(f"calm{n}", "A\n-", release="4.0.0") for n in range(30)))
    fold_all()
    (cost,) = costs_by(Slice(project_id=project.pk), ref_of(project, "slow"), "release", values=["4.0.0"]).rows
    assert (cost.sums.views, cost.sums.func_views, cost.ms_per_view("self"), cost.share("self")) == (30, 0, 0.0, 0.0)
    assert cost.estimate("self") is None
    assert not cost.is_too_few


def test_views_of_other_rates_count_for_as_many_as_they_stand_for(project: Project) -> None:
    post(
        "KEY-shop",
        *(view(n, n % 2, "5.0.0", page="/w", device=DEVICES[0], sampleRate=0.5 if n % 2 else 1) for n in range(40)),
    )
    fold_all()
    slice_, ref = Slice(project_id=project.pk, releases=("5.0.0",)), ref_of(project, "slow")
    (cost,) = costs_by(slice_, ref, None).rows
    (by_page,) = costs_by(slice_, ref, "page").rows
    assert cost.summary is not None
    assert cost.summary.is_weighted
    assert cost.ms_per_view("self") == by_page.ms_per_view("self") == pytest.approx(10 * 40 / 60)


def test_what_has_expired_is_told_apart(project: Project) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            """DELETE FROM aggregate_pageview v USING aggregate_cell c, ingest_group g
               WHERE c.project_id = v.project_id AND c.id = v.cell_id AND g.project_id = c.project_id
                 AND g.id = c.group_id AND g.release = '1.0.0' AND c.starts_at < %s""",
            [YESTERDAY.replace(hour=0, minute=0)],
        )
    costs = costs_by(Slice(project_id=project.pk), ref_of(project, "slow"), "release", values=["1.0.0", "2.0.0"]).rows
    assert [cost.summary.is_complete for cost in costs if cost.summary] == [False, True]
    assert costs[0].sums.views == 60
    assert costs[0].summary is not None
    assert costs[0].summary.views == 48


def test_of_single_traces_there_are_sums_alone(project: Project) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT trace_id FROM ingest_rawtrace WHERE view_id = %s", [view_id_of("2.0.0-3")])
        row = cursor.fetchone()
    assert row is not None
    (cost,) = costs_by(Slice(project_id=project.pk, traces=(row[0],)), ref_of(project, "slow"), None).rows
    assert (cost.sums.self_us, cost.summaries, cost.is_too_few) == (90_000, {}, True)


def test_of_too_many_views_a_uniform_sample_is_looked_at(project: Project) -> None:
    ref, whole = ref_of(project, "slow"), Slice(project_id=project.pk)
    views, population = sample_slice_views(whole, ref, most=100)
    there = {view.view_id for view in select_slice_views(whole, ref=ref)}
    assert {view.view_id for view in views} == there  # 100 and some more
    assert population == len(there) == 124
    fewer, _ = sample_slice_views(whole, ref, most=1)
    assert 0 < len(fewer) < 40


def test_a_step_is_that_of_the_comparison_of_all_functions(project: Project) -> None:
    slow, steady = (select_func(project.pk, ref_of(project, name).row_id) for name in ("slow", "steady"))
    assert slow is not None
    assert steady is not None
    slice_ = Slice(project_id=project.pk, releases=("3.0.0",))  # the step names its own
    rise = select_step(slice_, slow, "1.0.0", "2.0.0", measure="self").difference
    same = select_step(slice_, steady, "1.0.0", "2.0.0", measure="self").difference
    assert rise is not None
    assert same is not None
    assert rise.is_increase
    assert rise.delta_ms == pytest.approx(30)
    assert not same.is_significant
    few = select_step(slice_, slow, "2.0.0", "3.0.0", measure="self")
    assert few.comparison.is_too_few
    assert few.difference is None


def test_a_step_follows_an_unmapped_function_into_the_next_bundle(project: Project) -> None:
    """A bundle's content hash changed and nothing else: `compare` knows it is the same, and so does the step."""
    bundles = (("6.0.0", "main-AAAAAAA1"), ("7.0.0", "main-BBBBBBB2"))
    post("KEY-shop", *(view(n, 1, release, bundle) for release, bundle in bundles for n in range(30)))
    fold_all()
    old, new = (
        Func.objects.get(project=project, name="slow", uri=f"https://shop.example/{bundle}.js") for _, bundle in bundles
    )
    func = select_func(project.pk, old.id)
    assert func is not None
    step = select_step(Slice(project_id=project.pk), func, "6.0.0", "7.0.0", measure="self")
    assert step.func is not None
    assert step.func.id == new.id
    assert step.difference is not None
    assert step.difference.status == "changed"
    kin = select_kin(project.pk, func, find_ref(project.pk, old.id))
    assert kin == FuncRef(old.id, tuple(sorted((old.id, new.id))))
    trend = costs_by(Slice(project_id=project.pk), kin, "release", values=["6.0.0", "7.0.0"]).rows
    assert [row.ms_per_view("self") for row in trend] == [10, 10]
    assert select_homes(Slice(project_id=project.pk), kin) == {"6.0.0": old.id, "7.0.0": new.id}
    make_label(new, "7.0.0", "src/slow.ts", "slowly")  # now a map says what that one is
    assert select_kin(project.pk, func, find_ref(project.pk, old.id)).funcs_in("7.0.0") == (old.id,)


def test_a_fine_slice_beyond_bounds_is_refused(project: Project, settings: Settings) -> None:
    settings.READ_MAX_VIEWS = 5
    views = tuple(
        view.view_id for view in sample_slice_views(Slice(project_id=project.pk), ref_of(project, "slow"), most=100)[0]
    )
    with pytest.raises(SliceError, match="more than 5 views"):
        costs_by(Slice(project_id=project.pk, views=views), ref_of(project, "slow"), None)


@pytest.mark.parametrize("by", ["file", "origin", "party"])
def test_groups_cost_the_same_if_their_totals_are_not_counted(project: Project, by: str) -> None:
    query = TableQuery(group_by=by, measure="self+hidden")
    counted = select_estimated(Slice(project_id=project.pk), query)
    summed = select_estimated(Slice(project_id=project.pk), replace(query, counts_once=False))
    assert counted.estimates
    assert summed.estimates == counted.estimates
    sums = sum_groups(Slice(project_id=project.pk), by)
    assert sums.views == counted.views
    assert sums.cost_us == {row.name: row.cost_us for row in counted.functions}
