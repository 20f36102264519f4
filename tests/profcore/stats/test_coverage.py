"""Simulations: 95 % intervals cover 95 % on skewed data with many zeros."""

from dataclasses import replace

import numpy as np
import pytest

from profcore.stats.comparison import compare
from profcore.stats.summaries import MIN_VIEWS, KnownSums, summarise
from tests.profcore.stats.field import Matrix, sample_of_ms, skewed_ms

pytestmark = [pytest.mark.slow(6), pytest.mark.nightly]

FUNCS = 1_500  # each is one experiment: the standard error of a coverage of 95 % is 0.56 %
CASES = [
    (views, sigma, zeros)
    for views in (MIN_VIEWS, 50, 200, 500)
    for sigma, zeros in ((0.5, 0.5), (0.8, 0.3), (1.0, 0.0), (1.0, 0.5), (1.0, 0.8))
]


@pytest.mark.parametrize(("views", "sigma", "zeros"), CASES)
def test_intervals_of_means_cover_93_to_97_percent(views: int, sigma: float, zeros: float) -> None:
    rng = np.random.default_rng([views, int(sigma * 10), int(zeros * 10)])
    sample = sample_of_ms(skewed_ms(rng, (views, FUNCS), sigma=sigma, zeros=zeros))
    truth = 10 * (1 - zeros)
    intervals = [function.ms_per_view.ci95 for function in summarise(sample).functions]
    covered = [interval.low <= truth <= interval.high for interval in intervals if interval is not None]
    assert len(covered) > FUNCS / 3
    # Half a percent of slack on either side is the simulation's own error. With many zeros, funcs that five views ran
    # by chance are a selection: there intervals are on the safe side.
    assert 0.925 <= np.mean(covered) <= (0.98 if zeros >= 0.8 else 0.975)


def test_intervals_of_funcs_that_one_view_in_ten_runs_cover_at_least_91_percent() -> None:
    for views in (MIN_VIEWS, 50):
        covered = []
        for seed in range(6):
            sample = sample_of_ms(skewed_ms(np.random.default_rng([views, seed]), (views, FUNCS), zeros=0.9))
            intervals = [function.ms_per_view.ci95 for function in summarise(sample).functions]
            covered += [interval.low <= 1.0 <= interval.high for interval in intervals if interval is not None]
        # 89 % with n - 1 degrees of freedom and 25 views.
        assert len(covered) > 500
        assert np.mean(covered) >= 0.91, views


def test_differences_of_funcs_that_one_view_in_ten_runs_cover_at_least_92_percent() -> None:
    rng = np.random.default_rng(7)
    answer = compare(*(sample_of_ms(skewed_ms(rng, (20, 2 * FUNCS), zeros=0.9)) for _ in range(2)))
    covered = [
        function.ci95.low <= 0 <= function.ci95.high for function in answer.functions if function.ci95 is not None
    ]
    assert np.mean(covered) >= 0.92  # 91 % before


def draw_rated(rng: np.random.Generator, views: int, rates: tuple[float, float]) -> tuple[Matrix, list[float]]:
    """Returns views of which the fast devices (80 % of visits) and the slow ones (3 times as long) have a rate each."""
    fast_share = 0.8 * rates[0] / (0.8 * rates[0] + 0.2 * rates[1])
    is_fast = rng.random(views) < fast_share
    ms = skewed_ms(rng, (views, 20), zeros=0.0) * np.where(is_fast, 1.0, 3.0)[:, None]
    return ms, np.where(is_fast, *rates).tolist()


@pytest.mark.parametrize("rates", [(0.1, 1.0), (1.0, 0.1), (0.01, 1.0), (1.0, 0.5)])
@pytest.mark.parametrize("views", [50, 200, 1_000])
def test_means_of_unequal_rates_are_right_where_they_are_given(views: int, rates: tuple[float, float]) -> None:
    truth = 10 * (0.8 + 0.2 * 3)
    covered: list[bool] = []
    means: list[float] = []
    rounds = 200 if views < 1_000 else 60
    for seed in range(rounds):
        ms, rate = draw_rated(np.random.default_rng([seed, views]), views, rates)
        if len(set(rate)) < 2:  # nothing tells that there is another rate
            continue
        functions = summarise(sample_of_ms(ms, sample_rate=rate)).functions
        means += [function.ms_per_view.value for function in functions]
        intervals = [function.ms_per_view.ci95 for function in functions]
        covered += [interval.low <= truth <= interval.high for interval in intervals if interval is not None]
    if views < 1_000 and max(rates) / min(rates) > 4 and not (views == 200 and rates == (0.1, 1.0)):
        # Fewer than 20 views of a rate: they would cover 67 to 84 %.
        assert len(covered) <= 0.1 * rounds * 20
        return
    assert len(covered) >= 0.75 * rounds * 20
    assert np.mean(covered) >= 0.9
    assert np.mean(means) == pytest.approx(truth, rel=0.03)


