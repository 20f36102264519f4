"""The read API. Each view decodes its parameters, asks one selector, and encodes the answer."""

from typing import Any, Final

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
    Slice,
    SliceError,
    resolve_slice,
    select_pages,
    select_releases,
    select_status,
)
from aggregate.selectors.reading import SliceTooLarge
from aggregate.selectors.requests import AXES, ENGINES, SOURCES
from aggregate.selectors.slices import AS_STORED, DISPLAY, SLICE_FIELDS
from dashboard import openapi as _registers_itself  # noqa: F401
from dashboard.access import get_visible_project, reader_of
from dashboard.authentication import TokenAuthentication
from dashboard.estimates import MEASURES
from dashboard.exports import answer_export
from dashboard.params import ParamError, check_known, read_choice, read_one, read_raw_ref, read_slice_query
from dashboard.permissions import HasCredentials
from dashboard.questions import KINDS, MAX_FUNCTIONS, FunctionsQuestion, ProfileQuestion
from dashboard.raw import answer_raw
from dashboard.serializers import (
    ErrorShape,
    FunctionsShape,
    PagesShape,
    ReleasesShape,
    StatusShape,
    encode_pages,
    encode_releases,
    encode_status,
)
from ingest.models import ApiToken, Project
from profcore.dimensions import BROWSERS, DEVICE_CLASSES
from profcore.formats.registry import FORMATS, RAW
from profcore.formats.slice import FUNC_CATEGORIES, SEGMENTS


def _many(
    name: str, what: str, kind: Any = OpenApiTypes.STR, enum: Any = None
) -> OpenApiParameter:  # Any: spectacular's
    return OpenApiParameter(name, kind, many=True, description=f"{what} Repeatable; absent means all.", enum=enum)


FILTER_PARAMS: Final = [
    _many("release", "A release."),
    _many("page", "A page, by its route."),
    _many("from", "ISO 8601 or epoch ms; rounded down to a bucket."),
    _many("to", "ISO 8601 or epoch ms; rounded up to a bucket. The n-th `from` and `to` are a pair."),
    _many("device", "A device class.", enum=DEVICE_CLASSES),
    _many("browser", "A browser family.", enum=BROWSERS),
]
SLICE_PARAMS: Final = [
    *FILTER_PARAMS,
    OpenApiParameter(DISPLAY, enum=[AS_STORED], description="Functions as they are stored, without display rules."),
]
FINE_PARAMS: Final = [
    _many("view", "A page view's id."),
    _many("trace", "A trace's id; its raw body must still be kept."),
    _many("tag", "`key:value`, from raw bodies. Several must all be there."),
    _many("func_over", "`ID:MS`: views in which that function's total is above so many ms. Several must all hold."),
]
# What differs between two slices; the rest of a slice is that of both.
SIDE_PARAMS: Final = [
    _many(f"{side}_{param.name}", f"`{param.name}` of the {side} alone.")
    for side in ("base", "head")
    for param in FILTER_PARAMS
]
EXPORT_PARAMS: Final = [
    OpenApiParameter("segment", enum=SEGMENTS, description="A track for each, where the format has tracks."),
    OpenApiParameter("axis", enum=AXES, description="`time`, the default for views and traces, or `sum`."),
    OpenApiParameter("engine", enum=ENGINES, description="`leaves`: what the engine did, below the functions."),
    OpenApiParameter("sources", enum=SOURCES, description="`content`: with the texts of original sources."),
    *SIDE_PARAMS,
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
    token_scopes: tuple[str, ...] = (ApiToken.Scope.READ,)
    known_params: tuple[str, ...] = ()
    job_kind: str | None = None  # the kind of job that answers the same where a slice is too large
    project: Project

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:  # Any: as in DRF's stubs
        """Checks who asks, then for which project, then what: a stranger learns nothing from a bad parameter.

        A method that is not there is refused before all that, or a session without a CSRF token would get 403.
        """
        if request.method not in self.allowed_methods:
            self.http_method_not_allowed(request)
        super().initial(request, *args, **kwargs)
        self.project = get_visible_project(reader_of(request), kwargs["slug"])
        check_known(request.query_params, self.known_params)

    def handle_exception(self, exc: Exception) -> Response:
        """Answers 400 with the field that is wrong, and with the way where a job would do."""
        if isinstance(exc, ParamError | SliceError):
            problem = {"detail": exc.detail, "field": exc.field}
            if isinstance(exc, SliceTooLarge) and self.job_kind:
                address = reverse("api-jobs", args=[self.project.slug])
                problem["detail"] += (
                    f' Or have it prepared: POST {address} with {{"kind": "{self.job_kind}", "params": …}}.'
                )
                problem["job_kind"] = self.job_kind
            response = Response(problem, status=400)
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
    known_params = KINDS["functions"].known
    job_kind = "functions"

    @extend_schema(
        operation_id="functions",
        parameters=[
            *SLICE_PARAMS,
            *FINE_PARAMS,
            _many("category", "A category: those functions alone.", enum=list(FUNC_CATEGORIES)),
            OpenApiParameter("q", description="A text, whatever its case: functions with it in name, label or place."),
            OpenApiParameter("group_by", enum=["function", *GROUPINGS], default="function"),
            OpenApiParameter("sort", enum=list(TABLE_SORTS), default="self_ms"),
            OpenApiParameter("measure", enum=list(MEASURES), default="self", description="Of `estimates`."),
            OpenApiParameter("limit", OpenApiTypes.INT, default=MAX_FUNCTIONS, description=f"1 to {MAX_FUNCTIONS}."),
        ],
        responses={200: FunctionsShape, **ERRORS},
    )
    def get(self, request: Request, slug: str) -> Response:
        """The functions of a slice with JS or hidden time, by their exact sums."""
        question = FunctionsQuestion.read(request.query_params)
        return Response(question.answer(self.resolve_slice()))


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
            304: OpenApiResponse(description="`If-None-Match` names what you have, and it has not changed."),
            **ERRORS,
            403: OpenApiResponse(description="`format=raw` is for admins, and tokens made with --raw."),
        },
    )
    def get(self, request: Request, slug: str) -> HttpResponseBase:
        """Streams the slice as a profile, or with `format=raw` one trace as it came."""
        params = request.query_params
        if read_one(params, "format", "") == RAW:
            as_gzip_file = read_choice(params, "compress", ("none", "gzip"), "none") == "gzip"
            return answer_raw(request, self.project, read_raw_ref(params), as_gzip_file=as_gzip_file)
        question = ProfileQuestion.read(params)
        asked = question.ask(self.resolve_slice())
        link = request.build_absolute_uri(link_of(self.project, asked.shown_slice))
        return answer_export(
            request._request, self.project, asked, question.exporter, as_gzip_file=question.as_gzip_file, link=link
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
