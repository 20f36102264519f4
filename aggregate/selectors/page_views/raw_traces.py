"""The raw traces of a slice that is finer than views, decoded and folded again, batch by batch."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Protocol, TypeVar
from uuid import UUID

from django.conf import settings
from django.db import connection

from aggregate.raw_bodies import AMONG_TRACES, JOIN_BODY, load_raw_bodies
from aggregate.selectors.page_views.contributions import SliceView
from aggregate.selectors.page_views.view_rows import FROM_VIEWS, ViewKey, where_views
from aggregate.selectors.slice.reading import NARROW, Reading
from aggregate.selectors.slice.slices import Slice, SliceError
from aggregate.sql import select_records
from ingest.limits import envelope_limits
from ingest.models import FOLDED
from profcore.sums.blobs import Contribution
from profcore.sums.calltree import CallTreeBuilder
from profcore.sums.fold import ViewFold, contribution_of, fold_trace
from profcore.trace.dimensions import is_truncating
from profcore.trace.funcs import FuncTable, func_digest
from profcore.trace.tags import has_tags
from profcore.trace.weights import TimeParts
from profcore.trace.wire import decode_envelope

NO_FUNC: Final = 0  # the id of a func that is not stored: it has no time, or the fold had no room for it
# A folded trace of a view `w` (view_id, group_id), and its raw body `t` if that is kept.
FROM_STORED: Final = f"""JOIN ingest_tracereceipt r ON r.view_id = w.view_id AND r.group_id = w.group_id
{JOIN_BODY}
WHERE r.project_id = %(project_id)s AND r.state = {FOLDED}"""


class Sized(Protocol):
    """Anything that has the length of a trace's expanded body."""

    @property
    def body_bytes(self) -> int: ...


T = TypeVar("T", bound=Sized)


