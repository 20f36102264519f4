"""Stored bodies of traces: the one place that reads them, packed as they came or expanded.

A body lies in its row, or in a pack in the object store, at a place that its row names.
"""

import logging
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime
from typing import Any, Final, NamedTuple
from uuid import UUID

from django.conf import settings
from django.db import connection
from prometheus_client import Counter
from psycopg.pq import Format

from ingest.endpoint.requests import expand
from ingest.storage.packs.mark import Standing, read_standing
from ingest.storage.packs.placing import Place, name_of
from ingest.storage.packs.store import BodiesUnavailable, ObjectMissing, open_store

logger = logging.getLogger(__name__)

LOST_BODIES: Final = Counter(
    "fieldflame_lost_bodies_total", "Reads of bodies whose pack the object store does not have any more"
)
FIRST_AT_ONCE: Final = 50  # bodies of a preview, which are at most some 100 kB each
TraceKey = tuple[UUID, int]  # a view, and the number of one of its traces

BODY: Final = "t.view_id, t.seq, t.received_at, t.is_gzip, t.body, t.pack_id, t.pack_offset, t.pack_length"

# The raw body `t` of a receipt `r`, where it is kept. With the time of receipt, only one day's partition is read.
JOIN_BODY: Final = """LEFT JOIN ingest_rawtrace t
  ON t.project_id = r.project_id AND t.view_id = r.view_id AND t.seq = r.seq AND t.received_at = r.received_at"""
# A receipt `r` is one of the traces with the ids `traces`.
AMONG_TRACES: Final = """(r.view_id, r.seq) IN (SELECT x.view_id, x.seq FROM ingest_rawtrace x
    WHERE x.project_id = %(project_id)s AND x.trace_id = ANY(%(traces)s::uuid[]))"""


class StoredBody(NamedTuple):
    """The body of a trace as it was stored, gzip or not."""

    is_gzip: bool
    body: bytes

    def expand(self, *, max_bytes: int | None = None) -> bytes:
        """Returns the body as it was before it was packed. Raises `BodyTooLarge` beyond `max_bytes`."""
        if not self.is_gzip:
            return self.body
        return expand(self.body, max_bytes=settings.INGEST_MAX_EXPANDED_BYTES if max_bytes is None else max_bytes)


class PackedAt(NamedTuple):
    """A body that lies in a pack: which trace's, whether it is gzip, the day of its receipt, and its place."""

    key: TraceKey
    is_gzip: bool
    day: date
    place: Place


def load_raw_bodies(project_id: int, traces: Iterable[tuple[UUID, int, datetime]]) -> dict[TraceKey, StoredBody]:
    """Returns the bodies that are kept of some traces, given by view, number and time of receipt.

    One statement, and one request for each pack with bodies of them. Raises `BodiesUnavailable`.
    """
    wanted = list(traces)
    bodies, packed = _select_bodies(project_id, wanted)
    missing = _read_packed(project_id, packed, bodies)
    if missing:  # maintenance may have written their pack anew meanwhile
        again, moved = _select_bodies(project_id, [trace for trace in wanted if trace[:2] in missing])
        bodies |= again
        _tell_lost(_read_packed(project_id, moved, bodies))
    return bodies


def _select_bodies(
    project_id: int, traces: Sequence[tuple[UUID, int, datetime]]
) -> tuple[dict[TraceKey, StoredBody], list[PackedAt]]:
    """Returns the bodies that lie in PostgreSQL, and where the others lie."""
    columns: Any = list(zip(*traces, strict=True)) or [(), (), ()]  # Any: columns of three types
    view_ids, seqs, received = map(list, columns)
    with connection.cursor() as cursor:
        cursor.cursor.format = Format.BINARY  # as text, a body is twice as long, and is encoded and decoded
        cursor.execute(
            f"""SELECT {BODY} FROM ingest_rawtrace t
               JOIN unnest(%b::uuid[], %b::int[], %b::timestamptz[]) AS c (view_id, seq, received_at)
                 ON (t.view_id, t.seq, t.received_at) = (c.view_id, c.seq, c.received_at)
               WHERE t.project_id = %s AND t.view_id = ANY(%b::uuid[])""",
            # The last one is the key's own column: see aggregate.fold.claims.TAKE.
            [view_ids, seqs, received, project_id, view_ids],
        )
        return _sort_bodies(cursor)


