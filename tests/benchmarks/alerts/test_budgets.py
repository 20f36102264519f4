"""Alerts on slowdowns that were recorded, and budgets over a month."""

import numpy as np
import pytest

from benchmarks.alerts.arrivals import Slower, receive
from benchmarks.alerts.budgets import KINDS, find_alarm, simulate_month
from benchmarks.alerts.recorded import follow_recorded, load_recorded
from profcore.stats.estimates import Figure, Interval


def test_the_slower_pages_are_those_that_were_recorded_slower() -> None:
    for has_truth in (False, True):
        recorded = load_recorded(has_truth)
        assert {app: len(pages) for app, pages in recorded.slower.items()} == {
            "crunch": 2,
            "docsite": 2,
            "graphlab": 1,
            "shopboard": 1,
        }
        assert all(factor > 1.0 for factor in recorded.factors.values())
    assert load_recorded(True).factors["crunch/report"] == pytest.approx(2.94, abs=0.01)


def test_a_release_with_a_recorded_slowdown_has_the_other_recordings_times() -> None:
    population = load_recorded(True)
    pages, slower = population.base["docsite"], population.slower["docsite"]
    given = {"views_a_day": 2_000, "shares": np.array([0.5, 0.5]), "days": 2, "spread": 0.1}
    sides = [
        receive(np.random.default_rng(1), pages, **given, slower=slowdown)  # type: ignore[arg-type]  # one dict of them
        for slowdown in (None, Slower(page=0, recorded=slower[0]))
    ]
    ratio = sides[1].of_page(0).us.mean() / sides[0].of_page(0).us.mean()
    assert ratio == pytest.approx(population.factors["docsite/article"], rel=0.1)
    assert sides[1].of_page(1).us.mean() == pytest.approx(sides[0].of_page(1).us.mean(), rel=0.05)


@pytest.mark.slow(10)
def test_a_recorded_slowdown_is_confirmed() -> None:
    followed = follow_recorded(True, 1, is_slower=True)
    assert len(followed) == 4
    assert all(release.page in release.watched.confirmed for release in followed)


def test_a_limit_is_exceeded_after_two_days_in_a_row() -> None:
    over, under, open_ = (Figure(1.0, Interval(*bounds)) for bounds in ((1.1, 1.3), (0.8, 0.9), (0.9, 1.2)))
    assert find_alarm([over, under, over, open_, over], 1.0) is None
    assert find_alarm([None, over, over], 1.0) == 3
    assert find_alarm([over, over], 1.2) is None
    assert find_alarm([over, Figure(0.1, None), over], 1.0) is None  # few views ran it: a quiet day, as for alerts
    assert find_alarm([over, Figure(0.9, None), over], 1.0) is None


def test_a_months_figures_are_relative_to_their_true_mean() -> None:
    month = simulate_month(2, 1_000, has_weekends=False)
    for kind in KINDS:
        days = [day for day in month.days[kind] if day is not None]
        assert len(days) == 30
        assert np.mean([day.value for day in days]) == pytest.approx(1, abs=0.05)
        assert find_alarm(month.days[kind], 0.5) == 2
