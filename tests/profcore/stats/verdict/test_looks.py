"""Alpha spending: published boundaries, sound numbers for odd looks, and few false alarms over many looks."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from scipy import stats

from profcore.stats.verdict.looks import LEAST_INCREMENT, Score, bound_of_look, find_bounds, spend

EQUAL = [1.0, 2.0, 3.0, 4.0, 5.0]


def spend_by(function: Callable[[float], float], looks: int) -> list[tuple[float, float]]:
    """Returns equally spaced looks that spend by a function of the fraction."""
    return [(float(look), function(look / looks) - function((look - 1) / looks)) for look in range(1, looks + 1)]


def obrien_fleming(fraction: float) -> float:
    """Lan and DeMets' spending function of O'Brien and Fleming's kind, two-sided 5 %."""
    return float(4 * stats.norm.sf(stats.norm.isf(0.05 / 4) / np.sqrt(fraction))) if fraction else 0.0


def chance_of_any(bounds: Sequence[float], information: Sequence[float]) -> float:
    score, chance = Score(), 0.0
    for at, (bound, known) in enumerate(zip(bounds, information, strict=True)):
        chance += score.chance_beyond(known, bound)
        score = score.after(known, bound, information[at + 1] if at + 1 < len(information) else np.inf)
    return chance


@pytest.mark.parametrize(("looks", "constant"), [(2, 2.178), (3, 2.289), (5, 2.413), (10, 2.555)])
def test_pococks_constants_spend_five_percent(looks: int, constant: float) -> None:
    # Jennison and Turnbull, Group Sequential Methods, 2000, table 2.1.
    assert chance_of_any([constant] * looks, range(1, looks + 1)) == pytest.approx(0.05, abs=1e-4)


@pytest.mark.parametrize(("looks", "constant"), [(2, 1.977), (3, 2.004), (5, 2.040), (10, 2.087)])
def test_obrien_and_flemings_constants_spend_five_percent(looks: int, constant: float) -> None:
    # The same, table 2.3.
    bounds = [constant * np.sqrt(looks / look) for look in range(1, looks + 1)]
    assert chance_of_any(bounds, range(1, looks + 1)) == pytest.approx(0.05, abs=1e-4)


def test_lan_and_demets_boundaries_of_obrien_and_flemings_kind_are_the_published_ones() -> None:
    # Five equal looks, two-sided 5 %: as in ldbounds and gsDesign.
    bounds = list(find_bounds(spend_by(obrien_fleming, 5)))
    assert bounds == pytest.approx([4.8769, 3.3569, 2.6803, 2.2898, 2.0310], abs=2e-3)


def test_the_power_family_begins_as_the_normal_curve_says_and_ends_near_five_percent() -> None:
    bounds = [bound_of_look([look / 5 for look in EQUAL[:at]], EQUAL[:at]) for at in range(1, 6)]
    assert bounds[0] == pytest.approx(0.05 / 125)
    assert bounds == sorted(bounds)
    assert 0.035 < bounds[-1] < 0.05
    assert chance_of_any(stats.norm.isf(np.array(bounds) / 2).tolist(), EQUAL) == pytest.approx(0.05, abs=1e-8)


def test_a_single_look_at_the_end_has_the_whole_error() -> None:
    assert bound_of_look([1.0], [40.0]) == pytest.approx(0.05, abs=1e-10)
    assert bound_of_look([1.0], [40.0], alpha=0.01) == pytest.approx(0.01, abs=1e-10)


@pytest.mark.parametrize("looks", [60, 336])
def test_many_looks_spend_exactly_what_they_may(looks: int) -> None:
    information = [3.0 * look for look in range(1, looks + 1)]
    bounds = list(find_bounds(spend_by(spend, looks)))
    assert chance_of_any(bounds, information) == pytest.approx(0.05, abs=1e-6)
    last = bound_of_look([look / looks for look in range(1, looks + 1)], information)
    assert stats.norm.isf(last / 2) == pytest.approx(bounds[-1], abs=1e-6)


