"""Ids of rows that a process remembers for a while, so that it need not ask for each trace again."""

import time
from typing import Final, TypeVar

K = TypeVar("K")

REMEMBER_S: Final = 3_600  # expiry marks an unused row first, and deletes it hours later: nobody remembers it then
MAX_REMEMBERED: Final = 100_000  # about 20 MB; a project's hot funcs and groups are a few thousand


class RememberedIds(dict[K, int]):
    """Ids by key, of all projects. `forget_sometimes` must come before they are used."""

    _since_s = 0.0

    def forget_sometimes(self) -> None:
        """Forgets all ids if they are many, or remembered for an hour."""
        now_s = time.monotonic()
        if len(self) > MAX_REMEMBERED or now_s - self._since_s > REMEMBER_S:
            self.clear()
            self._since_s = now_s
