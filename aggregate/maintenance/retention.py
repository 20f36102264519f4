"""Retention: raw traces, views, cells and receipts are deleted, each after its own time, in small transactions.

A view's expiry leaves its cell's sums in place. A daily partition of raw traces is dropped as a whole once no project
keeps it longer. Before that, the rows of projects with a shorter retention are deleted. Raw traces of pending receipts
are never deleted. Receipts go by whole partitions only (`aggregate.maintenance.old_receipts`).
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import partial
from typing import Final

from django.conf import settings
from django.db import OperationalError, connection, transaction
from psycopg.sql import SQL, Identifier

from aggregate.fold.locks import lock_groups, lock_raw_traces
from aggregate.jobs.requests import expire_jobs
from aggregate.maintenance.batches import delete_some
from aggregate.maintenance.old_funcs import expire_funcs, has_unused
from aggregate.maintenance.old_groups import expire_groups
from aggregate.maintenance.old_looks import delete_old_looks
from aggregate.maintenance.old_receipts import counts_end, drop_receipt_partitions
from aggregate.maintenance.old_states import expire_alerts
from aggregate.maintenance.packs.marking import doom_packs_of_day, doom_unnamed_packs
from aggregate.maintenance.packs.orphans import delete_orphans
from aggregate.maintenance.packs.tidying import tidy_packs
from aggregate.metrics import count_maintenance
from aggregate.models import RefoldRun
from aggregate.sourcemaps.deleting import expire_source_maps
from aggregate.time_budget import end_step
from ingest.models import PENDING
from ingest.storage.packs.store import BodiesUnavailable
from profcore.times import DAY, bounds_of_day, midnight_days_before
from projects.audit.entries import expire_entries
from projects.limits import limit_of
from projects.models import Project
from projects.releases import expire_announced
from projects.shared_links import expire_shared_links

logger = logging.getLogger(__name__)

EXPIRE_BATCH_ROWS: Final = 5_000  # rows of one transaction: about 100 ms
LOCK_WAIT = "2s"  # the next run drops a partition that is in use: the endpoint must not queue behind us
DELETE_OF_CELLS = (  # the cells themselves last
    "DELETE FROM aggregate_hotspotpiece WHERE project_id = %s AND cell_id = ANY(%s::int[])",
    "DELETE FROM aggregate_calltreepiece WHERE project_id = %s AND cell_id = ANY(%s::int[])",
    "DELETE FROM aggregate_pageview WHERE project_id = %s AND cell_id = ANY(%s::int[])",
    "DELETE FROM aggregate_cell WHERE project_id = %s AND id = ANY(%s::int[])",
)
DELETE_OF_DAYS = (
    "DELETE FROM aggregate_pageday WHERE project_id = %s AND group_id = %s AND day_at < %s",
    "DELETE FROM aggregate_dayhotspot WHERE project_id = %s AND group_id = %s AND day_at < %s",
    "DELETE FROM aggregate_daytreepiece WHERE project_id = %s AND group_id = %s AND day_at < %s",
)

ABSENCE_KEY: Final = ("day_on", "page", "browser", "reason", "status", "shard")  # within its project
HANG_KEY: Final = ("day_on", "release", "page", "reason", "signature")  # likewise


@dataclass(slots=True, kw_only=True)
class Expired:
    """The numbers of things that one run deleted."""

    partitions: int = 0
    raw_traces: int = 0
    views: int = 0
    cells: int = 0
    receipt_partitions: int = 0
    packs: int = 0
    refusals: int = 0
    jobs: int = 0
    refold_runs: int = 0
    shared_links: int = 0
    source_maps: int = 0
    groups: int = 0
    releases: int = 0
    funcs: int = 0
    audit_entries: int = 0


def expire_all(now: datetime, on_step: Callable[[str], None] = lambda _: None) -> Expired:
    """Deletes all data older than its retention, and returns the counts. It may be killed and run again.

    `on_step` is called with each step's name. Raises `BudgetSpent`.
    """
    expired = Expired()
    on_step("jobs")
    expired.jobs = expire_jobs(now)
    on_step("partitions")
    _drop_partitions(now, expired)
    for project in Project.objects.order_by("id"):
        on_step(project.slug)
        _expire_project(project, now, expired)
    on_step("receipts")
    expired.receipt_partitions = drop_receipt_partitions(now)
    count_maintenance("receipt_partitions", expired.receipt_partitions)
    on_step("packs")
    expired.packs = _tidy_packs(now)
    on_step("shared links")
    expired.shared_links = expire_shared_links(now)
    on_step("audit log")
    expired.audit_entries = _in_batches("audit_entries", partial(expire_entries, now))
    on_step("worker_leases")
    _delete_worker_leases(now)
    on_step("refolds")
    # An unfinished run of that age was given up. It keeps hours from being merged, and its cells must be done again.
    runs_before = midnight_days_before(now, settings.KEEP_REFOLD_RUNS_DAYS)
    expired.refold_runs, _ = RefoldRun.objects.filter(started_at__lt=runs_before).delete()
    return expired


def _expire_project(project: Project, now: datetime, expired: Expired) -> None:
    """Deletes what a project has beyond its retention, and adds up the counts."""
    raw_before = midnight_days_before(now, limit_of(project, "keep_raw_days").effective)
    for name, day in list_partitions():
        if day < raw_before.date():
            expired.raw_traces += _in_batches("raw_traces", partial(_delete_raw, name, project.pk))
            doom_unnamed_packs(project.pk, day, name)
    views_days = limit_of(project, "keep_views_days").effective
    cells_days = limit_of(project, "keep_cells_days").effective
    views_end, cells_end = (midnight_days_before(now, days) for days in (views_days, cells_days))
    _expire_views(project.pk, views_end, expired)
    _in_batches("absences", partial(_delete_days, "ingest_absentcount", ABSENCE_KEY, project.pk, views_end))
    # Hangs are kept as long as the sums that they are compared with.
    _in_batches("hangs", partial(_delete_days, "ingest_hangcount", HANG_KEY, project.pk, cells_end))
    cells_before = expired.cells
    _expire_cells(project.pk, cells_end, expired)
    if expired.cells > cells_before or has_unused(project.pk, now):
        expired.funcs += expire_funcs(project.pk, now)
    expired.source_maps += expire_source_maps(
        project.pk, now, keep_days=settings.KEEP_SOURCE_MAPS_DAYS, shared_days=cells_days
    )
    counts_before = midnight_days_before(now, max(settings.KEEP_RECEIPTS_DAYS, views_days, cells_days))
    expired.refusals += _delete_counts(project.pk, counts_before)
    _delete_byte_counts(project.pk, raw_before)
    expired.groups += expire_groups(project.pk, now, raw_before=raw_before)
    expired.releases += expire_announced(project.pk, cells_end)
    delete_old_looks(project.pk, cells_end)
    expire_alerts(project.pk, now, cells_before=cells_end)


def _tidy_packs(now: datetime) -> int:
    """Deletes what no row names from the object store; returns how many packs. If it is away, the rest goes on."""
    try:
        return tidy_packs(now) + delete_orphans(now)
    except BodiesUnavailable:
        logger.exception("The object store could not be tidied.")
        return 0


def _delete_worker_leases(now: datetime) -> None:
    """Deletes what processes that ended elsewhere have left. One that is only idle makes its row anew."""
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM aggregate_workerlease WHERE heartbeat_at < %s", [now - DAY])


def list_partitions() -> list[tuple[str, date]]:
    """Returns the raw traces' partitions with their days, oldest first."""
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
               WHERE i.inhparent = 'ingest_rawtrace'::regclass AND c.relname ~ '^ingest_rawtrace_[0-9]{8}$'
               ORDER BY 1"""
        )
        return [(name, datetime.strptime(name[-8:], "%Y%m%d").date()) for (name,) in cursor]  # noqa: DTZ007  # a day


def _drop_partitions(now: datetime, expired: Expired) -> None:
    longest = max((limit_of(p, "keep_raw_days").effective for p in Project.objects.all()), default=None)
    if longest is None:
        longest = settings.KEEP_RAW_DAYS
    before = midnight_days_before(now, longest).date()
    for name, day in list_partitions():
        if day >= before:
            continue
        try:
            expired.partitions += _drop_partition(name, day)
        except OperationalError:  # no lock in time: it is being read
            continue
    count_maintenance("partitions", expired.partitions)


def _drop_partition(name: str, day: date) -> bool:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT set_config('lock_timeout', %s, true)", [LOCK_WAIT])
        lock_raw_traces()
        cursor.execute(
            """SELECT EXISTS (SELECT 1 FROM ingest_tracereceipt
                              WHERE state = %s AND received_at >= %s AND received_at < %s)""",
            [PENDING, *bounds_of_day(day)],
        )
        row = cursor.fetchone()
        if row is None or row[0]:
            return False
        cursor.execute(SQL("DROP TABLE {name}").format(name=Identifier(name)))
        doom_packs_of_day(day)
    return True


def _in_batches(kind: str, delete: Callable[[], int]) -> int:
    total = 0
    while deleted := delete():
        count_maintenance(kind, deleted)
        total += deleted
        end_step()
        if deleted < EXPIRE_BATCH_ROWS:
            break
    return total


def _delete_raw(partition: str, project_id: int) -> int:
    with transaction.atomic():
        lock_raw_traces()
        return delete_some(
            partition,
            ("view_id", "seq", "received_at"),
            """t.project_id = %(project_id)s AND NOT EXISTS (
                   SELECT 1 FROM ingest_tracereceipt r WHERE r.project_id = t.project_id AND r.view_id = t.view_id
                   AND r.seq = t.seq AND r.received_at = t.received_at AND r.state = %(pending)s)""",
            {"project_id": project_id, "pending": PENDING},
            most=EXPIRE_BATCH_ROWS,
        )


def _expire_views(project_id: int, before: datetime, expired: Expired) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT c.id, c.group_id FROM aggregate_cell c
               WHERE c.project_id = %s AND c.starts_at < %s AND EXISTS (
                   SELECT 1 FROM aggregate_pageview v WHERE v.project_id = c.project_id AND v.cell_id = c.id)
               ORDER BY c.id""",
            [project_id, before],
        )
        cells = cursor.fetchall()
    for cell_id, group_id in cells:
        expired.views += _in_batches("views", partial(_delete_views, project_id, cell_id, group_id))


