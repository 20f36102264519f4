"""What the tables and Valkey know of the whole installation, asked when someone reads `/metrics` of a web process.

Each statement reads an index, and no more rows than it says, so that it stays quick however many traces are kept or
pending: a test counts the statements. Answers are kept for some seconds, so several
readers cost as much as one. Whatever can be counted where it happens is a counter there.
"""

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any, Final

import redis
from django.conf import settings
from django.db import Error, NotSupportedError, connection
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from aggregate.maintenance.retention import list_partitions
from aggregate.models import HOUR_GRAIN, Job
from alerts.models import Message
from ingest.deadline import drop_silent_connection, release_connection, with_deadline
from ingest.models import PENDING
from ingest.notify import flag_client
from ingest.storage.receipt_partitions import list_receipt_partitions
from profcore.alerts.states import State
from profcore.caching import keep
from profcore.times import DAY, HOUR

KEPT_S: Final = 5.0  # a quarter of the usual time between two readings
WAIT_S: Final = 2.0  # for the database, in all; a reader that waits longer has no answer at all
# Five batches. A project with fewer pending traces has them folded in its next turns, however long others' queues are.
LARGE_BACKLOG: Final = 1_000
MOST_COUNTED: Final = 100_000  # of pending traces: more than a page of figures needs to be exact about
# The lists of tasks that wait for a worker.
QUEUES: Final = {"fold": settings.FOLD_QUEUE, "maintenance": settings.MAINTENANCE_QUEUE}

Rows = Iterable[tuple[Any, ...]]  # (tag, …, value): as the driver types them


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreGauge:
    """A gauge, and the name of its tag, whose values are a closed set."""

    name: str
    about: str
    tag: str | None = None

    def make(self, rows: Rows) -> GaugeMetricFamily:
        family = GaugeMetricFamily(self.name, self.about, labels=[self.tag] if self.tag else [])
        for *tags, value in rows:
            family.add_metric([str(tag) for tag in tags], float(value))
        return family


PROJECTS: Final = StoreGauge(name="fieldflame_projects", about="Projects.")
PENDING_TRACES: Final = StoreGauge(
    name="fieldflame_traces_pending",
    about=f"Accepted traces that are not folded yet, up to {MOST_COUNTED}.",
)
OLDEST_PENDING: Final = StoreGauge(
    name="fieldflame_traces_oldest_pending_seconds",
    about="Time since the oldest pending trace arrived that was never folded, by the backlog of its project "
    f"(large: {LARGE_BACKLOG} pending traces or more; small), 0 without any.",
    tag="backlog",
)
JOBS_UNFINISHED: Final = StoreGauge(
    name="fieldflame_jobs_unfinished", about="Jobs that wait or run, by state.", tag="state"
)
OLDEST_JOB: Final = StoreGauge(
    name="fieldflame_jobs_oldest_seconds", about="Time since the oldest job of a state was asked for.", tag="state"
)
SCRIPTS_WAITING: Final = StoreGauge(
    name="fieldflame_scripts_waiting", about="Scripts whose functions wait for labels from a source map."
)
ALERT_STATES: Final = StoreGauge(
    name="fieldflame_alert_states", about="Open states of alerts in all projects, by state.", tag="state"
)
MESSAGES_WAITING: Final = StoreGauge(
    name="fieldflame_messages_waiting",
    about="Messages about alerts that are due, or were given up in the last day, by state (waiting, failed).",
    tag="state",
)
PARTITIONS_AHEAD: Final = StoreGauge(
    name="fieldflame_partitions_ahead", about="Days after today (UTC) for which raw traces have a partition."
)
OVERDUE: Final = StoreGauge(
    name="fieldflame_maintenance_overdue_seconds",
    about="How long the oldest due work of maintenance has waited, by work (raw, views, cells, receipts: deleting by "
    "retention; roll_up; merge; packs: deleting from the object store), 0 without any.",
    tag="work",
)
DATABASE_BYTES: Final = StoreGauge(name="fieldflame_database_bytes", about="Size of the database on its disk.")
DATABASE_UP: Final = StoreGauge(
    name="fieldflame_database_up", about="1 if the database answered all questions of this page in time, else 0."
)
TASKS_WAITING: Final = StoreGauge(
    name="fieldflame_tasks_waiting",
    about="Tasks that wait in Valkey for a worker, by queue (fold, maintenance).",
    tag="queue",
)
VALKEY_UP: Final = StoreGauge(name="fieldflame_valkey_up", about="1 if Valkey answered, else 0.")
STORE_GAUGES: Final = (
    *(PROJECTS, PENDING_TRACES, OLDEST_PENDING, JOBS_UNFINISHED, OLDEST_JOB, SCRIPTS_WAITING, PARTITIONS_AHEAD),
    *(ALERT_STATES, MESSAGES_WAITING, OVERDUE, DATABASE_BYTES, DATABASE_UP, TASKS_WAITING, VALKEY_UP),
)
STATES: Final = {Job.State.QUEUED.value: "queued", Job.State.RUNNING.value: "running"}

