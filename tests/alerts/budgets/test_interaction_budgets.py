"""Budgets on the script part of INP, and on forced layout: read from raw traces outside of locks, day by day."""

from collections.abc import Iterator
from datetime import date, timedelta
from math import ceil, comb
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from pytest_django import DjangoDbBlocker, Settings

from aggregate.selectors.vitals.sampled_figures import select_interaction_script
from aggregate.selectors.vitals.table import VitalsQuery, select_vitals
from aggregate.stopping import Stopping
from aggregate.time_budget import BudgetSpent
from alerts import budgets
from alerts.days import Day, measure_from_traces, slice_of
from alerts.evaluating import evaluate_due, evaluate_one
from alerts.models import AlertRule, AlertState, StateChange
from alerts.previews import read_preview, start_preview
from alerts.queries import AlertQuery, clean_alert_query
from alerts.reading import select_history, select_open, select_standings
from alerts.rules import change_alert, create_alert
from ingest.models import RawTrace
from profcore.alerts.states import State
from profcore.stats.sampling import sample_key
from profcore.stats.summaries import estimate_mean, estimate_p75
from projects.models import Project
from tests.aggregate.jobs.running_jobs import again, run_jobs
from tests.aggregate.selectors.vitals.recorded_visits import copy_visits, post_visits, read_visits
from tests.builders import make_project
from tests.envelopes import YESTERDAY
from tests.profcore.vitals.oracle import hidden_in, script_in, windows_of
from tests.runner.keeping import keep

pytestmark = pytest.mark.django_db
Visit = list[dict[str, Any]]  # Any: JSON
MORNING = YESTERDAY.replace(hour=9, minute=0, second=0) + timedelta(days=1)
LAST = YESTERDAY.date()
DAY_MS = 86_400_000


@pytest.fixture(scope="module")
def visits() -> list[Visit]:
    return read_visits("1.2.0", 45)


@pytest.fixture(scope="module")
def kept(django_db_setup: None, django_db_blocker: DjangoDbBlocker, visits: list[Visit]) -> Iterator[Project]:
    yield from keep(django_db_blocker, lambda: make_shop(visits))


def make_shop(visits: list[Visit]) -> Project:
    """The same visits on two days."""
    project = make_project("shop", name="Shop")
    post_visits("KEY-shop", visits)
    before = [
        [
            {**envelope, "timeOrigin": envelope["timeOrigin"] - DAY_MS, "viewStart": envelope["viewStart"] - DAY_MS}
            for envelope in visit
        ]
        for visit in copy_visits(visits, 1)
    ]
    post_visits("KEY-shop", before)
    return project


@pytest.fixture
def project(kept: Project, db: None) -> Project:
    return kept


def alert_it(project: Project, limit: float, *, measure: str = "inp_script", **where: str) -> AlertRule:
    asked = clean_alert_query("budget", {"measure": measure, "limit": limit, **where})
    created_at = MORNING - timedelta(days=1)
    return create_alert(project=project, kind="budget", name="INP", question=asked, now=created_at)


def state_of(alert: AlertRule) -> str:
    row = AlertState.objects.filter(alert_id=alert.id).first()
    return "" if row is None else State(row.state).name


def values_of(visits: list[Visit]) -> list[int]:
    """The oracle's script and hidden µs in the longest interaction of each visit that has one."""
    ranges = [(visit, windows_of(visit).get("interaction")) for visit in visits]
    return [
        sum(script_in(visit, interaction)[0].values()) + hidden_in(visit, interaction)
        for visit, interaction in ranges
        if interaction is not None
    ]


def ranks_of(count: int) -> tuple[int, int]:
    """The ranks, from 0, between which the percentile of a population lies in 95 of 100 samples: by plain sums."""
    chances = [comb(count, hits) * 0.75**hits * 0.25 ** (count - hits) for hits in range(count + 1)]
    low = next(hits for hits in range(count + 1) if sum(chances[: hits + 1]) >= 0.025)
    high = next(hits for hits in range(count + 1) if sum(chances[: hits + 1]) >= 0.975)
    return max(low - 1, 0), high


