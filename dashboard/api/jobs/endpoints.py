"""Endpoints of jobs: start one, read its progress, fetch its result, cancel it."""

from datetime import UTC, datetime
from typing import Annotated, Any, Final, Self
from uuid import UUID

from django.http import Http404, HttpResponseBase, QueryDict, StreamingHttpResponse
from django.urls import reverse
from msgspec import Struct
from rest_framework.request import Request
from rest_framework.response import Response

from aggregate.jobs.requests import TooManyJobs, cancel_job, has_result, iter_result, select_job, select_jobs, start_job
from aggregate.models import Job
from aggregate.selectors.slice.slices import FINE_FIELDS
from dashboard.api.core.answer import BINARY, OBJECT, Answer, Instant, choices, doc, operation
from dashboard.api.core.views import ERRORS, ProjectView
from dashboard.api.jobs.kinds import KINDS
from dashboard.api.jobs.preparation import read_job
from dashboard.api.jobs.schemas import PARAMS_HELP, read_body_params
from dashboard.api.slices.profile import GZIP_TYPE, ProfileQuery
from dashboard.web.exports import SOURCE_HEADER, accepts_gzip, link_of
from dashboard.web.params import ParamError
from profcore.formats.streaming import inflate_stream
from projects.models import Project

RETRY_AFTER_S: Final = 60
POLL_AFTER_S: Final = 2

Kind = Annotated[str, choices(KINDS)]


class JobErrorAnswer(Answer):
    """Why a job failed."""

    field: Annotated[str | None, doc("The parameter that it is about, or null.")]
    detail: str


class JobRequest(Struct):
    kind: Kind
    params: Annotated[dict[str, Any], doc(PARAMS_HELP)]  # Any: checked by its reader


class JobAnswer(Answer):
    id: str
    kind: Kind
    params: dict[str, list[str]]
    state: Annotated[str, choices([state.name.lower() for state in Job.State])]
    done_traces: Annotated[int, doc("Traces looked at so far.")]
    total_traces: Annotated[int | None, doc("The total; null until it is counted.")]
    error: JobErrorAnswer | None
    attempts: Annotated[int, doc("How often it was started: once more after its worker ended.")]
    created_at: Instant
    started_at: Instant | None
    finished_at: Instant | None
    expires_at: Annotated[Instant | None, doc("When the result is deleted.")]
    url: str
    result_url: Annotated[str | None, doc("Null before there is a result and after it expired.")]
    content_type: str | None
    file_name: str | None
    result_bytes: Annotated[int, doc("As stored: packed.")]

    @classmethod
    def of_job(cls, project: Project, job: Job) -> Self:
        """Returns how far a job is."""
        params: dict[str, list[str]] = {}
        for name, value in job.params:
            params.setdefault(name, []).append(value)
        where = {"slug": project.slug, "job_id": job.id}
        has_file = has_result(job, datetime.now(UTC))
        return cls.of(
            job,
            id=str(job.id),
            params=params,
            state=job_state(job),
            error=JobErrorAnswer(job.error_field, job.error_detail or "") if job.state == Job.State.FAILED else None,
            url=reverse("api-job", kwargs=where),
            result_url=reverse("api-job-result", kwargs=where) if has_file else None,
        )


class JobsAnswer(Answer):
    jobs: list[JobAnswer]


class JobsView(ProjectView):
    def get(self, request: Request, slug: str) -> JobsAnswer:
        """The project's jobs, the newest first."""
        return JobsAnswer([JobAnswer.of_job(self.project, job) for job in select_jobs(self.project.pk, KINDS)])

    @operation(
        "start_job",
        body=JobRequest,
        answers={202: JobAnswer},
        notes={202: "Queued; `Location` has its address. An equal unfinished job is returned instead."},
        errors={429: "The project has reached its limit of jobs or results."},
    )
    def post(self, request: Request, slug: str) -> Response:
        """Starts a job that prepares a large answer in the background."""
        kind, params = read_request(request)
        slice_, query = read_job(self.project.pk, kind, params)
        linked_slice = query.resolve(slice_).compared_slice if isinstance(query, ProfileQuery) else None
        link = request.build_absolute_uri(link_of(self.project, linked_slice)) if linked_slice else ""
        options = [(param.name, value) for param in query.params for value in params.getlist(param.name)]
        try:
            job = start_job(self.project.pk, kind=kind, params=[*slice_.params(), *options], link=link)
        except TooManyJobs as error:
            return Response({"detail": str(error)}, status=429, headers={"Retry-After": str(RETRY_AFTER_S)})
        answer = JobAnswer.of_job(self.project, job)
        return Response(answer, status=202, headers={"Location": answer.url})


