"""Folding pending traces: claim, fold outside any lock, then one transaction for all effects."""

import logging
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from enum import Enum
from typing import Any, Final

from django.conf import settings
from django.db import connection, transaction
from structlog.contextvars import bound_contextvars

from aggregate.child_process import CrashedAlone
from aggregate.fold.batch import FoldedBatch, Rejection, ViewKey, fold_claim
from aggregate.fold.calltrees import append_call_trees
from aggregate.fold.claims import Claim, ClaimedTrace, claim_batch, count_crash, release_claim
from aggregate.fold.hotspots import add_to_hotspots
from aggregate.fold.interning import CellKey, intern_cells, settle_cells
from aggregate.fold.late_arrivals import GroupShared, ViewsExpired, rebuild_views
from aggregate.fold.linger import Linger
from aggregate.fold.locks import lock_cells, lock_groups, lock_stripes
from aggregate.fold.receipt_counts import add_receipt_counts
from aggregate.fold.rollups import add_to_days
from aggregate.fold.stripes import stripes_of
from aggregate.fold.writes import (
    CellDelta,
    GrownView,
    add_delta,
    add_to_cells,
    grow_view,
    hotspots_by_func,
    load_views,
    write_views,
)
from aggregate.metrics import (
    CLAIMS_LOST,
    FOLD_BATCH_SECONDS,
    FOLD_BATCH_TRACES,
    FOLD_DELAY_SECONDS,
    FOLD_TRACES,
    LONE_CRASHES,
    note,
)
from aggregate.sql import array_text
from aggregate.stopping import Stopping
from aggregate.worker_leases import beating, drop_dead_leases, release_surely
from ingest.models import FOLDED, PENDING, REJECTED
from ingest.storage.packs.store import BodiesUnavailable
from profcore.errors import Reason, TraceError
from profcore.sums.blobs import EncodedTree, merge_encoded
from profcore.sums.fold import FOLD_VERSION

logger = logging.getLogger(__name__)

MAX_INT4: Final = 2**31 - 1


class ClaimLost(Exception):
    """Another worker took over traces that this one had claimed; nothing was written."""


class BatchOutcome(Enum):
    """The outcome of one call of `fold_pending_batch`."""

    NOTHING_PENDING = "nothing_pending"
    FOLDED = "folded"
    GIVEN_BACK = "given_back"


def fold_pending_batch(linger: Linger | None = None) -> BatchOutcome:
    """Claims and folds one batch. An error, of the database or of ours, is raised after the claim was released.

    With `linger`, projects that linger have nothing pending.
    """
    claim = claim_batch(linger)
    if claim is None and drop_dead_leases():
        claim = claim_batch(linger)
    if claim is None:
        return BatchOutcome.NOTHING_PENDING
    began_s, outcome = time.perf_counter(), "failed"
    try:
        with bound_contextvars(project_id=claim.project_id, claim_id=secrets.token_hex(6)):
            result = _run_claim(claim)
        outcome = result.value
        return result
    finally:
        FOLD_BATCH_SECONDS.labels(outcome).observe(time.perf_counter() - began_s)


def _run_claim(claim: Claim) -> BatchOutcome:
    try:
        with beating():
            _fold_and_write(claim)
    except CrashedAlone as crash:
        return _settle_crash(claim, str(crash))
    except ClaimLost:
        return _give_back_lost(claim)
    except Stopping:
        _release(claim, is_attempt=False)
        return BatchOutcome.GIVEN_BACK
    except BodiesUnavailable:  # an outage of the object store: no trace is to blame
        _release(claim, is_attempt=False)
        raise
    except Exception:
        _release(claim)
        raise
    except BaseException:  # this process was told to end: nothing says that a trace is to blame
        _release(claim, is_attempt=False)
        raise
    return BatchOutcome.FOLDED


def _fold_and_write(claim: Claim) -> None:
    expired: set[ViewKey] = set()
    while True:  # views may expire between two tries: the next one rejects their traces too
        try:
            batch = fold_claim(claim, expired=expired, cpu_s=settings.FOLD_BATCH_CPU_S)
            write_batch(batch)
            _count_written(batch)
            if batch.unreached:
                release_claim(replace(claim, traces=batch.unreached), is_attempt=False)
            return
        except ViewsExpired as error:
            expired |= error.keys


