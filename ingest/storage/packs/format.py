"""The bytes of a pack: a directory of its bodies, then the bodies as they are stored.

By the directory, bodies find their rows, and rows their bodies, without a column that every row would have to index.
"""

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final
from uuid import UUID

MAGIC: Final = b"FFPACK1\n"
HEAD: Final = struct.Struct("!8sI")  # the magic, the number of bodies
ENTRY: Final = struct.Struct("!16siqII")  # view, number, µs of receipt since 1970, offset and length of the body
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND: Final = timedelta(microseconds=1)


class PackError(ValueError):
    """Bytes that are not a pack."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedBody:
    """One body, with the key of its row within the project, and where it begins in the pack that it was read from."""

    view_id: UUID
    seq: int
    received_at: datetime
    body: bytes
    offset: int = 0


def write_pack(bodies: Sequence[PackedBody]) -> tuple[bytes, list[int]]:
    """Returns the bytes of a pack, and the offset of each body in them."""
    at = HEAD.size + len(bodies) * ENTRY.size
    entries, offsets = [], []
    for packed in bodies:
        received_us = (packed.received_at - EPOCH) // MICROSECOND
        entries.append(ENTRY.pack(packed.view_id.bytes, packed.seq, received_us, at, len(packed.body)))
        offsets.append(at)
        at += len(packed.body)
    return b"".join([HEAD.pack(MAGIC, len(bodies)), *entries, *(packed.body for packed in bodies)]), offsets


def read_pack(content: bytes) -> list[PackedBody]:
    """Returns the bodies of a pack. Raises `PackError`."""
    return list(_iter_bodies(content))


def _iter_bodies(content: bytes) -> Iterable[PackedBody]:
    if len(content) < HEAD.size:
        raise PackError("too short for a pack")
    magic, count = HEAD.unpack_from(content)
    end = HEAD.size + count * ENTRY.size
    if magic != MAGIC or end > len(content):
        raise PackError("not a pack")
    for view, seq, received_us, offset, length in ENTRY.iter_unpack(content[HEAD.size : end]):
        if offset < end or offset + length > len(content):
            raise PackError("a body lies outside the pack")
        yield PackedBody(
            view_id=UUID(bytes=view),
            seq=seq,
            received_at=EPOCH + received_us * MICROSECOND,
            body=content[offset : offset + length],
            offset=offset,
        )
