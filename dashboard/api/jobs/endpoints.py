"""Endpoints of jobs: start one, read its progress, fetch its result, cancel it."""

import zlib
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

from django.http import Http404, HttpResponseBase, QueryDict, StreamingHttpResponse
from django.urls import reverse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from aggregate.jobs.requests import TooManyJobs, cancel_job, has_result, iter_result, select_job, select_jobs, start_job
from aggregate.models import Job
from aggregate.selectors.slice.slices import FINE_FIELDS
from dashboard.api.core.encoding import ErrorShape
from dashboard.api.core.parameters import ERRORS
from dashboard.api.core.views import ProjectView
from dashboard.api.jobs.preparation import read_job
from dashboard.api.jobs.schemas import PARAMS_HELP, read_body_params
from dashboard.api.slices.queries import GZIP_TYPE, KINDS, ProfileQuery
from dashboard.web.exports import SOURCE_HEADER, accepts_gzip, link_of
from dashboard.web.params import ParamError
from dashboard.web.schemas import Json, Shape, define_shape
from profcore.formats.streaming import GZIP_WINDOW
from projects.models import Project

RETRY_AFTER_S: Final = 60
POLL_AFTER_S: Final = 2
INFLATE_BYTES: Final = 64 * 1024

JobErrorShape = define_shape(
    "JobErrorShape",
    "Why a job failed.",
    {
        "field": serializers.CharField(
            allow_null=True, required=False, help_text="The parameter that it is about, or null."
        ),
        "detail": serializers.CharField(),
    },
)


class JobRequestShape(Shape):
    kind = serializers.ChoiceField(list(KINDS))
    params = serializers.DictField(help_text=PARAMS_HELP)


class JobShape(Shape):
    id = serializers.CharField()
    kind = serializers.ChoiceField(list(KINDS))
    params = serializers.DictField(child=serializers.ListField(child=serializers.CharField()))
    state = serializers.ChoiceField([state.name.lower() for state in Job.State])
    done_traces = serializers.IntegerField(help_text="Traces looked at so far.")
    total_traces = serializers.IntegerField(allow_null=True, help_text="The total; null until it is counted.")
    error = JobErrorShape(allow_null=True)
    attempts = serializers.IntegerField(help_text="How often it was started: once more after its worker ended.")
    created_at = serializers.DateTimeField()
    started_at = serializers.DateTimeField(allow_null=True)
    finished_at = serializers.DateTimeField(allow_null=True)
    expires_at = serializers.DateTimeField(allow_null=True, help_text="When the result is deleted.")
    url = serializers.CharField()
    result_url = serializers.CharField(allow_null=True, help_text="Null before there is a result and after it expired.")
    content_type = serializers.CharField(allow_null=True)
    file_name = serializers.CharField(allow_null=True)
    result_bytes = serializers.IntegerField(help_text="As stored: packed.")


class JobsShape(Shape):
    jobs = JobShape(many=True)


NO_JOB: Final = OpenApiResponse(ErrorShape, "There is no such job or project, or you cannot read it.")
JOB_ERRORS: Final = {401: ERRORS[401], 404: NO_JOB}


class JobsView(ProjectView):
    @extend_schema(operation_id="jobs", responses={200: JobsShape, **ERRORS})
    def get(self, request: Request, slug: str) -> Response:
        """The project's jobs, the newest first."""
        now = datetime.now(UTC)
        return Response({"jobs": [encode_job(self.project, job, now) for job in select_jobs(self.project.pk, KINDS)]})

    @extend_schema(
        operation_id="start_job",
        request=JobRequestShape,
        responses={
            202: OpenApiResponse(
                JobShape,
                "Queued; `Location` has its address. An equal unfinished job is returned instead.",
            ),
            **ERRORS,
            429: OpenApiResponse(ErrorShape, "The project has reached its limit of jobs or results."),
        },
    )
    def post(self, request: Request, slug: str) -> Response:
        """Starts a job that prepares a large answer in the background."""
        kind, params = read_request(request)
        slice_, question = read_job(self.project.pk, kind, params)
        shown = question.ask(slice_).shown_slice if isinstance(question, ProfileQuery) else None
        link = request.build_absolute_uri(link_of(self.project, shown)) if shown else ""
        own = [(name, value) for name in KINDS[kind].params for value in params.getlist(name)]
        try:
            job = start_job(self.project.pk, kind=kind, params=[*slice_.params(), *own], link=link)
        except TooManyJobs as error:
            return Response({"detail": str(error)}, status=429, headers={"Retry-After": str(RETRY_AFTER_S)})
        answer = encode_job(self.project, job, datetime.now(UTC))
        return Response(answer, status=202, headers={"Location": str(answer["url"])})


