"""Intervals by resampling what was measured."""

import random
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

T = TypeVar("T")

ROUNDS: Final = 2_000


def find_interval(rows: Sequence[T], statistic: Callable[[Sequence[T]], float]) -> tuple[float, float]:
    """Returns the 95 % interval of a statistic of some rows, by drawing as many of them again and again."""
    chance = random.Random(0)  # noqa: S311  # repeatable, and no secret
    statistics = sorted(statistic(chance.choices(rows, k=len(rows))) for _ in range(ROUNDS))
    return statistics[round(ROUNDS * 0.025)], statistics[round(ROUNDS * 0.975)]
