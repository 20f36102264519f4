"""The status of a project (received, pending, folded, rejected, refused), and short summaries of several projects."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Final

from django.db import connection

from aggregate.selectors.project.arrivals import Arrivals
from aggregate.sql import select_records
from ingest.models import PENDING


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """Counts of a project's traces: received = pending + folded + rejected. `refused` ones are not in these.

    `dropped` are those of the refused that were valid, but too many.
    """

    received: int
    pending: int
    folded: int
    rejected: int
    refused: int
    dropped: int
    refused_by_reason: Mapping[str, int]
    oldest_pending_s: float | None
    last_received_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectSummary:
    """One project in a list. `last_bucket_at` is the start of the newest bucket of page views, None without any."""

    views: int = 0
    pages: int = 0
    pending: int = 0
    last_bucket_at: datetime | None = None
    last_received_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class ProjectDay:
    """The page views of one project that began on a UTC day, and their script and hidden time."""

    on: date
    views: int
    busy_us: int


# Each part reads all projects at once, so that on Citus each worker sums up those that it has.
SUMMARIES: Final = f"""
SELECT p.id, COALESCE(d.views, 0), COALESCE(d.pages, 0), COALESCE(r.pending, 0), d.last_bucket_at,
       greatest(r.last_at, k.last_at)
FROM unnest(%(projects)s::bigint[]) AS p (id)
LEFT JOIN (
    SELECT d.project_id, d.views, d.pages,
           (SELECT c.starts_at FROM aggregate_cell c WHERE c.project_id = d.project_id AND c.merged_into IS NULL
            AND c.traces > 0 ORDER BY c.starts_at DESC LIMIT 1) AS last_bucket_at
    FROM (SELECT d.project_id, sum(d.views)::bigint AS views, count(DISTINCT g.page) AS pages
          FROM aggregate_pageday d JOIN ingest_group g ON g.project_id = d.project_id AND g.id = d.group_id
          WHERE d.project_id = ANY(%(projects)s::bigint[]) AND d.traces > 0 GROUP BY 1) d) d ON d.project_id = p.id
LEFT JOIN (
    SELECT r.project_id, count(*) AS pending, max(r.received_at) AS last_at FROM ingest_tracereceipt r
    WHERE r.project_id = ANY(%(projects)s::bigint[]) AND r.state = {PENDING} GROUP BY 1) r ON r.project_id = p.id
LEFT JOIN (
    SELECT k.project_id, max(k.last_received_at) AS last_at FROM ingest_receiptcount k
    WHERE k.project_id = ANY(%(projects)s::bigint[]) GROUP BY 1) k ON k.project_id = p.id
"""


def select_status(project_id: int) -> Status:
    """Returns a project's counts, all of one moment. Folded and rejected ones are read from stored counts."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT w.pending, k.folded, k.rejected,
                      f.reasons, f.counts,
                      EXTRACT(epoch FROM clock_timestamp() - w.oldest_at)::float8, greatest(w.last_at, k.last_at)
               FROM (SELECT count(*) AS pending, min(received_at) FILTER (WHERE fold_version IS NULL) AS oldest_at,
                            max(received_at) AS last_at
                     FROM ingest_tracereceipt WHERE project_id = %(project_id)s AND state = {PENDING}) AS w,
                    (SELECT COALESCE(sum(folded), 0)::bigint AS folded, COALESCE(sum(rejected), 0)::bigint AS rejected,
                            max(last_received_at) AS last_at
                     FROM ingest_receiptcount WHERE project_id = %(project_id)s) AS k,
                    (SELECT array_agg(reason ORDER BY reason) AS reasons, array_agg(n ORDER BY reason) AS counts
                     FROM (SELECT reason, sum(count)::bigint AS n FROM ingest_refusal
                           WHERE project_id = %(project_id)s GROUP BY 1) AS by_reason) AS f""",
            {"project_id": project_id},
        )
        ((pending, folded, rejected, reasons, counts, oldest_s, last_at),) = cursor.fetchall()
    # The web process's clock stamps a receipt, the database's reads it: they may differ by a little.
    oldest_pending_s = None if oldest_s is None else max(0.0, oldest_s)
    received = pending + folded + rejected
    arrivals = Arrivals(received, dict(zip(reasons or [], counts or [], strict=True)))
    return Status(
        received=received,
        pending=pending,
        folded=folded,
        rejected=rejected,
        refused=arrivals.refused,
        dropped=arrivals.dropped,
        refused_by_reason=arrivals.refused_by_reason,
        oldest_pending_s=oldest_pending_s,
        last_received_at=last_at,
    )


def count_refused(project_id: int, reason: str, since: datetime) -> int:
    """Returns how many envelopes of a project the endpoint refused for a reason, in hours that began since a moment."""
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT COALESCE(sum(count), 0)::bigint FROM ingest_refusal
               WHERE project_id = %s AND reason = %s AND hour_at >= %s""",
            [project_id, str(reason), since],
        )
        ((refused,),) = cursor.fetchall()
    return int(refused)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewestTrace:
    """The trace that arrived last, with the state of its receipt, and the reason if it was rejected."""

    release: str
    page: str
    received_at: datetime
    state: int
    reason: str | None
    path: str | None
    detail: str | None


def select_newest_trace(project_id: int) -> NewestTrace | None:
    """Returns the trace that a project received last, None without any. Reads all receipts: call it if they are few."""
    newest = select_records(
        NewestTrace,
        """SELECT g.release, g.page, r.received_at, r.state, r.reason, r.path, r.detail
           FROM ingest_tracereceipt r JOIN ingest_group g ON g.project_id = r.project_id AND g.id = r.group_id
           WHERE r.project_id = %s ORDER BY r.received_at DESC LIMIT 1""",
        [project_id],
    )
    return newest[0] if newest else None


def select_project_summaries(project_ids: Sequence[int]) -> Mapping[int, ProjectSummary]:
    """Returns a summary of each project, by its id."""
    with connection.cursor() as cursor:
        cursor.execute(SUMMARIES, {"projects": list(project_ids)})
        return {
            project_id: ProjectSummary(
                views=views,
                pages=pages,
                pending=pending,
                last_bucket_at=last_bucket_at,
                last_received_at=last_received_at,
            )
            for project_id, views, pages, pending, last_bucket_at, last_received_at in cursor
        }


def select_project_days(project_ids: Sequence[int], since: datetime) -> Mapping[int, Sequence[ProjectDay]]:
    """Returns each project's days with page views from a UTC midnight on, in order, without projects that have no such
    days.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT d.project_id, (d.day_at AT TIME ZONE 'UTC')::date, sum(d.views)::bigint,
                      sum(d.js_us + d.hidden_us)::bigint
               FROM aggregate_pageday d WHERE d.project_id = ANY(%s::bigint[]) AND d.day_at >= %s AND d.views > 0
               GROUP BY 1, 2 ORDER BY 1, 2""",
            [list(project_ids), since],
        )
        days: dict[int, list[ProjectDay]] = {}
        for project_id, on, views, busy_us in cursor:
            days.setdefault(project_id, []).append(ProjectDay(on, views, busy_us))
        return days
