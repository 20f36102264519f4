"""Claiming pending traces: a few small groups of one project at a time, under a lease bound to the worker's heartbeat.

Projects take turns, so that the backlog of one delays another by one batch of each project at most. Of a group that has
more pending traces than a batch, some stripes are claimed (`aggregate.fold.stripes`). Such a group is shared, so
that several workers may fold it. A batch locks all its groups exclusively, except at most one that it shares: its only
group, or the last one, of which it took stripes.

A claim ends with its time, or with its worker's lease (`aggregate.worker_leases`). Attempts are counted here, before
the work and outside its transaction.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction

from aggregate.fold.linger import Linger
from aggregate.fold.stripes import STRIPES, choose_stripes
from aggregate.sql import select_rows
from aggregate.worker_leases import LIVE, own_token, register_lease
from ingest.models import PENDING
from profcore.caching import keep

FOLD_BATCH_ATTEMPTS: Final = 2  # failed batches before a trace is folded alone
CANDIDATE_ROWS: Final = 2_000  # the part of the queue in which groups are searched
MAX_WAIT_S: Final = 300
MAX_ATTEMPTS_KEPT: Final = 10_000  # the counter is a smallint; values above two make no difference

# A receipt `r` can be claimed if it is pending, and no claim of it holds: its lease has run out, or its worker's
# heartbeat has stopped.
CAN_BE_CLAIMED: Final = """r.state = %(pending)s AND (r.claimed_until IS NULL OR r.claimed_until < now() OR (
        r.claim_token IS NOT NULL AND NOT EXISTS (SELECT 1 FROM live WHERE live.token = r.claim_token)))"""
# The next project in turn: the ids behind the last one first. A project with traces has groups, and so their counter.
# It lies with the project's receipts, so that each worker of a cluster looks for itself.
NEXT_PROJECT: Final = f"""
WITH {LIVE}
SELECT p.project_id FROM ingest_counter p
WHERE p.kind = 'group' AND p.project_id <> ALL(%(lingering)s::bigint[])
  AND EXISTS (
    SELECT 1 FROM ingest_tracereceipt r
    WHERE r.project_id = p.project_id AND {CAN_BE_CLAIMED})
ORDER BY p.project_id <= %(last)s, p.project_id LIMIT 1
"""
CANDIDATES: Final = f"""
WITH {LIVE}, queue AS (
    SELECT r.group_id, r.received_at, r.body_bytes, r.attempts >= %(batch_attempts)s AS is_alone
    FROM ingest_tracereceipt r
    WHERE r.project_id = %(project_id)s AND {CAN_BE_CLAIMED}
    ORDER BY r.received_at LIMIT %(candidate_rows)s)
SELECT group_id, is_alone, count(*), sum(body_bytes), max(received_at)
FROM queue GROUP BY 1, 2 ORDER BY min(received_at), 1, 2
"""
Candidate = tuple[Any, ...]  # Any: a row of these
# Of some groups, in their order. Of some stripes of them, or of all. The bound of time keeps a claim from sorting more
# than the part of the queue that was counted.
PICK: Final = f"""
WITH {LIVE}
SELECT r.view_id, r.seq, r.group_id, r.received_at, r.end_reason, r.body_bytes, r.attempts + 1
FROM ingest_tracereceipt r
WHERE r.project_id = %(project_id)s AND r.group_id = ANY(%(groups)s::int[]) AND r.received_at <= %(until)s
  AND {CAN_BE_CLAIMED}
  AND (r.attempts >= %(batch_attempts)s) = %(is_alone)s
  AND (%(stripes)s::int[] IS NULL
    OR get_byte(uuid_send(r.view_id), 15) %% %(all_stripes)s = ANY(%(stripes)s::int[]))
ORDER BY array_position(%(groups)s::int[], r.group_id), r.received_at, r.view_id, r.seq
LIMIT %(traces)s FOR UPDATE OF r SKIP LOCKED
"""
# `= ANY` on the key's second column limits the plan to the wanted rows, whatever the planner believes about a table
# that was empty a minute ago. Joined with the picked rows instead, it has read all receipts of a project for each. The
# bounds of time limit it to the partitions that they are in.
TAKE: Final = """
UPDATE ingest_tracereceipt r
SET attempts = least(r.attempts + 1, %(most_attempts)s), claim_token = %(token)s,
    claimed_until = now() + make_interval(secs => %(lease_s)s)
