"""Erasing a view as a job, which the dashboard starts. The job forgets the view's id when it is done."""

import json
from dataclasses import asdict
from functools import partial
from uuid import UUID

from django.db import transaction

from aggregate.jobs.requests import ERASE_KIND, start_job
from aggregate.jobs.runs import JobResult, JobRun
from aggregate.maintenance.erasing import Erasure, erase_view
from aggregate.models import Job
from ingest.models import Receipt
from projects.audit.acts import Act
from projects.audit.entries import record


def start_erasure(project_id: int, view_id: UUID) -> Job:
    """Queues a job that erases a view, and returns it, or one that is queued already. Exports do not hold it up.

    Raises `TooManyJobs` if too many erasures are unfinished.
    """
    with transaction.atomic():
        job = start_job(project_id, kind=ERASE_KIND, params=[("view_id", str(view_id))], link="")
        record(Act.ERASURE_STARTED, project=project_id, job=str(job.id))  # not the view: the log outlives it
    return job


def run_erasure(run: JobRun) -> JobResult:
    """Erases the view of a job and returns the outcome in JSON. A job that has forgotten its view has erased it."""
    job = run.job
    for _, view_id in job.params:
        traces = Receipt.objects.filter(project_id=job.project_id, view_id=view_id)
        run.expect(traces.count())
        erase_view(job.project_id, UUID(view_id), on_group=partial(count_group, job), on_traces=run.advance)
    return finish_erasure(job)


def finish_erasure(job: Job) -> JobResult:
    """Forgets what an erasure was about, and returns its outcome in JSON."""
    with transaction.atomic():
        jobs = Job.objects.filter(project_id=job.project_id, id=job.id)
        counts = asdict(Erasure()) | (jobs.select_for_update().values_list("counts", flat=True).get() or {})
        if jobs.exclude(params=[]).update(params=[]):
            record(Act.ERASURE_FINISHED, project=job.project_id, job=str(job.id), **counts)
    return JobResult("application/json", "erasure.json", [json.dumps(counts).encode()])


def count_group(job: Job, group: Erasure) -> None:
    """Adds the outcome of a group to the job's counts. The next attempt cannot count what this one has erased."""
    jobs = Job.objects.filter(project_id=job.project_id, id=job.id)
    counted = Erasure(**(jobs.select_for_update(no_key=True).values_list("counts", flat=True).get() or {}))
    counted.add(group)
    jobs.update(counts=asdict(counted))
