"""Erasing views by the API: for admins, and for tokens with the scope `erase`, such as a consent platform's."""

import gzip
import json
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.http import Http404
from django.urls import reverse
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response

from aggregate.jobs.requests import has_result, iter_result, select_job
from aggregate.maintenance.tag_erasures import ERASE_TAG_KIND, start_tag_erasure
from aggregate.maintenance.view_erasures import ERASE_KIND, start_erasure
from aggregate.models import Job
from dashboard.api.core.encoding import ErrorShape
from dashboard.api.core.parameters import ERRORS
from dashboard.api.core.views import ProjectView
from dashboard.web.access import may_administer
from dashboard.web.params import ParamError, read_changes
from dashboard.web.schemas import Json, Shape
from projects.models import ApiToken

MAX_TAG_CHARS = 200  # as the ingest endpoint has it
FORBIDDEN = OpenApiResponse(ErrorShape, "Only administrators and tokens with the scope erase can erase views.")


class ErasureRequestShape(Shape):
    view_id = serializers.UUIDField(required=False, help_text="The id of one view; without a tag.")
    tag = serializers.CharField(required=False, help_text="The name of a tag, such as visitor.")
    value = serializers.CharField(required=False, help_text="Its value. All views that carry it are erased.")


class OutcomeShape(Shape):
    views = serializers.IntegerField()
    traces = serializers.IntegerField()
    kept_sums = serializers.IntegerField(help_text="Sums in which the part of a view could not be found.")
    kept_trees = serializers.IntegerField()


class ErasureShape(Shape):
    id = serializers.CharField()
    state = serializers.CharField(help_text="queued, running, done, failed or cancelled")
    done_traces = serializers.IntegerField(help_text="Traces looked at so far.")
    total_traces = serializers.IntegerField(allow_null=True, help_text="About how many there are to look at.")
    outcome = OutcomeShape(allow_null=True, help_text="Null before it is done, and a day after.")
    url = serializers.CharField()


class ErasureBase(ProjectView):
    token_scopes = (ApiToken.Scope.ERASE,)

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:  # Any: as in DRF's stubs
        """Refuses readers."""
        super().initial(request, *args, **kwargs)
        if not isinstance(request.auth, ApiToken) and not may_administer(request.user, self.project):
            raise PermissionDenied("Only administrators and tokens with the scope erase can erase views.")

    def encode(self, job: Job) -> Json:
        """Returns an erasure for JSON."""
        outcome = None
        if has_result(job, datetime.now(UTC)):
            outcome = json.loads(gzip.decompress(b"".join(iter_result(job))))
        return {
            "id": str(job.id),
            "state": Job.State(job.state).name.lower(),
            "done_traces": job.done_traces,
            "total_traces": job.total_traces,
            "outcome": outcome,
            "url": reverse("api-erasure", args=[self.project.slug, job.id]),
        }


class ErasuresView(ErasureBase):
    @extend_schema(
        operation_id="start_erasure",
        request={"application/json": ErasureRequestShape},
        responses={202: ErasureShape, **ERRORS, 403: FORBIDDEN},
    )
    def post(self, request: Request, slug: str) -> Response:
        """Starts a job that erases one view, or all views that carry a tag."""
        changes = read_changes(request.data, ("view_id", "tag", "value"))
        if "view_id" in changes and len(changes) == 1:
            job = start_erasure(self.project.pk, read_view_id(changes["view_id"]))
        else:
            name, value = (read_text(changes, field) for field in ("tag", "value"))
            if "view_id" in changes:
                raise ParamError("view_id", "Give a view_id, or a tag and its value.")
            job = start_tag_erasure(self.project.pk, name, value)
        return Response(self.encode(job), status=202)


class ErasureView(ErasureBase):
    @extend_schema(operation_id="erasure", responses={200: ErasureShape, **ERRORS, 403: FORBIDDEN})
    def get(self, request: Request, slug: str, job_id: UUID) -> Response:
        """How far an erasure is, and its outcome."""
        job = select_job(self.project.pk, job_id)
        if job is None or job.kind not in (ERASE_KIND, ERASE_TAG_KIND):
            raise Http404("There is no such erasure.")
        return Response(self.encode(job))


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
