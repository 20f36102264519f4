"""Single views on their clocks, for exporters: from the raw traces, sample by sample."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import blake2b
from typing import Any
from uuid import UUID

from django.conf import settings

from aggregate.raw_bodies import AMONG_TRACES, StoredBody, load_raw_bodies
from aggregate.selectors.exports.slice_export import NamedFuncs, make_export_funcs
from aggregate.selectors.slice.reading import Reading
from aggregate.selectors.slice.slices import Slice, SliceError, where_receipts
from aggregate.sql import dimension_columns, select_records
from ingest.limits import envelope_limits
from ingest.models import FOLDED
from profcore.code.display_rules import show_stacks
from profcore.formats.slice import ExportFunc, TimelineExport
from profcore.formats.timeline import NO_STACK, ViewTimeline, ViewTrace, build_timeline
from profcore.trace.dimensions import name_codes
from profcore.trace.funcs import FuncTable, clean_url
from profcore.trace.marks import read_marks
from profcore.trace.wire import decode_envelope


@dataclass(frozen=True, slots=True, kw_only=True)
class _FoldedTrace:
    """A folded trace of a view, with the key of its raw body."""

    view_id: UUID
    group_id: int
    seq: int
    received_at: datetime
    page: str
    codes: Sequence[int]
    body_bytes: int


def select_timeline_export(
    slice_: Slice,
    *,
    project: str,
    link: str | None = None,
    engine_leaves: bool = False,
    reading: Reading | None = None,
) -> TimelineExport:
    """Returns the views that a slice names, by `views` or `traces`, on their clocks, in order of start.

    If the slice names traces, only these are on the clock. A view with two pages appears once for each. Three
    statements. Raises `SliceError` if nothing is found, beyond `EXPORT_MAX_VIEWS`, `READ_MAX_RAW_TRACES` or
    `READ_MAX_RAW_BYTES`, and if raw bodies have expired; `SliceTooLarge` beyond the bounds of the reading, by default
    those of an answer that a client waits for.
    """
    reading = reading or Reading.at_once()
    stored = _select_stored(slice_)
    _check_bounds(slice_, stored, reading)
    bodies = _load_bodies(slice_.project_id, stored)
    clock = _Clock(slice_, reading)
    groups: dict[tuple[UUID, int], list[_FoldedTrace]] = {}
    for trace in stored:
        groups.setdefault((trace.view_id, trace.group_id), []).append(trace)
    views = [clock.build_view(traces, bodies) for traces in groups.values()]
    views.sort(key=lambda view: (view.started_at_ms, view.view_id, view.page, view.release))
    releases = sorted({view.release for view in views})
    named = make_export_funcs(slice_.project_id, clock.funcs.keys, releases, as_stored=slice_.as_stored)
    shown_funcs, views = _show_views(named, views)
    return TimelineExport(
        project=project,
        query=slice_.query(),
        funcs=shown_funcs,
        views=views,
        link=link,
        engine_leaves=engine_leaves,
        display_rules=named.display_rules,
    )


def _show_views(named: NamedFuncs, views: Sequence[ViewTimeline]) -> tuple[Sequence[ExportFunc], list[ViewTimeline]]:
    """Returns funcs and views in which functions that display rules show as one are one, in every stack."""
    funcs = named.funcs
    if not any(func.is_made for func in funcs):
        return funcs, list(views)
    index: dict[str | int | None, int] = {}
    number_of = [index.setdefault(func.identity if func.is_made else at, len(index)) for at, func in enumerate(funcs)]
    first = {number: at for at, number in reversed(list(enumerate(number_of)))}
    first_funcs = [funcs[first[number]] for number in range(len(index))]
    folded = [named.is_folded[first[number]] for number in range(len(index))]
    return first_funcs, [_show_view(view, number_of, folded) for view in views]


def _show_view(view: ViewTimeline, number_of: Sequence[int], is_folded: Sequence[bool]) -> ViewTimeline:
    prefix, func, places = show_stacks(view.prefix, view.func, number_of, is_folded)
    places.append(NO_STACK)  # so that the index -1 gives it
    samples = replace(
        view.samples,
        stack=[places[stack] for stack in view.samples.stack],
        hidden_stack=[places[stack] for stack in view.samples.hidden_stack],
    )
    return replace(view, prefix=prefix, func=func, samples=samples)


def fingerprint_timeline(slice_: Slice) -> str:
    """Returns a digest of the traces of a slice's views. One statement."""
    keys = [(trace.view_id.hex, trace.group_id, trace.seq, trace.received_at) for trace in _select_stored(slice_)]
    return blake2b(repr(keys).encode(), digest_size=16).hexdigest()


