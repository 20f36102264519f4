"""What a project keeps, and the disk space of it: precise enough to choose a retention, without counting rows."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Any, Final

from django.conf import settings
from django.db import connection

from aggregate.estimates import estimate_rows_of

# From the counts of settled receipts by hour. Some of the oldest may be deleted already, so this is an upper bound.
RAW: Final = """
SELECT COALESCE(sum(k.folded + k.rejected), 0)::bigint, min(k.hour_at)
FROM ingest_receiptcount k
WHERE k.project_id = %s AND k.folded + k.rejected > 0 AND k.hour_at >= %s
"""
VIEWS: Final = """
SELECT COALESCE(sum(d.views), 0)::bigint, min(d.day_at)
FROM aggregate_pageday d WHERE d.project_id = %s AND d.views > 0 AND d.day_at >= %s
"""
OLDEST_CELL: Final = "SELECT min(day_at) FROM aggregate_pageday WHERE project_id = %s"
# The rows of the first table and the bytes of all, with indexes and partitions, as autovacuum last saw them.
SIZES: Final = """
SELECT COALESCE(sum(greatest(c.reltuples, 0)) FILTER (WHERE t.place = 1), 0)::bigint,
       COALESCE(sum(pg_total_relation_size(c.oid)), 0)::bigint
FROM unnest(%s::text[]) WITH ORDINALITY AS t (name, place)
JOIN pg_class c ON c.relkind = 'r' AND (c.oid = t.name::regclass OR c.oid IN (
    SELECT i.inhrelid FROM pg_inherits i WHERE i.inhparent = t.name::regclass))
"""
RAW_TABLES: Final = ("ingest_rawtrace",)
# Of bodies in an object store the tables have only the places.
RAW_BYTES: Final = "SELECT COALESCE(sum(bytes), 0)::bigint FROM ingest_daybytes WHERE project_id = %s AND day_on >= %s"
VIEW_TABLES: Final = ("aggregate_pageview",)
CELL_TABLES: Final = (
    "aggregate_cell",
    "aggregate_hotspotpiece",
    "aggregate_calltreepiece",
    "aggregate_pageday",
    "aggregate_dayhotspot",
    "aggregate_daytreepiece",
)


@dataclass(frozen=True, slots=True)
class Kept:
    """One kind of kept data: rows, the UTC day of the oldest, and bytes, as its share of its tables' bytes by rows.

    These are estimates. `size_bytes` is None until the database has gathered its statistics, and on Citus.
    """

    rows: int
    oldest_on: date | None
    size_bytes: int | None


@dataclass(frozen=True, slots=True)
class Storage:
    """What a project keeps: raw traces, views with their contributions, and cells with hotspots and call trees."""

    raw: Kept
    views: Kept
    cells: Kept


def select_storage(project_id: int, *, raw_since: datetime, views_since: datetime) -> Storage:
    """Returns what a project keeps. The times are the starts of its retention. Seven short statements."""
    raw_rows, raw_oldest = _one(RAW, [project_id, raw_since])
    view_rows, view_oldest = _one(VIEWS, [project_id, views_since])
    (cell_oldest,) = _one(OLDEST_CELL, [project_id])
    raw = _kept(raw_rows, raw_oldest, RAW_TABLES)
    if settings.OBJECTS:
        (raw_bytes,) = _one(RAW_BYTES, [project_id, raw_since.date()])
        raw = replace(raw, size_bytes=raw_bytes)
    return Storage(
        raw,
        _kept(view_rows, view_oldest, VIEW_TABLES),
        _kept(estimate_rows_of("aggregate_cell", project_id) if cell_oldest else 0, cell_oldest, CELL_TABLES),
    )


def _kept(rows: int, oldest_at: datetime | None, tables: Sequence[str]) -> Kept:
    all_rows, all_bytes = _one(SIZES, [list(tables)])
    size_bytes = int(all_bytes * min(1.0, rows / all_rows)) if all_rows else None
    return Kept(rows, oldest_at.date() if oldest_at else None, size_bytes)


def _one(statement: str, params: Sequence[Any]) -> Any:  # Any: as the driver types parameters and rows
    with connection.cursor() as cursor:
        cursor.execute(statement, params or None)
        return cursor.fetchone()
