"""The read API's jobs: start one, watch it, fetch its result, cancel it."""

import json
import zlib
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

from django.http import Http404, HttpResponseBase, QueryDict, StreamingHttpResponse
from django.urls import reverse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from aggregate.jobs import TooManyJobs, cancel_job, has_result, iter_result, select_job, select_jobs, start_job
from aggregate.models import Job
from dashboard.api import ERRORS, ProjectView, link_of
from dashboard.exports import SOURCE_HEADER, accepts_gzip
from dashboard.params import ParamError
from dashboard.preparing import make_params, read_job
from dashboard.questions import GZIP_TYPE, KINDS
from dashboard.serializers import ErrorShape
from dashboard.shapes import Json, Shape, define_shape
from ingest.models import Project
from profcore.formats.streaming import GZIP_WINDOW

MAX_REQUEST_BYTES: Final = 64 * 1024  # the longest address that servers take is shorter
RETRY_AFTER_S: Final = 60
POLL_AFTER_S: Final = 2
INFLATE_BYTES: Final = 64 * 1024

JobErrorShape = define_shape(
    "JobErrorShape",
    "Why a job failed.",
    {
        "field": serializers.CharField(
            allow_null=True, required=False, help_text="The parameter it is about, null for none."
        ),
        "detail": serializers.CharField(),
    },
)
PARAMS_HELP: Final = "As in the query: a text, a number or true words; a list where a parameter is repeated."


class JobRequestShape(Shape):
    kind = serializers.ChoiceField(list(KINDS))
    params = serializers.DictField(help_text=PARAMS_HELP)


class JobShape(Shape):
    id = serializers.CharField()
    kind = serializers.ChoiceField(list(KINDS))
    params = serializers.DictField(child=serializers.ListField(child=serializers.CharField()))
    state = serializers.ChoiceField([state.name.lower() for state in Job.State])
    done_traces = serializers.IntegerField(help_text="Traces looked at so far.")
    total_traces = serializers.IntegerField(allow_null=True, help_text="Of so many; null until they are counted.")
    error = JobErrorShape(allow_null=True)
    attempts = serializers.IntegerField(help_text="How often it was begun: again after its worker ended.")
    created_at = serializers.DateTimeField()
    started_at = serializers.DateTimeField(allow_null=True)
    finished_at = serializers.DateTimeField(allow_null=True)
    expires_at = serializers.DateTimeField(allow_null=True, help_text="When the result is deleted.")
    url = serializers.CharField()
    result_url = serializers.CharField(allow_null=True, help_text="Null while there is none, and when it has expired.")
    content_type = serializers.CharField(allow_null=True)
    file_name = serializers.CharField(allow_null=True)
    result_bytes = serializers.IntegerField(help_text="As stored: packed.")


class JobsShape(Shape):
    jobs = JobShape(many=True)


NO_JOB: Final = OpenApiResponse(ErrorShape, "There is no such job or project, or it is not yours.")
JOB_ERRORS: Final = {401: ERRORS[401], 404: NO_JOB}


