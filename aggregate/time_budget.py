"""Turns of maintenance: work in small transactions that ends between two of them when other tasks should have their
turn.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from aggregate.stopping import is_stopping

_ends_at_s: Final[ContextVar[float | None]] = ContextVar("turn", default=None)


class BudgetSpent(Exception):
    """The turn is over. What was done is done, and the next turn finds the rest."""


@contextmanager
def in_time_budget(seconds: float) -> Iterator[None]:
    """Bounds the work inside it to a turn. Elsewhere, in commands, work has no turns."""
    token = _ends_at_s.set(time.monotonic() + seconds)
    try:
        yield
    finally:
        _ends_at_s.reset(token)


def end_step() -> None:
    """Raises `BudgetSpent` if the present turn is over, or its worker was told to stop.

    Call it after a transaction that has done something, so that each turn gets on.
    """
    ends_at_s = _ends_at_s.get()
    if ends_at_s is not None and (is_stopping() or time.monotonic() >= ends_at_s):
        raise BudgetSpent