def test_a_day_has_the_oracles_percentile_between_order_statistics(project: Project, visits: list[Visit]) -> None:
    values = sorted(values_of(visits))
    assert any(hidden_in(visit, windows_of(visit).get("interaction", [])) for visit in visits)
    day = measure_from_traces(project.pk, AlertQuery(measure="inp_script", limit=1.0), LAST)
    low, high = ranks_of(len(values))
    assert 25 <= len(values) < len(visits)
    assert (day.views, day.is_gone) == (len(values), False)
    assert day.value == pytest.approx(values[ceil(0.75 * len(values)) - 1] / 1000)
    assert day.low == pytest.approx(values[low] / 1000)
    assert day.high == pytest.approx(values[high] / 1000)


def test_a_budget_is_of_its_page_and_device(project: Project, visits: list[Visit]) -> None:
    page = max({visit[0]["page"] for visit in visits}, key=lambda page: sum(v[0]["page"] == page for v in visits))
    values = values_of([visit for visit in visits if visit[0]["page"] == page])
    day = measure_from_traces(project.pk, AlertQuery(measure="inp_script", limit=1.0, page=page), LAST)
    assert day.views == len(values)
    nobody = AlertQuery(measure="inp_script", limit=1.0, device="unknown")
    assert measure_from_traces(project.pk, nobody, LAST) == Day(on=LAST, views=0)


def test_views_in_which_nothing_ran_count_as_zero() -> None:
    quiet = estimate_p75([0] * 30, [1.0] * 30)
    assert quiet is not None
    assert (quiet.value, quiet.ci95) == (0.0, (0.0, 0.0))
    mixed = estimate_p75([0] * 20 + [40_000] * 20, [1.0] * 40)
    assert mixed is not None
    assert mixed.value == 40.0
    assert estimate_p75([40_000] * 24, [1.0] * 24) is None
    assert estimate_p75([], []) is None


def test_two_days_over_the_limit_are_confirmed_and_reported_with_a_link_to_the_day(project: Project) -> None:
    alert = alert_it(project, 5.0)
    assert evaluate_due(MORNING) == 3  # the release alert, and each day by itself
    assert state_of(alert) == "CONFIRMED"
    changes = list(StateChange.objects.filter(alert_id=alert.id).order_by("id"))
    assert [change.state for change in changes] == [State.SUSPECTED, State.CONFIRMED]
    assert [change.cause for change in changes] == ["day", "day"]
    entry = select_history(project, before=None, most=1)[0]
    assert entry.said.headline.startswith("INP: over its limit (")
    assert "of script in the longest interaction of a view (75th percentile); the limit is 5 ms" in entry.said.how_much
    assert entry.said.how_sure.endswith("page views with an interaction")
    day = f"from={LAST}T00%3A00Z&to={LAST + timedelta(days=1)}T00%3A00Z"
    assert entry.links.slice.endswith(f"/projects/shop/vitals/?{day}")
    AlertState.objects.filter(alert_id=alert.id).update(seen_at=entry.change.at - timedelta(days=3))
    (shown,) = select_open(project, most=9)
    assert f"from={LAST - timedelta(days=3)}T" in shown.links.slice  # the day that its figures are of
    about = select_standings(project.pk)[-1].about
    assert about == "At most 5\u202fms of script in the longest interaction, 75th percentile; all pages and devices"


def test_forced_layout_has_the_mean_of_the_page_vitals_and_a_message(project: Project) -> None:
    query = AlertQuery(measure="forced_layout", limit=1.0)
    day = measure_from_traces(project.pk, query, LAST)
    forced = select_vitals(slice_of(project.pk, query, LAST, LAST), VitalsQuery()).forced_layout
    assert forced.total is not None
    assert day.views == forced.views
    assert day.value == pytest.approx(forced.total.ms_per_view.value)
    assert (day.low, day.high) == pytest.approx(forced.total.ms_per_view.ci95)
    alert = alert_it(project, 1.0, measure="forced_layout")
    evaluate_due(MORNING)
    assert state_of(alert) == "CONFIRMED"
    entry = select_history(project, before=None, most=1)[0]
    assert "of forced layout per view; the limit is 1 ms" in entry.said.how_much
    assert f"/projects/shop/vitals/?from={LAST}T" in entry.links.slice
    about = select_standings(project.pk)[-1].about
    assert about == "At most 1\u202fms of forced layout per view; all pages and devices"


