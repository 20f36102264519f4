"""A slice finer than its views: its raw traces, decoded and folded again, within bounds."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final
from uuid import UUID

from django.conf import settings
from django.db import connection

from aggregate.selectors.contributions import SliceView
from aggregate.selectors.slices import Slice, SliceError
from ingest.bodies import expand
from ingest.limits import envelope_limits
from profcore.blobs import Contribution
from profcore.calltree import CallTree, CallTreeBuilder
from profcore.dimensions import is_truncating
from profcore.fold import CellFold, contribution_of, fold_trace, map_tree
from profcore.funcs import FuncTable, func_digest
from profcore.weights import TimeParts
from profcore.wire import Envelope, decode_envelope

NARROW: Final = "Narrow the slice, e.g. by from, page or view."


@dataclass(slots=True)
class RawSlice:
    """What the raw traces of a slice fold to: over stored func ids, exact."""

    tree: CallTree
    time: TimeParts = field(default_factory=TimeParts)
    contributions: dict[tuple[UUID, int], Contribution] = field(default_factory=dict)
    traces: int = 0
    intervals_us: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Stored:
    """A receipt of a folded trace, with what finds its body."""

    view_id: UUID
    seq: int
    group_id: int
    received_at: datetime
    interval_us: int
    end_reason: int
    body_bytes: int


def fold_raw(slice_: Slice, views: Sequence[SliceView]) -> RawSlice:
    """Folds the raw traces of some views of a slice, those alone that are among its traces and carry its tags.

    Three statements. Raises `SliceError` where they are more than `READ_MAX_RAW_TRACES` or `READ_MAX_RAW_BYTES`, or
    where raw bodies have expired.
    """
    stored = _select_stored(slice_, views)
    _check_bounds(stored)
    pages = {(view.view_id, view.group_id): view.page for view in views}
    funcs = FuncTable()
    builder = CallTreeBuilder()
    folds: dict[int, CellFold[None]] = {}
    intervals: list[int] = []
    traces = 0
    for receipt, (is_gzip, body) in _load_bodies(slice_.project_id, stored):
        expanded = expand(body, max_bytes=settings.INGEST_MAX_EXPANDED_BYTES) if is_gzip else body
        envelope = decode_envelope(expanded, envelope_limits())
        if not _has_tags(envelope, slice_.tags):
            continue
        fold = fold_trace(envelope, page=pages[receipt.view_id, receipt.group_id], funcs=funcs)
        # A view that came with two pages lies in two groups, and counts in each.
        group = folds.setdefault(receipt.group_id, CellFold(None, tree=builder))
        group.add(receipt.view_id, fold, is_truncated=is_truncating(receipt.end_reason))
        intervals.append(receipt.interval_us)
        traces += 1
    id_of = _select_func_ids(slice_.project_id, funcs)
    raw = RawSlice(map_tree(builder.tree, id_of), traces=traces, intervals_us=intervals)
    for group_id, group in folds.items():
        for view_id, view in group.views.items():
            raw.time.add(view.parts)
            raw.contributions[view_id, group_id] = contribution_of(view.sums, id_of)
    return raw


def _select_stored(slice_: Slice, views: Sequence[SliceView]) -> Sequence[_Stored]:
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT r.view_id, r.seq, r.group_id, r.received_at, r.interval_us, r.end_reason, r.body_bytes
               FROM ingest_receipt r
               JOIN unnest(%(views)s::uuid[], %(groups)s::int[]) AS w (view_id, group_id)
                 ON r.view_id = w.view_id AND r.group_id = w.group_id
               WHERE r.project_id = %(project_id)s AND r.state = 1
                 AND (%(every)s OR (r.view_id, r.seq) IN (SELECT t.view_id, t.seq FROM ingest_rawtrace t
                      WHERE t.project_id = %(project_id)s AND t.trace_id = ANY(%(traces)s::uuid[])))
               ORDER BY r.view_id, r.seq LIMIT %(limit)s""",
            {
                "project_id": slice_.project_id,
                "views": [view.view_id for view in views],
                "groups": [view.group_id for view in views],
                "every": not slice_.traces,
                "traces": list(slice_.traces),
                "limit": settings.READ_MAX_RAW_TRACES + 1,
            },
        )
        return [_Stored(*row) for row in cursor.fetchall()]


def _check_bounds(stored: Sequence[_Stored]) -> None:
    if len(stored) > settings.READ_MAX_RAW_TRACES:
        raise SliceError("from", f"More than {settings.READ_MAX_RAW_TRACES} raw traces would be folded. {NARROW}")
    if sum(receipt.body_bytes for receipt in stored) > settings.READ_MAX_RAW_BYTES:
        raise SliceError("from", f"More than {settings.READ_MAX_RAW_BYTES} bytes of traces would be folded. {NARROW}")


def _load_bodies(project_id: int, stored: Sequence[_Stored]) -> list[tuple[_Stored, tuple[bool, bytes]]]:
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT t.view_id, t.seq, t.is_gzip, t.body FROM ingest_rawtrace t
               JOIN unnest(%s::uuid[], %s::int[], %s::timestamptz[]) AS c (view_id, seq, received_at)
                 ON (t.view_id, t.seq, t.received_at) = (c.view_id, c.seq, c.received_at)
               WHERE t.project_id = %s""",
            [
                [receipt.view_id for receipt in stored],
                [receipt.seq for receipt in stored],
                [receipt.received_at for receipt in stored],
                project_id,
            ],
        )
        bodies = {(view_id, seq): (is_gzip, bytes(body)) for view_id, seq, is_gzip, body in cursor}
    if len(bodies) < len(stored):
        gone = len(stored) - len(bodies)
        raise SliceError("from", f"The raw bodies of {gone} of {len(stored)} traces have expired. {NARROW}")
    return [(receipt, bodies[receipt.view_id, receipt.seq]) for receipt in stored]


def _has_tags(envelope: Envelope, wanted: Sequence[tuple[str, str]]) -> bool:
    """Tells whether an envelope carries all tags. A list of tags has keys alone, whose values are empty."""
    tags = envelope.tags if isinstance(envelope.tags, dict) else dict.fromkeys(envelope.tags or (), "")
    return all(tags.get(key) == value for key, value in wanted)


def _select_func_ids(project_id: int, funcs: FuncTable) -> list[int]:
    """Returns the stored id of each func: a folded trace's are all interned."""
    digests = [func_digest(project_id, key) for key in funcs.keys]
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT digest, id FROM aggregate_func WHERE project_id = %s AND digest = ANY(%s::bytea[])",
            [project_id, digests],
        )
        id_of = {bytes(digest): func_id for digest, func_id in cursor}
    return [id_of[digest] for digest in digests]
