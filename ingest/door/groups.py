"""Groups (release × page) and dense ids: interned in transactions of their own, remembered by each process."""

from collections.abc import Sequence

from django.conf import settings
from django.db import connection, transaction

_group_ids: dict[tuple[int, str, str], int] = {}
MAX_REMEMBERED = 100_000


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


def intern_groups(project_id: int, wanted: Sequence[tuple[str, str]]) -> dict[tuple[str, str], int]:
    """Returns the group id of each (release, page). New ones are left out if the project may have no more groups."""
    found = {}
    missing = []
    for release, page in dict.fromkeys(wanted):
        known = _group_ids.get((project_id, release, page))
        if known is None:
            missing.append((release, page))
        else:
            found[release, page] = known
    if missing:
        if len(_group_ids) > MAX_REMEMBERED:
            _group_ids.clear()
        for (release, page), group_id in _find_or_create(project_id, sorted(missing)).items():
            _group_ids[project_id, release, page] = group_id
            found[release, page] = group_id
    return found


def forget_groups() -> None:
    """Empties the memory of groups, between tests."""
    _group_ids.clear()


def _find_or_create(project_id: int, pairs: list[tuple[str, str]]) -> dict[tuple[str, str], int]:
    found = _select_groups(project_id, pairs)
    missing = [pair for pair in pairs if pair not in found]
    if not missing or _count_taken(project_id) >= settings.INGEST_MAX_GROUPS:
        return found
    with transaction.atomic():
        # The counter's row is the lock. After waiting for it, a process finds the groups of others, and wastes no id.
        taken = allocate_ids(project_id, "group", 0).stop - 1
        found = _select_groups(project_id, pairs)
        missing = [pair for pair in missing if pair not in found][: max(0, settings.INGEST_MAX_GROUPS - taken)]
        _insert_groups(project_id, missing)
    return _select_groups(project_id, pairs)


def _count_taken(project_id: int) -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT next_id - 1 FROM ingest_counter WHERE project_id = %s AND kind = 'group'", [project_id])
        row = cursor.fetchone()
    return row[0] if row is not None else 0


def _insert_groups(project_id: int, pairs: list[tuple[str, str]]) -> None:
    if not pairs:
        return
    ids = allocate_ids(project_id, "group", len(pairs))
    with connection.cursor() as cursor:
        cursor.execute(
            """INSERT INTO ingest_group (project_id, id, release, page, first_seen_at)
               SELECT %s, w.id, w.release, w.page, now()
               FROM unnest(%b::int[], %b::text[], %b::text[]) AS w (id, release, page)
               ON CONFLICT (project_id, release, page) DO NOTHING""",
            [project_id, list(ids), [release for release, _ in pairs], [page for _, page in pairs]],
        )


def _select_groups(project_id: int, pairs: list[tuple[str, str]]) -> dict[tuple[str, str], int]:
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT g.release, g.page, g.id FROM ingest_group g
               JOIN unnest(%b::text[], %b::text[]) AS w (release, page) ON g.release = w.release AND g.page = w.page
               WHERE g.project_id = %s""",
            [[release for release, _ in pairs], [page for _, page in pairs], project_id],
        )
        return {(release, page): group_id for release, page, group_id in cursor.fetchall()}