COUNT_PENDING: Final = f"""
SELECT count(*) FROM (SELECT 1 AS one FROM ingest_tracereceipt WHERE state = {PENDING} LIMIT {MOST_COUNTED}) AS p"""
# Of projects with few pending traces all of them are read. Of the others, the front of the queue: a refold may have
# put millions of folded traces there.
PENDING_AGES: Final = f"""
WITH few AS (
    SELECT p.id, count(w.received_at) AS pending,
           min(w.received_at) FILTER (WHERE w.fold_version IS NULL) AS oldest_at
    FROM projects_project p LEFT JOIN LATERAL (
        SELECT r.received_at, r.fold_version FROM ingest_tracereceipt r
        WHERE r.project_id = p.id AND r.state = {PENDING}
        LIMIT {LARGE_BACKLOG}) AS w ON true
    GROUP BY p.id), ages AS (
    SELECT (SELECT min(oldest_at) FROM few WHERE pending < {LARGE_BACKLOG}) AS small,
           (SELECT min(r.received_at) FROM (SELECT project_id, received_at, fold_version FROM ingest_tracereceipt
                  WHERE state = {PENDING} ORDER BY received_at LIMIT {MOST_COUNTED}) AS r
            WHERE r.fold_version IS NULL
              AND r.project_id = ANY(ARRAY(SELECT id FROM few WHERE pending = {LARGE_BACKLOG}))) AS large)
SELECT (SELECT count(*) FROM few), coalesce(extract(epoch FROM clock_timestamp() - small), 0),
       coalesce(extract(epoch FROM clock_timestamp() - large), 0) FROM ages"""
UNFINISHED_JOBS: Final = f"""
SELECT state, count(*), extract(epoch FROM clock_timestamp() - min(created_at))
FROM aggregate_job WHERE state <= {Job.State.RUNNING.value} GROUP BY state"""
ALERTS: Final = f"""
SELECT (SELECT count(*) FROM alerts_alertstate WHERE state = {State.SUSPECTED.value}),
       (SELECT count(*) FROM alerts_alertstate WHERE state = {State.CONFIRMED.value}),
       (SELECT count(*) FROM alerts_message
        WHERE state = {Message.State.WAITING.value} AND due_at <= clock_timestamp()),
       (SELECT count(*) FROM alerts_message
        WHERE state = {Message.State.FAILED.value} AND due_at > clock_timestamp() - interval '1 day')"""
COUNT_SCRIPTS: Final = "SELECT count(*) FROM aggregate_releasescript WHERE pending_at IS NOT NULL"
PACKS: Final = """extract(epoch FROM clock_timestamp() - least(
           (SELECT min(tidy_at) FROM ingest_pack WHERE tidy_at IS NOT NULL),
           (SELECT min(doomed_at) FROM ingest_pack WHERE doomed_at IS NOT NULL AND deleted_at IS NULL)))"""
