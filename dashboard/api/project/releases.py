"""`releases`: those that a project has, and the announcement of one by a build."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, Final, Self

from msgspec import UNSET, Struct, UnsetType
from rest_framework.request import Request

from aggregate.selectors.project.announcements import find_announcement, find_first_seen
from aggregate.selectors.project.pages import ReleaseAnnouncement, select_releases
from dashboard.api.core.answer import Answer, Instant, InstantText, doc, operation
from dashboard.api.core.parts import TruncatedShare, TruncatedViews, share_of, write_instant
from dashboard.api.core.views import BUILDS_ONLY, BuildView, ProjectView
from dashboard.web.access import Guest
from dashboard.web.params import ParamError, read_changes
from dashboard.web.project_pages import PageTraits
from projects.releases import RELEASE_FIELDS, TIMES, ReleaseError, ReleaseFields, announce_release

MAX_TIME_CHARS: Final = 40  # of an ISO 8601 time with a zone and microseconds

Commit = Annotated[str | None, doc("Of the release: 1 to 64 letters, digits, dots, underscores or hyphens.")]
BaseCommit = Annotated[str | None, doc("Of the release before, if that one was not announced with its own.")]
Author = Annotated[str | None, doc("Who made or released it. Members of the project see it.")]
Link = Annotated[str | None, doc("An http or https address about it, such as that of the pull request.")]
RangeLink = Annotated[
    str | None, doc("An http or https address of the commits between two, with `{base}` and `{head}` in it.")
]
ReleasedAt = Annotated[InstantText | None, doc("ISO 8601; without a zone: UTC.")]
RolledBackAt = Annotated[
    InstantText | None,
    doc("Since when users have older releases again. Ends its alarms; a base only if there is no other."),
]
FirstSeenAt = Annotated[
    InstantText | None, doc("When its first trace came. Null if none has come yet, or its name is wrong.")
]
AnnouncedAt = Annotated[InstantText, doc("The last time.")]


class AnnouncedAnswer(Answer):
    """What was said about a release; null for what was not."""

    announced_at: AnnouncedAt
    commit: Commit
    base_commit: BaseCommit
    released_at: ReleasedAt
    author: Author
    link: Link
    range_link: RangeLink
    rolled_back_at: RolledBackAt

    @classmethod
    def of(cls, announcement: ReleaseAnnouncement, /, **values: Any) -> Self:
        """Returns what was said about a release."""
        times = {name: getattr(announcement, name) for name in ("announced_at", "released_at", "rolled_back_at")}
        return super().of(announcement, **{name: write_instant(at) for name, at in times.items()}, **values)


class AnnouncedReleaseAnswer(Answer):
    """A release, and what was said about it; null for what was not."""

    release: str
    first_seen_at: FirstSeenAt
    announced_at: AnnouncedAt
    commit: Commit
    base_commit: BaseCommit
    released_at: ReleasedAt
    author: Author
    link: Link
    range_link: RangeLink
    rolled_back_at: RolledBackAt


class AnnouncementRequest(Struct):
    """A release, and what is known about it. A field that is absent stays as it was, null removes it."""

    release: Annotated[str, doc("The release, as the snippet sends it.")]
    commit: Commit | UnsetType = UNSET
    base_commit: BaseCommit | UnsetType = UNSET
    author: Author | UnsetType = UNSET
    link: Link | UnsetType = UNSET
    range_link: RangeLink | UnsetType = UNSET
    released_at: ReleasedAt | UnsetType = UNSET
    rolled_back_at: RolledBackAt | UnsetType = UNSET


class ReleaseAnswer(Answer):
    release: str
    first_seen_at: Instant
    views: int
    truncated_views: TruncatedViews
    truncated_share: TruncatedShare
    announced: Annotated[AnnouncedAnswer | None, doc("Null if it was not announced.")]


class ReleasesAnswer(Answer):
    releases: list[ReleaseAnswer]


class ReleasesView(BuildView):
    traits = PageTraits(on_replica=True)
    changed = "releases"

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:  # Any: as in DRF's stubs
        if request.method != "POST":
            self.token_scopes = ProjectView.token_scopes  # a build announces, and reads nothing
        super().initial(request, *args, **kwargs)

    def get(self, request: Request, slug: str) -> ReleasesAnswer:
        """Lists the project's releases, newest first."""
        is_guest = isinstance(request.user, Guest)
        return ReleasesAnswer(
            [
                ReleaseAnswer.of(
                    row,
                    truncated_share=share_of(row.truncated_views, row.views),
                    announced=AnnouncedAnswer.of(row.announcement) if row.announcement and not is_guest else None,
                )
                for row in select_releases(self.project.pk)
            ]
        )

    @operation("announce_release", body=AnnouncementRequest, errors=BUILDS_ONLY)
    def post(self, request: Request, slug: str) -> AnnouncedReleaseAnswer:
        """Announces a release, also before its first trace. The same again changes nothing.

        Its pages have room even if the project is full, and verdicts name its commits.
        """
        body = read_changes(request.data, ("release", *RELEASE_FIELDS))
        release = body.get("release")
        if not isinstance(release, str):
            raise ParamError("release", "Say which release, as a text.")
        try:
            announce_release(self.project.pk, release, datetime.now(UTC), read_fields(body))
        except ReleaseError as error:
            raise ParamError(error.field, str(error)) from None
        announced = AnnouncedAnswer.of(find_announcement(self.project.pk, release))
        seen_at = find_first_seen(self.project.pk, release)
        return AnnouncedReleaseAnswer.of(announced, release=release, first_seen_at=write_instant(seen_at))


def read_fields(body: Mapping[str, Any]) -> ReleaseFields:  # Any: JSON
    """Returns what a body says about a release, with its time as one. Raises `ParamError`, which names the field."""
    fields: dict[str, str | datetime | None] = {}
    for name in RELEASE_FIELDS:
        if name not in body:
            continue
        value = body[name]
        if value is not None and not isinstance(value, str):
            raise ParamError(name, f"{name} must be a text, or null.")
        fields[name] = _read_time(name, value) if name in TIMES and value is not None else value
    return fields


def _read_time(name: str, text: str) -> datetime:
    try:
        if len(text) > MAX_TIME_CHARS:
            raise ValueError
        at = datetime.fromisoformat(text)
        return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except (ValueError, OverflowError):
        raise ParamError(name, f"{name} must be an ISO 8601 time; not {text[:80]!r}.") from None
