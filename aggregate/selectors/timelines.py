"""Single views on their clocks, for exporters: from the raw traces, sample by sample."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import blake2b
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.db import connection

from aggregate.selectors.exports import NamedFuncs, make_export_funcs
from aggregate.selectors.slices import Slice, SliceError, where_receipts
from ingest.bodies import expand
from ingest.limits import envelope_limits
from profcore.dimensions import BROWSERS, DEVICE_CLASSES
from profcore.display_rules import show_stacks
from profcore.formats.marks import read_marks
from profcore.formats.slice import ExportFunc, TimelineExport
from profcore.formats.timeline import NO_STACK, ViewTimeline, ViewTrace, build_timeline
from profcore.funcs import FuncTable, clean_url
from profcore.wire import decode_envelope

FOLDED: Final = 1  # Receipt.State.FOLDED: what is pending or set aside is in no sum either


@dataclass(frozen=True, slots=True)
class _Stored:
    """A folded trace of a view, with what finds its body."""

    view_id: UUID
    group_id: int
    seq: int
    received_at: datetime
    page: str
    browser: int
    device: int
    body_bytes: int


def select_timeline_export(
    slice_: Slice, *, project: str, link: str | None = None, engine_leaves: bool = False
) -> TimelineExport:
    """Returns the views that a slice names, by `views` or `traces`, on their clocks, in order of start.

    Of `traces`, those alone are on it. A view that came with two pages is there for each. Three statements. Raises
    `SliceError` where nothing is found, where there are more than `EXPORT_MAX_VIEWS`, `READ_MAX_RAW_TRACES` or
    `READ_MAX_RAW_BYTES`, or where raw bodies have expired.
    """
    stored = _select_stored(slice_)
    _check_bounds(slice_, stored)
    bodies = _load_bodies(slice_.project_id, stored)
    funcs = FuncTable()
    groups: dict[tuple[UUID, int], list[_Stored]] = {}
    for trace in stored:
        groups.setdefault((trace.view_id, trace.group_id), []).append(trace)
    views = [_build_view(traces, bodies, funcs) for traces in groups.values()]
    views.sort(key=lambda view: (view.started_at_ms, view.view_id, view.page, view.release))
    releases = sorted({view.release for view in views})
    named = make_export_funcs(slice_.project_id, funcs.keys, releases, as_stored=slice_.as_stored)
    shown, views = _show_views(named, views)
    return TimelineExport(
        project,
        slice_.query(),
        shown,
        views,
        link=link,
        engine_leaves=engine_leaves,
        display_rules=named.display_rules,
    )


def _show_views(named: NamedFuncs, views: Sequence[ViewTimeline]) -> tuple[Sequence[ExportFunc], list[ViewTimeline]]:
    """Returns funcs and views with what display rules show as one made one, in every stack."""
    funcs = named.funcs
    if not any(func.is_made for func in funcs):
        return funcs, list(views)
    index: dict[str | int | None, int] = {}
    number_of = [index.setdefault(func.identity if func.is_made else at, len(index)) for at, func in enumerate(funcs)]
    first = {number: at for at, number in reversed(list(enumerate(number_of)))}
    shown = [funcs[first[number]] for number in range(len(index))]
    folded = [named.is_folded[first[number]] for number in range(len(index))]
    return shown, [_show_view(view, number_of, folded) for view in views]


def _show_view(view: ViewTimeline, number_of: Sequence[int], is_folded: Sequence[bool]) -> ViewTimeline:
    prefix, func, places = show_stacks(view.prefix, view.func, number_of, is_folded)
    places.append(NO_STACK)  # at -1
    samples = replace(
        view.samples,
        stack=[places[stack] for stack in view.samples.stack],
        hidden_stack=[places[stack] for stack in view.samples.hidden_stack],
    )
    return replace(view, prefix=prefix, func=func, samples=samples)


def fingerprint_timeline(slice_: Slice) -> str:
    """Returns a digest of the traces that a slice's views have. One statement."""
    facts = [(trace.view_id.hex, trace.group_id, trace.seq, trace.received_at) for trace in _select_stored(slice_)]
    return blake2b(repr(facts).encode(), digest_size=16).hexdigest()


