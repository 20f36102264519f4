"""The `.cpuprofile` of Chrome up to 57 and of v8-profiler: a tree under `head`, and `timestamps` in µs.

Lines and columns are 1-based, 0 if unknown. `startTime` and `endTime` are seconds; v8-profiler cuts their fractions.
Files from before `timestamps` have samples at equal steps from start to end.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

import msgspec

from profcore.formats.importers.building import invalid
from profcore.formats.importers.chrome.v8 import CallFrame, Node
from profcore.formats.importers.shapes import Source

FIELDS: Final = frozenset({"head", "samples"})


class OldNode(msgspec.Struct, gc=False):
    """A call node with its callees in it."""

    id: int
    functionName: str = ""
    url: str = ""
    lineNumber: int = 0
    columnNumber: int = 0
    children: list["OldNode"] = []


class OldProfile(msgspec.Struct, gc=False):
    """The whole file."""

    head: OldNode
    samples: list[int]
    timestamps: list[float] | None = None
    startTime: float | None = None
    endTime: float | None = None


_decoder = msgspec.json.Decoder(OldProfile)


class ReadProfile(msgspec.Struct, gc=False, kw_only=True):
    """The content of such a file as newer ones have it: the first delta counts from the first sample."""

    nodes: list[Node]
    samples: list[int]
    deltas_us: list[float]
    lasts_us: float | None


def read_old_profile(source: Source) -> ReadProfile:
    """Returns the content of a file. Raises `TraceError`."""
    file = source.decode(_decoder)
    times = _times_us(file)
    if len(times) < len(file.samples):
        raise invalid("$.timestamps", f"There are {len(file.samples)} samples, but {len(times)} timestamps.")
    times, after = times[: len(file.samples)], times[len(file.samples) :]
    lasts_us = None
    if times and after:  # v8-profiler writes one more: the end of the last sample
        lasts_us = after[0] - times[0]
    elif file.endTime is not None and times and file.endTime * 1e6 >= max(times):
        lasts_us = file.endTime * 1e6 - times[0]
    deltas = [0.0, *(later - earlier for earlier, later in pairwise(times))] if times else []
    return ReadProfile(nodes=_flatten(file.head), samples=file.samples, deltas_us=deltas, lasts_us=lasts_us)


def _times_us(file: OldProfile) -> Sequence[float]:
    if file.timestamps is not None:
        return file.timestamps
    if file.startTime is None or file.endTime is None or not file.endTime > file.startTime:
        raise invalid("$", "The profile has no timestamps, and no start and end to place its samples between.")
    step_us = (file.endTime - file.startTime) * 1e6 / max(len(file.samples), 1)
    return [file.startTime * 1e6 + index * step_us for index in range(len(file.samples))]


def _flatten(head: OldNode) -> list[Node]:
    """Returns the nodes of a tree, callers before their callees."""
    nodes: list[Node] = []
    pending = [head]
    while pending:
        node = pending.pop()
        frame = CallFrame(node.functionName, node.url, node.lineNumber - 1, node.columnNumber - 1)
        nodes.append(Node(node.id, frame, [callee.id for callee in node.children]))
        pending.extend(node.children)
    return nodes
