"""The roll-up of hotspots: a func's sums over all day cells of a group's UTC day, whatever their device and browser.

Questions about many pages read it instead of a dozen cells a day. It holds cells that were merged into days: younger
ones, which every fold changes, stay cell by cell, so that a fold writes no func twice. Whoever changes the hotspots of
a day's cells makes its rows anew, in the same transaction, under the group's lock.
"""

from collections.abc import Collection
from typing import Any, Final

from django.db import connection

from aggregate.writes import HOTSPOT_SUMS

SUMS: Final = ", ".join(f"sum(h.{name})::bigint" for name in HOTSPOT_SUMS)


def rebuild_day_hotspots(project_id: int, cell_ids: Collection[int]) -> None:
    """Makes the roll-up of those of the cells that are days' anew. One statement where there are none, else three."""
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT DISTINCT group_id, bucket_at FROM aggregate_cell
               WHERE project_id = %s AND id = ANY(%s::int[]) AND grain = 1 ORDER BY 1, 2""",
            [project_id, sorted(cell_ids)],
        )
        days = cursor.fetchall()
        if not days:
            return
        params: list[Any] = [[group_id for group_id, _ in days], [day_at for _, day_at in days], project_id]
        cursor.execute(
            """DELETE FROM aggregate_dayhotspot d USING unnest(%s::int[], %s::timestamptz[]) AS t (group_id, day_at)
               WHERE d.project_id = %s AND d.group_id = t.group_id AND d.day_at = t.day_at""",
            params,
        )
        cursor.execute(
            f"""INSERT INTO aggregate_dayhotspot (project_id, group_id, day_at, func_id, {", ".join(HOTSPOT_SUMS)})
                SELECT c.project_id, c.group_id, c.bucket_at, h.func_id, {SUMS}
                FROM unnest(%s::int[], %s::timestamptz[]) AS t (group_id, day_at)
                JOIN aggregate_cell c ON c.group_id = t.group_id AND c.bucket_at = t.day_at AND c.grain = 1
                JOIN aggregate_hotspot h ON h.project_id = c.project_id AND h.cell_id = c.id
                WHERE c.project_id = %s GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4""",
            params,
        )
