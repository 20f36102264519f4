"""`profile`: a slice as a file for a viewer."""

from django.http import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework.request import Request

from dashboard.api.core.parameters import ERRORS, EXPORT_PARAMS, FINE_PARAMS, SLICE_PARAMS
from dashboard.api.core.views import ProjectView
from dashboard.api.slices.queries import KINDS, ProfileQuery
from dashboard.web.exports import answer_export, link_of
from dashboard.web.params import read_choice, read_one, read_raw_ref
from dashboard.web.raw_bodies import answer_raw
from profcore.formats.registry import FORMATS, RAW


class ProfileView(ProjectView):
    known_params = KINDS["profile"].known
    job_kind: str | None = "profile"

    @extend_schema(
        operation_id="profile",
        parameters=[
            *SLICE_PARAMS,
            *FINE_PARAMS,
            *EXPORT_PARAMS,
            OpenApiParameter("format", enum=list(FORMATS), required=True),
            OpenApiParameter(
                "compress", enum=["none", "gzip"], default="none", description="`gzip` sends a `.gz` file."
            ),
        ],
        responses={
            (200, "application/json"): OpenApiTypes.OBJECT,
            (200, "application/gzip"): OpenApiTypes.BINARY,
            (200, "application/octet-stream"): OpenApiTypes.BINARY,
            (200, "text/plain"): OpenApiTypes.STR,
            (200, "text/csv"): OpenApiTypes.STR,
            304: OpenApiResponse(description="The answer named by `If-None-Match` has not changed."),
            **ERRORS,
            403: OpenApiResponse(description="Only administrators and tokens made with --raw can use `format=raw`."),
        },
    )
    def get(self, request: Request, slug: str) -> HttpResponseBase:
        """Streams the slice as a profile; with `format=raw`, one trace as it was received."""
        params = request.query_params
        if read_one(params, "format", "") == RAW:
            as_gzip_file = read_choice(params, "compress", ("none", "gzip"), "none") == "gzip"
            return answer_raw(request, self.project, read_raw_ref(params), as_gzip_file=as_gzip_file)
        question = ProfileQuery.read(params)
        asked = question.ask(self.resolve_slice())
        link = request.build_absolute_uri(link_of(self.project, asked.shown_slice))
        return answer_export(
            request._request, self.project, asked, question.exporter, as_gzip_file=question.as_gzip_file, link=link
        )
