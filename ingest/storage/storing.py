"""Storing accepted envelopes with their receipts."""

import gzip
import random
import struct
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Any, Final
from uuid import UUID, uuid5

from django.conf import settings
from django.db import Error, IntegrityError, InternalError, connection
from psycopg.errors import CheckViolation
from psycopg.pq import Format

from ingest.deadline import release_connection, spend
from ingest.models import PENDING
from ingest.storage.group_commit import STALLED_S, FlushPolicy, GroupCommit, usual_flush_policy
from ingest.storage.groups import intern_groups
from ingest.storage.packs.format import PackedBody
from ingest.storage.packs.placing import place_bodies
from ingest.storage.packs.store import is_on
from ingest.storage.partitions import create_partitions
from ingest.storage.receipt_partitions import is_near_border, partition_bounds
from ingest.storage.store_pool import PoolStatement, execute_with_retry
from ingest.storage.view_dimensions import NO_HEADERS, SenderHeaders, read_codes
from profcore.trace.dimensions import DIMENSION_COLUMNS, classify_end_reason
from profcore.trace.routes import clean_page, route_of_url
from profcore.trace.weights import to_us
from profcore.trace.wire import Envelope
from projects.key_cache import KeyFacts

BYTE_SHARDS: Final = 8  # rows of a day, so that posts seldom wait for each other
IMPORTS_SHARD: Final = -1  # an import holds its row until its last trace is stored
PACK_FROM_BYTES: Final = 1_024


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """One accepted envelope, its place in its body, and the bytes to keep."""

    index: int
    envelope: Envelope
    body: bytes
    is_gzip: bool
    expanded_bytes: int


def page_of(envelope: Envelope, route_rules: Sequence[str]) -> str:
    """Returns the page of a trace: the client's own name for it, else the route of its URL."""
    if envelope.page:
        return clean_page(envelope.page)[: settings.INGEST_MAX_PAGE_CHARS]
    return route_of_url(envelope.url or "", route_rules)


def view_start_of(envelope: Envelope, received_at: datetime) -> datetime:
    """Returns the start of the view, clamped to the seven days before its receipt."""
    oldest = received_at - timedelta(days=settings.VIEW_START_MAX_AGE_DAYS)
    started_at = datetime.fromtimestamp(_started_ms(envelope) / 1000, UTC)
    return max(oldest, min(started_at, received_at))


def _started_ms(envelope: Envelope) -> float:
    return envelope.viewStart if envelope.viewStart is not None else envelope.timeOrigin


def trace_id_of(envelope: Envelope) -> UUID:
    """Returns the trace's id: the client's, else one derived from view and sequence number."""
    return envelope.traceId or uuid5(envelope.viewId, str(envelope.seq))