def _sort_bodies(rows: Iterable[Sequence[Any]]) -> tuple[dict[TraceKey, StoredBody], list[PackedAt]]:
    """Returns the bodies in rows of `BODY`, and where those lie that are elsewhere. Any: as the driver types them."""
    bodies: dict[TraceKey, StoredBody] = {}
    packed: list[PackedAt] = []
    for view_id, seq, received_at, is_gzip, body, pack_id, offset, length in rows:
        if pack_id is None:
            bodies[view_id, seq] = StoredBody(is_gzip, bytes(body))
        else:
            day = received_at.astimezone(UTC).date()
            packed.append(PackedAt((view_id, seq), is_gzip, day, Place(pack_id, offset, length)))
    return bodies, packed


def _read_packed(
    project_id: int, packed: Sequence[PackedAt], bodies: dict[TraceKey, StoredBody]
) -> dict[TraceKey, PackedAt]:
    """Adds bodies from packs, several packs at a time. Returns those whose objects are not there."""
    by_pack: dict[str, list[PackedAt]] = {}
    for packed_body in packed:
        by_pack.setdefault(name_of(project_id, packed_body.day, packed_body.place.pack_id), []).append(packed_body)
    missing: dict[TraceKey, PackedAt] = {}
    packs = list(by_pack.items())
    for (_, of_pack), parts in zip(packs, read_packs(packs), strict=True):
        for at, packed_body in enumerate(of_pack):
            if parts is None:
                missing[packed_body.key] = packed_body
            else:
                bodies[packed_body.key] = StoredBody(packed_body.is_gzip, parts[at])
    return missing


def read_packs(packs: Sequence[tuple[str, Sequence[PackedAt]]]) -> Iterator[list[bytes] | None]:
    """Yields the wanted bodies of each pack, given by its name; None for one that is not there."""
    if not packs:
        return
    store = open_store()

    def read(pack: tuple[str, Sequence[PackedAt]]) -> list[bytes] | None:
        name, wanted = pack
        try:
            return store.read_spans(name, [(body.place.offset, body.place.length) for body in wanted])
        except ObjectMissing:
            return None

    if len(packs) == 1:
        yield read(packs[0])
        return
    with ThreadPoolExecutor(min(len(packs), settings.OBJECTS_READS_AT_ONCE)) as pool:
        yield from pool.map(read, packs)


def _tell_lost(lost: dict[TraceKey, PackedAt]) -> None:
    """Logs bodies whose packs are gone: their traces go on as if they had expired.

    Raises `BodiesUnavailable` if the bucket is not marked as this database's own: then they may be elsewhere.
    """
    if not lost:
        return
    if read_standing() is not Standing.OURS:
        raise BodiesUnavailable("the bucket is not the one that has this database's bodies")
    packs = {packed_body.place.pack_id for packed_body in lost.values()}
    logger.error("The object store has lost %s packs with %s bodies, such as %s.", len(packs), len(lost), min(packs))
    LOST_BODIES.inc(len(lost))


def iter_first_bodies(project_id: int, *, since: datetime, max_bytes: int, limit: int) -> Iterator[StoredBody]:
    """Yields the bodies of at most `limit` traces received since a moment, in order of view id. One statement.

    View ids are random, and so are the first of them. Bodies of more than `max_bytes`, as stored, are passed over.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT {BODY} FROM ingest_rawtrace t
               WHERE t.project_id = %s AND t.received_at >= %s
                 AND coalesce(t.pack_length, octet_length(t.body)) <= %s
               ORDER BY t.view_id, t.seq LIMIT %s""",
            [project_id, since, max_bytes, limit],
        )
        while rows := cursor.fetchmany(FIRST_AT_ONCE):
            bodies, packed = _sort_bodies(rows)
            _read_packed(project_id, packed, bodies)
            yield from (bodies[view_id, seq] for view_id, seq, *_ in rows if (view_id, seq) in bodies)
