"""Previews of budgets that are read from raw traces. A month takes too long to wait for: a job does it."""

import gzip
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from datetime import date, datetime
from typing import Any, Final

from aggregate.jobs.requests import has_result, iter_result, start_job
from aggregate.jobs.runs import JobResult, JobRun
from aggregate.models import Job
from alerts.budgets import Preview, judge_past, list_past
from alerts.days import SETTLES, Day, last_settled, measure_from_traces
from alerts.queries import AlertQuery
from profcore.times import bounds_of_day

PREVIEW_KIND: Final = "preview_budget"
UNTIL: Final = "until"  # the last settled day, in the parameters of a job: another day is another preview


def start_preview(project_id: int, question: Mapping[str, Any], now: datetime) -> Job:  # Any: JSON
    """Queues a preview of a checked question, and returns its job; one that is there already if it is of today.

    Raises `TooManyJobs`.
    """
    last = last_settled(now)
    params = [("question", json.dumps(dict(question), sort_keys=True)), (UNTIL, last.isoformat())]
    jobs = Job.objects.filter(project_id=project_id, kind=PREVIEW_KIND, params=[list(pair) for pair in params])
    done = jobs.filter(state=Job.State.DONE).order_by("-created_at").first()
    if done is not None and has_result(done, now):
        return done
    return start_job(project_id, kind=PREVIEW_KIND, params=params, link="")


def query_of(job: Job) -> AlertQuery:
    """Returns the question that a job previews."""
    return AlertQuery(**json.loads(dict(job.params)["question"]))


def run_preview(run: JobRun) -> JobResult:
    """Reads the days of a preview, and returns them in JSON. Its progress is in days."""
    last = date.fromisoformat(dict(run.job.params)[UNTIL])
    days = list_past(bounds_of_day(last)[1] + SETTLES)
    run.expect(len(days))
    rows = [asdict(day) | {"on": day.on.isoformat()} for day in _iter_days(run, days)]
    return JobResult("application/json", "preview.json", [json.dumps(rows).encode()])


def _iter_days(run: JobRun, days: list[date]) -> Iterator[Day]:
    query = query_of(run.job)
    for day in days:
        yield measure_from_traces(run.job.project_id, query, day)
        run.advance(1)


def read_preview(job: Job) -> Preview:
    """Returns the preview of a job that is done."""
    rows = json.loads(gzip.decompress(b"".join(iter_result(job))))
    days = [Day(**{**row, "on": date.fromisoformat(row["on"])}) for row in rows]
    return judge_past(query_of(job), days)
