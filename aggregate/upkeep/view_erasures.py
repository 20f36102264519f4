"""Erasing a view as a job, which the dashboard starts. The job forgets the view's id when it is done."""

import json
from typing import Final
from uuid import UUID

from aggregate.jobs.requests import start_job
from aggregate.jobs.runs import JobResult, JobRun
from aggregate.models import Job
from aggregate.upkeep.erasing import Erasure, erase_view
from ingest.models import Receipt

ERASE_KIND: Final = "erase_view"


def start_erasure(project_id: int, view_id: UUID) -> Job:
    """Queues a job that erases a view, and returns it, or one that is queued already. Raises `TooManyJobs`."""
    return start_job(project_id, kind=ERASE_KIND, params=[("view_id", str(view_id))], link="")


def run_erasure(run: JobRun) -> JobResult:
    """Erases the view of a job and returns the outcome in JSON. A job that has forgotten its view has erased it."""
    job = run.job
    erasure = Erasure()
    for _, view_id in job.params:
        traces = Receipt.objects.filter(project_id=job.project_id, view_id=view_id)
        run.expect(traces.count())
        erasure = erase_view(job.project_id, UUID(view_id), on_traces=run.advance)
    Job.objects.filter(project_id=job.project_id, id=job.id).update(params=[])
    told = {name: getattr(erasure, name) for name in ("traces", "views", "kept_sums", "kept_trees")}
    return JobResult("application/json", "erasure.json", [json.dumps(told).encode()])
