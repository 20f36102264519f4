"""Series: whatever the step, the points of all steps add up to the buckets."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from profcore.formats.pyroscope.points import Bucket, Grid, spread

HOUR = 3_600_000
DAY = 24 * HOUR
START = 1_794_819_600_000  # a whole hour


def hours(*us: int, first: int = 0) -> list[Bucket]:
    return [Bucket(START + (first + n) * HOUR, START + (first + n + 1) * HOUR, one) for n, one in enumerate(us)]


def test_steps_of_whole_buckets_have_their_exact_sums() -> None:
    points = spread(hours(100, 50, 7), Grid(START, START + 3 * HOUR, HOUR))
    assert points == [(START + HOUR, 100.0), (START + 2 * HOUR, 50.0), (START + 3 * HOUR, 7.0)]
    base = START // (2 * HOUR) * 2 * HOUR
    both = dict(spread(hours(100, 50, 7), Grid(START, START + 3 * HOUR, 2 * HOUR)))
    assert sum(both.values()) == 157
    assert set(both) <= {base + 2 * HOUR, base + 4 * HOUR, base + 6 * HOUR}


def test_shorter_steps_have_their_share_and_the_same_rate() -> None:
    points = spread(hours(100), Grid(START, START + HOUR, HOUR // 4))
    assert points == [(START + n * HOUR // 4, 25.0) for n in (1, 2, 3, 4)]


def test_steps_without_a_bucket_have_no_point_and_those_without_time_have_one() -> None:
    points = spread([*hours(5), *hours(0, first=3)], Grid(START, START + 5 * HOUR, HOUR))
    assert points == [(START + HOUR, 5.0), (START + 4 * HOUR, 0.0)]
    assert spread([], Grid(START, START + HOUR, HOUR)) == []


def test_an_hour_of_a_merged_day_is_added_to_it() -> None:
    midnight = START // DAY * DAY
    points = dict(spread([Bucket(midnight, midnight + DAY, 2_400), *hours(50)], Grid(midnight, midnight + DAY, HOUR)))
    assert (points[START + HOUR], points[START], len(points)) == (150.0, 100.0, 24)


def test_points_are_multiples_of_the_step_and_the_last_one_ends_behind_the_time() -> None:
    grid = Grid(START + 1, START + HOUR + 1, 7_000)
    assert grid.base_ms <= START + 1 < grid.base_ms + 7_000
    assert grid.base_ms % 7_000 == 0
    assert grid.base_ms + grid.count * 7_000 >= START + HOUR + 1 > grid.base_ms + (grid.count - 1) * 7_000


@pytest.mark.parametrize("step_ms", [HOUR, 2 * HOUR, 24 * HOUR])
def test_large_sums_stay_exact(step_ms: int) -> None:
    us = 2**49 + 1  # 17 years
    assert sum(value for _, value in spread(hours(us, 3, us), Grid(START, START + 3 * HOUR, step_ms))) == 2 * us + 3


@given(
    st.lists(st.integers(0, 10**12), min_size=1, max_size=48),
    st.integers(1, 200 * HOUR).filter(lambda step: step > HOUR // 100),
)
def test_the_points_add_up(us: list[int], step_ms: int) -> None:
    points = spread(hours(*us), Grid(START, START + len(us) * HOUR, step_ms))
    assert sum(value for _, value in points) == pytest.approx(sum(us), rel=1e-9, abs=1e-6)
