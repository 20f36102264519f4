"""Merging a group's hour cells of one past day into day cells, under the group's lock. No sum changes.

The hour cells stay as empty markers whose `merged_into` names the day, so that a late trace finds it. Hours that an
unfinished refold still has to set back are not merged: it would never find their sums in a day that it has done.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.conf import settings
from django.db import connection, transaction

from aggregate.fold.calltrees import append_call_trees, take_call_trees
from aggregate.fold.hotspots import move_hotspots
from aggregate.fold.locks import hold_merges, lock_groups
from aggregate.fold.rollups import unroll_days
from aggregate.fold.writes import CellDelta, add_delta, add_to_cells, load_cells, negate
from aggregate.metrics import count_maintenance
from aggregate.models import DAY_GRAIN, HOUR_GRAIN, Cell
from aggregate.sql import dimension_columns
from aggregate.time_budget import end_step
from ingest.storage.groups import allocate_ids
from profcore.sums.blobs import encode_counted
from profcore.sums.fold import FOLD_VERSION
from profcore.times import DAY, midnight_hours_before
from profcore.trace.dimensions import DIMENSION_COLUMNS

MERGE_BATCH_DAYS: Final = 500  # group-days that one statement finds: some seconds; the next ones follow


@dataclass(frozen=True, slots=True)
class GroupDay:
    """One group's cells of one UTC day."""

    project_id: int
    group_id: int
    day_at: datetime


def merge_old_hours(now: datetime) -> int:
    """Merges the hours of all days that are old enough; returns the number of group-days. Raises `BudgetSpent`."""
    before = midnight_hours_before(now, settings.MERGE_AFTER_HOURS)
    done = 0
    while merged := _merge_some(before):
        done += merged
    return done


def _merge_some(before: datetime) -> int:
    done = 0
    for group_day in find_due(before, MERGE_BATCH_DAYS):
        if not merge_day(group_day):
            continue
        done += 1
        count_maintenance("merged_days")
        end_step()
    return done


def find_due(before: datetime, limit: int) -> list[GroupDay]:
    """Returns group-days with unmerged hours before `before`, if no cell of these awaits a refold, oldest first."""
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT c.project_id, c.group_id, date_trunc('day', c.starts_at, 'UTC') AS day_at
               FROM aggregate_cell c LEFT JOIN aggregate_refoldrun r
                 ON r.project_id = c.project_id AND r.finished_at IS NULL
                 AND c.id > r.last_cell_id AND c.id < r.first_new_cell_id
               WHERE c.grain = %s AND c.merged_into IS NULL AND c.starts_at < %s
               GROUP BY 1, 2, 3 HAVING NOT bool_or(r.id IS NOT NULL) ORDER BY 3, 1, 2 LIMIT %s""",
            [HOUR_GRAIN, before, limit],
        )
        return [GroupDay(project_id, group_id, day_at) for project_id, group_id, day_at in cursor]


def merge_day(day: GroupDay) -> bool:
    """Merges a group's hours of a day, in one transaction; returns whether there were any that await no refold."""
    with transaction.atomic():
        lock_groups(day.project_id, [day.group_id])
        hold_merges(day.project_id)  # a refold that starts later sees the merged cells
        hours = _load_hours(day)
        if not hours:
            return False
        are_rolled = _are_rolled(day)
        days = _intern_days(day, sorted(set(hours.values())))
        into = {hour: days[dimensions] for hour, dimensions in hours.items()}
        sums = load_cells(day.project_id, sorted(into))
        deltas: dict[int, CellDelta] = {hour: negate(delta) for hour, delta in sums.items()}
        for hour, delta in sums.items():
            add_delta(deltas.setdefault(into[hour], CellDelta()), delta)
        add_to_cells(day.project_id, sorted(deltas.items(), key=lambda row: row[0]))
        pairs = sorted(into.items())
        _move_rows(day.project_id, pairs)
        trees = take_call_trees(day.project_id, pairs)
        append_call_trees(day.project_id, [(cell_id, encode_counted(trees[cell_id])) for cell_id in sorted(trees)])
        if not are_rolled:
            unroll_days(day.project_id, sorted(days.values()))
    return True