def _build_view(traces: Sequence[_Stored], bodies: dict[tuple[UUID, int], bytes], funcs: FuncTable) -> ViewTimeline:
    first = min(traces, key=lambda trace: (trace.received_at, trace.seq))  # whose dimensions are the view's
    decoded = []
    for trace in traces:
        body = bodies[trace.view_id, trace.seq]
        envelope = decode_envelope(body, envelope_limits())
        page_url = clean_url(envelope.url) if envelope.url else None
        decoded.append(ViewTrace(envelope, read_marks(body, page_url=page_url, page=trace.page)))
    return build_timeline(
        decoded, page=first.page, funcs=funcs, browser=BROWSERS[first.browser], device=DEVICE_CLASSES[first.device]
    )


def _select_stored(slice_: Slice) -> Sequence[_Stored]:
    where, params = where_receipts(slice_)
    if slice_.views:
        where += " AND r.view_id = ANY(%(views)s::uuid[])"
    if slice_.traces:
        where += """ AND (r.view_id, r.seq) IN (SELECT t.view_id, t.seq FROM ingest_rawtrace t
                    WHERE t.project_id = %(project_id)s AND t.trace_id = ANY(%(traces)s::uuid[]))"""
    known: dict[str, Any] = {  # Any: parameters of a statement
        "views": list(slice_.views),
        "traces": list(slice_.traces),
        "folded": FOLDED,
        "limit": settings.READ_MAX_RAW_TRACES + 1,
    }
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT r.view_id, r.group_id, r.seq, r.received_at, g.page, r.browser, r.device_class, r.body_bytes
                FROM ingest_receipt r JOIN ingest_group g ON g.project_id = r.project_id AND g.id = r.group_id
                WHERE {where} AND r.state = %(folded)s ORDER BY r.view_id, r.group_id, r.seq LIMIT %(limit)s""",
            params | known,
        )
        return [_Stored(*row) for row in cursor.fetchall()]


def _check_bounds(slice_: Slice, stored: Sequence[_Stored]) -> None:
    field = "view" if slice_.views else "trace"
    if not stored:
        raise SliceError(field, "Nothing that is folded goes by this, in this slice.")
    if len({(trace.view_id, trace.group_id) for trace in stored}) > settings.EXPORT_MAX_VIEWS:
        detail = f"More than {settings.EXPORT_MAX_VIEWS} views would be on one clock; name fewer, or ask for axis=sum."
        raise SliceError(field, detail)
    if len(stored) > settings.READ_MAX_RAW_TRACES:
        raise SliceError(field, f"More than {settings.READ_MAX_RAW_TRACES} traces would be read; name fewer views.")
    if sum(trace.body_bytes for trace in stored) > settings.READ_MAX_RAW_BYTES:
        raise SliceError(field, f"More than {settings.READ_MAX_RAW_BYTES} bytes would be read; name fewer views.")


def _load_bodies(project_id: int, stored: Sequence[_Stored]) -> dict[tuple[UUID, int], bytes]:
    """Returns the expanded bodies by view and number."""
    most = settings.INGEST_MAX_EXPANDED_BYTES
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT t.view_id, t.seq, t.is_gzip, t.body FROM ingest_rawtrace t
               JOIN unnest(%s::uuid[], %s::int[], %s::timestamptz[]) AS c (view_id, seq, received_at)
                 ON (t.view_id, t.seq, t.received_at) = (c.view_id, c.seq, c.received_at)
               WHERE t.project_id = %s""",
            [
                [trace.view_id for trace in stored],
                [trace.seq for trace in stored],
                [trace.received_at for trace in stored],
                project_id,
            ],
        )
        bodies = {
            (view_id, seq): expand(bytes(body), max_bytes=most) if is_gzip else bytes(body)
            for view_id, seq, is_gzip, body in cursor
        }
    if gone := len(stored) - len(bodies):
        raise SliceError("view", f"The raw bodies of {gone} of {len(stored)} traces have expired: no clock is left.")
    return bodies
