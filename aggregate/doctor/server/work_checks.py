"""Checks of the work itself: schema, partitions ahead, workers, pending traces, jobs, and what retention left."""

from collections.abc import Collection, Iterator, Sequence
from datetime import date, datetime
from typing import Final

from celery import current_app
from celery.exceptions import CeleryError
from django.conf import settings
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.models import Min
from kombu.exceptions import KombuError

from aggregate.doctor.findings import Finding, ok, problem, warning
from aggregate.maintenance.retention import list_partitions
from aggregate.models import Cell, Job
from aggregate.worker_leases import LIVE
from ingest.models import PENDING
from ingest.storage.partitions import DAYS_AHEAD
from profcore.times import DAY, midnight_days_before
from projects.limits import limit_of
from projects.models import Project

WORKER_WAIT_S: Final = 1.0
LEAST_DAYS_AHEAD: Final = 3  # beat makes a week's: it has been away for days
NO_BEAT: Final = f"Beat makes those of {DAYS_AHEAD} days ahead every hour: see whether it runs."
OLD_PENDING_S: Final = 300.0  # a hundred sweeps
VERY_OLD_PENDING_S: Final = 3_600.0
OLD_JOB_S: Final = 1_800.0  # the largest slices take minutes
RETENTION_SLACK_DAYS: Final = 2  # expiry runs every hour, and a dump may keep a partition for some


def check_migrations(_: datetime) -> Iterator[Finding]:
    """Yields which migrations are pending, and which the code does not know."""
    executor = MigrationExecutor(connection)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    known = set(executor.loader.disk_migrations)
    apps = {app for app, _ in known}
    unknown = sorted((app, name) for app, name in executor.loader.applied_migrations if app in apps)
    yield from judge_migrations(
        pending=[f"{migration.app_label}.{migration.name}" for migration, _ in plan],
        unknown=[f"{app}.{name}" for app, name in unknown if (app, name) not in known],
    )


def judge_migrations(*, pending: Sequence[str], unknown: Sequence[str]) -> Iterator[Finding]:
    if pending:
        yield problem(
            "migrations", f"Migrations are pending: {len(pending)}, the first is {pending[0]}.", line="./run migrate"
        )
    if unknown:
        yield warning(
            "migrations", f"The database is of a newer version: its migration {unknown[-1]} is unknown to this code."
        )
    if not pending and not unknown:
        yield ok("migrations", "The schema is that of this version.")


def check_partitions(now: datetime) -> Iterator[Finding]:
    """Yields for how many days tables for raw traces are there."""
    yield judge_partitions([day for _, day in list_partitions()], now.date())


def judge_partitions(days: Sequence[date], today: date) -> Finding:
    there = set(days)
    ahead = 0
    while today + ahead * DAY in there:
        ahead += 1
    sentence = f"There are tables for raw traces of today and the next {max(0, ahead - 1)} days."
    if ahead == 0:
        return problem("partitions", f"There is no table for today's raw traces. {NO_BEAT}")
    if ahead - 1 < LEAST_DAYS_AHEAD:
        return warning("partitions", f"{sentence} {NO_BEAT}")
    return ok("partitions", sentence)


def check_workers(_: datetime) -> Iterator[Finding]:
    """Yields how many workers answer, and which queues have no worker."""
    try:
        answers = current_app.control.inspect(timeout=WORKER_WAIT_S).active_queues() or {}
    except (CeleryError, KombuError, OSError):
        answers = {}
    yield from judge_workers(len(answers), {queue["name"] for queues in answers.values() for queue in queues})


def judge_workers(count: int, queues: Collection[str]) -> Iterator[Finding]:
    if not count:
        yield problem("workers", f"No worker answers within {WORKER_WAIT_S:.0f} s: traces are stored, not folded.")
        return
    if settings.FOLD_QUEUE not in queues:
        yield problem("workers", "No worker folds, they only do the rest.", line="deploy/start fold")
    if settings.MAINTENANCE_QUEUE not in queues:
        yield problem(
            "workers",
            "No worker does the maintenance: no retention, no merges, no jobs.",
            line="deploy/start maintenance",
        )
    if {settings.FOLD_QUEUE, settings.MAINTENANCE_QUEUE} <= set(queues):
        yield ok("workers", f"{count} worker{'' if count == 1 else 's'} answer{'s' if count == 1 else ''}.")