# Cells stay when their views are deleted, so the oldest ones say nothing. For each number of days past the retention,
# the newest day of this age is looked at: some of its cells, which are one for each group once they are merged.
VIEWS_PAST_DAYS: Final = (0, 1, 3, 7, 15, 31)
LOOKED_AT_CELLS: Final = 10
OVERDUE_VIEWS: Final = f"""
SELECT max(extract(epoch FROM %(now)s - day.starts_at) - 86400 * (p.days + 1))
FROM (SELECT id, coalesce(keep_views_days, %(views_days)s) AS days FROM projects_project) AS p
CROSS JOIN unnest(ARRAY{list(VIEWS_PAST_DAYS)}) AS past
CROSS JOIN LATERAL (
    SELECT date_trunc('day', starts_at, 'UTC') AS starts_at FROM aggregate_cell
    WHERE project_id = p.id AND starts_at < date_trunc('day', %(now)s, 'UTC') - make_interval(days => p.days + past)
    ORDER BY starts_at DESC LIMIT 1) AS day
CROSS JOIN LATERAL (
    SELECT id FROM aggregate_cell
    WHERE project_id = p.id AND starts_at >= day.starts_at AND starts_at < day.starts_at + interval '1 day'
          AND merged_into IS NULL
    ORDER BY starts_at LIMIT {LOOKED_AT_CELLS}) AS c
WHERE EXISTS (SELECT 1 FROM aggregate_pageview WHERE project_id = p.id AND cell_id = c.id)"""
# The oldest cell of each project, with the days that it is kept; and the oldest that wait to be merged or rolled up.
OLDEST_CELLS: Final = f"""
SELECT (SELECT max(extract(epoch FROM %(now)s - date_trunc('day', c.starts_at, 'UTC'))
                   - 86400 * (coalesce(p.keep_cells_days, %(cells_days)s) + 1))
        FROM projects_project p CROSS JOIN LATERAL (
            SELECT starts_at FROM aggregate_cell WHERE project_id = p.id ORDER BY starts_at LIMIT 1) AS c),
       ({OVERDUE_VIEWS}),
       (SELECT max(coalesce(p.keep_raw_days, %(raw_days)s)) FROM projects_project p),
       (SELECT max(coalesce(p.keep_views_days, %(views_days)s)) FROM projects_project p),
       (SELECT min(starts_at) FROM aggregate_cell WHERE grain = {HOUR_GRAIN} AND merged_into IS NULL),
       (SELECT min(starts_at) FROM aggregate_cell WHERE NOT is_rolled AND merged_into IS NULL),
       pg_database_size(current_database()), {PACKS}"""

