"""What a job does: its stored parameters read as a request's are, its slice counted, its question answered."""

from django.http import QueryDict

from aggregate.jobruns import JobResult, JobRun, run_waiting_jobs
from aggregate.selectors import Slice, resolve_slice
from aggregate.selectors.fine import count_looks
from aggregate.selectors.slices import SliceError
from dashboard.params import ParamError, check_known, read_slice_query
from dashboard.questions import KINDS, Question


def make_params(pairs: list[tuple[str, str]]) -> QueryDict:
    """Returns (name, value) pairs as a request's parameters."""
    params = QueryDict(mutable=True)
    for name, value in pairs:
        params.appendlist(name, value)
    return params


def read_job(project_id: int, kind: str, params: QueryDict) -> tuple[Slice, Question]:
    """Checks a job's parameters and returns what is asked, of which slice. Raises `ParamError`, `SliceError`."""
    if kind not in KINDS:
        raise ParamError("kind", f"kind must be one of {', '.join(KINDS)}; not {kind[:80]!r}.")
    check_known(params, KINDS[kind].known)
    question = KINDS[kind].read(params)
    slice_ = resolve_slice(project_id, read_slice_query(params))
    question.check(slice_)
    return slice_, question


def answer_job(run: JobRun) -> JobResult:
    """Does a job's work, telling the run how far it has come. Raises `SliceError`."""
    job = run.job
    try:
        slice_, question = read_job(job.project_id, job.kind, make_params([(n, v) for n, v in job.params]))
    except ParamError as error:  # taken by an older version
        raise SliceError(error.field, error.detail) from error
    with_tree, passes = question.passes
    run.expect(passes * sum(count_looks(each, with_tree=with_tree) for each in question.slices(slice_)))
    return question.write(job.project, slice_, job.link, run.reading())


def run_jobs() -> None:
    """Runs jobs until none waits that may run now."""
    run_waiting_jobs(answer_job)
