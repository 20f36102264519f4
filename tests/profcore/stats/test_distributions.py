"""The distributions equal those of `scipy.stats`, which no process of the product loads."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from profcore.stats.distributions import (
    binomial_quantile,
    control_false_discoveries,
    normal_quantile,
    normal_tail,
    t_quantile,
)


def test_the_normal_tail_is_that_of_scipy() -> None:
    z = np.concatenate([np.linspace(-40, 40, 401), [np.inf, -np.inf]])
    np.testing.assert_array_equal(normal_tail(z), stats.norm.sf(z))


@pytest.mark.parametrize("tail", [1e-9, 0.025, 0.5, 0.9])
def test_quantiles_are_those_of_scipy(tail: float) -> None:
    assert normal_quantile(tail) == stats.norm.isf(tail)
    degrees = np.array([0.5, 1.0, 3.7, 24.0, 1e3, 1e7, np.inf, 0.0, -1.0, np.nan])
    np.testing.assert_array_equal(t_quantile(tail, degrees), stats.t.isf(tail, degrees))
    np.testing.assert_array_equal(t_quantile(tail, 4.5), stats.t.isf(tail, 4.5))


@pytest.mark.parametrize("share", [0.5, 0.75, 0.95])
def test_binomial_quantiles_are_those_of_scipy(share: float) -> None:
    counts = [*range(1, 300), 1_000, 9_999, 100_000, 3_000_000]
    for chance in (1e-6, 0.025, 0.3, 0.975, 0.999):
        quantiles = [binomial_quantile(chance, count, share) for count in counts]
        assert quantiles == np.asarray(stats.binom.ppf(chance, counts, share)).tolist()


@pytest.mark.parametrize("size", [1, 2, 7, 400])
def test_false_discoveries_are_controlled_as_scipy_does(size: int) -> None:
    p = np.random.default_rng(size).random(size) ** 3
    p[: size // 3] = p[0]
    np.testing.assert_allclose(control_false_discoveries(p), stats.false_discovery_control(p), rtol=1e-14)


def test_no_p_gives_no_q() -> None:
    assert control_false_discoveries([]).size == 0
    assert control_false_discoveries([], []).size == 0


def test_weights_divide_the_p_and_equal_ones_change_nothing() -> None:
    p = [0.001, 0.02, 0.4, 0.9]
    assert control_false_discoveries(p, [7.0] * 4).tolist() == control_false_discoveries(p).tolist()
    assert control_false_discoveries(p, [0.0] * 4).tolist() == control_false_discoveries(p).tolist()
    weighted = control_false_discoveries(p, [0.0, 3.0, 1.0, 0.0])
    np.testing.assert_allclose(weighted, [1.0, 0.02 / 3 * 4, 0.4 / 1 * 2, 1.0], rtol=1e-12)


def test_a_heavy_func_is_found_among_many_that_cost_nothing() -> None:
    p = np.linspace(0.002, 1.0, 300)
    time_ms = np.append(400.0, np.full(299, 0.5))
    assert control_false_discoveries(p)[0] > 0.5
    assert control_false_discoveries(p, np.sqrt(time_ms))[0] < 0.05


LIGHT = """
import sys, profcore.stats.comparison, profcore.stats.trends, profcore.special
assert not {"scipy.stats", "scipy.special", "numpy.testing", "numpy.f2py"} & set(sys.modules)
from scipy import special
assert special.ndtr is profcore.special.special.ndtr
"""


def test_the_statistics_load_compiled_functions_only_and_leave_the_package_whole() -> None:
    done = subprocess.run([sys.executable, "-c", LIGHT], cwd=Path(__file__).parents[3], check=False, timeout=60)
    assert done.returncode == 0