def _delete_views(project_id: int, cell_id: int, group_id: int) -> int:
    with transaction.atomic(), connection.cursor() as cursor:
        lock_groups(project_id, [group_id])
        cursor.execute(
            """DELETE FROM aggregate_pageview WHERE project_id = %s AND (view_id, group_id) IN (
                   SELECT view_id, group_id FROM aggregate_pageview WHERE project_id = %s AND cell_id = %s LIMIT %s)""",
            [project_id, project_id, cell_id, EXPIRE_BATCH_ROWS],
        )
        return int(cursor.rowcount)


def _expire_cells(project_id: int, before: datetime, expired: Expired) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT DISTINCT group_id FROM aggregate_cell WHERE project_id = %s AND starts_at < %s ORDER BY 1",
            [project_id, before],
        )
        group_ids = [group_id for (group_id,) in cursor]
    for group_id in group_ids:
        with transaction.atomic(), connection.cursor() as cursor:
            lock_groups(project_id, [group_id])
            cursor.execute(
                "SELECT id FROM aggregate_cell WHERE project_id = %s AND group_id = %s AND starts_at < %s",
                [project_id, group_id, before],
            )
            cell_ids = [cell_id for (cell_id,) in cursor]
            for statement in DELETE_OF_CELLS:
                cursor.execute(statement, [project_id, cell_ids])
            deleted = cursor.rowcount
            expired.cells += deleted
            for statement in DELETE_OF_DAYS:
                cursor.execute(statement, [project_id, group_id, before])
        if deleted:
            count_maintenance("cells", deleted)
            end_step()


