"""Ids of rows that a process remembers for a while, so that it need not ask for each trace again."""

import time
from typing import Final, TypeVar

K = TypeVar("K")

CACHED_S: Final = 3_600  # expiry marks an unused row first, and deletes it hours later: nobody remembers it then
MAX_CACHED: Final = 100_000  # about 20 MB; a project's hot funcs and groups are a few thousand


class IdCache(dict[K, int]):
    """Ids by key, of all projects. `clear_sometimes` must come before they are used."""

    _since_s = 0.0

    def clear_sometimes(self) -> None:
        """Forgets all ids if they are many, or remembered for an hour."""
        now_s = time.monotonic()
        if len(self) > MAX_CACHED or now_s - self._since_s > CACHED_S:
            self.clear()
            self._since_s = now_s
