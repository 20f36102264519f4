"""Lists of uploaded scripts and the progress of their labels, for the API and the pages."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from django.db import connection

from aggregate.label_models import MAPPED
from aggregate.sql import select_records


class ScriptState(StrEnum):
    """The progress of a script: without a map, waiting for labels, labelled, or with a map that cannot be used."""

    NO_MAP = "no_map"
    WAITING = "waiting"
    LABELLED = "labelled"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedScript:
    """A script of a release. `functions` counts those with a label of it, `mapped` those that the map maps.

    With `has_debug_id`, its map was found by a debug id that both have.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedRelease:
    """The uploads of a release: its scripts by state, and the bytes of its maps, expanded.

    `unseen` scripts are done, but no trace has named a function of them.
    """

    release: str
    scripts: int
    no_map: int
    waiting: int
    failed: int
    unseen: int
    map_bytes: int
    uploaded_at: datetime

    @property
    def labelled(self) -> int:
        """The number of scripts whose functions have labels."""
        return self.scripts - self.no_map - self.waiting - self.failed - self.unseen


def select_script_releases(project_id: int, *, limit: int) -> tuple[list[ListedRelease], int]:
    """Returns the releases that have scripts, the last uploaded first, and their number. One statement."""
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT count(*) OVER (), s.release, count(*), count(*) FILTER (WHERE s.map_id IS NULL),
                      count(*) FILTER (WHERE s.map_id IS NOT NULL AND s.failure IS NULL AND s.pending_at IS NOT NULL),
                      count(*) FILTER (WHERE s.map_id IS NOT NULL AND s.failure IS NOT NULL),
                      count(*) FILTER (WHERE s.map_id IS NOT NULL AND s.failure IS NULL AND s.pending_at IS NULL
                          AND NOT EXISTS (SELECT FROM aggregate_label l
                                          WHERE l.project_id = %(project_id)s AND l.script_id = s.id)),
                      COALESCE(sum(a.size_bytes), 0)::bigint, max(s.uploaded_at)
               FROM aggregate_releasescript s
               LEFT JOIN aggregate_artifact a ON a.project_id = s.project_id AND a.id = s.map_id
               WHERE s.project_id = %(project_id)s
               GROUP BY s.release ORDER BY max(s.uploaded_at) DESC, s.release DESC LIMIT %(limit)s""",
            {"project_id": project_id, "limit": limit},
        )
        rows = cursor.fetchall()
    releases = [
        ListedRelease(
            release=name,
            scripts=scripts,
            no_map=no_map,
            waiting=waiting,
            failed=failed,
            unseen=unseen,
            map_bytes=map_bytes,
            uploaded_at=uploaded_at,
        )
        for _, name, scripts, no_map, waiting, failed, unseen, map_bytes, uploaded_at in rows
    ]
    return releases, rows[0][0] if rows else 0


def select_scripts(project_id: int, *, release: str | None = None, limit: int) -> tuple[list[ListedScript], int]:
    """Returns the scripts of a project or release, the last uploaded first, and their number in all."""
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT count(*) FROM aggregate_releasescript s
               WHERE s.project_id = %s AND (%s::text IS NULL OR s.release = %s)""",
            [project_id, release, release],
        )
        ((total,),) = cursor.fetchall()
    scripts = select_records(
        ListedScript,
        f"""WITH listed AS (
               SELECT * FROM aggregate_releasescript s
               WHERE s.project_id = %(project)s AND (%(release)s::text IS NULL OR s.release = %(release)s)
               ORDER BY s.uploaded_at DESC, s.release DESC, s.uri LIMIT %(limit)s)
           SELECT s.id, s.release, s.uri, s.file, CASE WHEN s.map_id IS NULL THEN 'no_map'
                  WHEN s.failure IS NOT NULL THEN 'failed' WHEN s.pending_at IS NOT NULL THEN 'waiting'
                  ELSE 'labelled' END AS state,
                  s.failure, s.is_shared, a.size_bytes AS map_bytes, coalesce(l.functions, 0) AS functions,
                  coalesce(l.mapped, 0) AS mapped, s.uploaded_at, s.bundle_id IS NOT NULL AS has_bundle,
                  coalesce(a.debug_id = s.debug_id, false) AS has_debug_id
           FROM listed s
           LEFT JOIN aggregate_artifact a ON a.project_id = s.project_id AND a.id = s.map_id
           LEFT JOIN (SELECT script_id, count(*) AS functions, count(*) FILTER (WHERE status = {MAPPED}) AS mapped
                      FROM aggregate_label WHERE project_id = %(project)s AND script_id IN (SELECT id FROM listed)
                      GROUP BY 1) l ON l.script_id = s.id
           ORDER BY s.uploaded_at DESC, s.release DESC, s.uri""",
        {"project": project_id, "release": release, "limit": limit},
    )
    return scripts, int(total)
