"""The roll-up of hotspots and call trees: the sums of all rolled cells of a group's UTC day, of any device and browser.

What `leave_out` names is not in it, such as bots: reads that ask for it by a dimension read cells.

Questions about many pages or many views read it instead of a dozen cells per hour. A cell is rolled once its hour is
over (`roll_up_hours`); day cells always are. Younger cells, which every fold changes, are not rolled, so that few folds
write a func twice. Code that adds to rolled cells also adds to the roll-up. Code that takes sums back unrolls the day.
Both do it in the same transaction, under the group's lock.
"""

import logging
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any, Final

from django.conf import settings
from django.db import connection, transaction

from aggregate.fold.calltrees import DAY_TREES, Key, StoredTreeSum, append_pieces
from aggregate.fold.hotspots import compact_hotspots
from aggregate.fold.locks import lock_groups
from aggregate.fold.writes import ADD_HOTSPOTS, HOTSPOT_SUMS, CellDelta
from aggregate.metrics import count_maintenance
from aggregate.sql import leave_out
from aggregate.time_budget import end_step
from profcore.sums.blobs import BlobError, EncodedTree, encode_counted, merge_encoded
from profcore.sums.calltree import CallTree
from profcore.times import DAY, HOUR, start_of_hour

ROLL_UP_BATCH_DAYS: Final = 500  # group-days that one statement finds: some seconds; the next ones follow

logger = logging.getLogger(__name__)

NAMES: Final = f"project_id, group_id, day_at, func_id, {', '.join(HOTSPOT_SUMS)}"
SUMS: Final = ", ".join(f"sum(h.{name})::bigint" for name in HOTSPOT_SUMS)
# Sorted by key, like every statement that many workers run.
ADD_CELLS: Final = f"""
INSERT INTO aggregate_dayhotspot AS h ({NAMES})
SELECT c.project_id, c.group_id, date_trunc('day', c.starts_at, 'UTC'), h.func_id, {SUMS}
FROM aggregate_cell c CROSS JOIN LATERAL (
    SELECT * FROM aggregate_hotspot h WHERE h.project_id = %(project_id)s AND h.cell_id = c.id OFFSET 0) AS h
WHERE c.project_id = %(project_id)s AND c.id = ANY(%(cell_ids)s::int[]) AND {leave_out("c")}
GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4
ON CONFLICT (project_id, group_id, day_at, func_id) DO UPDATE SET {ADD_HOTSPOTS}
"""


def roll_up_hours(now: datetime) -> int:
    """Rolls up all hours that are old enough; returns the number of group-days done.

    A day with a damaged tree is not rolled up. Raises `BudgetSpent`.
    """
    before = start_of_hour(now) - settings.ROLL_UP_AFTER_HOURS * HOUR
    done = 0
    while rolled := _roll_up_some(before):
        done += rolled
    return done


def _roll_up_some(before: datetime) -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT DISTINCT c.project_id, c.group_id, date_trunc('day', c.starts_at, 'UTC') AS day_at
               FROM aggregate_cell c WHERE NOT c.is_rolled AND c.merged_into IS NULL AND c.starts_at <= %s
               ORDER BY day_at, project_id, group_id LIMIT %s""",
            [before, ROLL_UP_BATCH_DAYS],
        )
        due = cursor.fetchall()
    done = 0
    for project_id, group_id, day_at in due:
        try:
            _roll_up(project_id, group_id, day_at, before)
        except BlobError:
            logger.exception("A call tree of group %s on %s is damaged; its day is not rolled up.", group_id, day_at)
            continue
        done += 1
        count_maintenance("rolled_days")
        end_step()
    return done


def _roll_up(project_id: int, group_id: int, day_at: datetime, before: datetime) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        lock_groups(project_id, [group_id])
        cursor.execute(
            """UPDATE aggregate_cell SET is_rolled = true
               WHERE project_id = %s AND group_id = %s AND starts_at >= %s AND starts_at < %s AND starts_at <= %s
                 AND NOT is_rolled AND merged_into IS NULL RETURNING id""",
            [project_id, group_id, day_at, day_at + DAY, before],
        )
        cell_ids = [cell_id for (cell_id,) in cursor]
        cursor.execute(ADD_CELLS, {"project_id": project_id, "cell_ids": sorted(cell_ids)})
        compact_hotspots(project_id, cell_ids)
        append_pieces(DAY_TREES, project_id, [((group_id, day_at), encode_counted(_sum_trees(project_id, cell_ids)))])


def _sum_trees(project_id: int, cell_ids: Sequence[int]) -> CallTree:
    trees = StoredTreeSum()
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT t.blob, t.node_count
                FROM aggregate_calltreepiece t JOIN aggregate_cell c ON c.project_id = t.project_id AND c.id = t.cell_id
                WHERE t.project_id = %s AND t.cell_id = ANY(%b::int[]) AND {leave_out("c")}
                ORDER BY t.cell_id, t.id""",
            [project_id, list(cell_ids)],
        )
        for blob, nodes in cursor:
            trees.add(bytes(blob), nodes)
    return trees.tree()


