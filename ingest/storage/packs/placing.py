"""Placing bodies in packs: one object for what is stored together, written before the rows that name it."""

import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Final
from uuid import UUID

from prometheus_client import Counter

from ingest.storage.packs.format import PackedBody, write_pack
from ingest.storage.packs.mark import check_mark
from ingest.storage.packs.store import open_store

PACKED_BODIES: Final = Counter("fieldflame_packed_bodies_total", "Bodies of traces that were written to packs")
PACKED_BYTES: Final = Counter("fieldflame_packed_bytes_total", "Bytes of the packs that were written")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a body lies: in which pack, from which byte on, and how many."""

    pack_id: UUID
    offset: int
    length: int


def name_of(project_id: int, day: date, pack_id: UUID) -> str:
    """Returns the name of a pack's object. The day comes first: maintenance looks through few days."""
    return f"{day:%Y%m%d}/{project_id}/{pack_id}"


def read_name(name: str) -> tuple[int, date, UUID] | None:
    """Returns project, day and id of a pack by its object's name, None if it is no pack's."""
    try:
        day, project_id, pack_id = name.split("/")
        return int(project_id), datetime.strptime(day, "%Y%m%d").date(), UUID(pack_id)  # noqa: DTZ007  # a day
    except ValueError:
        return None


def make_pack_id() -> UUID:
    """Returns an id that is random behind its first 48 bits, the time in ms: neighbours in an index are alike."""
    number = (time.time_ns() // 1_000_000) << 80 | 7 << 76 | secrets.randbits(12) << 64 | 2 << 62 | secrets.randbits(62)
    return UUID(int=number)


def place_bodies(project_id: int, bodies: Sequence[PackedBody]) -> list[Place]:
    """Writes bodies of one project to packs, one for each UTC day of receipt, and returns their places.

    They are durable when it returns. Until rows name them they are orphans. Raises `BodiesUnavailable`.
    """
    check_mark()
    places: dict[int, Place] = {}
    days = [body.received_at.astimezone(UTC).date() for body in bodies]
    for day in sorted(set(days)):
        chosen = [at for at, of_body in enumerate(days) if of_body == day]
        pack_id, offsets = put_pack(project_id, day, [bodies[at] for at in chosen])
        for at, offset in zip(chosen, offsets, strict=True):
            places[at] = Place(pack_id, offset, len(bodies[at].body))
    return [places[at] for at in range(len(bodies))]


def put_pack(project_id: int, day: date, bodies: Sequence[PackedBody]) -> tuple[UUID, list[int]]:
    """Writes one pack; returns its id, and the offset of each body. Raises `BodiesUnavailable`."""
    pack_id = make_pack_id()
    content, offsets = write_pack(bodies)
    open_store().put(name_of(project_id, day, pack_id), content)
    PACKED_BODIES.inc(len(bodies))
    PACKED_BYTES.inc(len(content))
    return pack_id, offsets
