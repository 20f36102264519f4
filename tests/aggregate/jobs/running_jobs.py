"""Jobs started, claimed and run in one process, for tests."""

from aggregate.jobs.requests import select_job, start_job
from aggregate.jobs.runs import JobResult, JobRun, claim_job, run_next_job
from aggregate.models import Job
from dashboard.api.jobs.preparation import answer_job
from projects.models import Project

WORDS = [b"one ", b"two ", b"three"]


def start(project: Project, *params: tuple[str, str], kind: str = "functions") -> Job:
    return start_job(project.pk, kind=kind, params=params, link="")


def again(job: Job) -> Job:
    """Returns the job, loaded again from its row."""
    current = select_job(job.project_id, job.id)
    assert current is not None
    return current


def say_words(run: JobRun) -> JobResult:
    run.expect(3)
    for _ in WORDS:
        run.advance(1)
    return JobResult("text/plain", "words.txt", WORDS)


def run_jobs() -> None:
    """Runs real jobs until none is queued."""
    while run_next_job(answer_job):
        pass


def claimed() -> JobRun:
    run = claim_job()
    assert run is not None
    return run