class JobView(ProjectView):
    def get_job(self, job_id: UUID) -> Job:
        """Returns the project's job. Raises Http404."""
        job = select_job(self.project.pk, job_id)
        if job is None or job.kind not in KINDS:  # erasing is a matter of admins, on the dashboard
            raise Http404("There is no such job.")
        return job

    @extend_schema(operation_id="job", responses={200: JobShape, **JOB_ERRORS})
    def get(self, request: Request, slug: str, job_id: UUID) -> HttpResponseBase:
        """How far a job is."""
        return Response(encode_job(self.project, self.get_job(job_id), datetime.now(UTC)))

    @extend_schema(operation_id="cancel_job", responses={204: None, **JOB_ERRORS})
    def delete(self, request: Request, slug: str, job_id: UUID) -> Response:
        """Cancels a queued or running job, or deletes the result of a finished one."""
        job = self.get_job(job_id)
        cancel_job(job.project_id, job.id)
        return Response(status=204)


class JobResultView(JobView):
    http_method_names = ["get", "head", "options"]

    @extend_schema(
        operation_id="job_result",
        responses={
            (200, "application/json"): OpenApiTypes.OBJECT,
            (200, "application/gzip"): OpenApiTypes.BINARY,
            **JOB_ERRORS,
            409: OpenApiResponse(ErrorShape, "The job waits or runs."),
            410: OpenApiResponse(ErrorShape, "The job failed or was cancelled, or its result has expired."),
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


def inflate_stream(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yields the expanded bytes of a gzip stream, in pieces of bounded size."""
    inflater = zlib.decompressobj(GZIP_WINDOW)
    for piece in pieces:
        waiting = piece
        while waiting:
            yield inflater.decompress(waiting, INFLATE_BYTES)
            waiting = inflater.unconsumed_tail
    yield inflater.flush()


def read_request(request: Request) -> tuple[str, QueryDict]:
    """Returns the kind and the parameters that a request's body names. Raises `ParamError`."""
    asked, params = read_body_params(request, {"kind"}, first="kind")
    if not isinstance(asked.get("kind"), str):
        raise ParamError("kind", f"kind must be one of {', '.join(KINDS)}.")
    return asked["kind"], params


def job_state(job: Job) -> str:
    """Returns the API's name of a job's state."""
    return Job.State(job.state).name.lower()


def encode_job(project: Project, job: Job, now: datetime) -> Json:
    params: dict[str, list[str]] = {}
    for name, value in job.params:
        params.setdefault(name, []).append(value)
    failed = job.state == Job.State.FAILED
    where = {"slug": project.slug, "job_id": job.id}
    return {
        "id": str(job.id),
        "kind": job.kind,
        "params": params,
        "state": job_state(job),
        "done_traces": job.done_traces,
        "total_traces": job.total_traces,
        "error": {"field": job.error_field, "detail": job.error_detail} if failed else None,
        "attempts": job.attempts,
        "created_at": format_at(job.created_at),
        "started_at": format_at(job.started_at),
        "finished_at": format_at(job.finished_at),
        "expires_at": format_at(job.expires_at),
        "url": reverse("api-job", kwargs=where),
        "result_url": reverse("api-job-result", kwargs=where) if has_result(job, now) else None,
        "content_type": job.content_type,
        "file_name": job.file_name,
        "result_bytes": job.result_bytes,
    }


def format_at(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat().replace("+00:00", "Z")
