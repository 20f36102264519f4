"""What is uploaded, and how far its labels are: for the API and people."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from django.db import connection


class ScriptState(StrEnum):
    """How far a script is. `no_map` waits for one; `waiting` is about to be labelled; `failed` was set aside."""

    NO_MAP = "no_map"
    WAITING = "waiting"
    LABELLED = "labelled"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class ListedScript:
    """A script of a release; `functions` counts those with a label of it, `mapped` those that the map maps.

    `has_debug_id`: its map was found by a debug id that both have.
    """

    id: int
    release: str
    uri: str
    file: str
    state: str  # a ScriptState
    failure: str | None
    is_shared: bool
    map_bytes: int | None
    functions: int
    mapped: int
    uploaded_at: datetime
    has_bundle: bool
    has_debug_id: bool


@dataclass(frozen=True, slots=True)
class ListedRelease:
    """What is uploaded of a release: its scripts by state, and the bytes of its maps, expanded."""

    release: str
    scripts: int
    no_map: int
    waiting: int
    failed: int
    map_bytes: int
    uploaded_at: datetime

    @property
    def labelled(self) -> int:
        """Scripts that are done."""
        return self.scripts - self.no_map - self.waiting - self.failed


def select_script_releases(project_id: int, *, limit: int) -> tuple[list[ListedRelease], int]:
    """Returns the releases that have scripts, the last uploaded first, and how many there are. One statement."""
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT count(*) OVER (), s.release, count(*), count(*) FILTER (WHERE s.map_id IS NULL),
                      count(*) FILTER (WHERE s.map_id IS NOT NULL AND s.failure IS NULL AND s.pending_at IS NOT NULL),
                      count(*) FILTER (WHERE s.map_id IS NOT NULL AND s.failure IS NOT NULL),
                      COALESCE(sum(a.size_bytes), 0)::bigint, max(s.uploaded_at)
               FROM aggregate_releasescript s
               LEFT JOIN aggregate_artifact a ON a.project_id = s.project_id AND a.id = s.map_id
               WHERE s.project_id = %s GROUP BY s.release ORDER BY max(s.uploaded_at) DESC, s.release DESC LIMIT %s""",
            [project_id, limit],
        )
        rows = cursor.fetchall()
    return [ListedRelease(*row[1:]) for row in rows], rows[0][0] if rows else 0


def select_scripts(project_id: int, *, release: str | None = None, limit: int) -> tuple[list[ListedScript], int]:
    """Returns a project's scripts, or those of a release, the last uploaded first, and how many there are in all."""
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT count(*) FROM aggregate_releasescript s
               WHERE s.project_id = %s AND (%s::text IS NULL OR s.release = %s)""",
            [project_id, release, release],
        )
        ((total,),) = cursor.fetchall()
        cursor.execute(
            """WITH listed AS (
                   SELECT * FROM aggregate_releasescript s
                   WHERE s.project_id = %(project)s AND (%(release)s::text IS NULL OR s.release = %(release)s)
                   ORDER BY s.uploaded_at DESC, s.release DESC, s.uri LIMIT %(limit)s)
               SELECT s.id, s.release, s.uri, s.file, CASE WHEN s.map_id IS NULL THEN 'no_map'
                       WHEN s.failure IS NOT NULL THEN 'failed' WHEN s.pending_at IS NOT NULL THEN 'waiting'
                       ELSE 'labelled' END,
                   s.failure, s.is_shared, a.size_bytes, coalesce(l.functions, 0), coalesce(l.mapped, 0), s.uploaded_at,
                      s.bundle_id IS NOT NULL, coalesce(a.debug_id = s.debug_id, false)
               FROM listed s
               LEFT JOIN aggregate_artifact a ON a.project_id = s.project_id AND a.id = s.map_id
               LEFT JOIN (SELECT script_id, count(*) AS functions, count(*) FILTER (WHERE status = 0) AS mapped
                          FROM aggregate_label WHERE project_id = %(project)s AND script_id IN (SELECT id FROM listed)
                          GROUP BY 1) l ON l.script_id = s.id
               ORDER BY s.uploaded_at DESC, s.release DESC, s.uri""",
            {"project": project_id, "release": release, "limit": limit},
        )
        rows = [ListedScript(*row) for row in cursor.fetchall()]
    return rows, int(total)
