"""Looking at growing data again and again, without more false alarms: alpha spending.

Each look may spend a part of the allowed error, and all looks together spend all of it (Lan and DeMets, Discrete
sequential boundaries for clinical trials, Biometrika 70, 1983). The spending function is of Kim and DeMets' power
family, alpha · t³ (Biometrika 74, 1987): it resembles O'Brien and Fleming's boundaries, but earlier looks can find
something too.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import Final

import numpy as np

from profcore.stats.distributions import Floats, normal_tail

RHO: Final = 3.0
# A look that may spend less than this cannot be significant: its |z| would have to be above 7.4, where the integral is
# no longer sound.
LEAST_SPENT: Final = 1e-13
FARTHEST: Final = 9.0
# A look with less new information than this share is taken as the one before it, with the error of both: the same data
# cannot say anything else.
LEAST_INCREMENT: Final = 1e-3
# The density is integrated panel by panel by Gauss and Legendre. A panel is as wide as four standard deviations of what
# the next look adds, and at most half a standard deviation of the score.
NODES: Final = 16
PANEL_SIGMAS: Final = 4.0
PANEL_MOST: Final = 0.5


def spend(fraction: float, alpha: float = 0.05) -> float:
    """Returns the error that may be spent until a fraction (0 to 1) of the plan is reached."""
    return float(alpha * fraction**RHO)


def bound_of_look(spent: Sequence[float], information: Sequence[float], alpha: float = 0.05) -> float:
    """Returns the two-sided p below which the newest look is significant.

    `spent` are the fractions of the plan, above 0 and up to 1, that were reached at each look so far, the newest last.
    `information` is that of the data at each look: n·m/(n + m) for n and m views. Both never decrease. Looks are
    correlated as if the data of each included those of the one before: √(earlier / later information). Raises
    `ValueError` for other values.

    A first look at fraction 1 has the bound alpha. A look with new data and no new fraction has nothing to spend, and
    the bound 0.
    """
    if not spent or len(spent) != len(information):
        raise ValueError("each look must have a fraction and its information")
    if not 0 < alpha < 1:
        raise ValueError("alpha must be between 0 and 1")
    if not all(0 < value <= 1 for value in spent) or not all(0 < value < np.inf for value in information):
        raise ValueError("fractions must be above 0 and at most 1, and information above 0")
    if any(later < earlier for column in (spent, information) for earlier, later in pairwise(column)):
        raise ValueError("fractions and information never decrease")
    return _bound_of_look(tuple(map(float, spent)), tuple(map(float, information)), alpha)


@lru_cache(maxsize=512)  # a page asks for the same looks again
def _bound_of_look(spent: tuple[float, ...], information: tuple[float, ...], alpha: float) -> float:
    looks: list[tuple[float, float]] = []  # information, error
    before = 0.0
    for fraction, known in zip(spent, information, strict=True):
        error = spend(fraction, alpha) - before
        before += error
        if looks and known < looks[-1][0] * (1 + LEAST_INCREMENT):
            looks[-1] = looks[-1][0], looks[-1][1] + error
        else:
            looks.append((known, error))
    *_, bound = find_bounds(looks)
    return min(2 * float(normal_tail(np.array(bound))), alpha)


def find_bounds(looks: Sequence[tuple[float, float]]) -> Iterator[float]:
    """Yields for each look, given by information and error to spend, the |z| from which it is significant.

    Information increases. The bound is infinite if there is nothing to spend.
    """
    score = Score()
    nexts = [known for known, _ in looks[1:]] + [np.inf]
    for (information, error), following in zip(looks, nexts, strict=True):
        bound = score.find_bound(information, error)
        score = score.after(information, bound, following)
        yield bound


@dataclass(frozen=True, slots=True)
class Score:
    """The standardised score at the last look, as far as no look so far was significant; at first there is none.

    Its density is symmetric, and kept for z ≥ 0: at nodes `z`, times the weights of the integration (Armitage,
    McPherson and Rowe, J. R. Statist. Soc. A 132, 1969).
    """

    information: float = 0.0
    z: Floats = field(default_factory=lambda: np.zeros(0))
    mass: Floats = field(default_factory=lambda: np.zeros(0))

    def chance_beyond(self, information: float, bound: float) -> float:
        """Returns the chance that no look so far was significant, and that |z| at the next one is beyond a bound."""
        if not self.information:
            return 2 * float(normal_tail(np.array(bound)))
        near, far = self._steps(information, np.array([bound]))
        return 2 * float((self.mass * (normal_tail(near) + normal_tail(far))).sum())

    def find_bound(self, information: float, error: float) -> float:
        """Returns the bound at the next look that is passed with the chance `error`."""
        if error < LEAST_SPENT:
            return np.inf
        low, high = 0.0, FARTHEST
        while high - low > 1e-11:
            middle = (low + high) / 2
            if self.chance_beyond(information, middle) > error:
                low = middle
            else:
                high = middle
        return high

    def after(self, information: float, bound: float, following: float) -> "Score":
        """Returns the score after a look that was not significant; `following` is the information of the next look."""
        most = min(bound, FARTHEST)
        sigma = np.sqrt(following / information - 1)
        panels = int(np.ceil(most / min(PANEL_SIGMAS * sigma, PANEL_MOST)))
        nodes, weights = np.polynomial.legendre.leggauss(NODES)
        edges = np.linspace(0.0, most, panels + 1)
        half = most / panels / 2
        z = (edges[:-1, None] + half * (nodes + 1)).reshape(-1)
        return Score(information, z, self._density(information, z) * np.tile(half * weights, panels))

    def _density(self, information: float, z: Floats) -> Floats:
        if not self.information:
            return _normal_density(z)
        near, far = self._steps(information, z)
        scale = np.sqrt(information / (information - self.information))
        return np.asarray(scale * ((_normal_density(near) + _normal_density(far)) @ self.mass))

    def _steps(self, information: float, z: Floats) -> tuple[Floats, Floats]:
        """Returns the steps from each node, and from its mirror image, to each `z`, in their standard deviations."""
        sigma = np.sqrt(information - self.information)
        there, here = z[:, None] * np.sqrt(information), self.z * np.sqrt(self.information)
        return (there - here) / sigma, (there + here) / sigma


def _normal_density(z: Floats) -> Floats:
    return np.asarray(np.exp(-z * z / 2) / np.sqrt(2 * np.pi))