def check_pending(_: datetime) -> Iterator[Finding]:
    """Yields for how long the oldest trace has been waiting."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT count(*), coalesce(extract(epoch FROM now() - min(received_at)
                       FILTER (WHERE fold_version IS NULL)), 0)::float8
                FROM ingest_tracereceipt WHERE state = {PENDING}"""
        )
        row = cursor.fetchone()
    assert row is not None
    yield judge_pending(count=row[0], oldest_s=row[1])


def judge_pending(*, count: int, oldest_s: float) -> Finding:
    if not count:
        return ok("pending", "No trace waits for its fold.")
    sentence = f"{count:,} traces wait for their fold, the oldest for {oldest_s / 60:,.0f} minutes."
    if oldest_s < OLD_PENDING_S:
        return ok("pending", sentence)
    make = problem if oldest_s >= VERY_OLD_PENDING_S else warning
    return make("pending", f"{sentence} Start more workers, or see in their log why they fail.")


def check_jobs(_: datetime) -> Iterator[Finding]:
    """Yields jobs that no worker runs, and those that take very long."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"""WITH {LIVE} SELECT
                    count(*) FILTER (WHERE NOT is_held), coalesce(max(age_s) FILTER (WHERE NOT is_held), 0)::float8,
                    count(*) FILTER (WHERE is_held AND age_s > %s)
                FROM (SELECT extract(epoch FROM now() - coalesce(started_at, created_at)) AS age_s,
                             state = {Job.State.RUNNING.value} AND claimed_until >= now() AND EXISTS (
                                 SELECT FROM live WHERE live.token = claim_token) AS is_held
                      FROM aggregate_job WHERE state <= {Job.State.RUNNING.value}) AS unfinished""",
            [OLD_JOB_S],
        )
        row = cursor.fetchone()
    assert row is not None
    yield from judge_jobs(waiting=row[0], oldest_s=row[1], slow=row[2])


def judge_jobs(*, waiting: int, oldest_s: float, slow: int) -> Iterator[Finding]:
    """`waiting` jobs have no worker, the oldest for `oldest_s`; `slow` ones have one, and take very long."""
    if waiting and oldest_s >= OLD_JOB_S:
        yield warning(
            "jobs",
            f"{waiting} job{'' if waiting == 1 else 's'} wait{'s' if waiting == 1 else ''} for a worker, the oldest "
            f"for {oldest_s / 60:,.0f} minutes. Start more workers, or raise FIELDFLAME_JOBS_AT_ONCE.",
        )
    if slow:
        yield warning("jobs", f"{slow} running job{'' if slow == 1 else 's'} began more than half an hour ago.")
    if not (waiting and oldest_s >= OLD_JOB_S) and not slow:
        yield ok("jobs", "No job is stuck.")


def check_retention(now: datetime) -> Iterator[Finding]:
    """Yields what is older than its retention, and still there."""
    projects = list(Project.objects.filter(deletion_started_at=None).order_by("id"))
    longest = max(
        (limit_of(project, "keep_raw_days").effective for project in projects), default=int(settings.KEEP_RAW_DAYS)
    )
    firsts = dict(Cell.objects.values_list("project_id").annotate(first_at=Min("starts_at")))
    late_cells = [
        project.slug
        for project in projects
        if project.pk in firsts
        and firsts[project.pk]
        < midnight_days_before(now, limit_of(project, "keep_cells_days").effective + RETENTION_SLACK_DAYS)
    ]
    before = midnight_days_before(now, longest + RETENTION_SLACK_DAYS).date()
    late_days = [day for _, day in list_partitions() if day < before]
    yield from judge_retention(late_days=late_days, late_cells=late_cells)


def judge_retention(*, late_days: Sequence[date], late_cells: Sequence[str]) -> Iterator[Finding]:
    line = "./run expire"
    if late_days:
        yield warning(
            "retention",
            f"Raw traces of {late_days[0]} are past their retention and still there: one is pending, somebody reads "
            "them, or beat is away.",
            line=line,
        )
    if late_cells:
        yield warning(
            "retention",
            f"{len(late_cells)} projects have cells past their retention, such as {late_cells[0]}.",
            line=line,
        )
    if not late_days and not late_cells:
        yield ok("retention", "Nothing is kept for longer than it should be.")
