"""Days and traits as strata: when they divide the views, what stays together, and what that is good for."""

from collections.abc import Sequence

import numpy as np
import pytest

from profcore.stats.comparison import Comparison, compare
from profcore.stats.finer_strata import HOURS_OF_DAY, find_bounds, find_divider, number_groups
from profcore.stats.standardised import ClassSums
from profcore.stats.views import IntColumn, ViewColumns, sample_of_times
from profcore.trace.dimensions import VERSIONS

MS = 1_000
DAY = 20_000  # some day
Counts = Sequence[tuple[int, int, int]]  # a code, and how many views of base and head have it


def spread(counts: Counts) -> tuple[IntColumn, IntColumn]:
    base, head = (np.repeat([row[0] for row in counts], [row[side] for row in counts]) for side in (1, 2))
    return base, head


def columns_of(ms: Sequence[float], *, days: Sequence[int] | None = None, traits: Sequence[int] = ()) -> ViewColumns:
    """Returns views of a device class at noon of some days; without any, nothing is known of their time."""
    hours = [0] * len(ms) if days is None else [(DAY + day) * HOURS_OF_DAY + 12 for day in days]
    us = [round(MS * value) for value in ms]
    return ViewColumns.of(us, [0] * len(ms), [1] * len(ms), hour=hours, traits=traits or None)


def divide(counts: Counts, *, by: str) -> tuple[ViewColumns, ViewColumns]:
    base, head = (columns_of([10.0] * codes.size, **{by: codes.tolist()}) for codes in spread(counts))
    return base, head


@pytest.mark.parametrize(
    ("counts", "groups"),
    [
        ([(130, 9, 4), (131, 4, 9)], [0, 1]),
        ([(130, 9, 3), (131, 4, 9)], [0, 0]),
        ([(129, 2, 0), (130, 90, 10), (131, 10, 90), (132, 0, 5)], [0, 0, 1, 1]),
        # Nobody in the head has 131: it goes with the older version, and not with the one that took its place.
        ([(130, 65, 57), (131, 551, 0), (132, 53, 566)], [0, 0, 1]),
        ([(130, 500, 0), (131, 0, 500)], [0, 0]),
        ([(130, 3, 3)], [0]),
    ],
)
def test_neighbours_stay_together_until_both_sides_have_enough(counts: Counts, groups: list[int]) -> None:
    bounds = find_bounds(spread(counts))
    assert number_groups(np.array([row[0] for row in counts]), bounds).tolist() == groups


def test_groups_are_as_large_as_they_must_be() -> None:
    days = [(day, 10, 10) for day in range(20)]
    assert find_bounds(spread(days)).size == 19
    assert find_bounds(spread(days), least=60).size <= 6


@pytest.mark.parametrize(
    ("counts", "days"),
    [
        ([(day, 40, 40) for day in range(3)], {0: 0, 1: 1, 2: 2}),
        ([(day, 19, 40) for day in range(4)], {0: 0, 1: 0, 2: 1, 3: 1}),
        # A staged release: views of days before it are left out.
        ([(day, 60, 0) for day in range(7)] + [(7, 60, 60), (8, 60, 60)], {**dict.fromkeys(range(7), -1), 7: 0, 8: 1}),
        ([(day, 60, 0) for day in range(7)] + [(7, 20, 60), (8, 0, 60)], None),  # they only met
        ([(0, 400, 400)], None),
        ([(0, 10, 10), (1, 9, 9)], None),
        ([(0, 19, 19), (1, 0, 9)], None),
    ],
)
def test_days_divide_views_where_both_sides_have_enough_on_the_same(
    counts: Counts, days: dict[int, int] | None
) -> None:
    divider = find_divider(*divide(counts, by="days"))
    if days is None:
        assert divider is None
    else:
        assert divider is not None
        for codes, of_views in zip(divider, spread(counts), strict=True):
            assert codes.tolist() == [days[day] for day in of_views.tolist()]


@pytest.mark.parametrize(
    ("counts", "is_divided"),
    [
        ([(130, 90, 10), (131, 10, 90)], True),
        ([(130, 60, 51), (131, 40, 49)], False),  # shares that hardly differ
        ([(130, 990, 10), (131, 10, 990)], False),  # what is left would show next to nothing
        ([(130, 99, 1), (131, 1, 99)], False),
        ([(0, 60, 0), (130, 30, 10), (131, 10, 90)], False),  # one side hardly knows its versions
        ([(0, 30, 10), (130, 60, 10), (131, 10, 80)], True),
        ([(0, 70, 40), (VERSIONS, 30, 60)], True),  # long ticks, without versions
    ],
)
def test_traits_divide_views_where_their_shares_differ(counts: Counts, is_divided: bool) -> None:
    assert (find_divider(*divide(counts, by="traits")) is not None) is is_divided


def compare_update(rng: np.random.Generator, *, factor: float = 1.0, is_known: bool = True) -> Comparison:
    """Compares 200 views a side. The newer version takes half as much again, and goes from 10 to 90 % of them."""
    sides = []
    for share, slower in ((0.1, 1.0), (0.9, factor)):
        is_new = np.arange(200) < 200 * share
        ms = slower * np.where(is_new, 150.0, 100.0) * rng.uniform(0.9, 1.1, 200)
        traits = (130 + is_new).tolist() if is_known else ()
        sides.append(sample_of_times(columns_of(ms.tolist(), traits=traits)))
    return compare(sides[0], sides[1], measure="self")


