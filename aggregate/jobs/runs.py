"""Running jobs: claimed under a lease bound to the worker's heartbeat, and identified by the number of the attempt.

Attempts are counted before the work. When a worker is gone (`aggregate.worker_leases`), the next one starts its job
again from the beginning. Progress and pieces of the result are written only if the row still says that this attempt is
running. So a worker stops there if its job was cancelled or taken over. A worker that is told to stop queues its job
again, and the attempt does not count.
"""

import logging
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from django.conf import settings
from django.db import InterfaceError, OperationalError, connection, transaction
from structlog.contextvars import bound_contextvars

from aggregate.jobs.requests import JOB_FLAG, JOB_LOCK, JOB_TASK
from aggregate.metrics import JOB_SECONDS, note
from aggregate.models import Job, JobPiece, QueueTurn
from aggregate.queue_turns import TURN_ORDER, note_turn
from aggregate.selectors.slice.reading import Reading, SliceTooLarge
from aggregate.selectors.slice.slices import SliceError
from aggregate.semaphores import try_semaphore
from aggregate.sourcemaps.queue import SYMBOLICATE_FLAG, SYMBOLICATE_TASK
from aggregate.stopping import Stopping, check_stop, is_stopping
from aggregate.worker_leases import LIVE, beating, drop_dead_leases, register_lease, release_surely
from ingest.deadline import idle_timeout
from ingest.notify import clear_flag, notify_worker
from profcore.formats.streaming import gzip_stream

logger = logging.getLogger(__name__)

RUNNING: Final = Job.State.RUNNING.value  # states up to it are unfinished, as the index `job_queue` has them
# A running job whose worker may be trusted: its lease holds, and it beats.
IS_HELD: Final = f"""j.state = {RUNNING} AND j.claimed_until >= now() AND EXISTS (
    SELECT FROM live WHERE live.token = j.claim_token)"""
COUNT_HELD: Final = f"WITH {LIVE} SELECT count(*) FROM aggregate_job j WHERE {IS_HELD}"
# Of the project whose turn it is, the oldest. So a project with many jobs does not delay the others.
PICK: Final = f"""
WITH {LIVE}, unfinished AS (
    SELECT j.project_id, j.id, j.created_at, {IS_HELD} AS is_held FROM aggregate_job j WHERE j.state <= {RUNNING}),
counted AS (
    SELECT project_id, id, created_at, is_held,
           count(*) FILTER (WHERE is_held) OVER (PARTITION BY project_id) AS held_count
    FROM unfinished)
SELECT c.project_id, c.id FROM counted c
LEFT JOIN aggregate_queueturn t ON t.project_id = c.project_id AND t.queue = {QueueTurn.Queue.JOBS.value}
WHERE NOT is_held ORDER BY {TURN_ORDER}, created_at, id LIMIT 1
"""
TAKE: Final = f"""
UPDATE aggregate_job SET state = {RUNNING}, attempts = attempts + 1, started_at = now(), done_traces = 0,
    total_traces = NULL, result_bytes = 0, claim_token = %(token)s,
    claimed_until = now() + make_interval(secs => %(lease_s)s)
WHERE project_id = %(project_id)s AND id = %(id)s AND state <= {RUNNING}
"""
OURS: Final = f"""project_id = %(project_id)s AND id = %(id)s AND state = {RUNNING} AND attempts = %(attempts)s
    AND claim_token = %(token)s"""


class JobLost(Exception):
    """The job is no longer this worker's: it was cancelled, or another took it over."""


@dataclass(frozen=True, slots=True)
class JobResult:
    """The result of a job: its bytes in pieces, not compressed."""

    content_type: str
    file_name: str
    pieces: Iterable[bytes]


@dataclass(slots=True)
class JobRun:
    """One attempt at a job."""

    job: Job
    done_traces: int = 0
    total_traces: int | None = None

    def reading(self) -> Reading:
        """Returns a reading that reports its progress to this run."""
        return Reading.in_pages(self.advance)

    def expect(self, traces: int) -> None:
        """Notes how many traces will be looked at. Raises `JobLost`."""
        self.total_traces = traces
        self._update("total_traces = %(total)s", total=traces)

    def advance(self, traces: int) -> None:
        """Notes the number of traces that were looked at in addition. Raises `JobLost` or `Stopping`."""
        check_stop()
        self.done_traces += traces
        done = self.done_traces if self.total_traces is None else min(self.done_traces, self.total_traces)
        self._update("done_traces = %(done)s", done=done)

    def store(self, result: JobResult) -> None:
        """Stores a result piece by piece, and marks the job done. Raises `JobLost`, `SliceTooLarge` or `Stopping`."""
        size = 0
        for number, body in enumerate(cut_pieces(gzip_stream(result.pieces), settings.JOB_PIECE_BYTES)):
            check_stop()
            size += len(body)
            if size > settings.JOB_MAX_RESULT_BYTES:
                limit = settings.JOB_MAX_RESULT_BYTES
                raise SliceTooLarge("from", f"The result takes more than {limit} bytes. Narrow the slice.")
            with transaction.atomic():
                self._update("result_bytes = %(size)s", size=size)  # the lock of its row makes a cancellation wait
                JobPiece(project_id=self.job.project_id, job_id=self.job.id, number=number, body=body).save(
                    force_insert=True
                )
        self._finish(
            f"""state = {Job.State.DONE.value}, content_type = %(type)s, file_name = %(name)s,
                done_traces = COALESCE(total_traces, 0)""",
            type=result.content_type,
            name=result.file_name,
        )

    def fail(self, field: str | None, detail: str) -> None:
        """Marks the job failed, and deletes its stored pieces. Raises `JobLost`."""
        with transaction.atomic():
            self._finish(
                f"""state = {Job.State.FAILED.value}, result_bytes = 0, error_field = %(field)s::text,
                    error_detail = %(detail)s::text""",
                field=field,
                detail=detail,
            )
            JobPiece.objects.filter(project_id=self.job.project_id, job_id=self.job.id).delete()

    def release(self, *, is_attempt: bool = True) -> None:
        """Queues the job again. The attempt stays counted unless its worker was told to stop. Raises `JobLost`."""
        self._update(
            f"state = {Job.State.QUEUED.value}, claim_token = NULL, attempts = attempts - %(uncounted)s",
            uncounted=0 if is_attempt else 1,
        )

    def _finish(self, change: str, **values: Any) -> None:  # Any: a statement's parameters
        self._update(
            f"{change}, finished_at = now(), expires_at = now() + make_interval(hours => %(hours)s)",
            hours=settings.JOB_KEEP_HOURS,
            **values,
        )

    def _update(self, change: str, **values: Any) -> None:  # Any: as above
        job = self.job
        of_run: dict[str, Any] = {
            "project_id": job.project_id,
            "id": job.id,
            "attempts": job.attempts,
            "token": job.claim_token,
            "lease_s": settings.JOB_LEASE_S,
        }
        with connection.cursor() as cursor:
            cursor.execute(
                f"""UPDATE aggregate_job SET {change}, claimed_until = now() + make_interval(secs => %(lease_s)s)
                    WHERE {OURS}""",
                {**values, **of_run},
            )
            if cursor.rowcount != 1:
                raise JobLost(str(job.id))


