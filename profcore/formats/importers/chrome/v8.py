"""V8's CPU profiles, the common part of `.cpuprofile` files and trace events.

Positions are 0-based and tell where a function is defined; -1 means unknown. V8's own nodes are directly under the
root: `(idle)` means no stack. `(program)` means no stack and the marker `other`, and `(garbage collector)` no stack and
the marker `gc`.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from profcore.errors import Reason, TraceError
from profcore.formats.importers.building import Span, TraceBuilder, dangling, invalid, name_of_label
from profcore.formats.importers.ours import ENGINE, HIDDEN, PAGE_SUFFIX, SliceMetadata
from profcore.formats.importers.shapes import ImportLimits

ROOT: Final = "(root)"
MARKER_OF: Final[Mapping[str, str | None]] = {"(idle)": None, "(program)": "other", "(garbage collector)": "gc"}
NOTE_PROGRAM: Final = "Time in (program) was imported without a stack: it counts as idle unless a long task covers it."


class CallFrame(msgspec.Struct, gc=False):
    """A function with the place of its definition, 0-based; -1 or absent if unknown."""

    functionName: str = ""
    url: str = ""
    lineNumber: int = -1
    columnNumber: int = -1


class Node(msgspec.Struct, gc=False):
    """A call node; files name its callees, trace events name its caller."""

    id: int
    callFrame: CallFrame
    children: list[int] = []
    parent: int | None = None


class CallPlace(NamedTuple):
    """The target of a node's samples: our stack, a marker, and whether it is busy time of our own exports."""

    stack: int | None
    marker: str | None = None
    is_hidden: bool = False
    is_engine: bool = False


NO_PLACE: Final = CallPlace(None, "a function")
UNKNOWN_PLACE: Final = CallPlace(None)


class Nodes(NamedTuple):
    """The target of each node's samples by its id, and how many callees and callers are named that are not there."""

    places: dict[int, CallPlace]
    missing_callees: int
    missing_callers: int


def read_nodes(nodes: Sequence[Node], builder: TraceBuilder, path: str, *, is_ours: bool = False) -> Nodes:
    """Returns the target of each node's samples; `is_ours` for our own exports.

    A node whose caller is not there has none. Raises `TraceError` for duplicate ids and cycles.
    """
    by_id = {node.id: node for node in nodes}
    if len(by_id) != len(nodes):
        raise invalid(path, "Two nodes have the same id.")
    parent_of, missing_callees, missing_callers = _parents(nodes, by_id, path)
    callees: dict[int, list[int]] = {}
    for child, parent in parent_of.items():
        callees.setdefault(parent, []).append(child)
    places: dict[int, CallPlace] = {}
    pending: list[tuple[int, int | None, int]] = [(node.id, None, 0) for node in nodes if node.id not in parent_of]
    while pending:
        node_id, above, depth = pending.pop()
        if depth > builder.limits.envelope.depth:
            raise TraceError(Reason.TOO_DEEP, path, f"The calls are more than {builder.limits.envelope.depth} deep.")
        frame = by_id[node_id].callFrame
        places[node_id] = place = _place(frame, depth, is_ours=is_ours)
        if place is NO_PLACE:
            stack = builder.stack(above, _add_frame(frame, builder, is_ours=is_ours))
            places[node_id] = place = CallPlace(stack)
        pending.extend((callee, place.stack, depth + 1) for callee in callees.get(node_id, ()))
    if len(places) != len(nodes):
        raise invalid(path, "Some nodes call each other in a cycle.")
    return Nodes(places, missing_callees, missing_callers)


def _parents(nodes: Sequence[Node], by_id: Mapping[int, Node], path: str) -> tuple[dict[int, int], int, int]:
    """Returns each node's caller, and how many callees and callers are missing.

    Recordings of Chrome name callees that never came, and a trace may have lost a chunk with some nodes.
    """
    parent_of: dict[int, int] = {}
    missing_callees = missing_callers = 0
    for index, node in enumerate(nodes):
        links = [(child, node.id) for child in node.children if child in by_id]
        missing_callees += len(node.children) - len(links)
        if node.parent is not None and node.parent in by_id:
            links.append((node.id, node.parent))
        elif node.parent is not None:
            missing_callers += 1
        for child, parent in links:
            if parent_of.setdefault(child, parent) != parent:
                raise invalid(f"{path}[{index}]", "A node has two callers.")
    return parent_of, missing_callees, missing_callers


