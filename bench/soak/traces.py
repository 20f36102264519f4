"""Recorded traces, ready to be posted as any number of new views, with what a fold of each adds to the sums."""

import gzip
import json
import struct
import zlib
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from profcore.sums.fold import FUNC_SUM_NAMES, fold_trace
from profcore.trace.funcs import FuncTable
from profcore.trace.weights import TIME_PART_NAMES
from profcore.trace.wire import Limits, decode_envelope

# Ages of a view, ms, at which the snippet ends a chunk (ingest/snippet/src/recorder.ts).
CHUNK_ENDS_MS: Final = (500, 1_000, 2_000, 3_000, 4_000, 6_000, 8_000, 10_000)
OWN: Final = ("viewId", "traceId", "seq", "timeOrigin", "viewStart")  # fields that differ from view to view
GZIP_HEAD: Final = gzip.compress(b"", mtime=0)[:10]
STORED: Final = struct.Struct("<BHH")  # the head of a block of deflate that is not compressed
GZIP_TAIL: Final = struct.Struct("<II")

Json = dict[str, Any]  # an envelope, as the recorder wrote it
Group = tuple[str, str]  # release, page
Func = tuple[str | None, int | None, int | None, str]  # uri, line, column, name


@dataclass(frozen=True, slots=True, kw_only=True)
class SoakTrace:
    """A trace without the fields of its view. `parts` and `funcs` are what its fold adds to its group."""

    group: Group
    text: bytes
    packed: bytes
    parts: Sequence[int]
    funcs: dict[Func, Sequence[int]]

    def make_body(self, view_id: UUID, seq: int, started_ms: float) -> bytes:
        """Returns the gzipped envelope of a view's trace. Only its first 150 bytes are new: that takes some µs."""
        head = (
            f'{{"viewId":"{view_id}","seq":{seq},"timeOrigin":{started_ms:.1f},"viewStart":{started_ms:.1f},'.encode()
        )
        block = STORED.pack(0, len(head), len(head) ^ 0xFFFF) + head
        size = len(head) + len(self.text)
        return GZIP_HEAD + block + self.packed + GZIP_TAIL.pack(zlib.crc32(self.text, zlib.crc32(head)), size)


def prepare(envelope: Json) -> SoakTrace:
    """Returns an envelope, ready to be posted."""
    kept = {name: value for name, value in envelope.items() if name not in OWN}
    text = json.dumps(kept, separators=(",", ":")).encode()[1:]  # the brace comes with the fields of the view
    packer = zlib.compressobj(6, zlib.DEFLATED, -zlib.MAX_WBITS)
    table = FuncTable()
    page = envelope["page"]
    fold = fold_trace(decode_envelope(json.dumps(envelope).encode(), Limits()), page=page, funcs=table)
    sums = [getattr(fold.sums, name) for name in FUNC_SUM_NAMES]
    return SoakTrace(
        group=(envelope["release"], page),
        text=text,
        packed=packer.compress(text) + packer.flush(),
        parts=[getattr(fold.parts, name) for name in TIME_PART_NAMES],
        funcs={
            (key.uri, key.line, key.column, key.name): [column.get(index, 0) for column in sums]
            for index, key in enumerate(table.keys)
            if index in fold.sums.funcs()
        },
    )


def cut_as_snippet(envelope: Json) -> Iterator[Json]:
    """Yields the chunks in which the snippet would send a recorded view: cut by age, each with what it refers to."""
    trace, marks = envelope["trace"], envelope["marks"]
    ends = [*CHUNK_ENDS_MS, float("inf")]
    chunks: dict[int, list[Json]] = {}
    for sample in trace["samples"]:
        chunks.setdefault(bisect_right(ends, sample["timestamp"]), []).append(sample)
    for number, samples in sorted(chunks.items()):
        until = ends[number]
        own = [mark for mark in marks if mark["start"] < until and (not number or mark["start"] >= ends[number - 1])]
        yield {**envelope, "trace": keep_used(trace, samples), "marks": own}


def keep_used(trace: Json, samples: Sequence[Json]) -> Json:
    """Returns a trace with some of its samples, and only the tables' rows that these need."""
    used: set[int] = set()
    for sample in samples:
        stack = sample.get("stackId")
        while stack is not None and stack not in used:
            used.add(stack)
            stack = trace["stacks"][stack].get("parentId")
    stacks = sorted(used)
    frames = sorted({trace["stacks"][stack]["frameId"] for stack in stacks})
    resources = sorted({r for f in frames if (r := trace["frames"][f].get("resourceId")) is not None})
    places = [{old: new for new, old in enumerate(rows)} for rows in (stacks, frames, resources)]

    def renumber(row: Json, **tables: dict[int, int]) -> Json:
        return row | {name: table[row[name]] for name, table in tables.items() if row.get(name) is not None}

    return {
        "resources": [trace["resources"][resource] for resource in resources],
        "frames": [renumber(trace["frames"][frame], resourceId=places[2]) for frame in frames],
        "stacks": [renumber(trace["stacks"][stack], parentId=places[0], frameId=places[1]) for stack in stacks],
        "samples": [renumber(sample, stackId=places[0]) for sample in samples],
    }