# The same for tables that are distributed over a Citus cluster, which cannot look at projects one after another. Each
# shard reads all of its pending traces and cells. Of views, only the last three days past the retention are looked at.
SPREAD_AGES: Final = f"""
WITH ages AS (
    SELECT project_id, count(*) AS pending, min(received_at) FILTER (WHERE fold_version IS NULL) AS oldest_at
    FROM ingest_tracereceipt WHERE state = {PENDING} GROUP BY project_id)
SELECT (SELECT count(*) FROM projects_project),
       coalesce(extract(epoch FROM clock_timestamp() - min(oldest_at) FILTER (WHERE pending < {LARGE_BACKLOG})), 0),
       coalesce(extract(epoch FROM clock_timestamp() - min(oldest_at) FILTER (WHERE pending >= {LARGE_BACKLOG})), 0)
FROM ages"""
SPREAD_CELLS: Final = f"""
WITH oldest AS (
    SELECT max(extract(epoch FROM %(now)s - date_trunc('day', c.starts_at, 'UTC'))
               - 86400 * (coalesce(p.keep_cells_days, %(cells_days)s) + 1)) AS late_s,
           min(c.starts_at) FILTER (WHERE c.grain = {HOUR_GRAIN} AND c.merged_into IS NULL) AS unmerged_at,
           min(c.starts_at) FILTER (WHERE NOT c.is_rolled AND c.merged_into IS NULL) AS unrolled_at
    FROM aggregate_cell c JOIN projects_project p ON p.id = c.project_id), views AS (
    SELECT max(extract(epoch FROM %(now)s - date_trunc('day', c.starts_at, 'UTC'))
               - 86400 * (coalesce(p.keep_views_days, %(views_days)s) + 1)) AS late_s
    FROM aggregate_cell c JOIN projects_project p ON p.id = c.project_id
    WHERE c.merged_into IS NULL AND c.starts_at < date_trunc('day', %(now)s, 'UTC')
          - make_interval(days => coalesce(p.keep_views_days, %(views_days)s)) AND c.starts_at >=
          date_trunc('day', %(now)s, 'UTC') - make_interval(days => coalesce(p.keep_views_days, %(views_days)s) + 3)
          AND EXISTS (SELECT 1 FROM aggregate_pageview v WHERE v.project_id = c.project_id AND v.cell_id = c.id))
SELECT oldest.late_s, views.late_s,
       (SELECT max(coalesce(p.keep_raw_days, %(raw_days)s)) FROM projects_project p),
       (SELECT max(coalesce(p.keep_views_days, %(views_days)s)) FROM projects_project p),
       oldest.unmerged_at, oldest.unrolled_at, pg_database_size(current_database()), {PACKS}
FROM oldest CROSS JOIN views"""


def read_tables(now: datetime) -> list[GaugeMetricFamily]:
    """Returns the gauges of the tables. Raises `django.db.Error`."""
    return [*_read_queue(), *_read_jobs(), *_read_alerts(), *_read_maintenance(now)]


_too_hard: Final[set[str]] = set()  # statements that this process no longer asks a cluster


def _ask(statement: str, params: dict[str, Any] | None = None) -> list[tuple[Any, ...]]:  # Any: as in `Rows`
    with connection.cursor() as cursor:
        cursor.execute(statement, params)
        return list(cursor.fetchall())


def _ask_either(
    statement: str, spread: str, params: dict[str, Any] | None = None
) -> list[tuple[Any, ...]]:  # Any: as above
    """Asks the first one, and once Citus has said that it cannot answer it, the second one instead."""
    if statement not in _too_hard:
        try:
            return _ask(statement, params)
        except NotSupportedError:
            _too_hard.add(statement)
    return _ask(spread, params)


def _read_queue() -> Iterator[GaugeMetricFamily]:
    ((projects, small_s, large_s),) = _ask_either(PENDING_AGES, SPREAD_AGES)
    yield PROJECTS.make([(projects,)])
    yield PENDING_TRACES.make(_ask(COUNT_PENDING))
    # The web servers' clocks stamp receipts, the database's reads them.
    yield OLDEST_PENDING.make([("small", max(small_s, 0)), ("large", max(large_s, 0))])
    yield SCRIPTS_WAITING.make(_ask(COUNT_SCRIPTS))


def _read_jobs() -> Iterator[GaugeMetricFamily]:
    counts = {state: (count, max(age_s, 0)) for state, count, age_s in _ask(UNFINISHED_JOBS)}
    rows = [(name, *counts.get(state, (0, 0))) for state, name in STATES.items()]
    yield JOBS_UNFINISHED.make([(name, count) for name, count, _ in rows])
    yield OLDEST_JOB.make([(name, age_s) for name, _, age_s in rows])


def _read_alerts() -> Iterator[GaugeMetricFamily]:
    ((suspected, confirmed, waiting, failed),) = _ask(ALERTS)
    yield ALERT_STATES.make([("suspected", suspected), ("confirmed", confirmed)])
    yield MESSAGES_WAITING.make([("waiting", waiting), ("failed", failed)])


