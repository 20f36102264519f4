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


class Nodes(NamedTuple):
    """The target of each node's samples by its id, and how many callees are named that the file does not have."""

    places: dict[int, CallPlace]
    missing_callees: int


def read_nodes(nodes: Sequence[Node], builder: TraceBuilder, path: str, *, is_ours: bool = False) -> Nodes:
    """Returns the target of each node's samples; `is_ours` for our own exports.

    Raises `TraceError` for unknown callers, duplicate ids and cycles.
    """
    by_id = {node.id: node for node in nodes}
    if len(by_id) != len(nodes):
        raise invalid(path, "Two nodes have the same id.")
    parent_of, missing_callees = _parents(nodes, by_id, path)
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
    return Nodes(places, missing_callees)


def _parents(nodes: Sequence[Node], by_id: Mapping[int, Node], path: str) -> tuple[dict[int, int], int]:
    """Returns each node's caller, and how many callees are missing: recordings of Chrome name some that never came."""
    parent_of: dict[int, int] = {}
    missing_callees = 0
    for index, node in enumerate(nodes):
        links = [(child, node.id) for child in node.children if child in by_id]
        missing_callees += len(node.children) - len(links)
        if node.parent is not None:
            links.append((node.id, node.parent))
        for child, parent in links:
            if parent not in by_id:
                raise dangling(f"{path}[{index}]", "nodes")
            if parent_of.setdefault(child, parent) != parent:
                raise invalid(f"{path}[{index}]", "A node has two callers.")
    return parent_of, missing_callees


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

    If it is known how long the profile lasts, a sample without a stack closes it then: the last one lasts until there.
    """
    if len(samples) != len(deltas_us):
        raise invalid(path, f"There are {len(samples)} samples, but {len(deltas_us)} time deltas.")
    at_us = last_us = 0.0
    for index, (node, delta) in enumerate(zip(samples, deltas_us, strict=True)):
        at_us += delta
        if node not in places:
            raise dangling(f"{path}[{index}]", "nodes")
        builder.sample(at_us / 1000, places[node].stack, places[node].marker)
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
    notes = [NOTE_PROGRAM] if any(nodes.places[node] == CallPlace(None, "other") for node in samples) else []
    if nodes.missing_callees:
        is_single = nodes.missing_callees == 1
        what = "1 call node that is" if is_single else f"{nodes.missing_callees} call nodes that are"
        notes.append(f"The file names {what} not in it; {'it was' if is_single else 'they were'} left out.")
    return tuple(notes)


def make_builder(limits: ImportLimits) -> TraceBuilder:
    """Returns a builder for V8's texts, which are real Unicode."""
    return TraceBuilder(limits)
