"""Jobs from the side of their users: started, looked at, cancelled, read, and deleted after they have expired.

A job's row is its queue entry. If waking a worker fails, the sweep finds the job. `aggregate.jobs.runs` runs them.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final
from uuid import UUID, uuid4

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Sum

from aggregate.models import Job, JobPiece
from ingest.deadline import idle_timeout
from ingest.notify import notify_worker

JOB_FORGET_DAYS: Final = 7  # a job is deleted this long after its result: its address answers 410 until then, then 404
JOB_TASK: Final = "dashboard.run_jobs"
JOB_FLAG: Final = "fieldflame:notify-jobs"
JOB_LOCK: Final = 0x6A6F_6273  # "jobs": with a project's id to start a job, without one to claim a job
UNFINISHED: Final = (Job.State.QUEUED, Job.State.RUNNING)
MAX_LISTED: Final = 100
ERASE_KIND: Final = "erase_view"
ERASE_TAG_KIND: Final = "erase_tag"
# Erasures need no room among a project's other jobs: what a person asks for is not refused because of exports. But each
# one by a tag reads every raw body that is kept, so a hundred are hours of work already.
MAX_UNFINISHED_ERASURES: Final = 100

Pairs = Sequence[tuple[str, str]]


class TooManyJobs(Exception):
    """The project has as many jobs, or results, as it may have. The text is a sentence for people."""


def start_job(project_id: int, *, kind: str, params: Pairs, link: str) -> Job:
    """Queues a job and returns it, or an equal one that is queued or running already. Raises `TooManyJobs`.

    Erasures have a limit of their own.
    """
    wanted = [[name, value] for name, value in params]
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute(
                """SELECT pg_advisory_xact_lock(%s::int, %s::int)
                   FROM set_config('idle_in_transaction_session_timeout', %s, true)""",
                [JOB_LOCK, project_id, idle_timeout()],
            )
        jobs = Job.objects.filter(project_id=project_id)
        unfinished = list(jobs.filter(state__in=UNFINISHED).order_by("created_at"))
        for job in unfinished:
            if (job.kind, job.params, job.link) == (kind, wanted, link):
                return job
        if kind in (ERASE_KIND, ERASE_TAG_KIND):
            _check_room_of_erasures(sum(job.kind in (ERASE_KIND, ERASE_TAG_KIND) for job in unfinished))
        else:
            _check_room(project_id, len(unfinished))
        job = Job(project_id=project_id, id=uuid4(), kind=kind, params=wanted, link=link, created_at=datetime.now(UTC))
        job.save(force_insert=True)
        transaction.on_commit(_wake)
    return job


def _wake() -> None:
    notify_worker(JOB_TASK, JOB_FLAG)


def _check_room_of_erasures(unfinished: int) -> None:
    if unfinished >= MAX_UNFINISHED_ERASURES:
        raise TooManyJobs(f"{unfinished} erasures of this project wait or run; wait for one.")


def _check_room(project_id: int, unfinished: int) -> None:
    if unfinished >= settings.JOBS_MAX_UNFINISHED:
        raise TooManyJobs(f"{unfinished} jobs of this project wait or run; wait for one, or cancel it.")
    kept = Job.objects.filter(project_id=project_id, result_bytes__gt=0).aggregate(size=Sum("result_bytes"))["size"]
    if (kept or 0) >= settings.JOBS_MAX_KEPT_BYTES:
        raise TooManyJobs(f"The project's results take {kept} bytes; delete some, or wait until they expire.")


def select_jobs(project_id: int, kinds: Iterable[str] | None = None) -> Sequence[Job]:
    """Returns a project's jobs, of some kinds or of all, the newest first."""
    jobs = Job.objects.filter(project_id=project_id)
    if kinds is not None:
        jobs = jobs.filter(kind__in=list(kinds))
    return list(jobs.order_by("-created_at", "id")[:MAX_LISTED])


def select_job(project_id: int, job_id: UUID) -> Job | None:
    """Returns a project's job, None if it has no job of that id."""
    return Job.objects.filter(project_id=project_id, id=job_id).first()


def cancel_job(project_id: int, job_id: UUID) -> None:
    """Cancels a job that is queued or running, and deletes the result of one that is done. Others stay as they are.

    The worker that runs it notices at its next batch.
    """
    now = datetime.now(UTC)
    with transaction.atomic():
        Job.objects.filter(project_id=project_id, id=job_id, state__in=(*UNFINISHED, Job.State.DONE)).update(
            state=Job.State.CANCELLED, finished_at=now, expires_at=now, result_bytes=0
        )
        JobPiece.objects.filter(project_id=project_id, job_id=job_id).delete()


def has_result(job: Job, now: datetime) -> bool:
    """Returns whether a job's result can be read."""
    return job.state == Job.State.DONE and job.expires_at is not None and job.expires_at > now


def iter_result(job: Job) -> Iterator[bytes]:
    """Yields the result of a finished job in pieces of gzip, one statement each.

    Raises `RuntimeError` if the result is deleted meanwhile: without it, an answer that ends early would look complete.
    """
    read = number = 0
    pieces = JobPiece.objects.filter(project_id=job.project_id, job_id=job.id)
    while read < job.result_bytes:
        body = pieces.filter(number=number).values_list("body", flat=True).first()
        if body is None:
            raise RuntimeError(f"The result of job {job.id} was deleted while it was read.")
        number += 1
        read += len(body)
        yield bytes(body)


def expire_jobs(now: datetime) -> int:
    """Deletes expired results, and some days later the jobs themselves; returns the number of deleted jobs.

    Queued and running jobs do not expire. A job's pieces are deleted in one transaction, since they are bounded.
    """
    for job in Job.objects.filter(expires_at__lte=now, result_bytes__gt=0):
        with transaction.atomic():
            Job.objects.filter(project_id=job.project_id, id=job.id).update(result_bytes=0)
            JobPiece.objects.filter(project_id=job.project_id, job_id=job.id).delete()
    forgotten = Job.objects.filter(expires_at__lte=now - timedelta(days=JOB_FORGET_DAYS))
    return forgotten.delete()[0]