def test_intervals_around_exact_means_cover_93_to_97_percent_from_a_sample_of_the_views() -> None:
    covered = []
    for seed in range(4):
        ms = skewed_ms(np.random.default_rng(seed), (2_000, 500), sigma=1.0, zeros=0.4)
        sums = {func: int(us) for func, us in enumerate((ms * 1_000).sum(0))}
        sample = replace(sample_of_ms(ms[:400]), population=2_000)
        summary = summarise(sample, known=KnownSums(sums, whole_us=sum(sums.values())))
        intervals = [function.ms_per_view.ci95 for function in summary.functions]
        covered += [interval.low <= 6.0 <= interval.high for interval in intervals if interval is not None]
    assert len(covered) == 2_000
    assert 0.925 <= np.mean(covered) <= 0.975


@pytest.mark.parametrize("views", [MIN_VIEWS, 50, 200])
def test_intervals_of_shares_cover_93_to_97_percent(views: int) -> None:
    rng = np.random.default_rng(views)
    truth = 5.0 / 500.0
    covered = []
    for _ in range(60):
        # Slow devices are slow in everything: numerator and denominator go together.
        device = rng.lognormal(0, 0.5, (views, 1))
        mine = device * skewed_ms(rng, (views, 20), zeros=0.5)
        whole = 500.0 * device[:, 0] * rng.lognormal(-0.045, 0.3, views)
        sample = sample_of_ms(mine, js_ms=whole.tolist())
        covered += [
            function.share.ci95.low <= truth <= function.share.ci95.high
            for function in summarise(sample).functions
            if function.share is not None and function.share.ci95 is not None
        ]
    assert 0.93 <= np.mean(covered) <= 0.975


@pytest.mark.parametrize(("base_views", "head_views"), [(20, 20), (28, 28), (200, 40), (300, 300)])
def test_intervals_of_differences_cover_at_least_93_percent_and_little_more_than_97(
    base_views: int, head_views: int
) -> None:
    rng = np.random.default_rng([base_views, head_views])
    classes = [np.arange(views) % 3 for views in (base_views, head_views)]
    speed = np.array([1.0, 2.0, 4.0])
    matrices = [
        skewed_ms(rng, (codes.size, FUNCS), sigma=0.8, mean_ms=mean) * speed[codes][:, None]
        for codes, mean in zip(classes, (10.0, 14.0), strict=True)
    ]
    answer = compare(*(sample_of_ms(m, device_class=c.tolist()) for m, c in zip(matrices, classes, strict=True)))
    mix = sum(np.bincount(codes, minlength=3) / codes.size for codes in classes) / 2
    truth = 0.5 * 4.0 * float((mix * speed).sum())
    covered = [
        function.ci95.low <= truth <= function.ci95.high for function in answer.functions if function.ci95 is not None
    ]
    assert len(covered) == FUNCS
    # Classes of seven views are on the safe side: too wide by a little, never too narrow.
    assert 0.925 <= np.mean(covered) <= 0.985


def test_percentile_bounds_hold_at_least_their_95_percent() -> None:
    rng = np.random.default_rng(9)
    functions = summarise(sample_of_ms(skewed_ms(rng, (100, FUNCS), zeros=0.3))).functions
    # The median of all is the (0.5 - 0.3) / 0.7 quantile of the views that ran it.
    drawn = np.sort(skewed_ms(rng, (1_000, 1_000), zeros=0.0).ravel())
    truth = drawn[int(drawn.size * 0.2 / 0.7)]
    bounds = [function.p50_ms.ci95 for function in functions]
    covered = [interval.low <= truth <= interval.high for interval in bounds if interval is not None]
    assert len(covered) == FUNCS
    assert 0.94 <= np.mean(covered) <= 0.985
