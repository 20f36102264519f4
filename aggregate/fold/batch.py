"""A claimed batch, decoded and folded to plain values for each view, cell and tree. No database lock is held."""

import logging
import math
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from uuid import UUID

import msgspec
from django.conf import settings
from django.db import connection

from aggregate.child_process import run_alone
from aggregate.fold.claims import Claim, ClaimedTrace
from aggregate.fold.interning import CellKey, intern_funcs
from aggregate.fold.isolated_fold import AloneTask, keys_of, result_decoder
from aggregate.fold.writes import ViewFacts
from aggregate.raw_bodies import StoredBody, TraceKey, load_raw_bodies
from aggregate.sql import dimension_columns
from ingest.limits import envelope_limits
from profcore.errors import Reason, TraceError
from profcore.kernel import find_kernel
from profcore.sums.batch_sums import BatchSums, Intervals, open_sums
from profcore.sums.fold import TraceFold
from profcore.times import start_of_hour
from profcore.trace.dimensions import is_truncating
from profcore.trace.funcs import FuncKey, FuncTable

logger = logging.getLogger(__name__)

ISOLATED_MODULE = "aggregate.fold.isolated_fold"

ViewKey = tuple[UUID, int]  # a view in one group


@dataclass(frozen=True, slots=True)
class Rejection:
    """A rejected trace, and the reason."""

    trace: ClaimedTrace
    error: TraceError


@dataclass(slots=True, kw_only=True)
class FoldedBatch:
    """The additions of a batch, by cell; func indexes are those of `funcs`."""

    claim: Claim  # of the traces that it has
    unreached: list[ClaimedTrace] = field(default_factory=list)  # claimed too, when the batch's time was over
    funcs: FuncTable
    id_of: list[int] = field(default_factory=list)  # of each func index with time; 0 for one without time
    sums: BatchSums[CellKey]
    # With the measured interval and the one in use, µs.
    folded: list[tuple[ClaimedTrace, int | None, int]] = field(default_factory=list)
    rejected: list[Rejection] = field(default_factory=list)
    view_facts: dict[ViewKey, ViewFacts] = field(default_factory=dict)


def fold_claim(claim: Claim, *, expired: Collection[ViewKey] = (), cpu_s: float = math.inf) -> FoldedBatch:
    """Returns a claim decoded and folded, with ids for its funcs; traces of the views in `expired` are rejected.

    A batch ends early when it has taken `cpu_s` of a processor: the traces behind wait for another batch, and for other
    projects' turns. So a client with traces that are expensive to fold delays others by one of them, not by 200.
    If the project has no room for some funcs, the batch is folded again with "(other)" in their place: a stack may have
    two of them, and counts its time once for each func. Raises `CrashedAlone`, or `django.db.Error` if reading fails.
    """
    batch = _fold_all(claim, expired, cpu_s, FuncTable())
    beyond = _intern_used(batch)
    if beyond and not claim.is_alone:  # a trace that is folded alone has its funcs; such traces are few
        again = _fold_all(batch.claim, expired, math.inf, FuncTable(beyond))
        again.claim, again.unreached, batch = batch.claim, batch.unreached, again
        _intern_used(batch)
    return batch


def _fold_all(claim: Claim, expired: Collection[ViewKey], cpu_s: float, funcs: FuncTable) -> FoldedBatch:
    bodies = load_raw_bodies(
        claim.project_id, [(trace.view_id, trace.seq, trace.received_at) for trace in claim.traces]
    )
    pages = load_pages(claim)
    cell_keys, view_facts = load_cell_keys(claim)
    batch = FoldedBatch(claim=claim, view_facts=view_facts, funcs=funcs, sums=_open_sums(funcs))
    started_s = time.thread_time()
    for count, trace in enumerate(claim.traces):
        if count and time.thread_time() - started_s >= cpu_s:
            batch.claim = replace(claim, traces=claim.traces[:count])
            batch.unreached = claim.traces[count:]
            break
        try:
            if (trace.view_id, trace.group_id) in expired:
                raise TraceError(Reason.VIEW_EXPIRED, "$", "Its view's earlier traces and contribution have expired.")
            body = _find_body(bodies, trace)
            key = cell_keys[trace.view_id, trace.group_id]
            add = add_alone if claim.is_alone else add_here
            intervals = add(batch.sums, key, trace, body, pages[trace.group_id])
        except TraceError as error:
            batch.rejected.append(Rejection(trace, error))
            continue
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            # A fault of ours that only this trace causes: its neighbours go on, and it is kept with its reason.
            logger.exception("A trace could not be folded.", extra={"trace_id": trace.name()})
            detail = f"The fold failed with {type(error).__name__}."
            batch.rejected.append(Rejection(trace, TraceError(Reason.FOLD_ERROR, "$", detail)))
            continue
        batch.folded.append((trace, *intervals))
    return batch