def _read_maintenance(now: datetime) -> Iterator[GaugeMetricFamily]:
    today = now.date()
    ends = {
        "now": now,
        "cells_days": settings.KEEP_CELLS_DAYS,
        "views_days": settings.KEEP_VIEWS_DAYS,
        "raw_days": settings.KEEP_RAW_DAYS,
    }
    ((cells_s, views_s, raw_days, views_days, unmerged_at, unrolled_at, size, packs_s),) = _ask_either(
        OLDEST_CELLS, SPREAD_CELLS, ends
    )
    days = [day for _, day in list_partitions()]
    yield PARTITIONS_AHEAD.make([(count_ahead(days, today),)])
    kept_days = settings.KEEP_RAW_DAYS if raw_days is None else raw_days
    receipts = list_receipt_partitions()
    receipts_days = max(settings.KEEP_RECEIPTS_DAYS, kept_days, views_days or 0)
    due = {
        "raw": _midnight(days[0]) + (kept_days + 1) * DAY if days else now,
        "receipts": receipts[0].end_at + receipts_days * DAY if receipts else now,
        "roll_up": unrolled_at + settings.ROLL_UP_AFTER_HOURS * HOUR if unrolled_at else now,
        "merge": _midnight(unmerged_at.date()) + DAY + settings.MERGE_AFTER_HOURS * HOUR if unmerged_at else now,
    }
    overdue_s = {work: (now - at).total_seconds() for work, at in due.items()}
    overdue_s |= {"cells": float(cells_s or 0), "views": float(views_s or 0)}
    overdue_s["packs"] = float(packs_s or 0) - settings.PACK_SWEEP_S
    yield OVERDUE.make([(work, max(seconds, 0)) for work, seconds in sorted(overdue_s.items())])
    yield DATABASE_BYTES.make([(size,)])


def count_ahead(days: list[date], today: date) -> int:
    """Returns how many days in a row after today have a partition."""
    known, ahead = set(days), 0
    while today + (ahead + 1) * DAY in known:
        ahead += 1
    return ahead


def _midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=UTC)


def ask_database() -> list[GaugeMetricFamily]:
    """Returns the gauges of the tables, or only that the database does not answer."""
    try:
        with with_deadline(WAIT_S, cancels=True):
            families = read_tables(datetime.now(UTC))
    except Error as error:
        drop_silent_connection(error)
        return [DATABASE_UP.make([(0,)])]
    finally:
        release_connection()
    return [DATABASE_UP.make([(1,)]), *families]


def ask_valkey() -> list[GaugeMetricFamily]:
    """Returns the gauges of Valkey, or only that it does not answer."""
    try:
        waiting = [(name, flag_client().llen(key)) for name, key in QUEUES.items()]
    except (redis.RedisError, OSError):
        return [VALKEY_UP.make([(0,)])]
    return [VALKEY_UP.make([(1,)]), TASKS_WAITING.make(waiting)]


class KeptGauges(Collector):
    """The gauges of both stores, kept for `KEPT_S`. While one thread asks, others wait for its answer."""

    def __init__(self, *queries: Callable[[], list[GaugeMetricFamily]]) -> None:
        self._queries = queries
        self._lock = threading.Lock()
        self._families: list[GaugeMetricFamily] = []
        self._valid_until_s = 0.0

    def collect(self) -> Iterator[GaugeMetricFamily]:
        with self._lock:
            if time.monotonic() >= self._valid_until_s:
                self._families = [family for ask in self._queries for family in ask()]
                self._valid_until_s = time.monotonic() + KEPT_S
            families = self._families
        yield from families

    def clear(self) -> None:
        """Asks again at the next reading, for tests."""
        self._valid_until_s = 0.0


KEPT_GAUGES: Final = keep(KeptGauges(ask_database, ask_valkey))
