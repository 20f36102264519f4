"""How a project stands: what came, what waits, what was refused; and a line on each of several projects."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime

from django.db import connection

from aggregate.selectors.arrivals import Arrivals


@dataclass(frozen=True, slots=True)
class Status:
    """received = pending + folded + rejected; `refused` was turned away at the door and is in none of them.

    `dropped` are those of the refused that nothing was wrong with but their number.
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


@dataclass(frozen=True, slots=True)
class ProjectSummary:
    """One project in a list. `last_bucket_at` is the start of the newest bucket of page views, None without any."""

    views: int = 0
    pages: int = 0
    pending: int = 0
    last_bucket_at: datetime | None = None
    last_received_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class ProjectDay:
    """The page views of one project that began on a UTC day, and their JS time."""

    on: date
    views: int
    js_us: int


def select_status(project_id: int) -> Status:
    """Returns a project's counts, all of one moment; what is settled is read from counts, what waits is counted."""
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT w.pending, k.folded, k.rejected,
                      f.reasons, f.counts,
                      EXTRACT(epoch FROM clock_timestamp() - w.oldest_at)::float8, greatest(w.last_at, k.last_at)
               FROM (SELECT count(*) AS pending, min(received_at) AS oldest_at, max(received_at) AS last_at
                     FROM ingest_receipt WHERE project_id = %(project_id)s AND state = 0) AS w,
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
        received,
        pending,
        folded,
        rejected,
        arrivals.refused,
        arrivals.dropped,
        arrivals.refused_by_reason,
        oldest_pending_s,
        last_at,
    )


def count_refused(project_id: int, reason: str, since: datetime) -> int:
    """Returns how many of a project's envelopes the door refused for a reason, by hours that began since then."""
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT COALESCE(sum(count), 0)::bigint FROM ingest_refusal
               WHERE project_id = %s AND reason = %s AND hour_at >= %s""",
            [project_id, str(reason), since],
        )
        ((refused,),) = cursor.fetchall()
    return int(refused)


@dataclass(frozen=True, slots=True)
class NewestTrace:
    """The trace that came last, what became of it (a state of receipts) and, where it was set aside, why."""

    release: str
    page: str
    received_at: datetime
    state: int
    reason: str | None
    path: str | None
    detail: str | None


def select_newest_trace(project_id: int) -> NewestTrace | None:
    """Returns the trace that a project received last, None without any. It looks at all of its receipts: for a few."""
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT g.release, g.page, r.received_at, r.state, r.reason, r.path, r.detail
               FROM ingest_receipt r JOIN ingest_group g ON g.project_id = r.project_id AND g.id = r.group_id
               WHERE r.project_id = %s ORDER BY r.received_at DESC LIMIT 1""",
            [project_id],
        )
        row = cursor.fetchone()
    return None if row is None else NewestTrace(*row)


def select_project_summaries(project_ids: Sequence[int]) -> Mapping[int, ProjectSummary]:
    """Returns a summary of each project, by its id."""
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT p.id, COALESCE(c.views, 0), COALESCE(c.pages, 0), r.pending, c.last_bucket_at,
                      greatest(r.last_at, k.last_at)
               FROM unnest(%s::bigint[]) AS p (id)
               LEFT JOIN LATERAL (
                   SELECT sum(d.views)::bigint AS views, count(DISTINCT g.page) AS pages,
                          (SELECT c.bucket_at FROM aggregate_cell c WHERE c.project_id = p.id
                           AND c.merged_into IS NULL AND c.traces > 0 ORDER BY c.bucket_at DESC LIMIT 1)
                              AS last_bucket_at
                   FROM aggregate_pageday d JOIN ingest_group g ON g.project_id = d.project_id AND g.id = d.group_id
                   WHERE d.project_id = p.id AND d.traces > 0) c ON true
               CROSS JOIN LATERAL (
                   SELECT count(*) AS pending, max(r.received_at) AS last_at
                   FROM ingest_receipt r WHERE r.project_id = p.id AND r.state = 0) r
               CROSS JOIN LATERAL (
                   SELECT max(k.last_received_at) AS last_at FROM ingest_receiptcount k WHERE k.project_id = p.id) k""",
            [list(project_ids)],
        )
        return {row[0]: ProjectSummary(*row[1:]) for row in cursor.fetchall()}


def select_project_days(project_ids: Sequence[int], since: datetime) -> Mapping[int, Sequence[ProjectDay]]:
    """Returns each project's days with page views from a UTC midnight on, in order; those without any are not in it."""
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT d.project_id, (d.day_at AT TIME ZONE 'UTC')::date, sum(d.views)::bigint, sum(d.js_us)::bigint
               FROM aggregate_pageday d WHERE d.project_id = ANY(%s::bigint[]) AND d.day_at >= %s AND d.views > 0
               GROUP BY 1, 2 ORDER BY 1, 2""",
            [list(project_ids), since],
        )
        days: dict[int, list[ProjectDay]] = {}
        for project_id, *day in cursor:
            days.setdefault(project_id, []).append(ProjectDay(*day))
        return days