class _Clock:
    """Puts views on their clocks, decoding one trace at a time, within the bounds of a reading.

    Samples, marks, functions and call paths count over all views, because all are held until the file is written.
    """

    def __init__(self, slice_: Slice, reading: Reading) -> None:
        self.funcs = FuncTable()
        self._reading = reading
        self._field = field_of(slice_)
        self._samples = self._facts = self._nodes = 0

    def build_view(self, traces: Sequence[_FoldedTrace], bodies: dict[tuple[UUID, int], StoredBody]) -> ViewTimeline:
        """Returns a view. Raises `SliceTooLarge`."""
        first = min(traces, key=lambda trace: (trace.received_at, trace.seq))  # its dimensions are those of the view
        view = build_timeline(
            (self._decode(trace, bodies[trace.view_id, trace.seq]) for trace in traces),
            page=first.page,
            funcs=self.funcs,
            dimensions=name_codes(first.codes),
        )
        self._nodes += len(view.func)
        self._check()
        return view

    def _decode(self, trace: _FoldedTrace, stored: StoredBody) -> ViewTrace:
        body = stored.expand()
        envelope = decode_envelope(body, envelope_limits())
        self._samples += len(envelope.trace.samples)
        self._facts += len(envelope.marks)
        self._check()
        page_url = clean_url(envelope.url) if envelope.url else None
        marks = read_marks(body, page_url=page_url, page=trace.page)
        self._facts += sum(len(mark.facts) + sum(map(len, mark.scripts)) for mark in marks)
        self._check()
        return ViewTrace(envelope, marks)

    def _check(self) -> None:
        self._reading.check_clock(self._samples, self._facts, self._field)
        self._reading.check_funcs(len(self.funcs.keys), self.funcs.chars, self._field)
        self._reading.check_raw_nodes(self._nodes, self._field)


def field_of(slice_: Slice) -> str:
    """Returns the field that names the views of a slice."""
    return "view" if slice_.views else "trace"


def _select_stored(slice_: Slice) -> Sequence[_FoldedTrace]:
    where, params = where_receipts(slice_)
    if slice_.views:
        where += " AND r.view_id = ANY(%(views)s::uuid[])"
    if slice_.traces:
        where += f" AND {AMONG_TRACES}"
    known: dict[str, Any] = {  # Any: parameters of a statement
        "views": list(slice_.views),
        "traces": list(slice_.traces),
        "folded": FOLDED,
        "limit": settings.READ_MAX_RAW_TRACES + 1,
    }
    return select_records(
        _FoldedTrace,
        f"""SELECT r.view_id, r.group_id, r.seq, r.received_at, g.page,
                   ARRAY[{dimension_columns("r")}] AS codes, r.body_bytes
            FROM ingest_tracereceipt r JOIN ingest_group g ON g.project_id = r.project_id AND g.id = r.group_id
            WHERE {where} AND r.state = %(folded)s ORDER BY r.view_id, r.group_id, r.seq LIMIT %(limit)s""",
        params | known,
    )


def _check_bounds(slice_: Slice, stored: Sequence[_FoldedTrace], reading: Reading) -> None:
    field = field_of(slice_)
    if not stored:
        raise SliceError(field, f"The slice has no folded trace of this {field}.")
    if len({(trace.view_id, trace.group_id) for trace in stored}) > settings.EXPORT_MAX_VIEWS:
        detail = f"More than {settings.EXPORT_MAX_VIEWS} views would be on one clock; name fewer, or ask for axis=sum."
        raise SliceError(field, detail)
    if len(stored) > settings.READ_MAX_RAW_TRACES:
        raise SliceError(field, f"More than {settings.READ_MAX_RAW_TRACES} traces would be read; name fewer views.")
    if sum(trace.body_bytes for trace in stored) > settings.READ_MAX_RAW_BYTES:
        raise SliceError(field, f"More than {settings.READ_MAX_RAW_BYTES} bytes would be read; name fewer views.")
    for trace in stored:
        reading.check_trace(trace.body_bytes, field)


def _load_bodies(project_id: int, stored: Sequence[_FoldedTrace]) -> dict[tuple[UUID, int], StoredBody]:
    """Returns the bodies, as they are stored, by view and number."""
    bodies = load_raw_bodies(project_id, [(trace.view_id, trace.seq, trace.received_at) for trace in stored])
    if gone := len(stored) - len(bodies):
        raise SliceError("view", f"The raw bodies of {gone} of {len(stored)} traces have expired: no clock is left.")
    return bodies
