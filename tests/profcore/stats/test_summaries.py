"""The summary of one sample of views by func, zeros included."""

import numpy as np
import pytest

from profcore.stats.comparison import compare
from profcore.stats.estimates import as_interval, as_intervals
from profcore.stats.summaries import MIN_RAN, MIN_VIEWS, FuncSummary, KnownSums, summarise
from tests.profcore.stats.field import sample_of_ms, skewed_ms


def only(*columns: list[float], sample_rate: list[float] | None = None) -> FuncSummary:
    """Returns the summary of views of one func."""
    (function,) = summarise(sample_of_ms(np.array(columns).T, sample_rate=sample_rate)).functions
    return function


def test_views_that_never_ran_a_func_count_as_zeros() -> None:
    function = only([10.0] * 20 + [0.0] * 60)
    assert function.ms_per_view.value == 2.5
    assert (function.ran.value, function.views_ran) == (0.25, 20)
    assert (function.p50_ms.value, function.p75_ms.value, function.p95_ms.value) == (0.0, 0.0, 10.0)


def test_percentiles_are_values_that_occurred() -> None:
    function = only([float(ms) for ms in range(1, 101)])
    assert (function.p50_ms.value, function.p75_ms.value, function.p95_ms.value) == (50.0, 75.0, 95.0)
    bounds = function.p50_ms.ci95
    assert bounds is not None
    assert (bounds.low, bounds.high) == (40.0, 61.0)


def test_a_share_is_a_ratio_of_sums_and_no_mean_of_ratios() -> None:
    ms = np.array([[1.0] * 15 + [30.0] * 15]).T
    sample = sample_of_ms(ms, js_ms=[2.0] * 15 + [300.0] * 15)
    (function,) = summarise(sample).functions
    assert function.share is not None
    assert function.share.value == pytest.approx((15 + 450) / (30 + 4_500))


def test_too_few_views_get_no_number() -> None:
    answer = summarise(sample_of_ms(np.ones((MIN_VIEWS - 1, 2))))
    assert answer.is_too_few
    assert answer.functions == ()
    assert answer.views == MIN_VIEWS - 1


def test_a_func_that_few_views_ran_gets_a_mean_without_an_interval() -> None:
    rare = np.zeros(100)
    rare[: MIN_RAN - 1] = 8.0
    common = np.zeros(100)
    common[:MIN_RAN] = [8.0, 9.0, 7.0, 8.0, 8.0]
    functions = summarise(sample_of_ms(np.array([rare, common]).T)).functions
    assert [function.ms_per_view.ci95 is None for function in functions] == [False, True]


def test_funcs_come_heaviest_first() -> None:
    answer = summarise(sample_of_ms(skewed_ms(np.random.default_rng(0), (60, 30))))
    means = [function.ms_per_view.value for function in answer.functions]
    assert means == sorted(means, reverse=True)


def test_unequal_sampling_rates_weigh_views_by_what_they_stand_for() -> None:
    # Ten times as many views were fast as were recorded; slow ones were recorded all.
    fast, slow = [1.0] * 50, [100.0] * 50
    function = only(fast + slow, sample_rate=[0.1] * 50 + [1.0] * 50)
    assert function.ms_per_view.value == pytest.approx((50 * 10 * 1 + 50 * 100) / (50 * 10 + 50))


def test_equal_sampling_rates_change_nothing() -> None:
    ms = skewed_ms(np.random.default_rng(3), (60, 5))
    plain, sampled = (summarise(sample_of_ms(ms, sample_rate=rate)) for rate in (None, [0.25] * 60))
    assert sampled.effective_views == pytest.approx(60)
    for one, other in zip(plain.functions, sampled.functions, strict=True):
        assert one.ms_per_view.value == pytest.approx(other.ms_per_view.value)
        assert one.p95_ms == other.p95_ms


def test_a_stray_view_of_its_own_rate_is_cut_and_counted() -> None:
    answer = summarise(sample_of_ms(np.ones((600, 1)), sample_rate=[0.0001] + [1.0] * 599))
    assert (answer.clipped_views, answer.is_too_few) == (1, False)
    # In a small sample it may be all that is seen of many visits.
    answer = summarise(sample_of_ms(np.ones((100, 1)), sample_rate=[0.0001] + [1.0] * 99))
    assert (answer.clipped_views, answer.is_too_few) == (0, True)


def test_weights_of_several_views_are_not_cut() -> None:
    ms = [[1.0]] * 570 + [[100.0]] * 30
    answer = summarise(sample_of_ms(ms, sample_rate=[1.0] * 570 + [0.01] * 30))
    assert answer.clipped_views == 0
    assert answer.functions[0].ms_per_view.value == pytest.approx((570 + 30 * 100 * 100) / (570 + 30 * 100))


@pytest.mark.parametrize(
    ("rare", "rate", "is_too_few"),
    [
        (19, 0.1, True),  # 19 views stand for a third of all visits
        (20, 0.1, False),
        (19, 0.5, False),  # rates that differ by little are taken as one
        (1, 0.13, False),  # carries no weight
    ],
)
def test_a_rate_that_carries_weight_needs_twenty_views(rare: int, rate: float, is_too_few: bool) -> None:
    answer = summarise(sample_of_ms(np.ones((400 + rare, 1)), sample_rate=[1.0] * 400 + [rate] * rare))
    assert answer.is_too_few is is_too_few
    comparison = compare(
        sample_of_ms(np.ones((400, 1))),
        sample_of_ms(np.ones((400 + rare, 1)), sample_rate=[1.0] * 400 + [rate] * rare),
    )
    assert comparison.is_too_few is is_too_few


def test_effective_views_decide_what_is_too_few() -> None:
    answer = summarise(sample_of_ms(np.ones((60, 1)), sample_rate=[0.05] * 3 + [1.0] * 57))
    assert answer.effective_views < MIN_VIEWS
    assert answer.is_too_few


@pytest.mark.parametrize("rates", [None, [1.0] * 30 + [0.3] * 30])
def test_a_summary_of_some_funcs_is_a_part_of_the_summary_of_all(rates: list[float] | None) -> None:
    sample = sample_of_ms(skewed_ms(np.random.default_rng(2), (60, 12)), sample_rate=rates)
    sums = {
        func_id: int(sample.self_us[sample.func == at].sum()) for at, func_id in enumerate(sample.func_ids.tolist())
    }
    whole_us = sum(sums.values())
    every = summarise(sample, known=KnownSums(sums, whole_us)).functions
    wanted = list(sums)[::3]
    some = summarise(sample, known=KnownSums({func: sums[func] for func in wanted}, whole_us)).functions
    if rates is None:
        assert some == tuple(function for function in every if function.func_id in wanted)
    else:  # sums of what was recorded are not used then, and name no funcs
        assert some == every


def test_intervals_of_columns_are_those_of_their_pairs() -> None:
    low, high = np.array([1.0, np.nan, 2.0, -np.inf]), np.array([2.0, 3.0, np.inf, 5.0])
    assert as_intervals(low, high) == [as_interval(*pair) for pair in zip(low.tolist(), high.tolist(), strict=True)]
    assert as_intervals(low, high) == [(1.0, 2.0), None, None, None]
