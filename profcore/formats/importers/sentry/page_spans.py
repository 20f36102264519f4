"""The spans that say where Sentry's chunks belong: page loads and navigations, with what happened in them.

Version 10 of the SDK sends each as a `transaction` with all its children. Version 11 sends `span` items: a segment (the
root) leaves when it ends, and some of its children may have left before it.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final
from uuid import UUID

import msgspec

from profcore.formats.importers.building import storable_text
from profcore.formats.importers.completing import is_known_time
from profcore.formats.importers.sentry.items import Item
from profcore.formats.importers.sentry.profiles import read_id
from profcore.formats.importers.shapes import ImportLimits, decode
from profcore.trace.dimensions import read_request_trace
from profcore.trace.mark_types import LONG_FRAME, LONG_TASK
from profcore.trace.trace_details import FCP, INTERACTION, LCP
from profcore.trace.wire import Device, Mark

NAVIGATION_OF_OP: Final[Mapping[str, str]] = {"pageload": "load", "navigation": "route"}
# What the browser says of a document's load. `navigate` is any other.
NAVIGATION_OF_LOAD: Final[Mapping[str, str]] = {
    "back-forward-cache": "bfcache",
    "back-forward": "back_forward",
    "back_forward": "back_forward",
    "reload": "reload",
    "prerender": "prerender",
}
NAMED_SOURCES: Final = frozenset({"route", "custom"})  # a router, or the page itself, named the page
MARK_OF_OP: Final[Mapping[str, str]] = {
    "ui.long-task": LONG_TASK,
    "ui.long_task": LONG_TASK,
    "ui.long-animation-frame": LONG_FRAME,
    "ui.long_animation_frame": LONG_FRAME,
    "ui.webvital.lcp": LCP,
    "ui.interaction.click": INTERACTION,
    "ui.interaction.press": INTERACTION,
    "ui.interaction.drag": INTERACTION,
    "ui.interaction.hover": INTERACTION,
}
PAINT_OPS: Final = frozenset({"paint", "browser.paint"})
MAX_MARKS: Final = 100  # of a span: a page load of half a minute has fewer long frames
MAX_MARK_MS: Final = 86_400_000.0
MAX_NUMBER_CHARS: Final = 20
SPAN_ID: Final = re.compile("[0-9a-f]{16}")
DIGITS: Final = re.compile(r"\d+(?:\.\d+)?")


class PageSpan(msgspec.Struct, gc=False, kw_only=True, omit_defaults=True):
    """What an item says of one page load or navigation; times are epoch ms, also those of marks.

    Without `profiler_id` the item has only marks, and the span itself leaves later. `name` is a router's or the page's
    own name of the page, `url` its address, and `trace` the id of its trace. `part` tells the items of one span apart.
    """

    span_id: str
    part: str
    start_ms: float
    profiler_id: UUID | None = None
    name: str | None = None
    url: str | None = None
    trace: str | None = None
    navigation: str | None = None
    device: Device | None = None
    marks: list[Mark] = []


class Value(msgspec.Struct, gc=False, frozen=True):
    """The value of an attribute."""

    value: object = None

    @property
    def text(self) -> str | None:
        """The value, if it is a text."""
        return self.value if isinstance(self.value, str) else None


NO_VALUE: Final = Value()
_NAMES: Final = {
    "op": "sentry.op",
    "segment_id": "sentry.segment.id",
    "segment_name": "sentry.segment.name",
    "source": "sentry.segment.name.source",
    "profiler_id": "sentry.profiler_id",
    "template": "url.template",
    "url": "url.full",
    "path": "url.path",
    "navigation": "browser.navigation.type",
    "memory": "device.memory.estimated_capacity",
    "cores": "device.processor_count",
    "thread": "thread.id",
}


class Attributes(msgspec.Struct, gc=False, frozen=True, kw_only=True, rename=_NAMES):
    """Those attributes of a span that are read."""

    op: Value = NO_VALUE
    segment_id: Value = NO_VALUE
    segment_name: Value = NO_VALUE
    source: Value = NO_VALUE
    profiler_id: Value = NO_VALUE
    template: Value = NO_VALUE
    url: Value = NO_VALUE
    path: Value = NO_VALUE
    navigation: Value = NO_VALUE
    memory: Value = NO_VALUE
    cores: Value = NO_VALUE
    thread: Value = NO_VALUE


class Span(msgspec.Struct, gc=False, kw_only=True):
    """A span of version 2; times are epoch seconds."""

    span_id: str
    start_timestamp: float
    end_timestamp: float
    trace_id: str | None = None
    name: str = ""
    is_segment: bool = False
    attributes: Attributes = Attributes()


class Spans(msgspec.Struct, gc=False):
    """The payload of a `span` item. One of version 1 is a single span, which says nothing of pages, and has none."""

    items: list[Span] = []


_DATA_NAMES: Final = {"url": "url.full", "memory": "deviceMemory", "cores": "hardwareConcurrency"}


class TraceData(msgspec.Struct, gc=False, frozen=True, kw_only=True, rename=_DATA_NAMES):
    """The attributes of a transaction; numbers of the device are texts, such as `16 GB`."""

    url: object = None
    memory: object = None
    cores: object = None


class TraceContext(msgspec.Struct, gc=False, frozen=True, kw_only=True):
    """The root span of a transaction."""

    span_id: str = ""
    trace_id: str | None = None
    op: str = ""
    data: TraceData = TraceData()


class ProfileContext(msgspec.Struct, gc=False, frozen=True):
    """Links a transaction to chunks."""

    profiler_id: str | None = None


class Contexts(msgspec.Struct, gc=False, frozen=True):
    """Those contexts of a transaction that are read."""

    trace: TraceContext = TraceContext()
    profile: ProfileContext = ProfileContext()


class ChildSpan(msgspec.Struct, gc=False):
    """A span of a transaction."""

    start_timestamp: float
    timestamp: float
    op: str | None = None
    description: str | None = None


class PageRequest(msgspec.Struct, gc=False, frozen=True):
    """The address of the page."""

    url: str | None = None


class NameInfo(msgspec.Struct, gc=False, frozen=True):
    """Where the name of a transaction is from."""

    source: str | None = None


class Measured(msgspec.Struct, gc=False, frozen=True):
    """A measurement, ms."""

    value: float | None = None


class Measurements(msgspec.Struct, gc=False, frozen=True):
    """Those measurements of a transaction that have no span."""

    lcp: Measured = Measured()


class Transaction(msgspec.Struct, gc=False, kw_only=True):
    """The payload of a `transaction` item."""

    start_timestamp: float
    event_id: str | None = None
    contexts: Contexts = Contexts()
    spans: list[ChildSpan] = []
    transaction: str | None = None
    transaction_info: NameInfo = NameInfo()
    request: PageRequest = PageRequest()
    measurements: Measurements | None = None


_spans_decoder: Final = msgspec.json.Decoder(Spans)
_transaction_decoder: Final = msgspec.json.Decoder(Transaction)


def read_transaction(item: Item, limits: ImportLimits) -> tuple[UUID | None, PageSpan] | None:
    """Returns a transaction's id and its page load or navigation; None if it is neither. Raises `TraceError`.

    Without `profiler_id` no profiler ran, or its profile is of format 1 and names the transaction.
    """
    sent = decode(item.body, _transaction_decoder, limits, item.path)
    root = sent.contexts.trace
    start_ms = sent.start_timestamp * 1000
    if not _is_page_span(root.span_id, root.op, start_ms):
        return None
    marks = [mark for child in sent.spans if (mark := _mark_of_child(child)) is not None]
    if sent.measurements is not None and (paint_ms := sent.measurements.lcp.value) and 0 < paint_ms < MAX_MARK_MS:
        marks.append(Mark(LCP, start_ms, paint_ms))
    url = root.data.url
    span = PageSpan(
        span_id=root.span_id,
        part=root.span_id,
        start_ms=start_ms,
        profiler_id=read_id(sent.contexts.profile.profiler_id),
        name=_clean(sent.transaction) if sent.transaction_info.source in NAMED_SOURCES else None,
        url=_clean(sent.request.url or (url if isinstance(url, str) else None)),
        trace=read_request_trace(root.trace_id),
        navigation=NAVIGATION_OF_OP[root.op],
        device=_device_of(root.data.memory, root.data.cores),
        marks=marks[:MAX_MARKS],
    )
    return read_id(sent.event_id), span


def iter_spans(item: Item, limits: ImportLimits) -> Iterator[PageSpan]:
    """Yields the page loads and navigations of a `span` item, and marks of those that leave later. Raises `TraceError`.

    Spans of pages without a profiler are left out: with an SDK that profiles a part of its sessions, most are.
    """
    found: dict[str, PageSpan] = {}
    children: list[Span] = []
    for span in decode(item.body, _spans_decoder, limits, item.path).items:
        if not span.is_segment:
            children.append(span)
        elif (page_span := _page_span_of(span)) is not None:
            found.setdefault(span.span_id, page_span)
    for child in children:
        mark, segment_id = _mark_of(child), child.attributes.segment_id.text
        if mark is None or segment_id is None or not SPAN_ID.fullmatch(segment_id):
            continue
        if segment_id not in found:
            # Only in spans that began while a profiler ran.
            if child.attributes.thread.value is None or not SPAN_ID.fullmatch(child.span_id):
                continue
            found[segment_id] = PageSpan(span_id=segment_id, part=child.span_id, start_ms=mark.start, marks=[])
        if len(found[segment_id].marks) < MAX_MARKS:
            found[segment_id].marks.append(mark)
    yield from found.values()


def _page_span_of(span: Span) -> PageSpan | None:
    sent, start_ms = span.attributes, span.start_timestamp * 1000
    profiler_id, op = read_id(sent.profiler_id.text), sent.op.text or ""
    if profiler_id is None or not _is_page_span(span.span_id, op, start_ms):
        return None
    navigation = NAVIGATION_OF_OP[op]
    if op == "pageload" or sent.navigation.text == "back-forward-cache":
        navigation = NAVIGATION_OF_LOAD.get(sent.navigation.text or "", navigation)
    name = sent.segment_name.text if sent.source.text in NAMED_SOURCES else None
    return PageSpan(
        span_id=span.span_id,
        part=span.span_id,
        start_ms=start_ms,
        profiler_id=profiler_id,
        name=_clean(name or sent.template.text),
        url=_clean(sent.url.text or sent.path.text),
        trace=read_request_trace(span.trace_id),
        navigation=navigation,
        device=_device_of(sent.memory.value, sent.cores.value),
        marks=[],
    )


def _is_page_span(span_id: str, op: str, start_ms: float) -> bool:
    return op in NAVIGATION_OF_OP and SPAN_ID.fullmatch(span_id) is not None and is_known_time(start_ms)


def _mark_of(span: Span) -> Mark | None:
    return _make_mark(span.attributes.op.text, span.name, span.start_timestamp, span.end_timestamp)


def _mark_of_child(span: ChildSpan) -> Mark | None:
    return _make_mark(span.op, span.description, span.start_timestamp, span.timestamp)


def _make_mark(op: str | None, name: str | None, start_s: float, end_s: float) -> Mark | None:
    """Returns a span as a mark, with the start as epoch ms; None if there is no such mark."""
    kind = FCP if op in PAINT_OPS and name == FCP else MARK_OF_OP.get(op or "")
    start_ms, duration_ms = start_s * 1000, (end_s - start_s) * 1000
    if kind is None or not is_known_time(start_ms) or not 0 <= duration_ms < MAX_MARK_MS:
        return None
    return Mark(kind, start_ms, duration_ms)


def _device_of(memory: object, cores: object) -> Device | None:
    gib, count = _number_of(memory), _number_of(cores)
    return None if gib is None and count is None else Device(memory=gib, cores=count)


def _number_of(value: object) -> float | None:
    """Returns a number of the device: as such, or at the start of a text."""
    if isinstance(value, str):
        match = DIGITS.match(value[:MAX_NUMBER_CHARS])
        value = float(match[0]) if match else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value < 1e6 else None


def _clean(text: str | None) -> str | None:
    """Returns a text that can be stored, None for an empty one."""
    return storable_text(text) if text else None
