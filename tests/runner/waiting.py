"""Waiting for what another process or thread does."""

import time
from collections.abc import Callable
from typing import Final

LIMIT_S: Final = 60.0  # only a hang takes so long, also on a busy machine
STEP_S: Final = 0.02


def wait_until(is_so: Callable[[], bool], what: str = "", *, limit_s: float = LIMIT_S) -> None:
    """Returns once a condition holds; fails after `limit_s`, and says `what` was awaited."""
    end_s = time.monotonic() + limit_s
    while not is_so():
        assert time.monotonic() < end_s, what or f"nothing came within {limit_s} s"
        time.sleep(STEP_S)
