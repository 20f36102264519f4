"""The simulation of alerts runs: arrivals are what was asked for, and a page twice as slow is confirmed."""

import numpy as np
import pytest

from benchmarks.alerts.accepted import RepeatedAlarm, follow_accepted
from benchmarks.alerts.arrivals import Slower, receive
from benchmarks.alerts.evaluating import alert_release
from benchmarks.alerts.month import follow_project
from benchmarks.statistics.population import load_population
from profcore.stats.estimates import Figure, Interval


def test_a_release_arrives_hour_by_hour_and_one_page_is_slower() -> None:
    pages = load_population()[:2]
    shares = np.array([0.5, 0.5])
    sides = [
        receive(np.random.default_rng(1), pages, views_a_day=600, shares=shares, days=3, slower=slower)
        for slower in (None, Slower(page=0, factor=2.0))
    ]
    assert [side.views for side in sides] == [sides[0].views] * 2
    assert sides[0].views == pytest.approx(600 * 2.5, rel=0.1)  # it takes over within the first day
    assert sides[0].until(24).views < sides[0].views / 3
    means = [side.of_page(0).us.mean() for side in sides]
    assert means[1] == pytest.approx(2 * means[0], rel=0.001)
    assert (sides[0].of_page(1).us == sides[1].of_page(1).us).all()


@pytest.mark.slow(10)
def test_a_page_twice_as_slow_is_confirmed_soon() -> None:
    followed = follow_project(1, 2.0)
    assert all(release.page in release.watched.confirmed for release in followed)
    assert max(release.watched.confirmed[release.page] for release in followed) < 200


def test_an_unchanged_release_is_watched_by_looks() -> None:
    pages = load_population()[:1]
    rng = np.random.default_rng(3)
    base, head = (receive(rng, pages, views_a_day=100, shares=np.ones(1), days=4) for _ in range(2))
    watched = alert_release(base, head, days=4)
    assert 5 < watched.looks < 30
    assert watched.confirmed == {}


def test_what_was_accepted_is_reported_again_if_it_grows_or_was_over() -> None:
    over, within = Figure(1.0, Interval(0.97, 1.03)), Figure(0.725, Interval(0.7, 0.75))
    assert follow_accepted([over] * 9, excess=0.25) == RepeatedAlarm(after_days=None)
    assert follow_accepted([over] * 9, excess=0.25, growth=3.0) == RepeatedAlarm(after_days=2)
    assert follow_accepted([over] * 3 + [within, over] * 3, excess=0.25) == RepeatedAlarm(after_days=None)
    days = [over, over, within, within, over, over]
    assert follow_accepted(days, excess=0.25) == RepeatedAlarm(after_days=4, was_quiet=True)
    assert follow_accepted([within] * 9, excess=0.25) is None


def test_a_slowdown_that_was_accepted_is_not_reported_again_by_the_next_looks() -> None:
    pages, rng = load_population()[:1], np.random.default_rng(3)
    base, head = (
        receive(rng, pages, views_a_day=100, shares=np.ones(1), days=4, slower=slower)
        for slower in (None, Slower(page=0, factor=2.0))
    )
    watched = alert_release(base, head, days=4, accepts=True)
    assert list(watched.accepted) == list(watched.confirmed) != []
    assert watched.looks > 5
    assert watched.repeated == set()
