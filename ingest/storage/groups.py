"""Groups (release × page) and dense ids: interned in transactions of their own, cached by each process.

Anybody may post any release and page. A project therefore has a bound on its groups, and one on new groups in an hour.
Traces beyond them count under "(other)": nothing is refused, and nothing made up takes the room of what is announced.
"""

import time
from collections.abc import Sequence
from typing import Final, TypeVar

from django.conf import settings
from django.db import connection, transaction

from profcore.caching import keep

OTHER: Final = "(other)"  # the release and the page of traces without a group of their own
FULL_CHECK_S: Final = 10.0  # a project without room is taken to have none for this long
CACHED_S: Final = 3_600  # expiry marks an unused row first, and deletes it hours later: no one has it cached then
MAX_CACHED: Final = 100_000  # about 20 MB; a project's hot funcs and groups are a few thousand

K = TypeVar("K")
Pair = tuple[str, str]  # (release, page)


class IdCache(dict[K, int]):
    """Ids by key, of all projects. `clear_sometimes` must come before they are used."""

    _since_s = 0.0

    def clear_sometimes(self) -> None:
        """Removes all ids if they are many, or cached for an hour."""
        now_s = time.monotonic()
        if len(self) > MAX_CACHED or now_s - self._since_s > CACHED_S:
            self.clear()
            self._since_s = now_s


_group_ids: Final[IdCache[tuple[int, str, str]]] = keep(IdCache())
_no_room_until: Final[dict[int, float]] = keep({})


def allocate_ids(project_id: int, kind: str, count: int) -> range:
    """Returns `count` new ids of a kind in a project. Call it in the transaction that uses them. Gaps are fine."""
    with connection.cursor() as cursor:
        cursor.execute(
            """INSERT INTO ingest_counter (project_id, kind, next_id) VALUES (%s, %s, 1 + %s)
               ON CONFLICT (project_id, kind) DO UPDATE SET next_id = ingest_counter.next_id + %s
               RETURNING next_id""",
            [project_id, kind, count, count],
        )
        row = cursor.fetchone()
    assert row is not None
    return range(row[0] - count, row[0])


def intern_groups(project_id: int, wanted: Sequence[Pair], *, overflows: bool = True) -> dict[Pair, int]:
    """Returns the group id of each (release, page).

    A pair without room gets the id of an "(other)" group. If `overflows` is false, as for files that a person imports,
    it is left out instead, and the bound on new groups in an hour does not hold.
    """
    _group_ids.clear_sometimes()
    group_ids = {}
    missing = []
    for release, page in dict.fromkeys(wanted):
        known = _group_ids.get((project_id, release, page))
        if known is None:
            missing.append((release, page))
        else:
            group_ids[release, page] = known
    if missing:
        places, ids = _find_or_create(project_id, sorted(missing), overflows=overflows)
        for pair, place in places.items():
            group_ids[pair] = ids[place]
            if place == pair:
                _group_ids[project_id, *pair] = ids[pair]
    return group_ids


def _find_or_create(project_id: int, pairs: list[Pair], *, overflows: bool) -> tuple[dict[Pair, Pair], dict[Pair, int]]:
    """Returns the place of each pair, which is itself if it has a group or room for one, and the ids of all places."""
    ids = _select_groups(project_id, pairs)
    if len(ids) == len(pairs):
        return {pair: pair for pair in pairs}, ids
    with transaction.atomic():
        # The counter's row is the lock. After waiting for it, a process finds the groups of others, and wastes no id.
        allocate_ids(project_id, "group", 0)
        ids = _select_groups(project_id, pairs)
        missing = [pair for pair in pairs if pair not in ids]
        roomy = missing[: _count_room(project_id, bounds_hour=overflows)]
        places = {pair: pair for pair in [*ids, *roomy]}
        if overflows and len(places) < len(pairs):
            places |= _place_others(project_id, [pair for pair in missing if pair not in places])
        ids |= _select_groups(project_id, [place for place in places.values() if place not in ids])
        ids |= _make_groups(project_id, [pair for pair in dict.fromkeys(places.values()) if pair not in ids])
    return places, ids


