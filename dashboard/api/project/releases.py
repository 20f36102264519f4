"""`releases`: those that a project has, and the announcement of one by a build."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from aggregate.selectors.project.announcements import find_first_seen, select_announcements
from aggregate.selectors.project.pages import ReleaseAnnouncement, ReleaseRow, select_releases
from aggregate.selectors.slice.slices import format_instant
from dashboard.api.core.encoding import ViewsCountShape, encode_views_count
from dashboard.api.core.parameters import BUILDS_ONLY, ERRORS
from dashboard.api.core.views import BuildView, ProjectView
from dashboard.web.access import Guest
from dashboard.web.params import ParamError, read_changes
from dashboard.web.schemas import Json, Shape
from projects.releases import FACTS, TIMES, Facts, ReleaseError, announce_release

MAX_TIME_CHARS: Final = 40  # of an ISO 8601 time with a zone and microseconds


def fact_fields(**options: Any) -> dict[str, serializers.Field[Any, Any, Any, Any]]:  # Any: serializer options
    """Returns the fields of what a build says about a release."""
    texts = {
        "commit": "Of the release: 1 to 64 letters, digits, dots, underscores or hyphens.",
        "base_commit": "Of the release before, if that one was not announced with its own.",
        "author": "Who made or released it. Members of the project see it.",
        "link": "An http or https address about it, such as that of the pull request.",
        "range_link": "An http or https address of the commits between two, with `{base}` and `{head}` in it.",
    }
    return {
        **{name: serializers.CharField(allow_null=True, help_text=text, **options) for name, text in texts.items()},
        "released_at": serializers.DateTimeField(
            allow_null=True, help_text="ISO 8601; without a zone: UTC.", **options
        ),
        "rolled_back_at": serializers.DateTimeField(
            allow_null=True,
            help_text="Since when users have older releases again. Ends its alarms; a base only if there is no other.",
            **options,
        ),
    }


class AnnouncedShape(Shape):
    """What was said about a release; null for what was not."""

    announced_at = serializers.DateTimeField(help_text="The last time.")
    locals().update(fact_fields())


class AnswerShape(AnnouncedShape):
    release = serializers.CharField()
    first_seen_at = serializers.DateTimeField(
        allow_null=True, help_text="When its first trace came. Null if none has come yet, or its name is wrong."
    )


class AnnouncementShape(Shape):
    """A release, and what is known about it. A field that is absent stays as it was, null removes it."""

    release = serializers.CharField(help_text="The release, as the snippet sends it.")
    locals().update(fact_fields(required=False))


class ReleaseShape(ViewsCountShape):
    release = serializers.CharField()
    first_seen_at = serializers.DateTimeField()
    announced = AnnouncedShape(allow_null=True, help_text="Null if it was not announced.")


class ReleasesShape(Shape):
    releases = ReleaseShape(many=True)


class ReleasesView(BuildView):
    changed = "releases"

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:  # Any: as in DRF's stubs
        if request.method != "POST":
            self.token_scopes = ProjectView.token_scopes  # a build announces, and reads nothing
        super().initial(request, *args, **kwargs)

    @extend_schema(operation_id="releases", responses={200: ReleasesShape, **ERRORS})
    def get(self, request: Request, slug: str) -> Response:
        """Lists the project's releases, newest first."""
        is_guest = isinstance(request.user, Guest)
        announced = {} if is_guest else select_announcements(self.project.pk)
        return Response(encode_releases(select_releases(self.project.pk), announced))

    @extend_schema(
        operation_id="announce_release",
        request={"application/json": AnnouncementShape},
        responses={200: AnswerShape, **ERRORS, 403: BUILDS_ONLY},
    )
    def post(self, request: Request, slug: str) -> Response:
        """Announces a release, also before its first trace. The same again changes nothing.

        Its pages have room even if the project is full, and verdicts name its commits.
        """
        given = read_changes(request.data, ("release", *FACTS))
        release = given.get("release")
        if not isinstance(release, str):
            raise ParamError("release", "Say which release, as a text.")
        try:
            announce_release(self.project.pk, release, datetime.now(UTC), read_facts(given))
        except ReleaseError as error:
            raise ParamError(error.field, str(error)) from None
        told = select_announcements(self.project.pk, [release])[release]
        seen_at = find_first_seen(self.project.pk, release)
        seen = {"release": release, "first_seen_at": format_instant(seen_at) if seen_at else None}
        return Response({**seen, **encode_announcement(told)})


def read_facts(given: Mapping[str, Any]) -> Facts:  # Any: JSON
    """Returns what a body says about a release, with its time as one. Raises `ParamError`, which names the field."""
    facts: dict[str, str | datetime | None] = {}
    for name in FACTS:
        if name not in given:
            continue
        value = given[name]
        if value is not None and not isinstance(value, str):
            raise ParamError(name, f"{name} must be a text, or null.")
        facts[name] = _read_time(name, value) if name in TIMES and value is not None else value
    return facts


def _read_time(name: str, text: str) -> datetime:
    try:
        if len(text) > MAX_TIME_CHARS:
            raise ValueError
        at = datetime.fromisoformat(text)
        return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except (ValueError, OverflowError):
        raise ParamError(name, f"{name} must be an ISO 8601 time; not {text[:80]!r}.") from None


def encode_releases(rows: Sequence[ReleaseRow], announced: Mapping[str, ReleaseAnnouncement]) -> Json:
    return {
        "releases": [
            {
                "release": row.release,
                "first_seen_at": row.first_seen_at.isoformat().replace("+00:00", "Z"),
                **encode_views_count(row.views, row.truncated_views),
                "announced": encode_announcement(announced[row.release]) if row.release in announced else None,
            }
            for row in rows
        ]
    }


def encode_announcement(told: ReleaseAnnouncement) -> Json:
    return {
        "announced_at": format_instant(told.announced_at),
        "commit": told.commit,
        "base_commit": told.base_commit,
        "released_at": format_instant(told.released_at) if told.released_at else None,
        "author": told.author,
        "link": told.link,
        "range_link": told.range_link,
        "rolled_back_at": format_instant(told.rolled_back_at) if told.rolled_back_at else None,
    }