def _count_written(batch: FoldedBatch) -> None:
    """Counts a batch that is committed."""
    now = datetime.now(UTC)
    FOLD_BATCH_TRACES.observe(len(batch.claim.traces))
    FOLD_TRACES.labels("folded", "").inc(len(batch.folded))
    for trace, *_ in batch.folded:  # a web server's clock may be a little ahead
        FOLD_DELAY_SECONDS.observe(max((now - trace.received_at).total_seconds(), 0))
    for rejection in batch.rejected:
        FOLD_TRACES.labels("rejected", str(rejection.error.reason)).inc()
    note("batches")
    note("traces", len(batch.folded))
    note("rejected", len(batch.rejected))


def _release(claim: Claim, *, is_attempt: bool = True) -> None:
    release_surely(lambda: release_claim(claim, is_attempt=is_attempt))


def _give_back_lost(claim: Claim) -> BatchOutcome:
    CLAIMS_LOST.inc()
    note("claims_lost")
    _release(claim)  # some traces may still be ours: a view was erased, or set back for a refold
    logger.warning("A claim of %s traces was taken over by another worker.", len(claim.traces))
    return BatchOutcome.GIVEN_BACK


def _settle_crash(claim: Claim, what: str) -> BatchOutcome:
    """Counts a crash, and rejects a trace that has crashed too often. An error of the database releases the claim."""
    try:
        _count_crash(claim, what)
    except ClaimLost:
        return _give_back_lost(claim)
    except Exception:
        _release(claim)
        raise
    return BatchOutcome.GIVEN_BACK


def _count_crash(claim: Claim, what: str) -> None:
    LONE_CRASHES.inc()
    crashes = count_crash(claim)
    extra = {"trace_id": claim.traces[0].name()}
    logger.error("A trace folded alone crashed its process (%s); crashes so far: %s.", what, crashes, extra=extra)
    if crashes >= settings.FOLD_ALONE_CRASHES:
        error = TraceError(Reason.CRASHED, "$", f"Folding this trace alone crashed {crashes} times: {what}.")
        with transaction.atomic():
            lock_claimed(claim)
            mark_receipts(claim.project_id, [], [Rejection(claim.traces[0], error)])
        FOLD_TRACES.labels("rejected", str(error.reason)).inc()
    else:
        release_claim(claim)


def write_batch(batch: FoldedBatch) -> None:
    """Writes a folded batch in one transaction. Raises `ClaimLost` if the claim no longer holds."""
    cell_ids = intern_cells(batch.claim.project_id, batch.sums.cells)
    try:
        _write(batch, cell_ids)
    except GroupShared:
        batch.claim = replace(batch.claim, shared_group=None)
        _write(batch, cell_ids)


def _write(batch: FoldedBatch, interned: Mapping[CellKey, int]) -> None:
    claim = batch.claim
    with transaction.atomic():
        stripes = _lock(claim)
        lock_claimed(claim)
        cell_ids = settle_cells(claim.project_id, interned)
        views, deltas = _grow_views(batch, cell_ids)
        trees: dict[int, list[EncodedTree]] = {}
        for key in batch.sums.cells:
            trees.setdefault(cell_ids[key], []).append(batch.sums.tree(key))
        # Several hours may be in one day by now.
        pieces = [(cell_id, merge_encoded(of_cell)) for cell_id, of_cell in sorted(trees.items())]
        _write_effects(claim.project_id, sorted(deltas.items(), key=lambda row: row[0]), pieces, views, stripes)
        mark_receipts(claim.project_id, batch.folded, batch.rejected)


def _lock(claim: Claim) -> list[int]:
    """Locks the groups of a claim, or the stripes of one that it shares; returns these."""
    group_ids = sorted({trace.group_id for trace in claim.traces})
    if claim.shared_group is None:
        lock_groups(claim.project_id, group_ids)
        return []
    stripes = stripes_of([trace.view_id for trace in claim.traces if trace.group_id == claim.shared_group])
    lock_stripes(claim.project_id, group_ids, claim.shared_group, stripes)
    return stripes


def _grow_views(batch: FoldedBatch, cell_ids: Mapping[CellKey, int]) -> tuple[list[GrownView], dict[int, CellDelta]]:
    project_id, sums = batch.claim.project_id, batch.sums
    folds = {key: sums.views(key) for key in sums.cells}
    places = {(view_id, key.group_id): cell_ids[key] for key, of_cell in folds.items() for view_id in of_cell}
    stored = load_views(project_id, list(places))
    unknown = {key: cell_id for key, cell_id in places.items() if key not in stored}
    stored |= rebuild_views(project_id, unknown, is_shared=batch.claim.shared_group is not None)
    views: list[GrownView] = []
    deltas: dict[int, CellDelta] = {}
    for key, of_cell in folds.items():
        for view_id, fold in of_cell.items():
            view_key = (view_id, key.group_id)
            known = stored.get(view_key)
            cell_id = cell_ids[key] if known is None else known.cell_id
            blob = sums.grow(key, view_id, cell_id=cell_id, known=known.contribution if known else None)
            view, delta = grow_view(
                known, fold, key=view_key, cell_id=cell_id, facts=batch.view_facts[view_key], contribution=blob
            )
            views.append(view)
            add_delta(deltas.setdefault(cell_id, CellDelta()), delta)
    for cell_id, delta in deltas.items():
        delta.hotspots = hotspots_by_func(sums.hotspots(cell_id))
    return views, deltas


