"""Waiting for what another process or thread does."""

import time
from collections.abc import Callable
from typing import Final

LIMIT_S: Final = 240.0  # only a hang takes so long, also on a busy machine
FIRST_STEP_S, LAST_STEP_S = 0.001, 0.02


def wait_until(
    is_so: Callable[[], bool],
    what: str | Callable[[], str] = "",
    *,
    limit_s: float = LIMIT_S,
    is_alive: Callable[[], bool] = lambda: True,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Returns once a condition holds. Fails after `limit_s`, or once what would make it so lives no more.

    `what` was awaited, or how to find out what went wrong.
    """
    end_s, step_s = time.monotonic() + limit_s, FIRST_STEP_S
    while not is_so():
        if time.monotonic() > end_s or not is_alive():
            raise AssertionError((what() if callable(what) else what) or f"nothing came within {limit_s} s")
        sleep(step_s)
        step_s = min(2 * step_s, LAST_STEP_S)
