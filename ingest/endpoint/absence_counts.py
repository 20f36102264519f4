"""Counting absences: page views that recorded nothing, by day, page, browser and reason.

Anybody may post any page. A project's rows of a day are therefore bounded; what is beyond counts under "(other)", whose
rows are bounded by the closed sets of browsers, reasons, statuses and shards.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from itertools import count
from typing import Final

from django.conf import settings
from django.db import connection

from ingest.count_models import AbsentCount
from ingest.storage.groups import OTHER, IdCache
from profcore.caching import keep
from profcore.trace.absence import Absence

SHARDS: Final = 8  # as many rows as a process has connections
FULL_CHECK_S: Final = 10.0  # a project without room is taken to have none for this long
MAX_FULL: Final = 1_000  # projects × days that are known to have none

Row = tuple[int, date, str, int, int, int, int]  # project, day, page, browser, reason, status, shard

_lock = threading.Lock()
_busy: set[int] = set()
_known: Final[IdCache[Row]] = keep(IdCache())
_no_room_until: Final[dict[tuple[int, date], float]] = keep({})


def count_absence(project_id: int, absence: Absence, *, browser: int, day_on: date) -> None:
    """Adds a report and its views to the row of its day, page, browser and reason. One statement, two for a new row.

    Like a refusal's, the statement does not wait for the disk, so that a flood of reports keeps no connections from
    posts. A crash may lose half a second of counts. Raises `django.db.Error`.
    """
    with lend_shard() as shard:
        row = (project_id, day_on, absence.page, browser, absence.reason, absence.status, shard)
        _known.clear_sometimes()
        place = row if row in _known else find_place(row)
        with connection.cursor() as cursor:
            cursor.execute(
                """INSERT INTO ingest_absentcount AS c
                       (project_id, day_on, page, browser, reason, status, shard, reports, views)
                   SELECT %s, %s, %s, %s, %s, %s, %s, 1, %s
                   FROM (SELECT set_config('synchronous_commit', 'off', true)) AS quick
                   ON CONFLICT (project_id, day_on, page, browser, reason, status, shard)
                   DO UPDATE SET reports = c.reports + 1, views = c.views + excluded.views""",
                [*place, absence.views],
            )
        _known[place] = 1


@contextmanager
def lend_shard() -> Iterator[int]:
    """Lends a shard that no other thread of this process has, as long as there are any. The first one is 0.

    So posts at the same time do not wait for each other's rows, and a page that is seldom reported has one row.
    """
    with _lock:
        slot = next(number for number in count() if number not in _busy)
        _busy.add(slot)
    try:
        yield slot % SHARDS
    finally:
        with _lock:
            _busy.discard(slot)


def find_place(row: Row) -> Row:
    """Returns the row to count in: itself, another shard of it if the day has no room, or that of "(other)"."""
    project_id, day_on, page, browser, reason, status, shard = row
    same = AbsentCount.objects.filter(
        project_id=project_id, day_on=day_on, page=page, browser=browser, reason=reason, status=status
    )
    shards = set(same.values_list("shard", flat=True))
    if shard in shards or has_room(project_id, day_on):
        return row
    if shards:
        return (*row[:-1], min(shards))
    return (project_id, day_on, OTHER, browser, reason, status, shard)


def has_room(project_id: int, day_on: date) -> bool:
    """Returns whether a project may have another row of a day. A full one is counted again after some seconds."""
    now = time.monotonic()
    if _no_room_until.get((project_id, day_on), now) > now:
        return False
    rows = AbsentCount.objects.filter(project_id=project_id, day_on=day_on)
    is_free: bool = rows[: settings.INGEST_MAX_ABSENT_ROWS].count() < settings.INGEST_MAX_ABSENT_ROWS
    if not is_free:
        if len(_no_room_until) >= MAX_FULL:
            _no_room_until.clear()
        _no_room_until[project_id, day_on] = now + FULL_CHECK_S
    return is_free