def _write_effects(
    project_id: int,
    deltas: Sequence[tuple[int, CellDelta]],
    trees: Sequence[tuple[int, EncodedTree]],
    views: list[GrownView],
    stripes: Sequence[int],
) -> None:
    """Writes all but receipts. Cells come last: folds that share a group wait for each other's cells."""
    if not deltas:
        return
    stripe = stripes[0] if stripes else None
    add_to_hotspots(project_id, deltas, stripe)
    append_call_trees(project_id, trees, stripe)
    write_views(project_id, sorted(views, key=lambda view: (view.view_id.int, view.group_id)))
    add_to_days(project_id, deltas, trees, stripe)
    if stripes:
        lock_cells(project_id, [cell_id for cell_id, _ in deltas])
    add_to_cells(project_id, deltas)


def lock_claimed(claim: Claim) -> None:
    """Locks the claimed receipts. Raises `ClaimLost` unless all of them are still pending and ours."""
    view_ids = [trace.view_id for trace in claim.traces]
    received = [trace.received_at for trace in claim.traces]
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT count(*) FROM (
                   SELECT 1 FROM ingest_tracereceipt r
                   JOIN unnest(%b::uuid[], %b::int[], %b::timestamptz[]) AS c (view_id, seq, received_at)
                     USING (view_id, seq, received_at)
                   WHERE r.project_id = %s AND r.view_id = ANY(%b::uuid[]) AND r.received_at BETWEEN %s AND %s
                     AND r.state = %s AND r.claim_token = %s
                   ORDER BY r.view_id, r.seq FOR UPDATE OF r) AS held""",
            [
                *(view_ids, [trace.seq for trace in claim.traces], received),
                *(claim.project_id, view_ids, min(received), max(received), PENDING, claim.token),
            ],
        )
        row = cursor.fetchone()
    if row is None or row[0] != len(claim.traces):
        raise ClaimLost


def mark_receipts(
    project_id: int, folded: Sequence[tuple[ClaimedTrace, int | None, int]], rejected: Sequence[Rejection]
) -> None:
    """Marks receipts as folded or rejected, counts them, and ends their claims. Call it last in a transaction."""
    rows: list[tuple[Any, ...]] = [  # Any: columns of several types
        (
            trace.view_id,
            trace.seq,
            trace.received_at,
            FOLDED,
            None if measured is None else min(measured, MAX_INT4),
            used,
            *[None] * 3,
        )
        for trace, measured, used in folded
    ]
    for rejection in rejected:
        trace, error = rejection.trace, rejection.error
        settled = (REJECTED, None, None, str(error.reason), error.path, error.detail)
        rows.append((trace.view_id, trace.seq, trace.received_at, *settled))
    rows.sort(key=lambda row: (row[0].int, row[1]))  # ids themselves take long to compare
    view_ids, seqs, received, states, measured, used, *texts = map(list, zip(*rows, strict=True))
    with connection.cursor() as cursor:
        cursor.execute(
            f"""WITH marked AS (UPDATE ingest_tracereceipt r
               SET state = d.state, measured_interval_us = d.measured,
                   used_interval_us = nullif(d.used, r.interval_us), reason = d.reason, path = d.path,
                   detail = d.detail, fold_version = %s, claim_token = NULL, claimed_until = NULL
               FROM unnest(%b::uuid[], %s::int[], %b::timestamptz[], %s::smallint[], %s::int[], %s::int[], %b::text[],
                    %b::text[], %b::text[])
                    AS d (view_id, seq, received_at, state, measured, used, reason, path, detail)
               WHERE r.project_id = %s AND r.view_id = ANY(%b::uuid[]) AND r.received_at BETWEEN %s AND %s
                 AND r.view_id = d.view_id AND r.seq = d.seq AND r.received_at = d.received_at
               RETURNING r.project_id, r.received_at, r.state) {add_receipt_counts("marked", sign=1)}""",
            [
                *(FOLD_VERSION, view_ids, array_text(seqs), received, array_text(states), array_text(measured)),
                *(array_text(used), *texts, project_id, view_ids, min(received), max(received)),
            ],
        )