class JobBase(ProjectView):
    """The base of the endpoints about one job."""

    errors = {**ERRORS, 404: "There is no such job or project, or you cannot read it."}

    def get_job(self, job_id: UUID) -> Job:
        """Returns the project's job. Raises Http404."""
        job = select_job(self.project.pk, job_id)
        if job is None or job.kind not in KINDS:  # erasing is a matter of admins, on the dashboard
            raise Http404("There is no such job.")
        return job


class JobView(JobBase):
    def get(self, request: Request, slug: str, job_id: UUID) -> JobAnswer:
        """How far a job is."""
        return JobAnswer.of_job(self.project, self.get_job(job_id))

    @operation("cancel_job")
    def delete(self, request: Request, slug: str, job_id: UUID) -> None:
        """Cancels a queued or running job, or deletes the result of a finished one."""
        job = self.get_job(job_id)
        cancel_job(job.project_id, job.id)


class JobResultView(JobBase):
    @operation(
        content={"application/json": OBJECT, GZIP_TYPE: BINARY},
        errors={
            409: "The job waits or runs.",
            410: "The job failed or was cancelled, or its result has expired.",
        },
    )
    def get(self, request: Request, slug: str, job_id: UUID) -> HttpResponseBase:
        """Streams a job's result: the bytes that the endpoint itself would have sent."""
        job = self.get_job(job_id)
        if not job.is_finished:
            detail = f"The job is {job_state(job)}; there is no result yet."
            return Response({"detail": detail}, status=409, headers={"Retry-After": str(POLL_AFTER_S)})
        if not has_result(job, datetime.now(UTC)):
            return Response({"detail": explain_gone(job)}, status=410)
        return answer_result(request, job)


def explain_gone(job: Job) -> str:
    """Returns why a finished job has no result."""
    if job.state == Job.State.FAILED:
        return f"The job failed: {job.error_detail}"
    return (
        "The job was cancelled." if job.state == Job.State.CANCELLED else "The result has expired; start the job anew."
    )


def answer_result(request: Request, job: Job) -> StreamingHttpResponse:
    """Streams a stored result. Gzip files are sent as they are; others are packed if the client accepts gzip."""
    is_file = job.content_type == GZIP_TYPE
    is_encoded = not is_file and accepts_gzip(request._request)
    pieces = iter_result(job)
    response = StreamingHttpResponse(pieces if is_file or is_encoded else inflate_stream(pieces))
    response["Content-Type"] = job.content_type or "application/octet-stream"
    response["Content-Disposition"] = f'attachment; filename="{job.file_name}"'
    response["Vary"] = "Accept-Encoding, Authorization, Cookie"
    if job.kind == "profile":
        response[SOURCE_HEADER] = "raw" if any(name in FINE_FIELDS for name, _ in job.params) else "cells"
    if is_encoded:
        response["Content-Encoding"] = "gzip"
    if is_file or is_encoded:
        response["Content-Length"] = str(job.result_bytes)
    return response


def read_request(request: Request) -> tuple[str, QueryDict]:
    """Returns the kind and the parameters that a request's body names. Raises `ParamError`."""
    body, params = read_body_params(request, {"kind"}, first="kind")
    if not isinstance(body.get("kind"), str):
        raise ParamError("kind", f"kind must be one of {', '.join(KINDS)}.")
    return body["kind"], params


def job_state(job: Job) -> str:
    """Returns the API's name of a job's state."""
    return Job.State(job.state).name.lower()
