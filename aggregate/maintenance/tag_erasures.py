"""Erasing all views that carry a tag with a value, such as the pseudonym that a page chose for a visitor.

Only raw bodies have tags, so the kept ones are read, day by day: nothing else links a view to a tag, and no table is
made that would. A view is found by any of its traces and erased as a whole. It may be killed and run again: what was
erased is not found again, and days that were read are not read again. Traces that arrive meanwhile are read at the end.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import partial
from typing import Final
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction
from django.db.models import F, Sum

from aggregate.jobs.requests import ERASE_TAG_KIND, start_job
from aggregate.jobs.runs import JobResult, JobRun
from aggregate.maintenance.erasing import Erasure, delete_mentions, erase_view
from aggregate.maintenance.retention import list_partitions
from aggregate.maintenance.view_erasures import count_group, finish_erasure
from aggregate.models import Job
from aggregate.raw_bodies import load_raw_bodies
from aggregate.selectors.page_views.raw_traces import split_traces
from ingest.count_models import ReceiptCount
from ingest.models import Receipt
from profcore.times import bounds_of_day
from profcore.trace.tags import carries_tag
from projects.audit.acts import Act
from projects.audit.entries import record

KEYS_AT_ONCE: Final = 5_000  # keys of traces that one statement lists: about 300 kB
# A trace is stored some moments after the time of its receipt, so the last look begins that much earlier.
LATE: Final = timedelta(minutes=5)


@dataclass(frozen=True, slots=True, kw_only=True)
class _StoredTrace:
    """The key of a raw body, and its size as stored."""

    view_id: UUID
    seq: int
    received_at: datetime
    body_bytes: int


def start_tag_erasure(project_id: int, name: str, value: str) -> Job:
    """Queues a job that erases all views with a tag, and returns it, or one that is queued already.

    Raises `TooManyJobs`.
    """
    params = [("name", name), ("value", value)]
    with transaction.atomic():
        job = start_job(project_id, kind=ERASE_TAG_KIND, params=params, link="")
        record(Act.ERASURE_STARTED, project=project_id, job=str(job.id), tag=name)  # not its value: it is a person's
    return job


def run_tag_erasure(run: JobRun) -> JobResult:
    """Erases what a job is about and returns the outcome in JSON. A job that forgot its tag has erased it."""
    job = run.job
    params = dict(job.params)
    if "value" in params:
        run.expect(_count_stored(job.project_id))
        erase_tagged(
            job.project_id,
            params["name"],
            params["value"],
            read_days=params.get("read", ""),
            on_group=partial(count_group, job),
            on_traces=run.advance,
            on_day=partial(_note_day, job),
        )
    return finish_erasure(job)


def erase_tagged(
    project_id: int,
    name: str,
    value: str,
    *,
    read_days: str = "",
    on_group: Callable[[Erasure], object] = lambda _: None,
    on_traces: Callable[[int], object] = lambda _: None,
    on_day: Callable[[str], object] = lambda _: None,
) -> Erasure:
    """Erases every view of which a kept trace carries the tag, and returns the outcome.

    Days up to `read_days` (as `20261123`) are passed over. `on_group` is called in the transaction of each erased
    group, `on_traces` with the number of traces that were looked at, `on_day` when a day is done.
    """
    outcome, began_at = Erasure(), datetime.now(UTC)
    for day in [day for _, day in list_partitions() if f"{day:%Y%m%d}" > read_days]:
        for batch in _iter_batches(project_id, day):
            _erase_batch(project_id, (name, value), batch, outcome, on_group)
            on_traces(len(batch))
        if day < began_at.date():  # posts still come into later ones
            on_day(f"{day:%Y%m%d}")
    since = began_at - LATE
    for day in sorted({since.date(), began_at.date(), datetime.now(UTC).date()}):
        for batch in _iter_batches(project_id, day, since=since):
            _erase_batch(project_id, (name, value), batch, outcome, on_group)
            on_traces(0)
    delete_mentions(project_id, f"{name}:{value}")
    return outcome


def _erase_batch(
    project_id: int,
    tag: tuple[str, str],
    batch: Sequence[_StoredTrace],
    outcome: Erasure,
    on_group: Callable[[Erasure], object],
) -> None:
    bodies = load_raw_bodies(project_id, [(trace.view_id, trace.seq, trace.received_at) for trace in batch])
    view_ids = {view_id for (view_id, _), body in bodies.items() if carries_tag(body.expand(), *tag)}
    for view_id in sorted(view_ids):
        outcome.add(erase_view(project_id, view_id, on_group=on_group))


def _iter_batches(project_id: int, day: date, since: datetime | None = None) -> Iterator[list[_StoredTrace]]:
    """Yields the kept traces of a day in batches whose bodies fit into memory, by their keys."""
    from_at, to_at = bounds_of_day(day)
    last: tuple[UUID, int] = (UUID(int=0), -1)
    while True:
        with connection.cursor() as cursor:
            cursor.execute(
                """SELECT view_id, seq, received_at, coalesce(pack_length, octet_length(body)) FROM ingest_rawtrace
                   WHERE project_id = %s AND received_at >= %s AND received_at < %s AND (view_id, seq) > (%s, %s)
                   ORDER BY view_id, seq LIMIT %s""",
                [project_id, max(from_at, since) if since else from_at, to_at, *last, KEYS_AT_ONCE],
            )
            rows = cursor.fetchall()
        keys = [
            _StoredTrace(view_id=view_id, seq=seq, received_at=received_at, body_bytes=size)
            for view_id, seq, received_at, size in rows
        ]
        yield from split_traces(keys, settings.JOB_BATCH_TRACES)
        if len(rows) < KEYS_AT_ONCE:
            return
        last = (rows[-1][0], rows[-1][1])


def _count_stored(project_id: int) -> int:
    """Returns about how many raw traces a project has: the counts of the days whose partitions are kept."""
    days = [day for _, day in list_partitions()]
    if not days:
        return 0
    since, _ = bounds_of_day(days[0])
    settled = ReceiptCount.objects.filter(project_id=project_id, hour_at__gte=since)
    counted = settled.aggregate(count=Sum(F("folded") + F("rejected")))["count"] or 0
    return counted + Receipt.objects.filter(project_id=project_id, state=Receipt.State.PENDING).count()


def _note_day(job: Job, day: str) -> None:
    """Notes in the job that a day is done: the next attempt passes it over."""
    params = {**dict(job.params), "read": day}
    job.params = [[name, value] for name, value in params.items()]
    Job.objects.filter(project_id=job.project_id, id=job.id).update(params=job.params)