# The columns of what arrives, in the order of a row's values: those of a receipt, then those of its body.
RECEIPT_COLUMNS: Final = {
    **{"received_at": "timestamptz", "view_id": "uuid", "seq": "int", "group_id": "int"},
    **{"view_started_at": "timestamptz", **dict.fromkeys(DIMENSION_COLUMNS, "smallint"), "end_reason": "smallint"},
    **{"isolated": "boolean", "sample_rate": "float8", "requested_interval_us": "int", "interval_us": "int"},
    **{"snippet_us": "int", "body_bytes": "int"},
}
COLUMNS: Final = {**RECEIPT_COLUMNS, "trace_id": "uuid", "is_gzip": "boolean", "body": "bytea"}
PACK_COLUMNS: Final = {"pack_id": "uuid", "pack_offset": "int", "pack_length": "int"}
PLACE_COLUMNS: Final = {name: kind for name, kind in COLUMNS.items() if name != "body"} | PACK_COLUMNS
# Each column is an array as text, which takes no time to write and little to read; only the bodies are binary.
BEGIN = """
WITH arrived AS (
    SELECT * FROM unnest({values}) WITH ORDINALITY AS a ({names}, position)
), once AS (
    SELECT DISTINCT ON (view_id, seq) * FROM arrived ORDER BY view_id, seq, position
), fresh AS (
    SELECT * FROM once WHERE NOT EXISTS (
        SELECT 1 FROM ingest_borderreceipt b
        WHERE b.project_id = %(project_id)s::bigint AND b.view_id = once.view_id AND b.seq = once.seq OFFSET 0)
"""
# `OFFSET 0` keeps the planner from reading the whole table at once: its one plan is made before it knows the rows.
LOOK_BACK = """
      AND NOT EXISTS (
        SELECT 1 FROM ingest_tracereceipt r
        WHERE r.project_id = %(project_id)s::bigint AND r.view_id = once.view_id AND r.seq = once.seq OFFSET 0)
"""
TAKE_BORDER = """
), taken AS (
    INSERT INTO ingest_borderreceipt (project_id, view_id, seq, received_at)
    SELECT %(project_id)s::bigint, view_id, seq, received_at FROM fresh ORDER BY view_id, seq
    ON CONFLICT (project_id, view_id, seq) DO NOTHING
    RETURNING view_id, seq
), mine AS (
    SELECT fresh.* FROM fresh JOIN taken USING (view_id, seq)
"""
WRITE = f"""), receipt AS (
    INSERT INTO ingest_tracereceipt (project_id, {", ".join(RECEIPT_COLUMNS)}, state, attempts, crashes)
    SELECT %(project_id)s::bigint, {", ".join(RECEIPT_COLUMNS).replace("sample_rate", "nullif(sample_rate, 1)")},
           {PENDING}, 0, 0
    FROM {{source}} ORDER BY view_id, seq
    ON CONFLICT DO NOTHING
    RETURNING view_id, seq
)
, counted AS (
    INSERT INTO ingest_daybytes (project_id, day_on, shard, bytes)
    SELECT %(project_id)s::bigint, (received_at AT TIME ZONE 'UTC')::date AS day_on, %(shard)s::smallint,
           sum({{length}})
    FROM once JOIN receipt USING (view_id, seq) GROUP BY 2 ORDER BY 2
    ON CONFLICT (project_id, day_on, shard) DO UPDATE SET bytes = ingest_daybytes.bytes + excluded.bytes
)
"""
WRITE_BODIES = """
INSERT INTO ingest_rawtrace (project_id, view_id, seq, received_at, trace_id, is_gzip, body)
SELECT %(project_id)s::bigint, view_id, seq, received_at, trace_id, is_gzip, body
FROM once JOIN receipt USING (view_id, seq)
"""
# Bodies that lie in packs. Where a trace is known already, its pack has bytes that no row names: maintenance removes
# them. A pack whose id maintenance has taken for an orphan's fails the statement.
WRITE_PLACES = """
, pack AS (
    SELECT a.pack_id, min((a.received_at AT TIME ZONE 'UTC')::date) AS day_on, sum(a.pack_length) AS bytes,
           count(*) AS brought, count(stored.position) AS traces
    FROM arrived a
    LEFT JOIN (SELECT once.position FROM once JOIN receipt USING (view_id, seq)) AS stored USING (position)
    GROUP BY a.pack_id
), named AS (
    INSERT INTO ingest_pack (project_id, id, day_on, traces, bytes, tidy_at)
    SELECT %(project_id)s::bigint, pack_id, day_on, traces, bytes, CASE WHEN traces < brought THEN now() END
    FROM pack WHERE traces > 0
), unnamed AS (
    INSERT INTO ingest_pack (project_id, id, day_on, traces, bytes, doomed_at)
    SELECT %(project_id)s::bigint, pack_id, day_on, 0, bytes, now() FROM pack WHERE traces = 0
    ON CONFLICT DO NOTHING
)
INSERT INTO ingest_rawtrace (
    project_id, view_id, seq, received_at, trace_id, is_gzip, body, pack_id, pack_offset, pack_length)
SELECT %(project_id)s::bigint, view_id, seq, received_at, trace_id, is_gzip, ''::bytea, pack_id, pack_offset,
       pack_length
FROM once JOIN receipt USING (view_id, seq)
"""


class DedupMode(Enum):
    """What a statement does besides, so that no trace has receipts in two partitions: see `dedup_mode_of`."""

    NONE = ""
    LOOK_BACK = "-look-back"
    TAKE_BORDER = "-take-border"


def _make_store(dedup_mode: DedupMode, *, is_packed: bool = False) -> str:
    columns = PLACE_COLUMNS if is_packed else COLUMNS
    values = ", ".join(f"%({name}){'b' if name == 'body' else 's'}::{kind}[]" for name, kind in columns.items())
    end = WRITE.format(length="pack_length" if is_packed else "octet_length(body)", source="{source}")
    end += WRITE_PLACES if is_packed else WRITE_BODIES
    begin = BEGIN.format(values=values, names=", ".join(columns))
    if dedup_mode is DedupMode.TAKE_BORDER:
        return begin + LOOK_BACK + TAKE_BORDER + end.replace("{source}", "mine")
    return begin + (LOOK_BACK if dedup_mode is DedupMode.LOOK_BACK else "") + end.replace("{source}", "fresh")


