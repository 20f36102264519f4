"""`status`, `releases` and `pages`: what a project has; and the announcement of a release."""

from datetime import UTC, datetime
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from aggregate.selectors.project.pages import select_pages, select_releases
from aggregate.selectors.project.summaries import select_status
from aggregate.selectors.slice.slices import SLICE_FIELDS
from dashboard.api.core.encoding import (
    PagesShape,
    ReleasesShape,
    StatusShape,
    encode_pages,
    encode_releases,
    encode_status,
)
from dashboard.api.core.parameters import BUILDS_ONLY, ERRORS, SLICE_PARAMS
from dashboard.api.core.views import BuildView, ProjectView
from dashboard.web.params import ParamError, read_changes
from dashboard.web.shapes import Shape
from ingest.projects.releases import ReleaseError, announce_release


class AnnouncedShape(Shape):
    release = serializers.CharField(help_text="The release, as the snippet sends it.")


class StatusView(ProjectView):
    @extend_schema(operation_id="status", responses={200: StatusShape, **ERRORS})
    def get(self, request: Request, slug: str) -> Response:
        """Counts of traces by state, so that a sender can wait until its traces are folded."""
        return Response(encode_status(select_status(self.project.pk)))


class ReleasesView(BuildView):
    changed = "releases"

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:  # Any: as in DRF's stubs
        if request.method != "POST":
            self.token_scopes = ProjectView.token_scopes  # a build announces, and reads nothing
        super().initial(request, *args, **kwargs)

    @extend_schema(operation_id="releases", responses={200: ReleasesShape, **ERRORS})
    def get(self, request: Request, slug: str) -> Response:
        """Lists the project's releases, newest first."""
        return Response(encode_releases(select_releases(self.project.pk)))

    @extend_schema(
        operation_id="announce_release",
        request={"application/json": AnnouncedShape},
        responses={200: AnnouncedShape, **ERRORS, 403: BUILDS_ONLY},
    )
    def post(self, request: Request, slug: str) -> Response:
        """Announces a release before its first trace: its pages have room even if the project is full."""
        release = read_changes(request.data, ("release",)).get("release")
        if not isinstance(release, str):
            raise ParamError("release", "Say which release, as a text.")
        try:
            announce_release(self.project.pk, release, datetime.now(UTC))
        except ReleaseError as error:
            raise ParamError("release", str(error)) from None
        return Response({"release": release})


class PagesView(ProjectView):
    known_params = SLICE_FIELDS

    @extend_schema(operation_id="pages", parameters=SLICE_PARAMS, responses={200: PagesShape, **ERRORS})
    def get(self, request: Request, slug: str) -> Response:
        """Lists the pages of a slice; the page with the most JS time comes first."""
        slice_ = self.resolve_slice()
        return Response(encode_pages(slice_, select_pages(slice_)))
