"""Means by bucket: exact if possible, weighted if necessary, with intervals that hold."""

import numpy as np
import pytest

from profcore.stats.comparison import compare
from profcore.stats.standardised import ClassSums
from profcore.stats.summaries import MIN_VIEWS
from profcore.stats.trends import BucketMean, BucketSums, estimate_buckets
from profcore.stats.views import ViewColumns, sample_of_times
from tests.profcore.stats.field import skewed_ms


def estimate(
    *buckets: list[int], rates: list[list[float]] | None = None, sums: list[BucketSums] | None = None
) -> list[BucketMean]:
    """Returns estimates of buckets from each view's µs; the views are all there are, unless `sums` count more."""
    given = rates or [[1.0] * len(times) for times in buckets]
    known = sums or [BucketSums(len(times), sum(times)) for times in buckets]
    return estimate_buckets(
        known,
        bucket=np.array([at for at, times in enumerate(buckets) for _ in times], dtype=np.int64),
        us=np.array([us for times in buckets for us in times], dtype=np.int64),
        weight=1.0 / np.array([rate for rates in given for rate in rates], dtype=np.float64),
        wanted=[max(len(times), 1) for times in buckets],
    )


def test_a_bucket_has_the_mean_of_its_views_and_an_interval_around_it() -> None:
    first, second = estimate([10_000, 20_000] * 20, [0, 50_000] * 15)
    assert (first.ms_per_view.value, second.ms_per_view.value) == (15.0, 25.0)
    assert first.ms_per_view.ci95 is not None
    assert 13.0 < first.ms_per_view.ci95.low < 15.0 < first.ms_per_view.ci95.high < 17.0
    assert (first.views, first.sampled_views, first.effective_views, first.is_too_few) == (40, 40, 40.0, False)


def test_too_few_views_have_a_mean_and_no_interval() -> None:
    few, enough = estimate([10_000, 20_000] * 12, [10_000, 20_000] * 13)
    assert few.views < MIN_VIEWS <= enough.views
    assert (few.ms_per_view.value, few.ms_per_view.ci95, few.is_too_few) == (15.0, None, True)
    assert enough.ms_per_view.ci95 is not None


def test_the_mean_is_that_of_all_views_and_the_interval_as_narrow_as_they_make_it() -> None:
    times = [10_000, 20_000] * 50
    whole, part = estimate(
        times * 16, times, sums=[BucketSums(1_600, 1_600 * 15_000), BucketSums(1_600, 1_600 * 15_100)]
    )
    assert (whole.ms_per_view.value, part.ms_per_view.value) == (15.0, 15.1)
    widths = [
        point.ms_per_view.ci95.high - point.ms_per_view.ci95.low for point in (whole, part) if point.ms_per_view.ci95
    ]
    assert widths[1] == pytest.approx(widths[0], rel=0.1)


def test_views_of_differing_rates_count_for_what_they_stand_for() -> None:
    (mixed,) = estimate([10_000] * 30 + [40_000] * 30, rates=[[1.0] * 30 + [0.1] * 30])
    assert mixed.is_weighted
    assert mixed.ms_per_view.value == pytest.approx((30 * 10 + 300 * 40) / 330)
    assert mixed.effective_views < 60
    # One rate in all of a bucket is no weight.
    assert not estimate([10_000] * 30, rates=[[0.1] * 30])[0].is_weighted


def test_what_has_expired_leaves_the_mean_and_takes_the_interval() -> None:
    sums = [BucketSums(100, 100 * 15_000)]
    for left in ([], [10_000] * 30):
        (point,) = estimate_buckets(
            sums,
            bucket=np.zeros(len(left), dtype=np.int64),
            us=np.array(left, dtype=np.int64),
            weight=np.ones(len(left)),
            wanted=[100],
        )
        assert (point.ms_per_view.value, point.ms_per_view.ci95) == (15.0, None)
        assert (point.is_complete, point.is_too_few, point.sampled_views) == (False, False, len(left))


@pytest.mark.slow(3)
@pytest.mark.parametrize(("most", "least_cover"), [(400, 0.925), (200, 0.91)])
def test_intervals_of_points_cover_what_they_promise(most: int, least_cover: float) -> None:
    ms = skewed_ms(np.random.default_rng(most), (1_000, 1_600), sigma=1.0, zeros=0.2)
    sums = [BucketSums(1_600, round(float(row.sum() * 1_000))) for row in ms]
    points = estimate_buckets(
        sums,
        bucket=np.repeat(np.arange(1_000), most),
        us=np.rint(ms[:, :most] * 1_000).astype(np.int64).ravel(),
        weight=np.ones(1_000 * most),
        wanted=[most] * 1_000,
    )
    covered = [
        point.ms_per_view.ci95.low <= 8.0 <= point.ms_per_view.ci95.high for point in points if point.ms_per_view.ci95
    ]
    assert len(covered) == 1_000
    assert least_cover <= np.mean(covered) <= 0.975


@pytest.mark.slow(3)
def test_differences_around_exact_means_cover_what_they_promise() -> None:
    rng = np.random.default_rng(4)
    speed = np.array([1.0, 3.0])
    covered, widths = [], []
    for _ in range(400):
        sides, known = [], []
        for mean in (10.0, 12.0):
            classes = rng.integers(0, 2, 3_000)
            us = np.rint(skewed_ms(rng, (1, 3_000), zeros=0.2, mean_ms=mean)[0] * speed[classes] * 1_000).astype(
                np.int64
            )
            known.append({(n, 0): ClassSums(int((classes == n).sum()), int(us[classes == n].sum())) for n in (0, 1)})
            sides.append(ViewColumns.of(us[:600].tolist(), [0] * 600, classes[:600].tolist()))
        base, head = (sample_of_times(side, population=3_000) for side in sides)
        differences = [
            compare(base, head, measure="self", known=known_sums).overall for known_sums in ((known[0], known[1]), None)
        ]
        exact, sampled = (difference.ci95 for difference in differences if difference and difference.ci95)
        covered.append(exact.low <= 2.0 * 0.8 * 2.0 <= exact.high)
        widths.append((exact.high - exact.low) / (sampled.high - sampled.low))
    assert 0.925 <= np.mean(covered) <= 0.985
    assert np.mean(widths) == pytest.approx(5**-0.5, rel=0.1)
