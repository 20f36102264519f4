"""What was announced about releases, and which commits lie between two of them."""

from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from aggregate.selectors.project.pages import ReleaseAnnouncement, select_releases
from aggregate.selectors.slice.sides import are_releases
from aggregate.selectors.slice.slices import Slice
from ingest.models import Group
from projects.models import AnnouncedRelease


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


def find_announcement(project_id: int, release: str) -> ReleaseAnnouncement:
    """Returns what was announced about a release, also one without traces. One statement.

    Raises `AnnouncedRelease.DoesNotExist`.
    """
    rows = AnnouncedRelease.objects.filter(project_id=project_id, release=release)
    return ReleaseAnnouncement(**rows.values(*ReleaseAnnouncement.__slots__).get())


def find_first_seen(project_id: int, release: str) -> datetime | None:
    """Returns when the first trace of a release came; None if none has come yet. One statement."""
    seen = Group.objects.filter(project_id=project_id, release=release).order_by("first_seen_at")
    return seen.values_list("first_seen_at", flat=True).first()


def select_said_rollbacks(project_id: int, now: datetime) -> dict[str, datetime]:
    """Returns the releases of a project that were said to be rolled back by now, and since when. One statement."""
    rows = AnnouncedRelease.objects.filter(project_id=project_id, rolled_back_at__lte=now)
    return {release: at for release, at in rows.values_list("release", "rolled_back_at") if at is not None}


def find_commits(base: Slice, head: Slice) -> CommitRange | None:
    """Returns the commits between two releases; None for other sides, or if the head's commit was not announced.

    The base's commit is the announced one. If there is none, it is the one that the head was announced to follow,
    provided that no other release was seen between the two. One statement, that of `select_releases`.
    """
    if not are_releases(base, head):
        return None
    (old,), (new,) = base.releases, head.releases
    known = {row.release: row for row in select_releases(head.project_id)}
    announced = known[new].announcement if new in known else None
    if announced is None or announced.commit is None:
        return None
    before = known[old].announcement if old in known else None
    first = before.commit if before is not None else None
    if first is None and announced.base_commit is not None and (new, old) in pairwise(known):  # the newest is first
        first = announced.base_commit
    link = None
    if first is not None and announced.range_link is not None:
        link = announced.range_link.replace("{base}", first).replace("{head}", announced.commit)
    return CommitRange(first=first, last=announced.commit, link=link, head=announced)