def cut_pieces(stream: Iterable[bytes], size: int) -> Iterator[bytes]:
    """Yields the bytes of a stream in pieces of `size`, the last one shorter."""
    waiting = bytearray()
    for chunk in stream:
        waiting += chunk
        while len(waiting) >= size:
            yield bytes(waiting[:size])
            del waiting[:size]
    if waiting:
        yield bytes(waiting)


def run_next_job(answer: Callable[[JobRun], JobResult]) -> bool:
    """Runs the next queued job, if one may run now; returns whether there was one. `answer` does the work.

    An error in the slice, or a fault of ours, ends the job as failed. Faults of the database are transient: the job is
    queued again, and they are raised.
    """
    run = claim_job()
    if run is None:
        return False
    began_s, outcome = time.perf_counter(), "interrupted"
    with bound_contextvars(project_id=run.job.project_id, job_id=str(run.job.id)):
        try:
            outcome = _run(run, answer)
        except JobLost:
            outcome = "lost"
            logger.info("The job was cancelled or taken over.")
        finally:
            seconds = time.perf_counter() - began_s
            JOB_SECONDS.labels(run.job.kind, outcome).observe(seconds)
            note(f"jobs_{outcome}")
            logger.info("A job ended: %s, %s, %.1f s.", run.job.kind, outcome, seconds)
    return True


def _run(run: JobRun, answer: Callable[[JobRun], JobResult]) -> str:
    """Runs a job; returns its outcome. Raises `JobLost`, and what interrupts the work."""
    try:
        with beating():
            run.store(answer(run))
    except SliceError as error:
        run.fail(error.field, error.detail)
        return "refused"
    except Stopping:
        run.release(is_attempt=False)
        return "interrupted"
    except (OperationalError, InterfaceError):
        release_surely(run.release)
        raise
    except JobLost:
        raise
    except Exception as error:
        logger.exception("A job failed.")
        run.fail(None, f"The job failed with {type(error).__name__}; the worker's log says more.")
        return "failed"
    except BaseException:  # this process was told to end
        release_surely(partial(run.release, is_attempt=False))
        raise
    return "done"


def run_job_in_turn(answer: Callable[[JobRun], JobResult]) -> None:
    """Runs the next job, if one may run now and this worker has a slot for it; the jobs behind it are notified.

    Source maps wait for the same slots, so they come before the next job. Without a slot, the sweep tries again.
    """
    clear_flag(JOB_FLAG)  # before claiming, as with traces
    drop_dead_leases()
    with try_semaphore() as has_slot:
        if not has_slot or is_stopping() or not run_next_job(answer):
            return
    notify_worker(SYMBOLICATE_TASK, SYMBOLICATE_FLAG)
    notify_worker(JOB_TASK, JOB_FLAG)


def claim_job() -> JobRun | None:
    """Claims the next job; None if none is queued, or as many run as may. Jobs begun too often are marked failed."""
    while True:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(
                "SELECT pg_advisory_xact_lock(%s) FROM set_config('idle_in_transaction_session_timeout', %s, true)",
                [JOB_LOCK, idle_timeout()],
            )
            cursor.execute(COUNT_HELD)
            held = cursor.fetchone()
            if held is None or held[0] >= settings.JOBS_AT_ONCE:
                return None
            cursor.execute(PICK)
            picked = cursor.fetchone()
            if picked is None:
                return None
            of_job: dict[str, Any] = {"project_id": picked[0], "id": picked[1]}  # Any: a statement's parameters
            cursor.execute(TAKE, {**of_job, "lease_s": settings.JOB_LEASE_S, "token": register_lease()})
            if cursor.rowcount != 1:  # cancelled in between
                continue
            note_turn(picked[0], QueueTurn.Queue.JOBS)
            JobPiece.objects.filter(project_id=picked[0], job_id=picked[1]).delete()
            run = JobRun(Job.objects.get(**of_job))
            if run.job.attempts <= settings.JOB_ATTEMPTS:
                return run
            run.fail(None, f"The job was begun {settings.JOB_ATTEMPTS} times, and its worker ended each time.")
