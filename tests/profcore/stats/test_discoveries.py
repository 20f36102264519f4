"""Simulations: few changes are found if nothing changed; real changes are found."""

import numpy as np
import pytest
from scipy import stats

from profcore.stats.comparison import Comparison, compare
from tests.profcore.stats.field import Matrix, sample_of_ms, skewed_ms

pytestmark = pytest.mark.slow(6)

SPEED = np.array([1.0, 2.0, 6.0])


def draw(rng: np.random.Generator, views: int, funcs: int, mix: list[float]) -> tuple[Matrix, list[int]]:
    """Returns random views of three device classes; classes differ in speed, funcs in how often they run."""
    classes = rng.choice(3, size=views, p=mix)
    zeros = np.linspace(0.0, 0.9, funcs)
    drawn = skewed_ms(rng, (views, funcs), zeros=0.0)
    return np.where(rng.random((views, funcs)) < zeros, 0, drawn * SPEED[classes][:, None]), classes.tolist()


def compare_nulls(seed: int, sizes: tuple[int, int], mixes: tuple[list[float], list[float]]) -> Comparison:
    """Returns the comparison of two samples that differ only in size and device mix."""
    rng = np.random.default_rng(seed)
    sides = [draw(rng, size, 400, mix) for size, mix in zip(sizes, mixes, strict=True)]
    return compare(*(sample_of_ms(ms, device_class=classes) for ms, classes in sides))


EVEN = [0.4, 0.3, 0.3]
SLOW = [0.1, 0.2, 0.7]


@pytest.mark.parametrize(
    ("sizes", "mixes"),
    [((28, 28), (EVEN, EVEN)), ((28, 28), (EVEN, SLOW)), ((400, 40), (EVEN, SLOW)), ((300, 300), (EVEN, SLOW))],
)
def test_p_is_uniform_where_nothing_changed(sizes: tuple[int, int], mixes: tuple[list[float], list[float]]) -> None:
    p = np.array([function.p for seed in range(5) for function in compare_nulls(seed, sizes, mixes).functions])
    assert 0.035 <= np.mean(p < 0.05) <= 0.065
    assert stats.kstest(p, "uniform").statistic < 0.04


@pytest.mark.parametrize("mixes", [(EVEN, EVEN), (EVEN, SLOW)])
def test_comparisons_of_nothing_rarely_find_anything(mixes: tuple[list[float], list[float]]) -> None:
    # Where all are null, the rate of false discoveries is the share of comparisons that find anything at all.
    findings = [
        any(function.q < 0.05 for function in compare_nulls(seed, (40, 40), mixes).functions) for seed in range(60)
    ]
    assert np.mean(findings) <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 60)


def test_false_discoveries_among_true_ones_stay_at_their_rate() -> None:
    false, discoveries = 0, 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        base, base_classes = draw(rng, 100, 400, EVEN)
        head, head_classes = draw(rng, 100, 400, SLOW)
        head[:, ::10] *= 3
        samples = [sample_of_ms(m, device_class=c) for m, c in ((base, base_classes), (head, head_classes))]
        significant = [function for function in compare(*samples).functions if function.q < 0.05]
        discoveries += len(significant)
        false += sum(function.func_id % 10 != 0 for function in significant)
    assert discoveries > 100
    assert false / discoveries <= 0.08


def test_heavy_funcs_are_found_among_many_cheap_ones_and_nothing_is_found_in_nothing() -> None:
    cost = np.array([0.7**rank for rank in range(12)] + [0.002] * 288)
    slower = np.where(np.arange(300) == 3, 1.5, 1.0)
    rounds = 60
    hits, false = 0, 0
    for seed in range(rounds):
        rng = np.random.default_rng(seed)
        samples = [
            sample_of_ms(skewed_ms(rng, (100, 300), sigma=0.8, zeros=0.1, mean_ms=100.0) * cost * factor)
            for factor in (1.0, slower, 1.0)
        ]
        hits += any(increase.func_id == 3 for increase in compare(samples[0], samples[1]).increases)
        false += any(function.is_significant for function in compare(samples[0], samples[2]).functions)
    # With equal weights 13 of 60 are found, with these 28.
    assert hits >= 22, hits
    assert false <= 0.05 * rounds + 2 * np.sqrt(0.05 * 0.95 * rounds), false


def test_one_rare_run_in_a_small_sample_against_a_large_one_is_no_proof() -> None:
    base = np.zeros((5_000, 50))
    head = np.zeros((25, 50))
    head[0, :] = 5.0
    answer = compare(sample_of_ms(base), sample_of_ms(head))
    # It happens by chance in one of 200 such samples; a normal curve would call it one of 10^40.
    assert all(0.001 < function.p < 0.05 for function in answer.functions)