def _count_room(project_id: int, *, bounds_hour: bool) -> int:
    """Returns how many new groups a project may have now. A full one is counted again after some seconds."""
    now = time.monotonic()
    if bounds_hour and _no_room_until.get(project_id, now) > now:
        return 0
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT count(*), count(*) FILTER (WHERE first_seen_at > now() - interval '1 hour')
               FROM ingest_group WHERE project_id = %s AND closed_at IS NULL""",
            [project_id],
        )
        row = cursor.fetchone()
    assert row is not None  # an aggregate has one
    room: int = settings.INGEST_MAX_GROUPS - row[0]
    if bounds_hour:
        room = min(room, settings.INGEST_MAX_NEW_GROUPS - row[1])
        if room <= 0:
            _no_room_until[project_id] = now + FULL_CHECK_S
    return max(room, 0)


def _place_others(project_id: int, pairs: list[Pair]) -> dict[Pair, Pair]:
    """Returns the places of pairs for which the project has no room.

    An announced release has room for some pages of its own, whatever else was posted. Further ones are its "(other)".
    """
    releases = _count_announced_pages(project_id, sorted({release for release, _ in pairs}))
    places = {}
    for release, page in pairs:
        if release not in releases:
            places[release, page] = (OTHER, OTHER)
        elif releases[release] < settings.INGEST_ANNOUNCED_PAGES:
            releases[release] += 1
            places[release, page] = (release, page)
        else:
            places[release, page] = (release, OTHER)
    return places


def _count_announced_pages(project_id: int, releases: list[str]) -> dict[str, int]:
    """Returns the announced ones of some releases, with the numbers of their groups."""
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT a.release, (SELECT count(*) FROM ingest_group g
                                  WHERE g.project_id = %(project_id)s AND g.release = a.release
                                    AND g.closed_at IS NULL)
               FROM projects_announcedrelease a
               WHERE a.project_id = %(project_id)s AND a.release = ANY(%(releases)b::text[])""",
            {"project_id": project_id, "releases": releases},
        )
        return dict(cursor.fetchall())


def _make_groups(project_id: int, pairs: list[Pair]) -> dict[Pair, int]:
    """Inserts groups, or opens closed ones again; returns their ids.

    The release "(other)" is as old as the project, so that it is never the newest one. Others begin now: `since` is
    null, which `least` and `greatest` pass over. Citus refuses `now()` inside a CASE.
    """
    if not pairs:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(
            """INSERT INTO ingest_group (project_id, id, release, page, first_seen_at)
               SELECT w.project_id, w.id, w.release, w.page, greatest(w.since, least(now(), w.since))
               FROM (SELECT p.id AS project_id, w.*, CASE w.release WHEN %s THEN p.created_at END AS since
                     FROM projects_project p, unnest(%b::int[], %b::text[], %b::text[]) AS w (id, release, page)
                     WHERE p.id = %s) AS w
               ON CONFLICT (project_id, release, page) DO UPDATE SET closed_at = NULL
               RETURNING release, page, id""",
            [
                OTHER,
                list(allocate_ids(project_id, "group", len(pairs))),
                [release for release, _ in pairs],
                [page for _, page in pairs],
                project_id,
            ],
        )
        return {(release, page): group_id for release, page, group_id in cursor.fetchall()}


def _select_groups(project_id: int, pairs: list[Pair]) -> dict[Pair, int]:
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT g.release, g.page, g.id FROM ingest_group g
               JOIN unnest(%b::text[], %b::text[]) AS w (release, page) ON g.release = w.release AND g.page = w.page
               WHERE g.project_id = %s AND g.closed_at IS NULL""",
            [[release for release, _ in pairs], [page for _, page in pairs], project_id],
        )
        return {(release, page): group_id for release, page, group_id in cursor.fetchall()}