FROM unnest(%(views)b::uuid[], %(seqs)b::int[], %(received)b::timestamptz[]) AS c (view_id, seq, received_at)
WHERE r.project_id = %(project_id)s AND r.view_id = ANY(%(views)b::uuid[])
  AND r.received_at BETWEEN %(first)s AND %(last)s
  AND r.view_id = c.view_id AND r.seq = c.seq AND r.received_at = c.received_at
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimedTrace:
    """One claimed receipt."""

    view_id: UUID
    seq: int
    group_id: int
    received_at: datetime
    end_reason: int
    body_bytes: int
    attempts: int

    def name(self) -> str:
        """Returns the trace's identity within its project, for logs of what went wrong."""
        return f"{self.view_id}:{self.seq}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A batch of one project's pending traces. If `is_alone`, it is one trace that must be folded by itself."""

    project_id: int
    is_alone: bool
    traces: list[ClaimedTrace]
    token: UUID | None = None  # of the lease; None for traces that are only folded again
    shared_group: int | None = None  # one that others may fold too, in other stripes


def read_claimed(row: tuple[Any, ...]) -> ClaimedTrace:  # Any: a row as the driver types it
    """Returns a row with the columns of a `ClaimedTrace`, in its order, as a record."""
    view_id, seq, group_id, received_at, end_reason, body_bytes, attempts = row
    return ClaimedTrace(
        view_id=view_id,
        seq=seq,
        group_id=group_id,
        received_at=received_at,
        end_reason=end_reason,
        body_bytes=body_bytes,
        attempts=attempts,
    )


@dataclass(slots=True)
class Turns:
    """The project that this process claimed for last."""

    last_project: int = 0

    def clear(self) -> None:
        self.last_project = 0


_turns: Final = keep(Turns())