@pytest.mark.parametrize("step", [2 * LEAST_INCREMENT, 1e-2, 0.3])
def test_tiny_increments_spend_exactly_what_they_may(step: float) -> None:
    information = [100 * (1 + step) ** look for look in range(20)]
    fractions = [0.5 + look / 38 for look in range(20)]
    errors = np.diff([0.0, *(spend(fraction) for fraction in fractions)])
    bounds = list(find_bounds(list(zip(information, errors, strict=True))))
    rng = np.random.default_rng(1)
    steps = rng.normal(size=(200_000, 20)) * np.sqrt(np.diff([0.0, *information]))
    z = np.abs(steps.cumsum(1) / np.sqrt(information))
    assert np.mean((z >= bounds).any(1)) == pytest.approx(0.05, abs=0.002)
    assert np.mean((z >= bounds)[:, :10].any(1)) == pytest.approx(spend(fractions[9]), abs=0.0012)


def test_a_look_at_the_same_data_may_spend_what_both_may() -> None:
    again = bound_of_look([0.5, 1.0], [80.0, 80.0])
    assert again == pytest.approx(bound_of_look([1.0], [80.0]), abs=1e-10)
    almost = bound_of_look([0.5, 0.7, 1.0], [80.0, 80.01, 80.02])
    assert almost == pytest.approx(0.05, abs=1e-10)
    assert bound_of_look([0.3, 1.0, 1.0], [10.0, 80.0, 80.0]) == bound_of_look([0.3, 1.0], [10.0, 80.0])


def test_new_data_without_a_new_fraction_have_nothing_to_spend() -> None:
    assert bound_of_look([0.5, 0.5], [80.0, 90.0]) == 0.0
    assert bound_of_look([1e-6], [80.0]) == 0.0  # 5e-20


def test_the_error_does_not_depend_on_the_scale_of_information() -> None:
    small, large = (bound_of_look([0.2, 0.6, 1.0], [scale * step for step in (1, 3, 9)]) for scale in (0.5, 5e6))
    assert small == pytest.approx(large, rel=1e-9)


@pytest.mark.parametrize(
    ("spent", "information", "alpha"),
    [
        ([], [], 0.05),
        ([0.5], [1.0, 2.0], 0.05),
        ([0.5, 0.4], [1.0, 2.0], 0.05),
        ([0.5, 0.6], [2.0, 1.0], 0.05),
        ([0.0], [1.0], 0.05),
        ([1.1], [1.0], 0.05),
        ([0.5], [0.0], 0.05),
        ([0.5], [np.inf], 0.05),
        ([0.5], [1.0], 0.0),
        ([np.nan], [1.0], 0.05),
    ],
)
def test_impossible_looks_are_refused(spent: list[float], information: list[float], alpha: float) -> None:
    with pytest.raises(ValueError, match=r"look|alpha|fraction|never"):
        bound_of_look(spent, information, alpha)


@pytest.mark.slow(5)
def test_daily_looks_at_skewed_times_alarm_seldom_and_lose_little_power() -> None:
    days, a_day, rounds = 14, 20, 3_000
    rng = np.random.default_rng(5)
    fractions = [day / days for day in range(1, days + 1)]
    information = [a_day * day / 2 for day in range(1, days + 1)]
    bounds = [bound_of_look(fractions[:day], information[:day]) for day in range(1, days + 1)]
    rates = {}
    for shift in (0.0, 0.168):  # the second is found by one look at the end in 80 %
        sides = [rng.lognormal(mean, 1.0, (rounds, days * a_day)) for mean in (0.0, shift * np.sqrt(2))]
        p = np.stack(
            [
                stats.mannwhitneyu(
                    sides[0][:, : day * a_day],
                    sides[1][:, : day * a_day],
                    axis=1,
                    method="asymptotic",
                    use_continuity=False,
                ).pvalue
                for day in range(1, days + 1)
            ]
        )
        rates[shift] = [np.mean(p[-1] < 0.05), np.mean((p < 0.05).any(0)), np.mean((bounds > p.T).any(1))]
    fixed, naive, spending = rates[0.0]
    assert naive > 0.15  # what looking every day does without this
    assert spending <= 0.06, rates
    assert fixed <= 0.06
    assert rates[0.168][2] >= 0.9 * rates[0.168][0], rates
