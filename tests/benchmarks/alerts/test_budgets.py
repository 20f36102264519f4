"""Simulated budgets over a month, and what somebody accepted."""

import numpy as np
import pytest

from benchmarks.alerts.accepted import RepeatedAlarm, follow_accepted
from benchmarks.alerts.budgets import KINDS, find_alarm, simulate_month
from profcore.stats.estimates import Figure, Interval


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


def test_what_was_accepted_is_reported_again_if_it_grows_or_was_over() -> None:
    over, within = Figure(1.0, Interval(0.97, 1.03)), Figure(0.725, Interval(0.7, 0.75))
    assert follow_accepted([over] * 9, excess=0.25) == RepeatedAlarm(after_days=None)
    assert follow_accepted([over] * 9, excess=0.25, growth=3.0) == RepeatedAlarm(after_days=2)
    assert follow_accepted([over] * 3 + [within, over] * 3, excess=0.25) == RepeatedAlarm(after_days=None)
    days = [over, over, within, within, over, over]
    assert follow_accepted(days, excess=0.25) == RepeatedAlarm(after_days=4, was_quiet=True)
    assert follow_accepted([within] * 9, excess=0.25) is None
