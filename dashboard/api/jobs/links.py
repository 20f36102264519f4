"""Endpoints of export links: create one, and serve the export that it leads to."""

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Final

from django.conf import settings
from django.http import HttpResponseBase
from msgspec import UNSET, Meta, Struct, UnsetType
from rest_framework.request import Request
from rest_framework.response import Response

from dashboard.api.core.answer import Answer, Instant, doc, operation
from dashboard.api.core.parameters import check_known
from dashboard.api.core.views import ERRORS, ProjectView
from dashboard.api.jobs.preparation import read_job
from dashboard.api.jobs.schemas import PARAMS_HELP, read_body_params
from dashboard.api.jobs.signing import (
    VIEWED_FORMAT,
    DeadLink,
    EndedLink,
    default_expiry,
    read_link,
    sign_link,
    viewer_url,
)
from dashboard.api.slices.profile import CONTENT, ProfileQuery, ProfileView
from dashboard.web.access import reader_of
from dashboard.web.exports import name_export
from dashboard.web.load_shedding import take_place
from dashboard.web.params import ParamError
from dashboard.web.project_pages import PageTraits

MIN_LINK_S: Final = 60  # a viewer on a slow connection must start within this time


class LinkRequest(Struct):
    params: Annotated[dict[str, Any], doc(f"Those of `profile`. {PARAMS_HELP}")]  # Any: checked by its reader
    expires_in_s: Annotated[int, Meta(ge=MIN_LINK_S, description="From now.")] | UnsetType = UNSET


class LinkAnswer(Answer):
    """A link that needs no credentials: anyone who has it can fetch this export until it expires."""

    url: str
    expires_at: Instant
    viewer_url: Annotated[str | None, doc("Opens it in the viewer; null for other formats.")]
    compare_url: Annotated[str | None, doc("For a difference: opens both sides in the viewer's own comparison.")]


class LinksView(ProjectView):
    http_method_names = ["post", "options"]
    only_reads = True  # a link is stored nowhere

    @operation("make_link", body=LinkRequest, answers={201: LinkAnswer})
    def post(self, request: Request, slug: str) -> Response:
        """Creates a link to an export."""
        body, params = read_body_params(request, {"expires_in_s"})
        now = datetime.now(UTC)
        expires_at = _read_expiry(body, now)
        slice_, query = read_job(self.project.pk, "profile", params)
        assert isinstance(query, ProfileQuery)
        export = query.resolve(slice_)
        exporter = query.exporter
        name = name_export(self.project, export) + exporter.suffix + (".gz" if query.as_gzip_file else "")
        pairs = [(field, value) for field, values in params.lists() for value in values]
        path = sign_link(self.project, pairs, expires_at, name, maker=reader_of(request))
        url = request.build_absolute_uri(path)
        is_viewed = exporter.name == VIEWED_FORMAT
        is_compared = is_viewed and export.kind == "difference"
        answer = LinkAnswer(
            url=url,
            expires_at=expires_at,
            viewer_url=viewer_url(url, name, is_difference=False) if is_viewed else None,
            compare_url=viewer_url(url, name, is_difference=True) if is_compared else None,
        )
        return Response(answer, status=201)


def _read_expiry(body: dict[str, Any], now: datetime) -> datetime:  # Any: JSON
    seconds = body.get("expires_in_s")
    if seconds is None:
        return default_expiry(now).replace(microsecond=0)
    most = settings.EXPORT_LINK_MAX_S
    if not isinstance(seconds, int) or isinstance(seconds, bool) or not MIN_LINK_S <= seconds <= most:
        raise ParamError("expires_in_s", f"expires_in_s must be a whole number from {MIN_LINK_S} to {most}.")
    return (now + timedelta(seconds=seconds)).replace(microsecond=0)


class SharedProfileView(ProfileView):
    """Serves an export to anyone with its link, from any origin, without cookies or tokens.

    An invalid link gets 404; an expired one, and one whose creator lost access, 410. It is never 403: the viewer would
    read that as a file that is still being written.
    """

    traits = PageTraits(heavy="yes")
    authentication_classes = []
    permission_classes = []
    known_params = ()
    job_kind = None  # only readers of the project start jobs
    errors = {
        400: ERRORS[400],
        404: "There is no such link.",
        410: "The link has expired, or its creator can no longer read the project.",
    }

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:  # Any: as in DRF's stubs
        """Reads the project and the parameters only from the link."""
        link = read_link(kwargs.pop("token"), datetime.now(UTC))
        self.project = link.project
        check_known(link.params, ProfileView.known_params)
        request._request.GET = link.params  # type: ignore[assignment]  # a request's is immutable by type alone
        take_place(request._request, self.project.slug)

    def handle_exception(self, exc: Exception) -> Response:
        """Answers 404 or 410 for dead links."""
        if isinstance(exc, DeadLink):
            response = Response({"detail": str(exc)}, status=410 if isinstance(exc, EndedLink) else 404)
            response.exception = True
            return response
        return super().handle_exception(exc)

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:  # Any: as above
        """Lets any origin read the answer and its errors; keeps it out of caches and search engines."""
        response = super().finalize_response(request, response, *args, **kwargs)
        response["Access-Control-Allow-Origin"] = "*"
        response["Cache-Control"] = "private, no-store"
        response["X-Robots-Tag"] = "noindex"
        response["Referrer-Policy"] = "no-referrer"
        return response

    @operation(content=CONTENT)
    def get(self, request: Request, token: str = "", file_name: str = "") -> HttpResponseBase:  # no password
        """Streams the export that a link leads to."""
        return super().get(request, self.project.slug)
