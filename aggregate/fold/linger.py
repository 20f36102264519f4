"""Lingering after a small batch of a project, so that under steady traffic a batch has many traces.

Most of what a batch costs, its claim, its statements and a piece per cell, hardly depends on the number of its traces.
A lone trace is folded at once. If the next one arrives soon after, it waits until the lingering ends, and others with
it.
"""

from time import monotonic, sleep
from typing import Final

from django.conf import settings
from django.db import connection

from ingest.models import PENDING
from profcore.caching import keep


class Linger:
    """The projects that linger in this process, and until when."""

    def __init__(self) -> None:
        self._until_s: dict[int, float] = {}

    def clear(self) -> None:
        """Ends all lingering."""
        self._until_s.clear()

    def begin(self, project_id: int) -> None:
        """Lets a project linger of which a small batch was claimed."""
        self._until_s[project_id] = monotonic() + settings.FOLD_LINGER_MS / 1000

    def projects(self) -> list[int]:
        """Returns the projects that linger now."""
        now_s = monotonic()
        self._until_s = {project_id: until_s for project_id, until_s in self._until_s.items() if until_s > now_s}
        return sorted(self._until_s)

    def wait(self) -> bool:
        """Waits until the first project has lingered; returns False at once if no project has a pending trace."""
        lingering = self.projects()
        if not lingering or not _has_pending(lingering):
            return False
        sleep(max(min(self._until_s.values()) - monotonic(), 0))
        return True


def _has_pending(project_ids: list[int]) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT EXISTS (SELECT 1 FROM ingest_tracereceipt
                              WHERE state = %s AND project_id = ANY(%b::bigint[]))""",
            [PENDING, project_ids],
        )
        row = cursor.fetchone()
    return bool(row and row[0])


# Of this process. Others linger on their own, and may fold a project meanwhile.
LINGER: Final = keep(Linger())
