"""The queue of symbolication: scripts with a new map, and scripts with new funcs. Their rows are the queue.

Ids of funcs ascend in the order of their commits, since their counter's row is locked until then. So one mark per
project, and one per script, say which funcs were looked at.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction

from aggregate.label_models import FuncScan
from aggregate.models import QueueTurn
from aggregate.queue_turns import TURN_ORDER, note_turn
from aggregate.sourcemaps.script_locks import SCRIPTS_LOCK, lock_scripts
from aggregate.sourcemaps.wildcards import COVERS, HAS_WILDCARD, mark_covering_scripts
from aggregate.sql import select_records
from aggregate.worker_leases import LIVE, own_token, register_lease
from ingest.deadline import idle_timeout

SYMBOLICATE_TASK: Final = "aggregate.symbolicate"
SYMBOLICATE_FLAG: Final = "fieldflame:notify-symbolicate"
LEASE_MARGIN_S: Final = 60  # beyond the child's timeout: loading the map and writing labels
MANY: Final = 10_000
# Of the project whose turn it is, the script that has waited longest.
PICK: Final = f"""
WITH {LIVE},
waiting AS (
    SELECT s.project_id, s.id, s.pending_at,
           s.claimed_until >= statement_timestamp() AND EXISTS (
               SELECT FROM live WHERE live.token = s.claim_token) AS is_held
    FROM aggregate_releasescript s
    WHERE s.pending_at IS NOT NULL AND (%(project)s::bigint IS NULL OR s.project_id = %(project)s)),
counted AS (
    SELECT project_id, id, pending_at, is_held,
           count(*) FILTER (WHERE is_held) OVER (PARTITION BY project_id) AS held_count
    FROM waiting)
SELECT c.project_id, c.id FROM counted c
LEFT JOIN aggregate_queueturn t ON t.project_id = c.project_id AND t.queue = {QueueTurn.Queue.SCRIPTS.value}
WHERE is_held IS NOT TRUE AND (SELECT count(*) FROM waiting WHERE is_held) < %(at_once)s
ORDER BY {TURN_ORDER}, pending_at, id LIMIT 1
"""
TAKE: Final = """
UPDATE aggregate_releasescript s
SET attempts = attempts + 1, claimed_until = statement_timestamp() + make_interval(secs => %(lease_s)s),
    claim_token = %(token)s
WHERE s.project_id = %(project)s AND s.id = %(script)s AND s.pending_at IS NOT NULL
RETURNING s.project_id, s.id AS script_id, s.release, s.uri, s.file, s.is_shared, s.bundle_id, s.map_id,
    s.labelled_func_id, s.pending_at, s.attempts, s.claim_token AS token
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptClaim:
    """A script whose funcs are to be labelled, claimed under a lease."""

    project_id: int
    script_id: int
    release: str
    uri: str
    file: str
    is_shared: bool
    bundle_id: int | None
    map_id: int
    labelled_func_id: int
    pending_at: datetime
    attempts: int
    token: UUID


def scan_new_funcs(project_id: int) -> int:
    """Marks scripts with a map as pending if funcs of them were interned since the last scan; returns how many."""
    with transaction.atomic(), connection.cursor() as cursor:
        lock_scripts(project_id)
        FuncScan.objects.bulk_create([FuncScan(project_id=project_id)], ignore_conflicts=True)
        cursor.execute("SELECT func_id FROM aggregate_funcscan WHERE project_id = %s", [project_id])
        ((done,),) = cursor.fetchall()
        cursor.execute(
            "SELECT coalesce(max(next_id), 1) - 1 FROM ingest_counter WHERE project_id = %s AND kind = 'func'",
            [project_id],
        )
        ((last,),) = cursor.fetchall()
        if last <= done:
            return 0
        cursor.execute(
            """UPDATE aggregate_releasescript s SET pending_at = statement_timestamp()
               FROM (SELECT md5(uri) AS hash, max(id) AS last_id FROM aggregate_func
                     WHERE project_id = %s AND id > %s AND id <= %s AND uri IS NOT NULL GROUP BY 1) f
               WHERE s.project_id = %s AND md5(s.uri) = f.hash AND s.map_id IS NOT NULL AND s.failure IS NULL
                 AND s.labelled_func_id < f.last_id""",
            [project_id, done, last, project_id],
        )
        marked = int(cursor.rowcount) + mark_covering_scripts(project_id, done, last)
        cursor.execute("UPDATE aggregate_funcscan SET func_id = %s WHERE project_id = %s", [last, project_id])
    return marked


