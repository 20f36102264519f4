"""The read API. Each view decodes its parameters, asks one selector, and encodes the answer."""

from typing import Any, Final, cast

from django.http import HttpRequest, HttpResponseBase, JsonResponse
from django.urls import reverse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from drf_spectacular.views import SpectacularJSONAPIView
from rest_framework.authentication import SessionAuthentication
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from aggregate.selectors import (
    GROUPINGS,
    TABLE_SORTS,
    Asked,
    Slice,
    SliceError,
    resolve_slice,
    select_arrivals,
    select_estimated,
    select_pages,
    select_releases,
    select_status,
)
from aggregate.selectors.slices import FINE_FIELDS, SLICE_FIELDS
from dashboard import openapi as _registers_itself  # noqa: F401
from dashboard.access import get_visible_project
from dashboard.authentication import TokenAuthentication
from dashboard.estimates import MEASURES
from dashboard.exports import answer_export
from dashboard.params import ParamError, check_known, read_choice, read_count, read_slice_query, read_words
from dashboard.permissions import HasCredentials
from dashboard.serializers import (
    ErrorShape,
    FunctionsShape,
    PagesShape,
    ReleasesShape,
    StatusShape,
    encode_functions,
    encode_pages,
    encode_releases,
    encode_status,
)
from ingest.models import ApiToken, Project
from profcore.dimensions import BROWSERS, DEVICE_CLASSES
from profcore.formats.registry import EXPORTERS
from profcore.formats.slice import FUNC_CATEGORIES
from profcore.stats.views import Measure

# All functions of a heavy page are some thousands; the limit bounds an answer to a few MB.
MAX_FUNCTIONS: Final = 10_000


def _many(
    name: str, what: str, kind: Any = OpenApiTypes.STR, enum: Any = None
) -> OpenApiParameter:  # Any: spectacular's
    return OpenApiParameter(name, kind, many=True, description=f"{what} Repeatable; absent means all.", enum=enum)


SLICE_PARAMS: Final = [
    _many("release", "A release."),
    _many("page", "A page, by its route."),
    _many("from", "ISO 8601 or epoch ms; rounded down to a bucket."),
    _many("to", "ISO 8601 or epoch ms; rounded up to a bucket. The n-th `from` and `to` are a pair."),
    _many("device", "A device class.", enum=DEVICE_CLASSES),
    _many("browser", "A browser family.", enum=BROWSERS),
]
FINE_PARAMS: Final = [
    _many("view", "A page view's id."),
    _many("trace", "A trace's id; its raw body must still be kept."),
    _many("tag", "`key:value`, from raw bodies. Several must all be there."),
    _many("func_over", "`ID:MS`: views in which that function's total is above so many ms. Several must all hold."),
]
ERRORS: Final = {
    400: OpenApiResponse(ErrorShape, "A parameter is unknown or has no usable value."),
    401: OpenApiResponse(ErrorShape, "No credentials, or a token that is unknown or revoked."),
    404: OpenApiResponse(ErrorShape, "There is no such project, or it is not yours."),
}


