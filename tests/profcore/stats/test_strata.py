"""The strata of a comparison: by device class and navigation, and what becomes of views without a match."""

from collections.abc import Sequence

import numpy as np
import pytest
from scipy import stats

from profcore.stats.comparison import Comparison, compare
from profcore.stats.standardised import ClassSums
from profcore.stats.strata import device_code, find_strata, start_code
from profcore.stats.views import ViewSample, sample_of_times
from profcore.trace.dimensions import CACHES, DEVICE_CLASSES, NAVIGATIONS, SDKS
from tests.profcore.stats.field import Matrix, sample_of_ms, skewed_ms

UNKNOWN, LOAD, RELOAD, BACK, ROUTE = range(5)
assert NAVIGATIONS[LOAD] == "load"
assert NAVIGATIONS[ROUTE] == "route"
LOAD_MS, ROUTE_MS = 100.0, 10.0


def make_sides(seed: int = 3) -> tuple[tuple[Matrix, list[int]], tuple[Matrix, list[int]]]:
    """Returns times and device classes of two sides of three classes; every fifth func costs more in the head."""
    rng = np.random.default_rng(seed)
    base, head = skewed_ms(rng, (90, 40), zeros=0.2), skewed_ms(rng, (70, 40), zeros=0.2)
    head[:, ::5] *= 3
    return (base, (np.arange(90) % 3).tolist()), (head, (np.arange(70) % 3).tolist())


def compare_all(navigation: int, **how: bool) -> Comparison:
    return compare(
        *(
            sample_of_ms(ms, device_class=classes, navigation=[navigation] * len(classes))
            for ms, classes in make_sides()
        ),
        **how,  # type: ignore[arg-type]  # the two switches
    )


@pytest.mark.parametrize("navigation", [LOAD, ROUTE])
def test_one_navigation_alone_gives_the_answer_of_none(navigation: int) -> None:
    unknown, known = compare_all(UNKNOWN), compare_all(navigation)
    assert sum(function.is_significant for function in unknown.functions) >= 5
    assert known.functions == unknown.functions
    assert (known.overall, known.device_mix, known.left_out_views) == (unknown.overall, unknown.device_mix, 0)
    assert (known.base_effective, known.head_effective) == (unknown.base_effective, unknown.head_effective)
    assert [comparison.navigation_mix[0][0] for comparison in (unknown, known)] == [UNKNOWN, navigation]


def test_unknown_navigations_give_the_answer_of_device_classes_alone() -> None:
    without, by_both = compare_all(UNKNOWN, by_navigation=False), compare_all(UNKNOWN)
    assert (by_both.functions, by_both.overall, by_both.device_mix) == (
        without.functions,
        without.overall,
        without.device_mix,
    )


def test_a_side_of_unknown_navigations_is_compared_with_all_of_the_other() -> None:
    (base_ms, base_classes), (head_ms, head_classes) = make_sides()
    base = sample_of_ms(base_ms, device_class=base_classes)
    named = sample_of_ms(head_ms, device_class=head_classes, navigation=[LOAD] * 40 + [UNKNOWN] * 3 + [ROUTE] * 27)
    comparison, usual = compare(base, named), compare_all(UNKNOWN)
    assert (comparison.left_out_views, comparison.functions, comparison.overall) == (0, usual.functions, usual.overall)
    assert comparison.navigation_mix == ((UNKNOWN, 1.0),)


def sample_of_ways(loads: int, routes: int, *, reloads: int = 0, factor: float = 1.0) -> ViewSample:
    """Returns views whose loads take ten times as long as their routes."""
    rng = np.random.default_rng([loads, routes])
    ways = [LOAD] * loads + [ROUTE] * routes + [RELOAD] * reloads
    means = np.array([{ROUTE: ROUTE_MS}.get(way, LOAD_MS) for way in ways])[:, None]
    return sample_of_ms(factor * means * rng.uniform(0.9, 1.1, (len(ways), 1)), navigation=ways)


def test_small_navigations_are_put_together_and_large_ones_are_not() -> None:
    base, head = sample_of_ways(40, 3, reloads=2), sample_of_ways(40, 2, reloads=3)
    comparison = compare(base, head)
    assert comparison.left_out_views == 0
    assert dict(comparison.navigation_mix) == pytest.approx({LOAD: 40 / 45, UNKNOWN: 5 / 45})
    many = [number % 7 for number in range(28)]
    sides = [sample_of_ms(np.ones((28, 1)), navigation=ways) for ways in (many, many[::-1])]
    assert not compare(sides[0], sides[1]).is_too_few


