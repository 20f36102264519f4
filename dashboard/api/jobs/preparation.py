"""Runs a job: reads its stored parameters as a request's, counts its slice, and answers its query."""

from django.http import QueryDict

from aggregate.jobs.requests import ERASE_KIND, ERASE_TAG_KIND
from aggregate.jobs.runs import JobResult, JobRun, run_job_in_turn
from aggregate.maintenance.tag_erasures import run_tag_erasure
from aggregate.maintenance.view_erasures import run_erasure
from aggregate.selectors.page_views.fine_sums import count_read_traces
from aggregate.selectors.slice.slices import Slice, SliceError, resolve_slice
from alerts.previews import PREVIEW_KIND, run_preview
from dashboard.api.core.parameters import check_known
from dashboard.api.jobs.kinds import KINDS
from dashboard.api.slices.queries import Query
from dashboard.web.params import ParamError, read_slice_query


def make_params(pairs: list[tuple[str, str]]) -> QueryDict:
    """Returns (name, value) pairs as a request's parameters."""
    params = QueryDict(mutable=True)
    for name, value in pairs:
        params.appendlist(name, value)
    return params


def read_job(project_id: int, kind: str, params: QueryDict) -> tuple[Slice, Query]:
    """Checks a job's parameters and returns its slice and query. Raises `ParamError` and `SliceError`."""
    if kind not in KINDS:
        raise ParamError("kind", f"kind must be one of {', '.join(KINDS)}; not {kind[:80]!r}.")
    check_known(params, KINDS[kind].known_params())
    query = KINDS[kind].read(params)
    slice_ = resolve_slice(project_id, read_slice_query(params))
    query.check(slice_)
    return slice_, query


def answer_job(run: JobRun) -> JobResult:
    """Runs a job and reports its progress. Raises `SliceError`."""
    job = run.job
    if job.kind == ERASE_KIND:
        return run_erasure(run)
    if job.kind == ERASE_TAG_KIND:
        return run_tag_erasure(run)
    if job.kind == PREVIEW_KIND:
        return run_preview(run)
    try:
        slice_, query = read_job(job.project_id, job.kind, make_params([(n, v) for n, v in job.params]))
    except ParamError as error:  # accepted by an older version
        raise SliceError(error.field, error.detail) from error
    with_tree, passes = query.passes
    run.expect(passes * sum(count_read_traces(read, with_tree=with_tree) for read in query.slices(slice_)))
    return query.write(job.project, slice_, job.link, run.reading())


def run_job() -> None:
    """Runs the next job, if one may run now."""
    run_job_in_turn(answer_job)