def claim_batch(linger: Linger | None = None) -> Claim | None:
    """Claims the oldest pending traces of the next project, group by group up to the batch's bounds.

    Returns None if no project has any. Projects of `linger` are left out, and one with a small batch begins to linger.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            NEXT_PROJECT,
            {
                "last": _turns.last_project,
                "lingering": linger.projects() if linger else [],
                "pending": PENDING,
            },
        )
        row = cursor.fetchone()
        if row is None:
            return None
        project_id = _turns.last_project = row[0]
        claim, is_small = _pick(project_id)
        if not claim.traces:
            return None
        cursor.execute(
            TAKE,
            {
                "project_id": project_id,
                "lease_s": settings.FOLD_LEASE_S,
                "views": [trace.view_id for trace in claim.traces],
                "seqs": [trace.seq for trace in claim.traces],
                "received": [trace.received_at for trace in claim.traces],
                "first": min(trace.received_at for trace in claim.traces),
                "last": max(trace.received_at for trace in claim.traces),
                "most_attempts": MAX_ATTEMPTS_KEPT,
                "token": register_lease(),
            },
        )
    if linger is not None and is_small:
        linger.begin(project_id)
    return claim


def _pick(project_id: int) -> tuple[Claim, bool]:
    """Locks the receipts of a batch. Returns them as a claim, and whether nothing that could be claimed is left.

    The claim has no traces if there are none.
    """
    queue: dict[str, Any] = {  # Any: parameters of statements
        "project_id": project_id,
        "batch_attempts": FOLD_BATCH_ATTEMPTS,
        "candidate_rows": CANDIDATE_ROWS,
        "pending": PENDING,
        "all_stripes": STRIPES,
    }
    candidates = select_rows(CANDIDATES, queue)
    is_alone = bool(candidates and candidates[0][1])
    room, room_bytes = 1 if is_alone else settings.FOLD_BATCH_TRACES, settings.FOLD_BATCH_BYTES
    whole, large = _choose_groups([row for row in candidates if row[1] == is_alone], room, room_bytes)
    claimed: list[ClaimedTrace] = []
    if whole:
        batch = queue | {"is_alone": is_alone, "traces": room, "stripes": None}
        groups = {"groups": [row[0] for row in whole], "until": max(row[4] for row in whole)}
        claimed = _pick_traces(batch | groups, room_bytes)
    room, room_bytes = room - len(claimed), room_bytes - sum(trace.body_bytes for trace in claimed)
    shared: int | None = None
    if large is not None and room > 0 and room_bytes > 0:
        shared, until = large[0], large[4]
        stripes = choose_stripes(project_id, shared, until=until, room=room, room_bytes=room_bytes)
        batch = queue | {"is_alone": is_alone, "traces": room, "stripes": stripes}
        claimed += _pick_traces(batch | {"groups": [shared], "until": until}, room_bytes)
    groups_claimed = {trace.group_id for trace in claimed}
    shared = groups_claimed.pop() if len(groups_claimed) == 1 else shared
    token = own_token()
    claim = Claim(project_id=project_id, is_alone=is_alone, traces=claimed, token=token, shared_group=shared)
    return claim, large is None and room > 0 and room_bytes > 0


def _choose_groups(
    candidates: Sequence[Candidate], room: int, room_bytes: int
) -> tuple[list[Candidate], Candidate | None]:
    """Returns the first candidates that fit into a batch as a whole, and the next one, of which a part may fit.

    A trace that is folded alone takes the whole batch.
    """
    whole: list[Candidate] = []
    for row in candidates:
        _, is_alone, traces, size, _ = row
        if is_alone:
            return [row], None
        if traces > room or size > room_bytes:
            return whole, row
        whole.append(row)
        room, room_bytes = room - traces, room_bytes - size
    return whole, None


def _pick_traces(params: dict[str, Any], most_bytes: int) -> list[ClaimedTrace]:  # Any: parameters of `PICK`
    """Locks the oldest traces of groups: at least one, and only returns those that start within `most_bytes`."""
    rows: list[ClaimedTrace] = []
    size = 0
    for row in select_rows(PICK, params):
        if size >= most_bytes:
            break
        rows.append(read_claimed(row))
        size += rows[-1].body_bytes
    return rows


def release_claim(claim: Claim, *, is_attempt: bool = True) -> None:
    """Releases the claimed traces that were not folded. The attempt stays counted, unless no worker had begun with
    them.

    A trace that failed alone waits before its next turn, longer each time, so that it does not block others.
    """
    has_failed_alone = claim.is_alone and is_attempt
    wait_s = min(2 ** min(claim.traces[0].attempts, 16), MAX_WAIT_S) if has_failed_alone else 0
    with connection.cursor() as cursor:
        cursor.execute(
            """UPDATE ingest_tracereceipt r SET claim_token = NULL,
                   claimed_until = now() + make_interval(secs => %s), attempts = greatest(r.attempts - %s, 0)
               FROM unnest(%b::uuid[], %b::int[], %b::timestamptz[]) AS c (view_id, seq, received_at)
               WHERE r.project_id = %s AND r.view_id = c.view_id AND r.seq = c.seq AND r.received_at = c.received_at
                 AND r.state = %s AND r.claim_token = %s""",
            [
                wait_s,
                0 if is_attempt else 1,
                [t.view_id for t in claim.traces],
                [t.seq for t in claim.traces],
                [t.received_at for t in claim.traces],
                claim.project_id,
                PENDING,
                claim.token,
            ],
        )


def count_crash(claim: Claim) -> int:
    """Counts a crash of the process that folded a trace alone, and returns how many there were."""
    trace = claim.traces[0]
    with connection.cursor() as cursor:
        cursor.execute(
            """UPDATE ingest_tracereceipt SET crashes = least(crashes + 1, %s)
               WHERE project_id = %s AND view_id = %s AND seq = %s AND received_at = %s RETURNING crashes""",
            [MAX_ATTEMPTS_KEPT, claim.project_id, trace.view_id, trace.seq, trace.received_at],
        )
        row = cursor.fetchone()
    return int(row[0]) if row else 0
