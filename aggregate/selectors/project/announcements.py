"""What was announced about releases, and which commits lie between two of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from django.db import connection

from aggregate.selectors.slice.sides import are_releases
from aggregate.selectors.slice.slices import Slice
from ingest.models import Group
from projects.models import AnnouncedRelease


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseAnnouncement:
    """What was said about a release; None for what was not. The times are aware."""

    release: str
    announced_at: datetime
    commit: str | None
    base_commit: str | None
    released_at: datetime | None
    author: str | None
    link: str | None
    range_link: str | None
    rolled_back_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitRange:
    """The commits that the head has and the base has not: those after `first` up to `last`.

    `first` is None if the base's commit is not known. `link` leads to them, or is None. `head` is what was announced
    about the head.
    """

    first: str | None
    last: str
    link: str | None
    head: ReleaseAnnouncement


def select_announcements(project_id: int, releases: Sequence[str] | None = None) -> Mapping[str, ReleaseAnnouncement]:
    """Returns the announcements of some releases of a project, or of all, by release. One statement."""
    rows = AnnouncedRelease.objects.filter(project_id=project_id)
    if releases is not None:
        rows = rows.filter(release__in=list(releases))
    fields = ReleaseAnnouncement.__slots__
    return {row["release"]: ReleaseAnnouncement(**row) for row in rows.values(*fields)}


def find_first_seen(project_id: int, release: str) -> datetime | None:
    """Returns when the first trace of a release came; None if none has come yet. One statement."""
    seen = Group.objects.filter(project_id=project_id, release=release).order_by("first_seen_at")
    return seen.values_list("first_seen_at", flat=True).first()


def select_said_rollbacks(project_id: int, now: datetime) -> dict[str, datetime]:
    """Returns the releases of a project that somebody said were rolled back by now, and since when. One statement."""
    rows = AnnouncedRelease.objects.filter(project_id=project_id, rolled_back_at__lte=now)
    return {release: at for release, at in rows.values_list("release", "rolled_back_at") if at is not None}


def find_commits(base: Slice, head: Slice) -> CommitRange | None:
    """Returns the commits between two releases; None for other sides, or if the head's commit was not announced.

    The base's commit is the announced one. If there is none, it is the one that the head was announced to follow,
    provided that no other release was seen between the two. Up to two statements.
    """
    if not are_releases(base, head):
        return None
    (old,), (new,) = base.releases, head.releases
    found = select_announcements(head.project_id, (old, new))
    told = found.get(new)
    if told is None or told.commit is None:
        return None
    first = found[old].commit if old in found else None
    if first is None and told.base_commit is not None and are_neighbours(head.project_id, old, new):
        first = told.base_commit
    link = None
    if first is not None and told.range_link is not None:
        link = told.range_link.replace("{base}", first).replace("{head}", told.commit)
    return CommitRange(first=first, last=told.commit, link=link, head=told)


def are_neighbours(project_id: int, old: str, new: str) -> bool:
    """Tells whether one release was first seen right after another one."""
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT release FROM ingest_group WHERE project_id = %s
               GROUP BY release ORDER BY min(first_seen_at), release""",
            [project_id],
        )
        seen = [release for (release,) in cursor]
    return (old, new) in pairwise(seen)