def test_a_shift_of_navigations_alone_is_no_change() -> None:
    base, head = sample_of_ways(80, 20), sample_of_ways(20, 80)
    (mixed,) = compare(base, head, by_navigation=False).functions
    (function,) = compare(base, head).functions
    assert mixed.is_significant
    assert mixed.delta_ms == pytest.approx(-54, abs=2)
    assert not function.is_significant
    assert function.delta_ms == pytest.approx(0, abs=2)
    assert function.crude_delta_ms == pytest.approx(-54, abs=2)


def test_a_change_behind_a_shift_of_navigations_is_found() -> None:
    (function,) = compare(sample_of_ways(80, 20), sample_of_ways(20, 80, factor=1.3)).functions
    assert function.is_increase
    assert function.delta_ms == pytest.approx(0.3 * (LOAD_MS + ROUTE_MS) / 2, abs=3)


def test_navigations_that_one_side_lacks_are_left_out_and_counted() -> None:
    comparison = compare(sample_of_ways(60, 0, reloads=1), sample_of_ways(60, 90, reloads=30))
    assert comparison.left_out_views == 1 + 90 + 30
    assert comparison.navigation_mix == ((LOAD, 1.0),)


def test_navigations_that_are_the_question_are_no_strata() -> None:
    loads, routes = sample_of_ways(40, 0), sample_of_ways(0, 40)
    assert compare(loads, routes).is_too_few
    comparison = compare(loads, routes, by_navigation=False)
    assert (comparison.is_too_few, comparison.left_out_views, comparison.navigation_mix) == (False, 0, ())
    assert comparison.functions[0].delta_ms == pytest.approx(ROUTE_MS - LOAD_MS, abs=3)


def test_known_sums_are_those_of_the_strata() -> None:
    base, head = sample_of_ways(40, 40), sample_of_ways(40, 40)
    times = [sample_of_times(sample.columns) for sample in (base, head)]
    known = (
        {(0, LOAD): ClassSums(400, 40_000_000), (0, ROUTE): ClassSums(100, 1_000_000)},
        {(0, LOAD): ClassSums(100, 11_000_000), (0, ROUTE): ClassSums(400, 4_000_000), (0, BACK): ClassSums(9, 9_000)},
    )
    comparison = compare(*times, measure="self", known=known)
    assert comparison.overall is not None
    assert comparison.overall.delta_ms == pytest.approx(0.5 * (110 - 100))
    pooled = compare(*times, measure="self", known=known, by_navigation=False)
    assert pooled.overall is not None
    assert pooled.overall.delta_ms == pytest.approx(15_009 / 509 - 41_000 / 500)


@pytest.mark.slow(4)
def test_thin_navigations_keep_level_coverage_and_most_power() -> None:
    covered: list[bool] = []
    p_values: list[float] = []
    counts = {True: 0, False: 0}
    speed = np.array([1.0, 2.0, 4.0])
    for seed in range(12):
        rng = np.random.default_rng(seed)
        sides = []
        for mean in (np.full(120, 10.0), np.where(np.arange(120) % 4 == 0, 20.0, 10.0)):
            classes = rng.choice(3, size=60, p=[0.4, 0.3, 0.3])
            ways = rng.choice([LOAD, ROUTE, RELOAD, BACK], size=60, p=[0.6, 0.25, 0.1, 0.05])
            ms = skewed_ms(rng, (60, 120), sigma=0.8) * (mean / 10.0) * speed[classes][:, None]
            sides.append(sample_of_ms(ms, device_class=classes.tolist(), navigation=ways.tolist()))
        for by_navigation in (True, False):
            answer = compare(sides[0], sides[1], by_navigation=by_navigation)
            changed = [function for function in answer.functions if function.func_id % 4 == 0]
            counts[by_navigation] += sum(function.p < 0.05 for function in changed)
            if by_navigation:
                same = [function for function in answer.functions if function.func_id % 4]
                p_values += [function.p for function in same]
                covered += [function.ci95.low <= 0 <= function.ci95.high for function in same if function.ci95]
    assert 0.035 <= np.mean(np.array(p_values) < 0.05) <= 0.065
    assert stats.kstest(p_values, "uniform").statistic < 0.04
    # Strata of two or three views make intervals wider, never too narrow.
    assert np.mean(covered) >= 0.925
    # Here navigations differ in nothing, so dividing by them only costs.
    assert counts[True] >= 0.8 * counts[False], counts