def _place(frame: CallFrame, depth: int, *, is_ours: bool) -> CallPlace:
    """Returns the target of V8's own nodes and ours, `NO_PLACE` for a function."""
    if frame.url or frame.lineNumber >= 0:  # a page's function with such a name has a position
        return NO_PLACE
    if depth == 0 and frame.functionName == ROOT:
        return CallPlace(None)
    if depth <= 1 and frame.functionName in MARKER_OF:
        return CallPlace(None, MARKER_OF[frame.functionName])
    if depth <= 1 and is_ours and frame.functionName == HIDDEN:
        return CallPlace(None, None, is_hidden=True)
    if depth <= 1 and is_ours and frame.functionName == ENGINE:
        return CallPlace(None, None, is_engine=True)
    return NO_PLACE


def _add_frame(frame: CallFrame, builder: TraceBuilder, *, is_ours: bool) -> int:
    line = frame.lineNumber + 1 if frame.lineNumber >= 0 else None
    column = frame.columnNumber + 1 if frame.lineNumber >= 0 else None
    name = frame.functionName
    if is_ours:
        name = name_of_label(name.removesuffix(PAGE_SUFFIX), line, column)
    return builder.frame(name, frame.url, line, column)


def add_samples(
    builder: TraceBuilder,
    places: Mapping[int, CallPlace],
    samples: Sequence[int],
    deltas_us: Sequence[float],
    path: str,
    *,
    lasts_us: float | None = None,
) -> None:
    """Adds the samples at the running sum of their deltas, ms since the profile's start.

    Those of unknown nodes have no stack: without them, their time would be that of the sample before. Raises
    `TraceError` if all are unknown.
    If it is known how long the profile lasts, a sample without a stack closes it then: the last one lasts until there.
    """
    if len(samples) != len(deltas_us):
        raise invalid(path, f"There are {len(samples)} samples, but {len(deltas_us)} time deltas.")
    if samples and not any(node in places for node in samples):
        raise dangling(f"{path}[0]", "nodes")
    at_us = last_us = 0.0
    for node, delta in zip(samples, deltas_us, strict=True):
        at_us += delta
        place = places.get(node, UNKNOWN_PLACE)
        builder.sample(at_us / 1000, place.stack, place.marker)
        last_us = max(last_us, at_us)
    limits = builder.limits.envelope
    is_told = lasts_us is not None and 0 < lasts_us <= limits.timestamp_ms * 1000
    if lasts_us is not None and is_told and 0 < len(samples) < limits.samples:
        builder.sample(max(lasts_us, last_us) / 1000, None)


def time_between(start_us: float | None, end_us: float | None) -> float | None:
    """Returns how long a profile lasts by its own start and end, µs; None if it does not have both."""
    return None if start_us is None or end_us is None else end_us - start_us


def add_spans(
    builder: TraceBuilder,
    places: Mapping[int, CallPlace],
    samples: Sequence[int],
    deltas_us: Sequence[float],
    metadata: SliceMetadata,
    *,
    path: str,
) -> float:
    """Returns the interval, ms, after adding the samples of one of our exports, whose deltas are durations."""
    if len(samples) != len(deltas_us):
        raise invalid(path, f"There are {len(samples)} samples, but {len(deltas_us)} time deltas.")
    spans = []
    for index, (node, duration) in enumerate(zip(samples, [*deltas_us[1:], 0.0], strict=True)):
        if node not in places:
            raise dangling(f"{path}[{index}]", "nodes")
        if duration < 0:
            raise TraceError(Reason.OUT_OF_RANGE, f"{path}[{index}]", "A sample has a negative duration.")
        place = places[node]
        spans.append(Span(place.stack, place.marker, duration, place.is_hidden, place.is_engine))
    return builder.spans(spans, metadata.interval_ms, path)


def notes_of(nodes: Nodes, samples: Sequence[int]) -> tuple[str, ...]:
    """Returns notes on what the import of such a profile loses."""
    places = nodes.places
    is_program = any(places.get(node) == CallPlace(None, "other") for node in samples)
    notes = [NOTE_PROGRAM] if is_program else []
    if nodes.missing_callees:
        what = _count(nodes.missing_callees, "call node that is", "call nodes that are")
        was = "it was" if nodes.missing_callees == 1 else "they were"
        notes.append(f"The file names {what} not in it; {was} left out.")
    if nodes.missing_callers:
        what = _count(nodes.missing_callers, "call node has a caller", "call nodes have callers")
        notes.append(f"{what} not in the file; their stacks begin there.")
    if unknown := sum(node not in places for node in samples):
        what = _count(unknown, "sample names a call node that is", "samples name call nodes that are")
        notes.append(f"{what} not in the file; their time was imported without a stack.")
    return tuple(notes)


def _count(count: int, one: str, several: str) -> str:
    return f"1 {one}" if count == 1 else f"{count} {several}"


def make_builder(limits: ImportLimits) -> TraceBuilder:
    """Returns a builder for V8's texts, which are real Unicode."""
    return TraceBuilder(limits)