class OneRenderer(BaseContentNegotiation):
    """JSON, whatever `Accept` says. DRF's own takes `format=firefox` for a choice of renderer, and answers 404."""

    def select_parser(self, request: Request, parsers: Any) -> Any:  # Any: as in DRF's stubs
        return parsers[0]

    def select_renderer(
        self, request: Request, renderers: Any, format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        return renderers[0], renderers[0].media_type


class ProjectView(APIView):
    """What all answers about a project share: who may ask, which parameters are known, how a bad one is answered."""

    authentication_classes = [TokenAuthentication, SessionAuthentication]
    permission_classes = [HasCredentials]
    content_negotiation_class = OneRenderer
    known_params: tuple[str, ...] = ()
    project: Project

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:  # Any: as in DRF's stubs
        """Checks who asks, then for which project, then what: a stranger learns nothing from a bad parameter.

        A method that is not there is refused before all that, or a session without a CSRF token would get 403.
        """
        if request.method not in self.allowed_methods:
            self.http_method_not_allowed(request)
        super().initial(request, *args, **kwargs)
        reader = request.auth if isinstance(request.auth, ApiToken) else request.user
        self.project = get_visible_project(reader, kwargs["slug"])
        check_known(request.query_params, self.known_params)

    def handle_exception(self, exc: Exception) -> Response:
        """Answers 400 with the field that is wrong."""
        if isinstance(exc, ParamError | SliceError):
            response = Response({"detail": exc.detail, "field": exc.field}, status=400)
            response.exception = True
            return response
        return super().handle_exception(exc)

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:  # Any: as above
        """Keeps answers out of shared caches: they differ by who asks."""
        response = super().finalize_response(request, response, *args, **kwargs)
        response["Cache-Control"] = "private, no-cache"
        return response

    def resolve_slice(self) -> Slice:
        """Returns the slice asked for."""
        return resolve_slice(self.project.pk, read_slice_query(self.request.query_params))


class StatusView(ProjectView):
    @extend_schema(operation_id="status", responses={200: StatusShape, **ERRORS})
    def get(self, request: Request, slug: str) -> Response:
        """What came, what waits and what was turned away, so that anyone can wait for what was sent."""
        return Response(encode_status(select_status(self.project.pk)))


class ReleasesView(ProjectView):
    @extend_schema(operation_id="releases", responses={200: ReleasesShape, **ERRORS})
    def get(self, request: Request, slug: str) -> Response:
        """The project's releases, the newest first."""
        return Response(encode_releases(select_releases(self.project.pk)))


class PagesView(ProjectView):
    known_params = SLICE_FIELDS

    @extend_schema(operation_id="pages", parameters=SLICE_PARAMS, responses={200: PagesShape, **ERRORS})
    def get(self, request: Request, slug: str) -> Response:
        """The pages of a slice, the one with the most JS time first."""
        slice_ = self.resolve_slice()
        return Response(encode_pages(slice_, select_pages(slice_)))


class FunctionsView(ProjectView):
    known_params = (*SLICE_FIELDS, *FINE_FIELDS, "category", "group_by", "sort", "limit", "measure")

    @extend_schema(
        operation_id="functions",
        parameters=[
            *SLICE_PARAMS,
            *FINE_PARAMS,
            _many("category", "A category: those functions alone.", enum=list(FUNC_CATEGORIES)),
            OpenApiParameter("group_by", enum=["function", *GROUPINGS], default="function"),
            OpenApiParameter("sort", enum=list(TABLE_SORTS), default="self_ms"),
            OpenApiParameter("measure", enum=list(MEASURES), default="self", description="Of `estimates`."),
            OpenApiParameter("limit", OpenApiTypes.INT, default=MAX_FUNCTIONS, description=f"1 to {MAX_FUNCTIONS}."),
        ],
        responses={200: FunctionsShape, **ERRORS},
    )
    def get(self, request: Request, slug: str) -> Response:
        """The functions of a slice with JS or hidden time, by their exact sums."""
        params = self.request.query_params
        grouping = read_choice(params, "group_by", ("function", *GROUPINGS), "function")
        categories = read_words(params, "category", list(FUNC_CATEGORIES))
        sort = read_choice(params, "sort", TABLE_SORTS, "self_ms")
        measure = cast("Measure", read_choice(params, "measure", MEASURES, "self"))  # one of its words
        if measure == "total" and grouping != "function":
            raise ParamError("measure", "measure=total is known of functions alone: views keep no totals of groups.")
        limit = read_count(params, "limit", default=MAX_FUNCTIONS, high=MAX_FUNCTIONS)
        asked = Asked(grouping, sort, limit, categories, measure)
        slice_ = self.resolve_slice()
        return Response(encode_functions(slice_, select_estimated(slice_, asked), select_arrivals(slice_)))


class ProfileView(ProjectView):
    known_params = (*SLICE_FIELDS, *FINE_FIELDS, "format", "compress")

    @extend_schema(
        operation_id="profile",
        parameters=[
            *SLICE_PARAMS,
            *FINE_PARAMS,
            OpenApiParameter("format", enum=list(EXPORTERS), required=True),
            OpenApiParameter(
                "compress", enum=["none", "gzip"], default="none", description="`gzip` sends a `.gz` file."
            ),
        ],
        responses={
            (200, "application/json"): OpenApiTypes.OBJECT,
            (200, "application/gzip"): OpenApiTypes.BINARY,
            304: OpenApiResponse(description="`If-None-Match` names what you have, and it has not changed."),
            **ERRORS,
        },
    )
    def get(self, request: Request, slug: str) -> HttpResponseBase:
        """Streams the slice as a profile."""
        params = request.query_params
        exporter = EXPORTERS[read_choice(params, "format", list(EXPORTERS), "")]
        compress = read_choice(params, "compress", ("none", "gzip"), "none")
        slice_ = self.resolve_slice()
        link = request.build_absolute_uri(link_of(self.project, slice_))
        return answer_export(
            request._request, self.project, slice_, exporter, as_gzip_file=compress == "gzip", link=link
        )


def link_of(project: Project, slice_: Slice) -> str:
    """Returns the path of the dashboard's page on a slice."""
    name = "page" if slice_.pages else "project"
    query = slice_.query()
    return reverse(name, args=[project.slug]) + (f"?{query}" if query else "")


class SchemaView(SpectacularJSONAPIView):
    """The OpenAPI document. Public: it says nothing that the documentation does not."""

    authentication_classes = []
    permission_classes = []
    content_negotiation_class = OneRenderer


def no_such_address(request: HttpRequest) -> JsonResponse:
    """Answers in JSON what under /api/ leads nowhere."""
    return JsonResponse({"detail": "There is no such address in this API."}, status=404)
