"""Stored bodies of traces: the one place that reads them, packed as they came or expanded."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, Final, NamedTuple
from uuid import UUID

from django.conf import settings
from django.db import connection

from ingest.door.bodies import expand

TraceKey = tuple[UUID, int]  # a view, and the number of one of its traces

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


def load_raw_bodies(project_id: int, traces: Iterable[tuple[UUID, int, datetime]]) -> dict[TraceKey, StoredBody]:
    """Returns the bodies that are kept of some traces, given by view, number and time of receipt. One statement."""
    columns: Any = list(zip(*traces, strict=True)) or [(), (), ()]  # Any: columns of three types
    view_ids, seqs, received = map(list, columns)
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT t.view_id, t.seq, t.is_gzip, t.body FROM ingest_rawtrace t
               JOIN unnest(%b::uuid[], %b::int[], %b::timestamptz[]) AS c (view_id, seq, received_at)
                 ON (t.view_id, t.seq, t.received_at) = (c.view_id, c.seq, c.received_at)
               WHERE t.project_id = %s AND t.view_id = ANY(%b::uuid[])""",
            # The last one is the key's own column: see aggregate.folding.claims.TAKE.
            [view_ids, seqs, received, project_id, view_ids],
        )
        return {(view_id, seq): StoredBody(is_gzip, bytes(body)) for view_id, seq, is_gzip, body in cursor}


def iter_first_bodies(project_id: int, *, since: datetime, max_bytes: int, limit: int) -> Iterator[StoredBody]:
    """Yields the bodies of at most `limit` traces received since a moment, in order of view id. One statement.

    View ids are random, and so are the first of them. Bodies of more than `max_bytes`, as stored, are passed over.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT t.is_gzip, t.body FROM ingest_rawtrace t
               WHERE t.project_id = %s AND t.received_at >= %s AND octet_length(t.body) <= %s
               ORDER BY t.view_id, t.seq LIMIT %s""",
            [project_id, since, max_bytes, limit],
        )
        for is_gzip, body in cursor:
            yield StoredBody(is_gzip, bytes(body))
