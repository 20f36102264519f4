"""Joins Sentry's chunks with pages: a chunk's samples are split where the next page load or navigation begins."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Final
from uuid import uuid5

from profcore.formats.importers.building import part_of
from profcore.formats.importers.completing import NAMESPACE
from profcore.formats.importers.sentry.page_spans import PageSpan
from profcore.formats.importers.shapes import Draft
from profcore.trace.wire import MAX_SEQ, Envelope, Mark, Sample, Trace

# A profiler that a span starts takes its first sample within a millisecond, by a clock that may be corrected otherwise.
SLACK_MS: Final = 100.0
MAX_VIEWS: Final = 100  # in one chunk of a minute: each is written with its part of the tables


def split_chunk(chunk: Envelope, spans: Sequence[PageSpan], *, marks_after_ms: float) -> Iterator[Draft]:
    """Yields a draft for each view of which a chunk has samples, in order of time.

    A view lasts from the start of its span to that of the next one. What is before all spans has the view and page of
    the chunk itself. Of the spans' marks, the chunk gets those that begin after `marks_after_ms`, the end of the chunk
    before it, and until its last sample.
    """
    views = sorted((span for span in spans if span.profiler_id is not None), key=lambda span: span.start_ms)
    views = views[-MAX_VIEWS:]
    starts = [view.start_ms - (0 if at else SLACK_MS) for at, view in enumerate(views)]
    parts: list[list[Sample]] = [[] for _ in range(len(views) + 1)]
    for sample in chunk.trace.samples:
        parts[bisect_right(starts, chunk.timeOrigin + sample.timestamp)].append(sample)
    marks: list[list[Mark]] = [[] for _ in parts]
    ends_ms = chunk.timeOrigin + max((sample.timestamp for sample in chunk.trace.samples), default=0.0)
    for mark in (mark for span in spans for mark in span.marks if marks_after_ms < mark.start <= ends_ms):
        marks[bisect_right(starts, mark.start)].append(mark)
    first_ms = views[0].start_ms if views else None
    origin_ms = next((view.start_ms for view in views if view.navigation != "route"), first_ms)
    last = max((at for at, part in enumerate(parts) if part), default=-1)
    for at, samples in enumerate(parts):
        if samples:
            trace = chunk.trace if len(samples) == len(chunk.trace.samples) else part_of(chunk.trace, samples)
            reason = chunk.reason if at == last else "route"
            view = views[at - 1] if at else None
            yield _draft(chunk, trace, view, marks[at], origin_ms=origin_ms, reason=reason)


def _draft(
    chunk: Envelope,
    trace: Trace,
    view: PageSpan | None,
    marks: list[Mark],
    *,
    origin_ms: float | None,
    reason: str | None,
) -> Draft:
    """Returns the part of a chunk that belongs to a view. Its `seq` is the same for every resend."""
    origin = chunk.timeOrigin if view is None or origin_ms is None else origin_ms
    start = 0.0 if view is None else view.start_ms
    shift = chunk.timeOrigin - origin
    samples = trace.samples
    if shift:
        samples = [Sample(sample.timestamp + shift, sample.stackId, sample.marker) for sample in samples]
    first_ms = origin + min(sample.timestamp for sample in samples)
    draft = Draft(
        trace=Trace(trace.resources, trace.frames, trace.stacks, samples),
        viewId=chunk.viewId,
        seq=int(first_ms - start) & MAX_SEQ,
        release=chunk.release,
        timeOrigin=origin,
        sampleInterval=chunk.sampleInterval,
        page=chunk.page,
        requestedInterval=chunk.requestedInterval,
        reason=reason,
        tags=chunk.tags if isinstance(chunk.tags, dict) else {},
        debugIds=chunk.debugIds,
    )
    if view is not None:
        draft.viewId = uuid5(NAMESPACE, f"{chunk.viewId.hex}:{view.span_id}")
        place(draft, view, marks)
    return draft


def place(draft: Draft, view: PageSpan, marks: Sequence[Mark]) -> None:
    """Gives a draft the facts of its page, and marks in epoch ms."""
    draft.viewStart = view.start_ms
    draft.page, draft.url, draft.navigation = view.name, view.url, view.navigation
    draft.device, draft.requestTrace = view.device, view.trace
    if (origin := draft.timeOrigin) is not None:
        draft.marks = [Mark(mark.type, mark.start - origin, mark.duration) for mark in marks]
