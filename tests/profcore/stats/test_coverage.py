"""Simulations: 95 % intervals cover 95 % on skewed data with many zeros."""

from dataclasses import replace

import numpy as np
import pytest

from profcore.stats.comparison import compare
from profcore.stats.summaries import MIN_VIEWS, KnownSums, summarise
from tests.profcore.stats.field import sample_of_ms, skewed_ms

pytestmark = pytest.mark.slow(6)

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
    intervals = [each.ms_per_view.ci95 for each in summarise(sample).functions]
    covered = [interval.low <= truth <= interval.high for interval in intervals if interval is not None]
    assert len(covered) > FUNCS / 3
    # Half a percent of slack on either side is the simulation's own error.
    assert 0.925 <= np.mean(covered) <= 0.975


def test_intervals_around_exact_means_cover_93_to_97_percent_from_a_sample_of_the_views() -> None:
    covered = []
    for seed in range(4):
        ms = skewed_ms(np.random.default_rng(seed), (2_000, 500), sigma=1.0, zeros=0.4)
        sums = {func: int(us) for func, us in enumerate((ms * 1_000).sum(0))}
        sample = replace(sample_of_ms(ms[:400]), population=2_000)
        summary = summarise(sample, known=KnownSums(sums, whole_us=sum(sums.values())))
        intervals = [each.ms_per_view.ci95 for each in summary.functions]
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
            each.share.ci95.low <= truth <= each.share.ci95.high
            for each in summarise(sample).functions
            if each.share is not None and each.share.ci95 is not None
        ]
    assert 0.925 <= np.mean(covered) <= 0.975


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
    covered = [each.ci95.low <= truth <= each.ci95.high for each in answer.functions if each.ci95 is not None]
    assert len(covered) == FUNCS
    # Classes of seven views are on the safe side: too wide by a little, never too narrow.
    assert 0.925 <= np.mean(covered) <= 0.985


def test_percentile_bounds_hold_at_least_their_95_percent() -> None:
    rng = np.random.default_rng(9)
    functions = summarise(sample_of_ms(skewed_ms(rng, (100, FUNCS), zeros=0.3))).functions
    # The median of all is the (0.5 - 0.3) / 0.7 quantile of the views that ran it.
    drawn = np.sort(skewed_ms(rng, (1_000, 1_000), zeros=0.0).ravel())
    truth = drawn[int(drawn.size * 0.2 / 0.7)]
    bounds = [each.p50_ms.ci95 for each in functions]
    covered = [interval.low <= truth <= interval.high for interval in bounds if interval is not None]
    assert len(covered) == FUNCS
    assert 0.94 <= np.mean(covered) <= 0.985