def test_an_update_of_the_browser_is_no_change_and_a_change_behind_it_is_found() -> None:
    rng = np.random.default_rng(1)
    unknown, unchanged = compare_update(rng, is_known=False).overall, compare_update(rng).overall
    slower = compare_update(rng, factor=1.1).overall
    assert unknown is not None
    assert unknown.is_significant
    assert unchanged is not None
    assert not unchanged.is_significant
    assert unchanged.crude_delta_ms == pytest.approx(40, abs=3)
    assert unchanged.delta_ms == pytest.approx(0, abs=2)
    assert slower is not None
    assert slower.is_increase
    assert slower.relative == pytest.approx(0.1, abs=0.02)


def test_exact_sums_are_divided_as_the_sample_is_and_no_surer_than_it() -> None:
    """Of 2,000 views a side, 200 are read. The base is told to take 10 % more than they do."""
    sides = [
        sample_of_times(columns_of([100.0 + 50 * new for new in news], traits=[130 + new for new in news]))
        for news in ([0] * 180 + [1] * 20, [0] * 20 + [1] * 180)
    ]
    known = {(1, 0): ClassSums(2_000, 2_000 * 105 * 1_100)}, {(1, 0): ClassSums(2_000, 2_000 * 145 * MS)}
    overall = compare(sides[0], sides[1], measure="self", known=known).overall
    assert overall is not None
    assert overall.base_ms == pytest.approx(115.5)
    assert overall.head_ms == pytest.approx(145)
    # At the common mix of half and half: 125 ms, and a tenth more.
    assert overall.delta_ms == pytest.approx(-12.5, abs=0.01)
    rng = np.random.default_rng(2)
    noisy = [
        sample_of_times(columns_of((100 * rng.lognormal(0, 0.5, 200)).tolist(), traits=side.columns.traits.tolist()))
        for side in sides
    ]
    all_views = {(1, 0): ClassSums(200_000, 200_000 * 100 * MS)}
    widths = []
    for sums in (None, (all_views, all_views)):
        overall = compare(noisy[0], noisy[1], measure="self", known=sums).overall
        assert overall is not None
        assert overall.ci95 is not None
        widths.append(overall.ci95.high - overall.ci95.low)
    assert widths[1] == pytest.approx(widths[0], rel=0.2)


def test_a_slow_day_is_no_slower_release_where_both_run() -> None:
    """Days differ by much: on the two of the newer release everything takes twice as long."""
    rng = np.random.default_rng(3)
    days = [np.repeat(np.arange(14), 40), np.repeat([12, 13], 60)]
    for factor, is_slower in ((1.0, False), (1.3, True)):
        times = [
            np.where(column >= 12, 200.0, 100.0) * rng.lognormal(0, 0.3, column.size) * more
            for column, more in zip(days, (1.0, factor), strict=True)
        ]
        base, head = (
            sample_of_times(columns_of(ms.tolist(), days=column.tolist()))
            for ms, column in zip(times, days, strict=True)
        )
        comparison = compare(base, head, measure="self")
        assert comparison.overall is not None
        assert comparison.overall.is_increase is is_slower
        assert comparison.left_out_views == 12 * 40


def test_longer_ticks_do_not_make_a_short_function_look_seldom() -> None:
    """A function of 3 ms is in a tick of 10 ms in 3 views of 10, in one of 16 ms in 2; it takes the same on average."""
    rng = np.random.default_rng(4)
    wrong = {True: 0, False: 0}
    for _ in range(40):
        ticks = [np.where(rng.random(1_000) < share, 16.0, 10.0) for share in (0.1, 0.9)]
        times = [np.where(rng.random(1_000) < 3 / tick, tick, 0.0) for tick in ticks]
        for is_known in wrong:
            traits = [(VERSIONS * (tick > 10)).astype(np.int64).tolist() if is_known else () for tick in ticks]
            base, head = (
                sample_of_times(columns_of(ms.tolist(), traits=codes)) for ms, codes in zip(times, traits, strict=True)
            )
            overall = compare(base, head, measure="self").overall
            wrong[is_known] += overall is not None and overall.p < 0.05
    assert wrong[False] > 20
    assert wrong[True] < 7


@pytest.mark.slow(3)
def test_dividing_by_what_does_not_matter_keeps_level_and_most_power() -> None:
    rng = np.random.default_rng(5)
    found = {"level": 0, "divided": 0, "whole": 0}
    covered = []
    for _ in range(300):
        traits = [rng.choice([129, 130, 131], 100, p=shares).tolist() for shares in ([0.2, 0.5, 0.3], [0.1, 0.3, 0.6])]
        times = [100 * rng.lognormal(0, 0.5, 100) for _ in traits]
        for name, factor, is_known in (("level", 1.0, True), ("divided", 1.3, True), ("whole", 1.3, False)):
            base, head = (
                sample_of_times(columns_of((ms * more).tolist(), traits=codes if is_known else ()))
                for ms, more, codes in zip(times, (1.0, factor), traits, strict=True)
            )
            overall = compare(base, head, measure="self").overall
            assert overall is not None
            found[name] += overall.p < 0.05
            if name == "level" and overall.ci95:
                covered.append(overall.ci95.low <= 0 <= overall.ci95.high)
    assert found["level"] <= 24  # 15 are expected
    assert np.mean(covered) >= 0.93
    assert found["divided"] >= 0.8 * found["whole"] > 200
