"""Erasing views by the API: for admins, and for tokens with the scope `erase`, such as a consent platform's."""

import gzip
import json
from datetime import UTC, datetime
from typing import Annotated, Any, Self
from uuid import UUID

from django.http import Http404
from django.urls import reverse
from msgspec import UNSET, Struct, UnsetType
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response

from aggregate.jobs.requests import ERASE_KIND, ERASE_TAG_KIND, TooManyJobs, has_result, iter_result, select_job
from aggregate.maintenance.tag_erasures import start_tag_erasure
from aggregate.maintenance.view_erasures import start_erasure
from aggregate.models import Job
from dashboard.api.core.answer import Answer, doc, operation
from dashboard.api.core.views import ERRORS, ProjectView
from dashboard.api.jobs.endpoints import RETRY_AFTER_S
from dashboard.web.access import may_administer
from dashboard.web.params import ParamError, read_changes
from projects.models import ApiToken, Project

MAX_TAG_CHARS = 200  # as the ingest endpoint has it
FORBIDDEN = "Only administrators and tokens with the scope erase can erase views."


class ErasureRequest(Struct):
    view_id: Annotated[UUID, doc("The id of one view; without a tag.")] | UnsetType = UNSET
    tag: Annotated[str, doc("The name of a tag, such as visitor.")] | UnsetType = UNSET
    value: Annotated[str, doc("Its value. All views that carry it are erased.")] | UnsetType = UNSET


class OutcomeAnswer(Answer):
    traces: int
    views: int
    kept_sums: Annotated[int, doc("Sums in which the part of a view could not be found.")]
    kept_trees: int


class ErasureAnswer(Answer):
    id: str
    state: Annotated[str, doc("queued, running, done, failed or cancelled")]
    done_traces: Annotated[int, doc("Traces looked at so far.")]
    total_traces: Annotated[int | None, doc("About how many there are to look at.")]
    outcome: Annotated[OutcomeAnswer | None, doc("Null before it is done, and a day after.")]
    url: str

    @classmethod
    def of_job(cls, project: Project, job: Job) -> Self:
        """Returns how far the job of an erasure is."""
        has_outcome = has_result(job, datetime.now(UTC))
        return cls.of(
            job,
            id=str(job.id),
            state=Job.State(job.state).name.lower(),
            outcome=OutcomeAnswer(**json.loads(gzip.decompress(b"".join(iter_result(job))))) if has_outcome else None,
            url=reverse("api-erasure", args=[project.slug, job.id]),
        )


class ErasureBase(ProjectView):
    token_scopes = (ApiToken.Scope.ERASE,)
    errors = {**ERRORS, 403: FORBIDDEN}

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:  # Any: as in DRF's stubs
        """Refuses readers."""
        super().initial(request, *args, **kwargs)
        if not isinstance(request.auth, ApiToken) and not may_administer(request.user, self.project):
            raise PermissionDenied(FORBIDDEN)


class ErasuresView(ErasureBase):
    @operation(
        "start_erasure",
        body=ErasureRequest,
        answers={202: ErasureAnswer},
        errors={429: "The project has reached its limit of unfinished erasures."},
    )
    def post(self, request: Request, slug: str) -> Response:
        """Starts a job that erases one view, or all views that carry a tag."""
        changes = read_changes(request.data, ("view_id", "tag", "value"))
        try:
            job = start(self.project, changes)
        except TooManyJobs as error:
            return Response({"detail": str(error)}, status=429, headers={"Retry-After": str(RETRY_AFTER_S)})
        return Response(ErasureAnswer.of_job(self.project, job), status=202)


class ErasureView(ErasureBase):
    def get(self, request: Request, slug: str, job_id: UUID) -> ErasureAnswer:
        """How far an erasure is, and its outcome."""
        job = select_job(self.project.pk, job_id)
        if job is None or job.kind not in (ERASE_KIND, ERASE_TAG_KIND):
            raise Http404("There is no such erasure.")
        return ErasureAnswer.of_job(self.project, job)


def start(project: Project, changes: dict[str, Any]) -> Job:  # Any: JSON
    """Starts the erasure that a body asks for. Raises `ParamError` or `TooManyJobs`."""
    if "view_id" in changes and len(changes) == 1:
        return start_erasure(project.pk, read_view_id(changes["view_id"]))
    name, value = (read_text(changes, field) for field in ("tag", "value"))
    if "view_id" in changes:
        raise ParamError("view_id", "Give a view_id, or a tag and its value.")
    return start_tag_erasure(project.pk, name, value)


def read_view_id(value: object) -> UUID:
    """Returns the id of a view. Raises `ParamError`."""
    try:
        return UUID(str(value))
    except ValueError:
        raise ParamError("view_id", "view_id must be the id of a view.") from None


def read_text(changes: dict[str, Any], field: str) -> str:  # Any: JSON
    """Returns a text of the body. Raises `ParamError`."""
    text = changes.get(field)
    if not isinstance(text, str) or not 0 < len(text) <= MAX_TAG_CHARS or "\0" in text:
        raise ParamError(field, f"{field} must be a text of 1 to {MAX_TAG_CHARS} characters.")
    return text
