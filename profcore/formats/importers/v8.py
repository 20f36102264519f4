"""V8's CPU profiles, as `.cpuprofile` files and trace events share them.

Positions are 0-based and say where a function is defined; -1 is none. Directly under the root stand V8's own nodes:
`(idle)` is no stack, `(program)` no stack with the marker `other`, `(garbage collector)` no stack with the marker `gc`.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from profcore.errors import Reason, TraceError
from profcore.formats.importers.building import TraceBuilder, dangling, invalid
from profcore.formats.importers.shapes import ImportLimits

ROOT: Final = "(root)"
MARKER_OF: Final[Mapping[str, str | None]] = {"(idle)": None, "(program)": "other", "(garbage collector)": "gc"}
NOTE_PROGRAM: Final = "Time in (program) came in without a stack: it counts as idle where no long task covers it."


class CallFrame(msgspec.Struct, gc=False):
    """A function by its definition, 0-based; -1 or absent for none."""

    functionName: str = ""
    url: str = ""
    lineNumber: int = -1
    columnNumber: int = -1


class Node(msgspec.Struct, gc=False):
    """A call node; files name its callees, trace events its caller."""

    id: int
    callFrame: CallFrame
    children: list[int] = []
    parent: int | None = None


Place = tuple[int | None, str | None]  # a stack of ours and a marker


def read_nodes(nodes: Sequence[Node], builder: TraceBuilder, path: str) -> dict[int, Place]:
    """Returns where each node's samples go. Raises `TraceError` for ids that name nothing, twins and cycles."""
    by_id = {node.id: node for node in nodes}
    if len(by_id) != len(nodes):
        raise invalid(path, "Two nodes have the same id.")
    parent_of = _parents(nodes, by_id, path)
    callees: dict[int, list[int]] = {}
    for child, parent in parent_of.items():
        callees.setdefault(parent, []).append(child)
    places: dict[int, Place] = {}
    pending: list[tuple[int, int | None, int]] = [(node.id, None, 0) for node in nodes if node.id not in parent_of]
    while pending:
        node_id, above, depth = pending.pop()
        if depth > builder.limits.envelope.depth:
            raise TraceError(Reason.TOO_DEEP, path, f"The calls are more than {builder.limits.envelope.depth} deep.")
        places[node_id] = _place(by_id[node_id].callFrame, above, depth, builder)
        pending.extend((callee, places[node_id][0], depth + 1) for callee in callees.get(node_id, ()))
    if len(places) != len(nodes):
        raise invalid(path, "Some nodes call each other in a circle.")
    return places


def _parents(nodes: Sequence[Node], by_id: Mapping[int, Node], path: str) -> dict[int, int]:
    parent_of: dict[int, int] = {}
    for index, node in enumerate(nodes):
        links = [(child, node.id) for child in node.children]
        if node.parent is not None:
            links.append((node.id, node.parent))
        for child, parent in links:
            if child not in by_id or parent not in by_id:
                raise dangling(f"{path}[{index}]", "nodes")
            if parent_of.setdefault(child, parent) != parent:
                raise invalid(f"{path}[{index}]", "A node has two callers.")
    return parent_of


def _place(frame: CallFrame, above: int | None, depth: int, builder: TraceBuilder) -> Place:
    is_own = not frame.url and frame.lineNumber < 0  # V8's; a page's function of such a name has a place
    if is_own and depth == 0 and frame.functionName == ROOT:
        return None, None
    if is_own and depth <= 1 and frame.functionName in MARKER_OF:
        return None, MARKER_OF[frame.functionName]
    position = (frame.lineNumber + 1, frame.columnNumber + 1) if frame.lineNumber >= 0 else (None, None)
    return builder.stack(above, builder.frame(frame.functionName, frame.url, *position)), None


def add_samples(
    builder: TraceBuilder, places: Mapping[int, Place], samples: Sequence[int], deltas_us: Sequence[float], path: str
) -> None:
    """Adds the samples at the running sum of their deltas, ms since the profile's start."""
    if len(samples) != len(deltas_us):
        raise invalid(path, f"There are {len(samples)} samples, but {len(deltas_us)} time deltas.")
    at_us = 0.0
    for index, (node, delta) in enumerate(zip(samples, deltas_us, strict=True)):
        at_us += delta
        if node not in places:
            raise dangling(f"{path}[{index}]", "nodes")
        builder.sample(at_us / 1000, *places[node])


def notes_of(places: Mapping[int, Place], samples: Sequence[int]) -> tuple[str, ...]:
    """Returns what is lost of such a profile."""
    return (NOTE_PROGRAM,) if any(places[node] == (None, "other") for node in samples) else ()


def make_builder(limits: ImportLimits) -> TraceBuilder:
    """Returns a builder for V8's texts, which are real Unicode."""
    return TraceBuilder(limits)