def _delete_byte_counts(project_id: int, raw_before: datetime) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "DELETE FROM ingest_daybytes WHERE project_id = %s AND day_on < %s", [project_id, raw_before.date()]
        )


def _delete_days(table: str, key: Sequence[str], project_id: int, before: datetime) -> int:
    """Deletes some rows of a table that counts by day."""
    return delete_some(
        table,
        key,
        "t.project_id = %(project_id)s AND t.day_on < %(before)s",
        {"project_id": project_id, "before": before.date()},
        most=EXPIRE_BATCH_ROWS,
    )


def _delete_counts(project_id: int, before: datetime) -> int:
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM ingest_daycount WHERE project_id = %s AND day_on < %s", [project_id, before.date()])
        cursor.execute(
            "DELETE FROM ingest_receiptcount WHERE project_id = %s AND hour_at < %s", [project_id, counts_end(before)]
        )
        cursor.execute(
            "DELETE FROM aggregate_funcday WHERE project_id = %s AND day_on < %s", [project_id, before.date()]
        )
        cursor.execute(
            "DELETE FROM ingest_loadcount WHERE project_id = %s AND day_on < %s", [project_id, before.date()]
        )
        cursor.execute("DELETE FROM ingest_refusal WHERE project_id = %s AND hour_at < %s", [project_id, before])
        return int(cursor.rowcount)
