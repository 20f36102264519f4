"""Reading the roll-up: views, traces and the parts of time by release, page or day, without touching cells."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal

from django.db import connection

from profcore.weights import TIME_PART_NAMES, TimeParts

Dimension = Literal["release", "page", "day"]
COLUMN_OF: Final[dict[Dimension, str]] = {"release": "g.release", "page": "g.page", "day": "p.day_at"}


@dataclass(frozen=True, slots=True)
class RollUp:
    """Sums of one release, page or day (its midnight, UTC)."""

    value: str | datetime
    views: int
    truncated_views: int
    traces: int
    parts: TimeParts


def select_rollup(
    project_id: int,
    by: Dimension,
    *,
    releases: list[str] | None = None,
    pages: list[str] | None = None,
    from_at: datetime | None = None,
    to_at: datetime | None = None,
) -> list[RollUp]:
    """Returns sums by one dimension, in its order. None means all; `from_at` and `to_at` are midnights, half-open."""
    sums = ", ".join(f"sum(p.{name})::bigint" for name in ("views", "truncated_views", "traces", *TIME_PART_NAMES))
    params: dict[str, Any] = {
        "project": project_id,
        "releases": releases,
        "pages": pages,
        "from": from_at,
        "to": to_at,
    }
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT {COLUMN_OF[by]}, {sums} FROM aggregate_pageday p
                JOIN ingest_group g ON g.project_id = p.project_id AND g.id = p.group_id
                WHERE p.project_id = %(project)s AND p.traces > 0
                  AND (%(releases)s::text[] IS NULL OR g.release = ANY(%(releases)s::text[]))
                  AND (%(pages)s::text[] IS NULL OR g.page = ANY(%(pages)s::text[]))
                  AND (%(from)s::timestamptz IS NULL OR p.day_at >= %(from)s)
                  AND (%(to)s::timestamptz IS NULL OR p.day_at < %(to)s)
                GROUP BY 1 ORDER BY 1""",
            params,
        )
        return [RollUp(row[0], row[1], row[2], row[3], TimeParts(*row[4:])) for row in cursor]