class JobsView(ProjectView):
    @extend_schema(operation_id="jobs", responses={200: JobsShape, **ERRORS})
    def get(self, request: Request, slug: str) -> Response:
        """The project's jobs, the newest first."""
        now = datetime.now(UTC)
        return Response({"jobs": [encode_job(self.project, job, now) for job in select_jobs(self.project.pk)]})

    @extend_schema(
        operation_id="start_job",
        request=JobRequestShape,
        responses={
            202: OpenApiResponse(JobShape, "Queued; `Location` names it. An equal one that waits or runs is given."),
            **ERRORS,
            429: OpenApiResponse(ErrorShape, "The project has as many jobs or results as it may have."),
        },
    )
    def post(self, request: Request, slug: str) -> Response:
        """Starts a job: what is too large for an answer, prepared in the background."""
        kind, params = read_request(request)
        slice_, _ = read_job(self.project.pk, kind, params)
        link = request.build_absolute_uri(link_of(self.project, slice_)) if kind == "profile" else ""
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
        if job is None:
            raise Http404("There is no such job.")
        return job

    @extend_schema(operation_id="job", responses={200: JobShape, **JOB_ERRORS})
    def get(self, request: Request, slug: str, job_id: UUID) -> HttpResponseBase:
        """How far a job is."""
        return Response(encode_job(self.project, self.get_job(job_id), datetime.now(UTC)))

    @extend_schema(operation_id="cancel_job", responses={204: None, **JOB_ERRORS})
    def delete(self, request: Request, slug: str, job_id: UUID) -> Response:
        """Cancels a job that waits or runs; throws away the result of one that is done."""
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
        """Streams a job's result, as the read API would have answered."""
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
    """Streams a stored result: a gzip file as it is, others packed where the client takes gzip, else expanded."""
    is_file = job.content_type == GZIP_TYPE
    is_encoded = not is_file and accepts_gzip(request._request)
    pieces = iter_result(job)
    response = StreamingHttpResponse(pieces if is_file or is_encoded else inflate_stream(pieces))
    response["Content-Type"] = job.content_type or "application/octet-stream"
    response["Content-Disposition"] = f'attachment; filename="{job.file_name}"'
    response["Vary"] = "Accept-Encoding, Authorization, Cookie"
    if job.kind == "profile":
        slice_, _ = read_job(job.project_id, job.kind, make_params([(n, v) for n, v in job.params]))
        response[SOURCE_HEADER] = slice_.tree_source
    if is_encoded:
        response["Content-Encoding"] = "gzip"
    if is_file or is_encoded:
        response["Content-Length"] = str(job.result_bytes)
    return response


def inflate_stream(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yields what a gzip stream holds, in stretches of bounded size."""
    inflater = zlib.decompressobj(GZIP_WINDOW)
    for piece in pieces:
        waiting = piece
        while waiting:
            yield inflater.decompress(waiting, INFLATE_BYTES)
            waiting = inflater.unconsumed_tail
    yield inflater.flush()


def read_request(request: Request) -> tuple[str, QueryDict]:
    """Returns the kind and the parameters that a request's body names. Raises `ParamError`."""
    body = request.read(MAX_REQUEST_BYTES + 1)
    if len(body) > MAX_REQUEST_BYTES:
        raise ParamError("params", f"The body is larger than {MAX_REQUEST_BYTES} bytes.")
    try:
        asked = json.loads(body)
    except (ValueError, RecursionError):
        raise ParamError("kind", 'The body must be JSON: {"kind": …, "params": {…}}.') from None
    if not isinstance(asked, dict) or not isinstance(asked.get("kind"), str):
        raise ParamError("kind", f"kind must be one of {', '.join(KINDS)}.")
    if unknown := asked.keys() - {"kind", "params"}:
        raise ParamError(min(unknown)[:80], "A job has a kind and params.")
    params = asked.get("params", {})
    if not isinstance(params, dict):
        raise ParamError("params", "params must be an object of the query's parameters.")
    return asked["kind"], make_params([pair for name, value in params.items() for pair in read_pairs(name, value)])


def read_pairs(name: str, value: Any) -> list[tuple[str, str]]:  # Any: JSON
    """Returns a parameter's values as a query string would have given them. Raises `ParamError`."""
    pairs = []
    for one in value if isinstance(value, list) else [value]:
        if isinstance(one, bool) or not isinstance(one, str | int | float):
            raise ParamError(name[:80], f"{name[:80]} must be a text or a number, or a list of such.")
        text = one if isinstance(one, str) else repr(one)
        if any("\ud800" <= character <= "\udfff" for character in name + text):
            raise ParamError("params", "params hold a lone surrogate, which is no text.")
        pairs.append((name, text))
    return pairs


def job_state(job: Job) -> str:
    """Returns a job's state as the API names it."""
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