def test_views_that_force_nothing_count_in_the_mean() -> None:
    assert estimate_mean([0] * 30, [1.0] * 30) == (0.0, (0.0, 0.0))
    assert estimate_mean([0] * 26 + [60_000] * 4, [1.0] * 30) == (8.0, None)
    mixed = estimate_mean([0] * 20 + [60_000] * 10, [1.0] * 30)
    assert mixed is not None
    assert mixed.ci95 is not None
    assert mixed.ci95.low < mixed.value == 20.0 < mixed.ci95.high
    assert estimate_mean([60_000] * 24, [1.0] * 24) is None


def test_days_within_the_limit_are_quiet(project: Project) -> None:
    alert = alert_it(project, 3_000.0)
    evaluate_due(MORNING)
    assert state_of(alert) == "OK"
    assert not StateChange.objects.filter(state__in=(State.SUSPECTED, State.CONFIRMED)).exists()


def test_traces_are_read_outside_of_the_transaction_and_the_alert_is_put_off_meanwhile(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    alert = alert_it(project, 5.0)
    depth = len(connection.savepoint_ids)
    read: list[date] = []

    def look(project_id: int, query: AlertQuery, day: date) -> Day:
        assert len(connection.savepoint_ids) == depth
        assert AlertRule.objects.get(id=alert.id).due_at > MORNING
        assert not evaluate_one(project.pk, alert.id, MORNING)  # another worker does not read the same
        read.append(day)
        return measure_from_traces(project_id, query, day)

    monkeypatch.setattr(budgets, "measure_from_traces", look)
    evaluate_due(MORNING)
    assert read == [LAST - timedelta(days=1), LAST]
    AlertRule.objects.update(due_at=MORNING)
    evaluate_due(MORNING)
    assert len(read) == 2  # no day is read twice


def test_what_was_read_for_another_question_is_not_judged(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    alert = alert_it(project, 5.0)

    def change(project_id: int, query: AlertQuery, day: date) -> Day:
        change_alert(alert, name="INP", question={**alert.question, "limit": 900.0}, is_on=True, now=MORNING)
        return measure_from_traces(project_id, query, day)

    monkeypatch.setattr(budgets, "measure_from_traces", change)
    asked_before = AlertRule.objects.get(id=alert.id)
    budgets.judge_next_day(asked_before, MORNING)
    assert AlertRule.objects.get(id=alert.id).evaluated_at is None
    assert state_of(alert) == ""


def test_a_worker_that_is_told_to_stop_leaves_the_day_to_others(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    alert = alert_it(project, 5.0)

    def stop(project_id: int, query: AlertQuery, day: date) -> Day:
        raise Stopping

    monkeypatch.setattr(budgets, "measure_from_traces", stop)
    with pytest.raises(BudgetSpent):
        evaluate_one(project.pk, alert.id, MORNING)
    monkeypatch.undo()
    assert state_of(alert) == ""
    later = MORNING + timedelta(hours=1)
    assert evaluate_one(project.pk, alert.id, later)
    assert state_of(alert) == "SUSPECTED"


def test_a_fault_while_reading_is_said_and_tried_again(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    alert = alert_it(project, 5.0)

    def fail(project_id: int, query: AlertQuery, day: date) -> Day:
        raise ValueError("no such pack")

    monkeypatch.setattr(budgets, "measure_from_traces", fail)
    assert evaluate_one(project.pk, alert.id, MORNING)
    failed = AlertRule.objects.get(id=alert.id)
    assert (failed.problem, failed.evaluated_at) == ("ValueError: no such pack", None)
    monkeypatch.undo()
    assert evaluate_one(project.pk, alert.id, MORNING + timedelta(hours=1))
    assert AlertRule.objects.get(id=alert.id).problem is None


def test_too_few_views_with_an_interaction_stay_unknown_and_are_read_once(
    project: Project, visits: list[Visit], monkeypatch: pytest.MonkeyPatch
) -> None:
    page = min({visit[0]["page"] for visit in visits}, key=lambda page: sum(v[0]["page"] == page for v in visits))
    alert = alert_it(project, 5.0, page=page)
    evaluate_due(MORNING)
    assert state_of(alert) == "UNKNOWN"
    note = select_standings(project.pk)[-1].note
    assert note.startswith("Too few page views with an interaction since ")
    assert note.endswith(", at least 25 are needed.")
    assert not StateChange.objects.filter(alert_id=alert.id).exists()
    monkeypatch.setattr(budgets, "measure_from_traces", None)
    AlertRule.objects.update(due_at=MORNING)
    evaluate_due(MORNING)
    assert AlertRule.objects.get(id=alert.id).problem is None


def test_a_day_without_its_raw_traces_is_unknown_and_says_so(project: Project, visits: list[Visit]) -> None:
    RawTrace.objects.filter(project_id=project.pk, view_id__in=[visit[0]["viewId"] for visit in visits[::5]]).delete()
    alert = alert_it(project, 5.0)
    evaluate_due(MORNING)
    assert state_of(alert) == "SUSPECTED"  # by the day before
    text = f"The raw traces of {LAST} are not kept any more."
    for minutes in (0, 5, 10):  # as long as no later day was judged
        now = MORNING + timedelta(minutes=minutes)
        AlertRule.objects.update(due_at=now)
        evaluate_due(now)
        assert AlertRule.objects.get(id=alert.id).problem == text
    evaluate_due(MORNING + timedelta(days=1))
    assert AlertRule.objects.get(id=alert.id).problem is None


def test_views_beyond_the_last_one_that_was_read_are_not_counted_as_gone(
    project: Project, visits: list[Visit], settings: Settings
) -> None:
    ordered = sorted((UUID(visit[0]["viewId"]) for visit in visits), key=sample_key)
    RawTrace.objects.filter(project_id=project.pk, view_id__in=[ordered[3], *ordered[30:]]).delete()
    slice_ = slice_of(project.pk, AlertQuery(measure="inp_script", limit=1.0), LAST, LAST)
    whole = select_interaction_script(slice_, most_views=400)
    assert (whole.read, whole.gone) == (29, 16)
    settings.VITALS_MAX_TRACES = sum(len(visit) for visit in visits) // 2
    part = select_interaction_script(slice_, most_views=400)
    assert 15 < part.read < 29
    assert part.gone == 1


def test_a_sample_is_bounded_and_one_giant_view_does_not_end_it(
    project: Project, visits: list[Visit], settings: Settings
) -> None:
    query = AlertQuery(measure="inp_script", limit=1.0)
    settings.VITALS_MAX_TRACES = sum(len(visit) for visit in visits) // 5
    assert 0 < measure_from_traces(project.pk, query, LAST).views < 15
    settings.VITALS_VIEW_MAX_BYTES = 20_000  # views have 22 kB on average
    assert 0 < measure_from_traces(project.pk, query, LAST).views < 10
    settings.VITALS_VIEW_MAX_TRACES = min(len(visit) for visit in visits) - 1  # each is too large by itself
    assert measure_from_traces(project.pk, query, LAST) == Day(on=LAST, views=0)


def test_a_preview_is_a_job_and_says_how_often_it_would_have_alerted(project: Project) -> None:
    asked = clean_alert_query("budget", {"measure": "inp_script", "limit": 5.0})
    job = start_preview(project.pk, asked, MORNING)
    assert start_preview(project.pk, asked, MORNING).id == job.id
    run_jobs()
    preview = read_preview(again(job))
    assert (preview.alerts, len(preview.days)) == (1, 30)
    assert [state.name for _, state in preview.days[-3:]] == ["UNKNOWN", "SUSPECTED", "CONFIRMED"]
    assert [day.on for day, _ in preview.days][-1] == LAST
    assert start_preview(project.pk, asked, MORNING).id == job.id  # it is there already
    assert start_preview(project.pk, {**asked, "limit": 6.0}, MORNING).id != job.id
