"""`status` and `pages`: what a project has."""

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from aggregate.selectors.project.pages import select_pages
from aggregate.selectors.project.summaries import select_status
from aggregate.selectors.slice.slices import SLICE_FIELDS
from dashboard.api.core.encoding import (
    PagesShape,
    StatusShape,
    encode_pages,
    encode_status,
)
from dashboard.api.core.parameters import ERRORS, SLICE_PARAMS
from dashboard.api.core.views import ProjectView


class StatusView(ProjectView):
    @extend_schema(operation_id="status", responses={200: StatusShape, **ERRORS})
    def get(self, request: Request, slug: str) -> Response:
        """Counts of traces by state, so that a sender can wait until its traces are folded."""
        return Response(encode_status(select_status(self.project.pk)))


class PagesView(ProjectView):
    known_params = SLICE_FIELDS

    @extend_schema(operation_id="pages", parameters=SLICE_PARAMS, responses={200: PagesShape, **ERRORS})
    def get(self, request: Request, slug: str) -> Response:
        """Lists the pages of a slice; the page with the most JS time comes first."""
        slice_ = self.resolve_slice()
        return Response(encode_pages(slice_, select_pages(slice_)))