COLD, WARM = CACHES.index("cold"), CACHES.index("warm")


def loads(
    caches: Sequence[int], factor: float, rng: np.random.Generator, ways: Sequence[int] | None = None
) -> ViewSample:
    """Returns views of one function: 30 ms with a warm cache, and half as much again with any other."""
    ms = np.array([[factor * (30.0 if cache == WARM else 45.0)] for cache in caches])
    starts = [start_code(way, cache) for way, cache in zip(ways or [LOAD] * len(caches), caches, strict=True)]
    return sample_of_ms(ms * rng.uniform(0.9, 1.1, ms.shape), navigation=starts)


def test_a_shift_of_caches_alone_is_no_change() -> None:
    """The day of a release: most caches are cold, and most were warm before."""
    rng = np.random.default_rng(3)
    base, head = loads([COLD] * 30 + [WARM] * 70, 1, rng), loads([COLD] * 90 + [WARM] * 10, 1, rng)
    (mixed,) = compare(base, head, by_navigation=False).functions
    assert mixed.is_significant
    comparison = compare(base, head)
    assert not comparison.functions[0].is_significant
    assert (comparison.left_out_views, comparison.navigation_mix) == (0, ((LOAD, 1.0),))


def test_a_change_behind_a_shift_of_caches_is_found() -> None:
    rng = np.random.default_rng(4)
    base, head = loads([COLD] * 30 + [WARM] * 70, 1, rng), loads([COLD] * 90 + [WARM] * 10, 1.3, rng)
    (change,) = compare(base, head).functions
    assert change.is_significant


@pytest.mark.parametrize("told", [0, 10])
def test_a_side_of_unknown_caches_is_compared_with_all_of_the_other(told: int) -> None:
    """A release whose snippet does not name the cache yet, or hardly."""
    rng = np.random.default_rng(5)
    base, head = loads([WARM] * told + [0] * (60 - told), 1, rng), loads([COLD] * 30 + [WARM] * 30, 1, rng)
    strata = find_strata(base.columns, head.columns, by_device=True, by_navigation=True)
    assert [stratum.starts for stratum in strata.shared] == [frozenset(start_code(LOAD, cache) for cache in range(3))]
    assert min(column.min() for column in strata.codes) == 0
    known = {(0, start_code(LOAD, cache)): ClassSums(10, 500) for cache in range(3)}
    device = strata.shared[0].device
    sums = {(device, start): class_sums for (_, start), class_sums in known.items()}
    assert strata.known(sums) == [ClassSums(30, 1_500)]


def test_navigations_without_a_cache_do_not_hide_that_of_loads() -> None:
    rng = np.random.default_rng(6)
    ways, caches = [ROUTE] * 60 + [LOAD] * 40, [0] * 60 + [COLD] * 20 + [WARM] * 20
    samples = [loads(caches, 1, rng, ways) for _ in range(2)]
    strata = find_strata(samples[0].columns, samples[1].columns, by_device=True, by_navigation=True)
    assert len(strata.shared) == 3


DESKTOP, SENTRY = DEVICE_CLASSES.index("desktop"), SDKS.index("sentry")


def recorded(ours: int, sentrys: int, rng: np.random.Generator) -> ViewSample:
    """Returns views of one function and device class, of which Sentry's SDK sees a third."""
    ms = np.array([[30.0]] * ours + [[10.0]] * sentrys)
    devices = [device_code(DESKTOP, 0)] * ours + [device_code(DESKTOP, SENTRY)] * sentrys
    return sample_of_ms(ms * rng.uniform(0.9, 1.1, ms.shape), device_class=devices)


def test_a_shift_of_sdks_alone_is_no_change() -> None:
    rng = np.random.default_rng(7)
    base, head = recorded(60, 20, rng), recorded(20, 60, rng)
    (mixed,) = compare(base, head, by_device=False).functions
    assert mixed.is_significant
    comparison = compare(base, head)
    assert not comparison.functions[0].is_significant
    assert (comparison.left_out_views, comparison.device_mix) == (0, ((DESKTOP, 1.0),))


def test_what_two_sdks_recorded_is_never_compared() -> None:
    rng = np.random.default_rng(8)
    assert compare(recorded(60, 0, rng), recorded(0, 60, rng)).is_too_few
    assert compare(recorded(60, 0, rng), recorded(60, 60, rng)).left_out_views == 60