def _make_pool_store(dedup_mode: DedupMode, *, is_packed: bool = False) -> PoolStatement:
    """Returns the same statement as libpq takes it. Only bodies are binary."""
    columns = PLACE_COLUMNS if is_packed else COLUMNS
    numbered = {name: f"${number}" for number, name in enumerate(("project_id", "shard", *columns), 1)}
    text = _make_store(dedup_mode, is_packed=is_packed).replace(")b::bytea", ")s::bytea") % numbered
    last = Format.TEXT if is_packed else Format.BINARY
    name = f"store{dedup_mode.value}{'-places' if is_packed else ''}"
    return PoolStatement(name.encode(), text.encode(), [*([Format.TEXT] * (len(columns) + 1)), last])


# By deduplication, and by whether the bodies lie in packs.
STORES: Final = {
    (dedup_mode, packed): _make_store(dedup_mode, is_packed=packed)
    for dedup_mode in DedupMode
    for packed in (False, True)
}
POOL_STORES: Final = {key: _make_pool_store(key[0], is_packed=key[1]) for key in STORES}
ARRAY_HEAD: Final = struct.Struct("!iiIii")
LENGTH: Final = struct.Struct("!i")
BYTEA: Final = 17  # its number among PostgreSQL's types


def store_arrivals(
    *,
    key: KeyFacts,
    arrivals: Sequence[Arrival],
    received_at: datetime,
    headers: SenderHeaders = NO_HEADERS,
    shard: int | None = None,
) -> None:
    """Stores envelopes with their receipts in one statement, and counts their bytes in a row of the day.

    Posts of a project that arrive at the same time share the statement. In a transaction, or with a shard, it is one of
    the caller's own. The row is one of several, by chance, or that of `shard`.

    A re-post (same view and sequence number) changes nothing. When the function returns, the envelopes are durable.
    Raises `django.db.Error` if the database does not answer.
    """
    pairs = [(arrival.envelope.release, page_of(arrival.envelope, key.route_rules)) for arrival in arrivals]
    groups = intern_groups(key.project_id, pairs)
    rows = [
        _make_row(arrival, groups[pair], headers, received_at) for arrival, pair in zip(arrivals, pairs, strict=True)
    ]
    starts_ms = [_started_ms(arrival.envelope) for arrival in arrivals]
    # A file that is imported again may say another start.
    dedup_mode = DedupMode.LOOK_BACK if shard is not None else DedupMode.NONE
    post = StoredRequest(
        key.project_id,
        received_at,
        rows,
        max(dedup_mode, dedup_mode_of(starts_ms, received_at), key=list(DedupMode).index),
    )
    if shard is not None or connection.in_atomic_block:
        _store([post], shard)
        return
    release_connection()
    _group_commit.write(key.project_id, post, rows=len(rows), size=sum(len(row[-1]) for row in rows))


@dataclass(frozen=True, slots=True)
class StoredRequest:
    """The rows of one post, in the order of `COLUMNS`. All values are texts for arrays, except the last, the body."""

    project_id: int
    received_at: datetime
    rows: list[tuple[Any, ...]]  # Any: as above
    dedup_mode: DedupMode


def dedup_mode_of(starts_ms: Sequence[float], received_at: datetime) -> DedupMode:
    """Returns the deduplication that traces need, by the starts of their views as their sender says them.

    A trace that is sent again says the same start. If its view began in the present partition's time, the first post
    came in that time too, and the key of the partition finds it. If the view began before, it may be in an older one.
    What cannot be found later in either way leaves its identity in a table of its own: a trace whose view will begin
    after this partition's time, by a wrong clock, and one near a border, whose other post may not be committed yet.
    """
    first_ms, end_ms = (moment.timestamp() * 1000 for moment in partition_bounds(received_at))
    if is_near_border(received_at) or max(starts_ms) >= end_ms:
        return DedupMode.TAKE_BORDER
    return DedupMode.LOOK_BACK if min(starts_ms) < first_ms else DedupMode.NONE


def _store(posts: Sequence[StoredRequest], shard: int | None = None) -> None:
    """Stores posts of one project. If a partition is missing, it is created.

    That happens if beat did not run for a week, or if the clock is wrong.
    """
    dedup_mode = max((post.dedup_mode for post in posts), key=list(DedupMode).index)
    columns = _make_columns(posts, random.randrange(BYTE_SHARDS) if shard is None else shard)  # noqa: S311  # no secret
    if is_on():
        columns |= _place_bodies(posts)
    try:
        _run_store(columns, dedup_mode)
    except (IntegrityError, InternalError) as error:
        if not _is_about_partition(error):
            raise
        for day_on in sorted({post.received_at.date() for post in posts}):
            create_partitions(day_on, 1)
        _run_store(columns, dedup_mode)