Codes = tuple[int, ...]  # of a cell's dimensions


def _load_hours(day: GroupDay) -> dict[int, Codes]:
    """Returns a day's unmerged hours with their dimensions, none if one of them awaits a refold."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT EXISTS (
                       SELECT 1 FROM aggregate_refoldrun r
                       WHERE r.project_id = %s AND r.project_id = c.project_id AND r.finished_at IS NULL
                         AND c.id > r.last_cell_id AND c.id < r.first_new_cell_id), c.id, {dimension_columns("c")}
                FROM aggregate_cell c
                WHERE c.project_id = %s AND c.group_id = %s AND c.grain = %s
                  AND c.merged_into IS NULL AND c.starts_at >= %s AND c.starts_at < %s""",
            [day.project_id, day.project_id, day.group_id, HOUR_GRAIN, day.day_at, day.day_at + DAY],
        )
        hours = cursor.fetchall()
    if any(awaits for awaits, *_ in hours):
        return {}
    return {cell_id: tuple(codes) for _, cell_id, *codes in hours}


def _are_rolled(day: GroupDay) -> bool:
    """Returns whether all of a day's cells are in the roll-up. Then a merge does not change the roll-up."""
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT bool_and(is_rolled) FROM aggregate_cell
               WHERE project_id = %s AND group_id = %s AND starts_at >= %s AND starts_at < %s
                 AND merged_into IS NULL""",
            [day.project_id, day.group_id, day.day_at, day.day_at + DAY],
        )
        row = cursor.fetchone()
    return bool(row and row[0])


def _intern_days(day: GroupDay, wanted: list[Codes]) -> dict[Codes, int]:
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT c.id, {dimension_columns("c")} FROM aggregate_cell c
                WHERE c.project_id = %s AND c.group_id = %s AND c.starts_at = %s AND c.grain = %s""",
            [day.project_id, day.group_id, day.day_at, DAY_GRAIN],
        )
        cells = {tuple(codes): cell_id for cell_id, *codes in cursor}
        missing = [codes for codes in wanted if codes not in cells]
        if missing:
            # No one else creates day cells of this group, because we hold its lock.
            ids = allocate_ids(day.project_id, "cell", len(missing))
            Cell.objects.bulk_create(
                [_empty_day(day, cell_id, codes) for cell_id, codes in zip(ids, missing, strict=True)]
            )
            cells.update(zip(missing, ids, strict=True))
    return cells


def _empty_day(day: GroupDay, cell_id: int, codes: Codes) -> Cell:
    zeros = {field.attname: 0 for field in Cell._meta.fields if field.attname.endswith(("_us", "_samples"))}
    zeros.pop("marker_us")
    return Cell(
        project_id=day.project_id,
        id=cell_id,
        group_id=day.group_id,
        starts_at=day.day_at,
        grain=Cell.Grain.DAY,
        is_rolled=True,
        fold_version=FOLD_VERSION,
        views=0,
        traces=0,
        **zeros,
        **dict(zip(DIMENSION_COLUMNS, codes, strict=True)),
    )


def _move_rows(project_id: int, pairs: list[tuple[int, int]]) -> None:
    params: list[Any] = [[hour for hour, _ in pairs], [day for _, day in pairs], project_id]
    move_hotspots(project_id, pairs)
    with connection.cursor() as cursor:
        cursor.execute(
            """UPDATE aggregate_pageview v SET cell_id = m.day FROM unnest(%s::int[], %s::int[]) AS m (hour, day)
               WHERE v.cell_id = m.hour AND v.project_id = %s""",
            params,
        )
        cursor.execute(
            """UPDATE aggregate_cell c SET merged_into = m.day, marker_us = NULL
               FROM unnest(%s::int[], %s::int[]) AS m (hour, day) WHERE c.id = m.hour AND c.project_id = %s""",
            params,
        )
