"""The last release of a slice and those before it."""

from collections.abc import Sequence
from typing import Protocol

from aggregate.selectors.project.pages import ReleaseRow
from aggregate.selectors.slice.slices import Slice
from ingest.storage.groups import OTHER
from profcore.alerts.usage import is_used
from profcore.stats.joining import MIN_COMPARED_VIEWS


class HasViews(Protocol):
    """A release with its page views; None for those of all releases."""

    @property
    def release(self) -> str | None: ...

    @property
    def views(self) -> int: ...


def pick_last_releases(
    slice_: Slice, in_slice: Sequence[HasViews], known: Sequence[ReleaseRow]
) -> tuple[Sequence[str], str] | None:
    """Returns the newest release of a slice, after those that can be its base, the newest first.

    None if there are not two releases. `in_slice` are the releases of the slice, and `known` those of the project, both
    the newest first. If the slice names no release, those that do not count (`ReleaseRow.is_comparable`) or have too
    few views in the slice are skipped, provided that two others are left: a release that one person has tried, or made
    up, must not hide what all others use. Where two do not count, as in a slice of long ago, they need enough of the
    slice's views. If the slice has one release, the base is one before it, by the same rule. If it names several, it
    names the base too. "(other)" is no release.
    """
    rows = [row for row in in_slice if row.release not in (None, OTHER) and row.views]
    newest = [row.release or "" for row in rows]
    counted = {row.release for row in known if row.is_comparable}
    comparable = [row.release or "" for row in rows if row.views >= MIN_COMPARED_VIEWS and row.release in counted]
    if len(comparable) < 2:
        whole = sum(row.views for row in rows)
        comparable = [row.release or "" for row in rows if is_used(row.views, whole)]
    if len(comparable) >= 2 and not slice_.releases:
        return comparable[1:], comparable[0]
    if len(newest) >= 2:
        return newest[1:2], newest[0]
    if len(newest) == 1 and len(slice_.releases) == 1:
        with_views = [row for row in known if row.views and row.release != OTHER]
        names = [row.release for row in with_views]
        older = with_views[names.index(newest[0]) + 1 :] if newest[0] in names else []
        enough = [row for row in older if row.is_comparable] or [row for row in older if is_used(row.views, 0)]
        return ([row.release for row in enough or older], newest[0]) if older else None
    return None
