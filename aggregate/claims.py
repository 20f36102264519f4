"""Claiming pending traces: a few small groups of one project at a time, under a lease bound to the database session.

A claim is void when its lease has run out or when the session that took it is gone, so what a killed worker held is
free at once. Attempts are counted here, before the work and outside its transaction.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction

CANDIDATE_ROWS: Final = 2_000  # how far down the queue groups are looked for
MAX_WAIT_S: Final = 300
MAX_ATTEMPTS_KEPT: Final = 10_000  # the counter is a smallint; beyond two it decides nothing

CLAIMABLE: Final = """r.state = 0 AND (r.claimed_until IS NULL OR r.claimed_until < now() OR (
    r.claim_pid IS NOT NULL AND NOT EXISTS (
    SELECT FROM live WHERE live.pid = r.claim_pid AND live.backend_start = r.claim_backend_start)))"""
LIVE: Final = (
    "live AS MATERIALIZED (SELECT pid, backend_start FROM pg_stat_activity WHERE datname = current_database())"
)

CANDIDATES: Final = f"""
WITH {LIVE}, queue AS (
    SELECT r.project_id, r.group_id, r.received_at, r.attempts >= %(batch_attempts)s AS is_alone
    FROM ingest_receipt r WHERE {CLAIMABLE} ORDER BY r.received_at LIMIT {CANDIDATE_ROWS})
SELECT project_id, group_id, is_alone FROM queue GROUP BY 1, 2, 3 ORDER BY min(received_at), 1, 2, 3
"""
PICK: Final = f"""
WITH {LIVE}
SELECT r.view_id, r.seq, r.group_id, r.received_at, r.end_reason, r.body_bytes, r.attempts + 1 FROM ingest_receipt r
WHERE r.project_id = %(project_id)s AND r.group_id = %(group_id)s
  AND (r.attempts >= %(batch_attempts)s) = %(is_alone)s AND {CLAIMABLE}
ORDER BY r.received_at, r.view_id, r.seq LIMIT %(traces)s FOR UPDATE OF r SKIP LOCKED
"""
# `= ANY` on the key's second column holds the plan to the rows meant, whatever the planner believes of a table that
# was empty a minute ago: joined with the picked rows instead, it has walked all receipts of a project for each.
TAKE: Final = f"""
UPDATE ingest_receipt r
SET attempts = least(r.attempts + 1, {MAX_ATTEMPTS_KEPT}), claim_pid = pg_backend_pid(),
    claim_backend_start = (SELECT backend_start FROM pg_stat_activity WHERE pid = pg_backend_pid()),
    claimed_until = now() + make_interval(secs => %(lease_s)s)
WHERE r.project_id = %(project_id)s AND r.view_id = ANY(%(views)b::uuid[])
  AND (r.view_id, r.seq) IN (SELECT * FROM unnest(%(views)b::uuid[], %(seqs)b::int[]))
"""


@dataclass(frozen=True, slots=True)
class ClaimedTrace:
    """One claimed receipt."""

    view_id: UUID
    seq: int
    group_id: int
    received_at: datetime
    end_reason: int
    body_bytes: int
    attempts: int


@dataclass(frozen=True, slots=True)
class Claim:
    """A batch of one project's pending traces. `is_alone`: one trace that must be folded apart from all others."""

    project_id: int
    is_alone: bool
    traces: list[ClaimedTrace]


def claim_batch() -> Claim | None:
    """Claims the oldest pending traces of one project, group by group up to the batch's bounds; None if none wait."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(CANDIDATES, {"batch_attempts": settings.FOLD_BATCH_ATTEMPTS})
        candidates = cursor.fetchall()
        if not candidates:
            return None
        project_id, _, is_alone = candidates[0]
        most = 1 if is_alone else settings.FOLD_BATCH_TRACES
        claimed: list[ClaimedTrace] = []
        claimed_bytes = 0
        for candidate_project, group_id, candidate_alone in candidates:
            if (candidate_project, candidate_alone) != (project_id, is_alone):
                continue
            rows = _claim_group(
                {
                    "project_id": project_id,
                    "group_id": group_id,
                    "is_alone": is_alone,
                    "batch_attempts": settings.FOLD_BATCH_ATTEMPTS,
                    "traces": most - len(claimed),
                },
                settings.FOLD_BATCH_BYTES - claimed_bytes,
            )
            claimed.extend(rows)
            claimed_bytes += sum(row.body_bytes for row in rows)
            if len(claimed) >= most or claimed_bytes >= settings.FOLD_BATCH_BYTES:
                break
    return Claim(project_id, is_alone, claimed) if claimed else None


def _claim_group(where: dict[str, Any], most_bytes: int) -> list[ClaimedTrace]:  # Any: one statement's parameters
    """Claims a group's oldest traces, at least one and no more than start within `most_bytes`."""
    with connection.cursor() as cursor:
        cursor.execute(PICK, where)
        rows: list[ClaimedTrace] = []
        size = 0
        for row in cursor.fetchall():
            if size >= most_bytes:
                break
            rows.append(ClaimedTrace(*row))
            size += rows[-1].body_bytes
        if rows:
            cursor.execute(
                TAKE,
                {
                    "project_id": where["project_id"],
                    "lease_s": settings.FOLD_LEASE_S,
                    "views": [row.view_id for row in rows],
                    "seqs": [row.seq for row in rows],
                },
            )
    return rows


def release_claim(claim: Claim) -> None:
    """Gives back what was claimed and not folded; the attempts stay counted.

    A trace that failed alone waits before its next turn, ever longer, so that it does not stand in others' way.
    """
    wait_s = min(2 ** min(claim.traces[0].attempts, 16), MAX_WAIT_S) if claim.is_alone else 0
    with connection.cursor() as cursor:
        cursor.execute(
            """UPDATE ingest_receipt r SET claim_pid = NULL, claim_backend_start = NULL,
                   claimed_until = now() + make_interval(secs => %s)
               FROM unnest(%b::uuid[], %b::int[]) AS c (view_id, seq)
               WHERE r.project_id = %s AND r.view_id = c.view_id AND r.seq = c.seq AND r.state = 0
                 AND r.claim_pid = pg_backend_pid()""",
            [wait_s, [t.view_id for t in claim.traces], [t.seq for t in claim.traces], claim.project_id],
        )


def count_crash(claim: Claim) -> int:
    """Counts that a trace, folded alone, took its process with it; returns how often it has."""
    trace = claim.traces[0]
    with connection.cursor() as cursor:
        cursor.execute(
            """UPDATE ingest_receipt SET crashes = least(crashes + 1, %s)
               WHERE project_id = %s AND view_id = %s AND seq = %s RETURNING crashes""",
            [MAX_ATTEMPTS_KEPT, claim.project_id, trace.view_id, trace.seq],
        )
        row = cursor.fetchone()
    return int(row[0]) if row else 0
