"""Recorded traces, ready to be posted as any number of new views, with what a fold of each adds to the sums."""

import gzip
import json
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from profcore.sums.fold import FUNC_SUM_NAMES, fold_trace
from profcore.trace.funcs import FuncTable
from profcore.trace.weights import TIME_PART_NAMES
from profcore.trace.wire import Limits, decode_envelope
from tests.corpus import Json

OWN: Final = ("viewId", "traceId", "seq", "timeOrigin", "viewStart")  # fields that differ from view to view
GZIP_HEAD: Final = gzip.compress(b"", mtime=0)[:10]
STORED: Final = struct.Struct("<BHH")  # the head of a block of deflate that is not compressed
GZIP_TAIL: Final = struct.Struct("<II")

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