def _is_about_partition(error: Error) -> bool:
    """Tells whether a partition is missing. A cluster's coordinator hands on a worker's words, without their code."""
    return isinstance(error.__cause__, CheckViolation) or "no partition of relation" in str(error)


def _place_bodies(posts: Sequence[StoredRequest]) -> dict[str, Any]:  # Any: parameters of one statement
    """Writes the bodies of posts to the object store, and returns the columns that say where they are."""
    bodies = [
        PackedBody(view_id=UUID(row[1]), seq=int(row[2]), received_at=post.received_at, body=row[-1])
        for post in posts
        for row in post.rows
    ]
    began_s = time.monotonic()
    try:
        places = place_bodies(posts[0].project_id, bodies)
    finally:
        spend(time.monotonic() - began_s)
    columns = zip(*((place.pack_id.hex, str(place.offset), str(place.length)) for place in places), strict=True)
    return {name: "{" + ",".join(column) + "}" for name, column in zip(PACK_COLUMNS, columns, strict=True)}


def _run_store(columns: dict[str, Any], dedup_mode: DedupMode) -> None:  # Any: the parameters of one statement
    is_packed = "pack_id" in columns
    if connection.in_atomic_block:
        with connection.cursor() as cursor:
            cursor.execute(STORES[dedup_mode, is_packed], columns)
        return
    names = ("project_id", "shard", *(PLACE_COLUMNS if is_packed else COLUMNS))
    params = [_pack_array(columns[name]) if name == "body" else str(columns[name]).encode() for name in names]
    execute_with_retry(POOL_STORES[dedup_mode, is_packed], params)


def _pack_array(bodies: Sequence[bytes]) -> bytes:
    """Returns a `bytea[]` in PostgreSQL's binary form."""
    head = ARRAY_HEAD.pack(1, 0, BYTEA, len(bodies), 1)  # one dimension, no null, from 1
    return head + b"".join([part for body in bodies for part in (LENGTH.pack(len(body)), body)])


def flush_policy() -> FlushPolicy:
    """Returns how posts share what stores them. An object costs money and some 20 ms, so posts wait for each other."""
    if not is_on():
        return usual_flush_policy()
    gather_s = settings.OBJECTS_GATHER_MS / 1_000
    return FlushPolicy(gather_s, gather_s + STALLED_S, settings.OBJECTS_AT_ONCE)


def find_deadline_s() -> float:
    """Returns how long a post may wait in all until it is stored."""
    objects_ms = settings.OBJECTS_GATHER_MS + 2 * settings.OBJECTS_WAIT_MS if is_on() else 0
    return float(settings.INGEST_DATABASE_WAIT_MS + objects_ms) / 1_000


_group_commit: Final = GroupCommit(_store, flush_policy)


def _make_columns(posts: Sequence[StoredRequest], shard: int) -> dict[str, Any]:  # Any: the parameters of one statement
    *texts, bodies = zip(*(row for post in posts for row in post.rows), strict=True)
    arrays: list[Any] = ["{" + ",".join(column) + "}" for column in texts]
    columns = dict(zip(COLUMNS, [*arrays, list(bodies)], strict=True))
    return {**columns, "project_id": posts[0].project_id, "shard": shard}


def _make_row(
    arrival: Arrival, group_id: int, headers: SenderHeaders, received_at: datetime
) -> tuple[Any, ...]:  # Any: texts and a body
    e = arrival.envelope
    is_gzip, body = packed(arrival)
    return (
        received_at.isoformat(),
        e.viewId.hex,
        str(e.seq),
        str(group_id),
        view_start_of(e, received_at).isoformat(),
        *map(str, read_codes(e, headers)),
        str(classify_end_reason(e.reason)),
        "NULL" if e.isolated is None else str(e.isolated),
        "NULL" if e.sampleRate is None else repr(e.sampleRate),
        "NULL" if e.requestedInterval is None else str(to_us(e.requestedInterval)),
        str(to_us(e.sampleInterval)),
        "NULL" if e.cost is None else str(to_us(e.cost.ms)),
        str(arrival.expanded_bytes),
        trace_id_of(e).hex,
        str(is_gzip),
        body,
    )


def packed(arrival: Arrival) -> tuple[bool, bytes]:
    """Returns whether the stored body is gzip, and the body: as it came, or packed if it came plain and long.

    The fastest level takes 0.2 ms for a median trace of 16 kB, and saves 80 % of disk space and of writes to the log.
    """
    if arrival.is_gzip or len(arrival.body) < PACK_FROM_BYTES:
        return arrival.is_gzip, arrival.body
    return True, gzip.compress(arrival.body, compresslevel=1, mtime=0)
