"""The base of all endpoints. Each endpoint decodes its parameters, calls one selector and encodes the answer."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any, ClassVar, Final

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponseBase, JsonResponse
from django.urls import reverse
from rest_framework.authentication import SessionAuthentication
from rest_framework.exceptions import PermissionDenied
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from aggregate.selectors.slice.read_context import read_context
from aggregate.selectors.slice.reading import SliceTooLarge
from aggregate.selectors.slice.slices import Slice, SliceError, resolve_slice
from dashboard.api.core.answer import Conditional, operation_of
from dashboard.api.core.auth import TokenAuthentication
from dashboard.api.core.parameters import Parameter, check_known
from dashboard.api.core.permissions import HasCredentials
from dashboard.web.access import Guest, get_visible_project, may_administer, reader_of
from dashboard.web.answers import answer_json
from dashboard.web.load_shedding import take_place
from dashboard.web.params import ParamError, read_slice_query
from dashboard.web.read_deadline import bounded_read
from dashboard.web.replica.reading import SAFE, answer_from_replica
from projects.models import ApiToken, Project

ERRORS: Final = {
    400: "A parameter is unknown or has no usable value.",
    401: "No credentials, or a token that is unknown or revoked.",
    404: "There is no such project, or you cannot read it.",
}
BUILDS_ONLY: Final = {403: "Only administrators and tokens with the scope sourcemaps."}


class OneRenderer(BaseContentNegotiation):
    """Always JSON. DRF's default reads `format=firefox` as the choice of a renderer and answers 404."""

    def select_parser(self, request: Request, parsers: Any) -> Any:  # Any: as in DRF's stubs
        return parsers[0]

    def select_renderer(
        self, request: Request, renderers: Any, format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        return renderers[0], renderers[0].media_type


class ProjectView(APIView):
    """The base of all endpoints of a project: permissions, known parameters, and answers to bad ones."""

    authentication_classes = [TokenAuthentication, SessionAuthentication]
    permission_classes = [HasCredentials]
    content_negotiation_class = OneRenderer
    token_scopes: tuple[str, ...] = (ApiToken.Scope.READ,)
    known_params: Sequence[Parameter] = ()
    errors: ClassVar[Mapping[int, str]] = ERRORS
    only_reads: ClassVar = False  # by any method: nothing is changed, and reading has a limit
    job_kind: str | None = None  # the kind of job that gives the same answer for a slice that is too large
    project: Project

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:  # Any: as in DRF's stubs
        """Answers a read within one context. What a write reads afterwards is selected anew."""
        with read_context() if request.method in SAFE or self.only_reads else nullcontext():
            return super().dispatch(request, *args, **kwargs)

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:  # Any: as in DRF's stubs
        """Checks credentials, then the project, then the parameters: a stranger learns nothing from a bad parameter.

        An unknown method is refused first. Otherwise a session without a CSRF token would get 403 for it.
        """
        if request.method not in self.allowed_methods:
            self.http_method_not_allowed(request)
        super().initial(request, *args, **kwargs)
        self.project = get_visible_project(reader_of(request), kwargs["slug"])
        name = str(request.method).lower()
        handler = getattr(self, name)
        check_known(request.query_params, operation_of(handler).params or self.known_params)
        setattr(self, name, partial(self.respond, handler))

    def respond(
        self, handler: Callable[..., object], request: Request, **captured: Any
    ) -> HttpResponseBase:  # Any: as above
        """Answers with what a handler returns, which may read the replica if that is near enough."""
        take_place(request._request, self.project.slug)

        def make() -> HttpResponseBase:
            answer = handler(request, **captured)
            if isinstance(answer, Conditional):
                return answer_json(request._request, key=answer.key, make=answer.make)
            if isinstance(answer, HttpResponseBase):
                return answer
            return Response(answer, status=204 if answer is None else 200)

        with bounded_read() if self.only_reads else nullcontext():
            return answer_from_replica(request._request, make)

    def handle_exception(self, exc: Exception) -> Response:
        """Answers 400 with the wrong field, and names the job that could answer instead."""
        if isinstance(exc, ParamError | SliceError):
            problem = {"detail": exc.detail, "field": exc.field}
            fits_job = isinstance(exc, SliceTooLarge) and exc.fits_job
            if fits_job and self.job_kind and not isinstance(self.request.user, Guest):
                address = reverse("api-jobs", args=[self.project.slug])
                problem["detail"] += f' Or start a job: POST {address} with {{"kind": "{self.job_kind}", "params": …}}.'
                problem["job_kind"] = self.job_kind
            response = Response(problem, status=400)
            response.exception = True
            return response
        if isinstance(exc, RequestDataTooBig):  # by Django for a session, by our parser for a token
            detail = f"The body is larger than {settings.DATA_UPLOAD_MAX_MEMORY_SIZE} bytes."
            response = Response({"detail": detail}, status=413)
            response.exception = True
            return response
        return super().handle_exception(exc)

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:  # Any: as above
        """Keeps answers out of shared caches: they depend on the credentials."""
        response = super().finalize_response(request, response, *args, **kwargs)
        response["Cache-Control"] = "private, no-cache"
        return response

    def resolve_slice(self) -> Slice:
        """Returns the requested slice."""
        return resolve_slice(self.project.pk, read_slice_query(self.request.query_params))


class BuildView(ProjectView):
    """The base of endpoints that a build calls with its own token, which changes `changed` and nothing else."""

    token_scopes: tuple[str, ...] = (ApiToken.Scope.READ, ApiToken.Scope.SOURCEMAPS)
    changed: str

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:  # Any: as in DRF's stubs
        """Refuses changes by readers."""
        super().initial(request, *args, **kwargs)
        if request.method in ("POST", "DELETE") and not self.may_change():
            raise PermissionDenied(
                f"Only administrators of the project and tokens with the scope sourcemaps can change {self.changed}."
            )

    def may_change(self) -> bool:
        """Returns whether the reader is an administrator, or a build with its token."""
        if isinstance(self.request.auth, ApiToken):
            return ApiToken.Scope.SOURCEMAPS in self.request.auth.scopes
        return may_administer(self.request.user, self.project)


def no_such_address(request: HttpRequest) -> JsonResponse:
    """Answers 404 in JSON for unknown addresses under /api/."""
    return JsonResponse({"detail": "There is no such address in this API."}, status=404)