@dataclass(slots=True, kw_only=True)
class RawSlice:
    """The exact sums of the raw traces of some views, over stored func ids. `seqs` has the traces' numbers by view."""

    time: TimeParts = field(default_factory=TimeParts)
    contributions: dict[ViewKey, Contribution] = field(default_factory=dict)
    times: dict[ViewKey, TimeParts] = field(default_factory=dict)
    traces: int = 0
    seqs: dict[ViewKey, set[int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class _FoldedReceipt:
    """A receipt of a folded trace, with the key of its raw body."""

    view_id: UUID
    seq: int
    group_id: int
    received_at: datetime
    end_reason: int
    body_bytes: int
    has_body: bool

    @property
    def view_key(self) -> ViewKey:
        return self.view_id, self.group_id


class RawFolder:
    """Folds the raw traces of views of one slice: only those that are among its traces and have its tags.

    It holds one batch of bodies and the views that are not complete yet. With `with_tree` it also holds the call tree
    over its own func indexes, which `select_ids` maps to stored ids.
    """

    def __init__(self, slice_: Slice, reading: Reading, *, with_tree: bool = True) -> None:
        self.slice_ = slice_
        self.reading = reading
        self.funcs = FuncTable()
        self.builder = CallTreeBuilder() if with_tree else None
        self.intervals_us: Counter[int] = Counter()
        self.seqs: dict[ViewKey, set[int]] = {}  # filled only if all views are read at once
        self.traces = 0

    def fold(self, views: Sequence[SliceView]) -> Iterator[tuple[SliceView, ViewFold]]:
        """Yields each view that has traces in the slice, as soon as it is complete.

        One statement, and one for each batch. Raises `SliceTooLarge` if there are more traces than the reading allows,
        and `SliceError` if raw bodies have expired.
        """
        stored = self._select_stored(views)
        self.reading.check_raw(len(stored), sum(receipt.body_bytes for receipt in stored))
        self.reading.check_trace(max((receipt.body_bytes for receipt in stored), default=0), "from")
        check_kept(len(stored), sum(not receipt.has_body for receipt in stored))
        view_of = {(view.view_id, view.group_id): view for view in views}
        open_views: dict[ViewKey, ViewFold] = {}
        for batch in split_traces(stored, self.reading.batch_traces):
            for receipt, body in _load_bodies(self.slice_.project_id, batch):
                self._add(open_views, receipt, body, view_of[receipt.view_key].page)
            last = batch[-1].view_id  # receipts come in order of views: only the last one may go on
            for key in [key for key in open_views if key[0] != last]:
                yield view_of[key], open_views.pop(key)
            self.reading.on_traces(len(batch))
        for key, view in open_views.items():
            yield view_of[key], view

    def _add(self, open_views: dict[ViewKey, ViewFold], receipt: _FoldedReceipt, body: bytes, page: str) -> None:
        if not has_tags(body, self.slice_.tags):
            return
        fold = fold_trace(decode_envelope(body, envelope_limits()), page=page, funcs=self.funcs)
        self.reading.check_funcs(len(self.funcs.keys), self.funcs.chars)
        # A view with two pages is in two groups, and counts in each.
        view = open_views.setdefault(receipt.view_key, ViewFold())
        view.add(fold, is_truncated=is_truncating(receipt.end_reason))
        if self.builder is not None:
            self.builder.add_stacks(fold.prefix, fold.func, fold.stack_us, fold.stack_samples, fold.stack_hidden_us)
            self.reading.check_raw_nodes(len(self.builder.tree))
        self.intervals_us[fold.interval_us] += 1
        self.traces += 1
        if self.reading.max_views is not None:
            self.seqs.setdefault(receipt.view_key, set()).add(receipt.seq)

    def _select_stored(self, views: Sequence[SliceView]) -> Sequence[_FoldedReceipt]:
        most = self.reading.max_raw_traces
        among = f"AND {AMONG_TRACES}" if self.slice_.traces else ""
        return select_records(
            _FoldedReceipt,
            f"""SELECT r.view_id, r.seq, r.group_id, r.received_at, r.end_reason, r.body_bytes,
                       t.view_id IS NOT NULL AS has_body
                FROM unnest(%(views)s::uuid[], %(groups)s::int[]) AS w (view_id, group_id) {FROM_STORED} {among}
                ORDER BY r.view_id, r.seq LIMIT %(limit)s""",
            {
                "project_id": self.slice_.project_id,
                "views": [view.view_id for view in views],
                "groups": [view.group_id for view in views],
                "limit": None if most is None else most + 1,
                **({"traces": list(self.slice_.traces)} if among else {}),
            },
        )

    def select_ids(self) -> list[int]:
        """Returns the stored id of each func index, `NO_FUNC` for funcs without any time. One statement."""
        digests = [func_digest(self.slice_.project_id, key) for key in self.funcs.keys]
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT digest, id FROM aggregate_func WHERE project_id = %s AND digest = ANY(%s::bytea[])",
                [self.slice_.project_id, digests],
            )
            id_of = {bytes(digest): func_id for digest, func_id in cursor}
        return [id_of.get(digest, NO_FUNC) for digest in digests]


def fold_raw(slice_: Slice, views: Sequence[SliceView], reading: Reading | None = None) -> RawSlice:
    """Returns the sums of the raw traces of some views of a slice, by view. Raises what `RawFolder` raises."""
    folder = RawFolder(slice_, reading or Reading.at_once(), with_tree=False)
    done = list(folder.fold(views))
    id_of = folder.select_ids()
    raw = RawSlice(traces=folder.traces, seqs=folder.seqs)
    for view, fold in done:
        raw.time.add(fold.parts)
        raw.times[view.view_id, view.group_id] = fold.parts
        raw.contributions[view.view_id, view.group_id] = contribution_of(fold.sums, id_of)
    return raw


def count_raw(slice_: Slice) -> tuple[int, int]:
    """Returns how many raw traces a reading of a slice looks at, and how many of them have expired.

    Traces of views that `func_over` excludes are counted too.
    """
    where, params = where_views(slice_)
    among = f"AND {AMONG_TRACES}" if slice_.traces else ""
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT count(*), count(*) FILTER (WHERE t.view_id IS NULL)
                FROM (SELECT v.view_id, v.group_id {FROM_VIEWS} WHERE {where}) AS w {FROM_STORED} {among}""",
            params,
        )
        row = cursor.fetchone()
    return (int(row[0]), int(row[1])) if row else (0, 0)


def check_kept(traces: int, gone: int) -> None:
    """Raises `SliceError` if raw bodies have expired."""
    if gone:
        raise SliceError("from", f"The raw bodies of {gone} of {traces} traces have expired. {NARROW}")


def split_traces(traces: Sequence[T], most: int) -> Iterator[list[T]]:
    """Yields traces in batches of at most `most` traces and `FOLD_BATCH_BYTES`, but of at least one trace."""
    batch: list[T] = []
    size = 0
    for trace in traces:
        if batch and (len(batch) >= most or size + trace.body_bytes > settings.FOLD_BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(trace)
        size += trace.body_bytes
    if batch:
        yield batch


def _load_bodies(project_id: int, batch: Sequence[_FoldedReceipt]) -> Iterator[tuple[_FoldedReceipt, bytes]]:
    """Yields the traces of a batch with their bodies, in their order. Bodies are expanded one by one."""
    by_key = {(receipt.view_id, receipt.seq): receipt for receipt in batch}
    bodies = load_raw_bodies(project_id, [(r.view_id, r.seq, r.received_at) for r in batch])
    check_kept(len(batch), len(by_key.keys() - bodies.keys()))
    for key, receipt in by_key.items():
        yield receipt, bodies.pop(key).expand()
