"""What the header costs: the interval covers the truth, and a lower share is proposed only where it helps."""

from collections import Counter

import numpy as np
import pytest

from profcore.stats.header_cost import MIN_LOADS, VitalCost, compare_loads
from profcore.vitals.page_loads import BUCKETS, bucket_of, middle_ms


def draw(rng: np.random.Generator, loads: int, later: float = 0.0) -> Counter[int]:
    """Returns the buckets of some loads, half of which take 1 s or less, and all so much longer."""
    return Counter(map(bucket_of, (1_000 * (1 + later) * rng.lognormal(0, 0.7, loads)).tolist()))


def compare(seed: int, loads: tuple[int, int], later: float) -> VitalCost:
    rng = np.random.default_rng([seed, *loads])
    return compare_loads("lcp", draw(rng, loads[0], later), draw(rng, loads[1]))


def test_a_time_is_in_its_bucket() -> None:
    for ms in (1.0, 1.5, 10, 99, 1_234.5, 59_999):
        assert middle_ms(bucket_of(ms)) == pytest.approx(ms, rel=0.026)
    assert (bucket_of(0), bucket_of(0.99), bucket_of(1e300)) == (0, 0, BUCKETS - 1)


@pytest.mark.parametrize("later", [0.0, 0.08])
def test_the_interval_covers_the_truth_as_often_as_it_says(later: float) -> None:
    covered = 0
    for seed in range(300):
        found = compare(seed, (400, 1_200), later).later
        assert found is not None
        assert found.ci95 is not None
        covered += found.ci95.low <= later <= found.ci95.high
    assert 0.92 <= covered / 300 <= 0.98


def test_equal_sides_cost_nothing_and_ask_for_nothing() -> None:
    cost = compare(1, (5_000, 45_000), 0.0)
    assert not cost.is_costly
    assert cost.proposed_share is None
    assert cost.share == pytest.approx(0.1)


def test_where_visitors_together_lose_little_the_share_may_stay() -> None:
    cost = compare(2, (5_000, 95_000), 0.1)
    assert cost.is_costly
    assert cost.proposed_share is None  # 5 % of the pages, 10 % later: 0.5 %


@pytest.mark.parametrize(("later", "proposed"), [(0.1, (0.09, 0.1)), (0.3, (0.03, 0.04))])
def test_a_lower_share_is_proposed_in_one_digit(later: float, proposed: tuple[float, float]) -> None:
    cost = compare(3, (50_000, 50_000), later)
    assert cost.proposed_share == pytest.approx(proposed[0]) or cost.proposed_share == pytest.approx(proposed[1])


def test_too_few_loads_have_no_difference() -> None:
    assert compare(4, (MIN_LOADS - 1, 10_000), 0.5).later is None
    assert compare_loads("lcp", {}, {}).p75_ms == (0.0, 0.0)
    assert compare_loads("lcp", {}, {}).share == 0.0


def test_loads_that_all_take_equally_long_are_flat() -> None:
    cost = compare_loads("ttfb", {50: 200}, {50: 300})
    assert cost.later is not None
    assert cost.later.value == 0
    assert not cost.is_known