def _intern_used(batch: FoldedBatch) -> frozenset[FuncKey]:
    """Fills `id_of` of a batch; returns the keys that the project has no room for, if the batch may do without them."""
    used = batch.sums.used()
    keys = [batch.funcs.keys[index] for index in used]
    ids = intern_funcs(batch.claim.project_id, keys, is_bounded=not batch.claim.is_alone)
    batch.id_of = [0] * len(batch.funcs.keys)
    for index, key in zip(used, keys, strict=True):
        batch.id_of[index] = ids.get(key, 0)
    batch.sums.settle(batch.id_of)
    return frozenset(key for key in keys if key not in ids)


def _open_sums(funcs: FuncTable) -> BatchSums[CellKey]:
    kernel = find_kernel(settings.KERNEL).module
    return open_sums(kernel, funcs, envelope_limits(), max_bytes=settings.INGEST_MAX_EXPANDED_BYTES)


def _find_body(bodies: Mapping[TraceKey, StoredBody], trace: ClaimedTrace) -> StoredBody:
    stored = bodies.get((trace.view_id, trace.seq))
    if stored is None:
        raise TraceError(Reason.BODY_MISSING, "$", "The raw body is gone: it expired before it was folded.")
    return stored


def add_here(sums: BatchSums[CellKey], key: CellKey, trace: ClaimedTrace, body: StoredBody, page: str) -> Intervals:
    """Folds a trace in this process."""
    return sums.add(key, trace.view_id, body, page=page, is_truncated=is_truncating(trace.end_reason))


def add_alone(sums: BatchSums[CellKey], key: CellKey, trace: ClaimedTrace, body: StoredBody, page: str) -> Intervals:
    """Folds a trace in a process of its own, by the pure twin (aggregate/fold/isolated_fold.py says why)."""
    fold = _fold_alone(sums.funcs, body.expand(), page)
    return sums.add_fold(key, trace.view_id, fold, is_truncated=is_truncating(trace.end_reason))


def _fold_alone(funcs: FuncTable, body: bytes, page: str) -> TraceFold:
    task = AloneTask(
        body=body,
        page=page,
        limits=envelope_limits(),
        memory_bytes=settings.FOLD_ALONE_MEMORY_BYTES,
        cpu_s=settings.FOLD_ALONE_TIMEOUT_S,
    )
    done = run_alone(ISOLATED_MODULE, msgspec.msgpack.encode(task), timeout_s=settings.FOLD_ALONE_TIMEOUT_S)
    result = result_decoder.decode(done)
    if result.refusal is not None:
        reason, path, detail = result.refusal
        raise TraceError(reason, path, detail)
    assert result.fold is not None
    funcs.intern_all(keys_of(result))
    return result.fold


def load_pages(claim: Claim) -> dict[int, str]:
    """Returns the page of each claimed group."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT id, page FROM ingest_group WHERE project_id = %s AND id = ANY(%b::int[])",
            [claim.project_id, sorted({trace.group_id for trace in claim.traces})],
        )
        return dict(cursor.fetchall())


def load_cell_keys(claim: Claim) -> tuple[dict[ViewKey, CellKey], dict[ViewKey, ViewFacts]]:
    """Returns the cell of each claimed view, and its other facts: those of its *first receipt* in the group.

    The answer is the same whatever the order of folding.
    """
    views = {(trace.view_id, trace.group_id) for trace in claim.traces}
    view_ids = [view_id for view_id, _ in views]
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT DISTINCT ON (r.view_id, r.group_id)
                      r.view_id, r.group_id, r.view_started_at, nullif(r.sample_rate, 1), r.traits, r.session,
                      {dimension_columns("r")}
               FROM ingest_tracereceipt r JOIN unnest(%b::uuid[], %b::int[]) AS c (view_id, group_id)
                 ON (r.view_id, r.group_id) = (c.view_id, c.group_id)
               WHERE r.project_id = %s AND r.view_id = ANY(%b::uuid[])
               ORDER BY r.view_id, r.group_id, r.received_at, r.seq""",
            [view_ids, [group_id for _, group_id in views], claim.project_id, view_ids],
        )
        rows = cursor.fetchall()
    cells: dict[ViewKey, CellKey] = {}
    view_facts: dict[ViewKey, ViewFacts] = {}
    for view_id, group_id, started_at, sample_rate, traits, session, *codes in rows:
        cells[view_id, group_id] = CellKey(group_id=group_id, starts_at=start_of_hour(started_at), codes=tuple(codes))
        view_facts[view_id, group_id] = ViewFacts(sample_rate, traits, session)
    return cells, view_facts