def add_to_days(
    project_id: int,
    deltas: Sequence[tuple[int, CellDelta]],
    trees: Sequence[tuple[int, EncodedTree]],
    stripe: int | None = None,
) -> None:
    """Adds to the roll-up the additions to cells that are rolled. One statement if none is rolled.

    With a stripe, others may add at the same time: trees first, since they wait for the rows of hotspots.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT c.id, c.group_id, date_trunc('day', c.starts_at, 'UTC') FROM aggregate_cell c
                WHERE c.project_id = %s AND c.id = ANY(%b::int[]) AND c.is_rolled AND {leave_out("c")}""",
            [project_id, [cell_id for cell_id, _ in deltas]],
        )
        days: dict[int, Key] = {cell_id: (group_id, day_at) for cell_id, group_id, day_at in cursor}
    of_days: dict[Key, list[EncodedTree]] = {}
    for cell_id, tree in trees:
        if cell_id in days:
            of_days.setdefault(days[cell_id], []).append(tree)
    append_pieces(DAY_TREES, project_id, [(day, merge_encoded(of_days[day])) for day in sorted(of_days)], stripe)
    _add_hotspots(
        project_id,
        [
            (*days[cell_id], func_id, *values)
            for cell_id, delta in deltas
            if cell_id in days
            for func_id, values in delta.hotspots.items()
        ],
    )


def _add_hotspots(project_id: int, rows: Sequence[tuple[Any, ...]]) -> None:  # Any: a row's key and its sums
    if not rows:
        return
    columns: list[Any] = [list(column) for column in zip(*rows, strict=True)]
    arrays = ", ".join(["%b::bigint[]"] * len(HOTSPOT_SUMS))
    with connection.cursor() as cursor:
        cursor.execute(
            f"""INSERT INTO aggregate_dayhotspot AS h ({NAMES})
                SELECT %s, h.group_id, h.day_at, h.func_id, {SUMS}
                FROM unnest(%b::int[], %b::timestamptz[], %b::int[], {arrays})
                     AS h (group_id, day_at, func_id, {", ".join(HOTSPOT_SUMS)})
                GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4
                ON CONFLICT (project_id, group_id, day_at, func_id) DO UPDATE SET {ADD_HOTSPOTS}""",
            [project_id, *columns],
        )


def unroll_days(project_id: int, cell_ids: Collection[int]) -> None:
    """Takes the days of rolled cells out of the roll-up; they are rolled up again later.

    For code that takes sums back: a func or call path that is gone must leave no row. One statement if none is rolled.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT DISTINCT c.group_id, date_trunc('day', c.starts_at, 'UTC') FROM aggregate_cell c
               WHERE c.project_id = %s AND c.id = ANY(%s::int[]) AND c.is_rolled ORDER BY 1, 2""",
            [project_id, sorted(cell_ids)],
        )
        days = cursor.fetchall()
        if not days:
            return
        starts = [day_at for _, day_at in days]
        params: list[Any] = [[group_id for group_id, _ in days], starts, project_id]
        cursor.execute(
            """DELETE FROM aggregate_dayhotspot d USING unnest(%s::int[], %s::timestamptz[]) AS t (group_id, day_at)
               WHERE d.project_id = %s AND d.group_id = t.group_id AND d.day_at = t.day_at""",
            params,
        )
        cursor.execute(
            """DELETE FROM aggregate_daytreepiece d USING unnest(%s::int[], %s::timestamptz[]) AS t (group_id, day_at)
               WHERE d.project_id = %s AND d.group_id = t.group_id AND d.day_at = t.day_at""",
            params,
        )
        cursor.execute(
            """UPDATE aggregate_cell c SET is_rolled = false
               FROM unnest(%s::int[], %s::timestamptz[], %s::timestamptz[]) AS t (group_id, day_at, end_at)
               WHERE c.project_id = %s AND c.group_id = t.group_id AND c.starts_at >= t.day_at
                 AND c.starts_at < t.end_at AND c.merged_into IS NULL""",
            [params[0], starts, [day_at + DAY for day_at in starts], project_id],
        )