def scan_new_hangs(project_id: int) -> int:
    """Marks scripts with a map as pending if stacks of hangs have come with calls in them; returns how many.

    From then on, a stack has the original of each frame, null until a map says it. One statement.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        lock_scripts(project_id)
        cursor.execute(
            """WITH come AS (
                   UPDATE ingest_hangcount h
                   SET originals = (SELECT coalesce(jsonb_agg(NULL::jsonb), '[]') FROM jsonb_array_elements(h.frames))
                   WHERE h.project_id = %(project)s AND h.originals IS NULL RETURNING h.release, h.frames)
               UPDATE aggregate_releasescript s SET pending_at = statement_timestamp()
               FROM (SELECT DISTINCT c.release, f.value ->> 1 AS uri
                     FROM come c CROSS JOIN LATERAL jsonb_array_elements(c.frames) AS f) n
               WHERE s.project_id = %(project)s AND md5(s.uri) = md5(n.uri) AND s.uri = n.uri
                 AND (s.release = n.release OR s.is_shared) AND s.map_id IS NOT NULL AND s.failure IS NULL""",
            {"project": project_id},
        )
        return int(cursor.rowcount)


def list_projects_with_scripts() -> list[int]:
    """Returns the ids of the projects that have source maps."""
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT p.id FROM projects_project p
               WHERE p.id IN (SELECT s.project_id FROM aggregate_releasescript s) ORDER BY p.id"""
        )
        return [project_id for (project_id,) in cursor]


def claim_script(*, project_id: int | None = None) -> ScriptClaim | None:
    """Claims a pending script, of projects in turns; None if none is pending, or if enough are in work.

    With `project_id`, it claims one of that project, however many others are in work. The attempt is counted before the
    work. A claim ends with its lease (`aggregate.worker_leases`), or when its lease runs out.
    """
    at_once = settings.SYMBOLICATE_AT_ONCE if project_id is None else MANY
    while True:
        with transaction.atomic(), connection.cursor() as cursor:
            # Without the lock, two would count each other's absence.
            cursor.execute(
                "SELECT pg_advisory_xact_lock(%s) FROM set_config('idle_in_transaction_session_timeout', %s, true)",
                [SCRIPTS_LOCK, idle_timeout()],
            )
            cursor.execute(PICK, {"project": project_id, "at_once": at_once})
            picked = cursor.fetchone()
            if picked is None:
                return None
            lease_s = settings.SYMBOLICATE_TIMEOUT_S + LEASE_MARGIN_S
            params = {"project": picked[0], "script": picked[1], "lease_s": lease_s, "token": own_token()}
            claimed = select_records(ScriptClaim, TAKE, params)
            if claimed:  # else it was deleted in between
                note_turn(claimed[0].project_id, QueueTurn.Queue.SCRIPTS)
                register_lease()
                return claimed[0]


def release_claim(claim: ScriptClaim, *, is_counted: bool) -> None:
    """Releases a claim; the script stays pending. With `is_counted` the attempt stays counted, as it was its fault."""
    with connection.cursor() as cursor:
        cursor.execute(
            """UPDATE aggregate_releasescript SET claimed_until = NULL, attempts = attempts - %s
               WHERE project_id = %s AND id = %s AND attempts = %s AND claim_token = %s""",
            [0 if is_counted else 1, claim.project_id, claim.script_id, claim.attempts, claim.token],
        )


def count_pending(project_id: int) -> tuple[int, int]:
    """Returns the numbers of a project's pending scripts, and of their funcs without labels."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT count(DISTINCT s.id), count(f.id) + (
                   SELECT count(*) FROM aggregate_releasescript s
                   JOIN aggregate_func f ON f.project_id = s.project_id AND {COVERS}
                   WHERE s.project_id = %s AND s.pending_at IS NOT NULL AND {HAS_WILDCARD}
                     AND f.id > s.labelled_func_id AND f.line IS NOT NULL)
               FROM aggregate_releasescript s
               LEFT JOIN aggregate_func f ON f.project_id = s.project_id AND md5(f.uri) = md5(s.uri)
                    AND f.uri = s.uri AND f.id > s.labelled_func_id AND f.line IS NOT NULL
               WHERE s.project_id = %s AND s.pending_at IS NOT NULL""",
            [project_id, project_id],
        )
        ((scripts, funcs),) = cursor.fetchall()
    return scripts, funcs


def mark_all(project_id: int) -> None:
    """Marks all scripts with a map as pending, also failed ones. Their labels stay until they are labelled again."""
    with transaction.atomic(), connection.cursor() as cursor:
        lock_scripts(project_id)
        cursor.execute(
            """UPDATE aggregate_releasescript
               SET pending_at = statement_timestamp(), labelled_func_id = 0, attempts = 0, claimed_until = NULL,
                   failure = NULL
               WHERE project_id = %s AND map_id IS NOT NULL""",
            [project_id],
        )
