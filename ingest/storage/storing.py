"""Storing accepted envelopes with their receipts."""

import gzip
import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import UUID, uuid5

from django.conf import settings
from django.db import Error, IntegrityError, InternalError, connection
from psycopg.errors import CheckViolation

from ingest.deadline import release_connection, spend
from ingest.models import PENDING
from ingest.storage.group_commit import FlushPolicy, GroupCommit, PendingWrite
from ingest.storage.groups import intern_groups
from ingest.storage.packs.format import PackedBody
from ingest.storage.packs.placing import place_bodies
from ingest.storage.partitions import create_partitions
from ingest.storage.receipt_partitions import DedupMode, dedup_mode_of
from ingest.storage.script_ids import store_debug_ids
from ingest.storage.store_pool import STORE_POOL, Param, execute_in_transaction
from ingest.storage.view_dimensions import NO_HEADERS, SenderHeaders, read_codes
from profcore.trace.dimensions import (
    DIMENSION_COLUMNS,
    classify_end_reason,
    code_traits,
    hash_session,
    read_request_trace,
)
from profcore.trace.routes import clean_page, route_of_url
from profcore.trace.weights import to_us
from profcore.trace.wire import Envelope
from projects.key_cache import KeyConfig

BYTE_SHARDS: Final = 8  # rows of a day, so that posts seldom wait for each other
IMPORTS_SHARD: Final = -1  # an import holds its row until its last trace is stored
GZIP_FROM_BYTES: Final = 1_024
# A statement takes some milliseconds. One that takes longer waits for a lock or a slow disk: the next one of its
# project is then begun next to it.
STALLED_S: Final = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """One accepted envelope, its place in its body, and the bytes to keep."""

    index: int
    envelope: Envelope
    body: bytes
    is_gzip: bool
    expanded_bytes: int

    @property
    def started_ms(self) -> float:
        """The start of the view, as its sender says it."""
        e = self.envelope
        return e.timeOrigin if e.viewStart is None else e.viewStart


def page_of(envelope: Envelope, route_rules: Sequence[str]) -> str:
    """Returns the page of a trace: the client's own name for it, else the route of its URL."""
    if envelope.page:
        return clean_page(envelope.page)[: settings.INGEST_MAX_PAGE_CHARS]
    return route_of_url(envelope.url or "", route_rules)


# Each column is an array as text, which takes no time to write and little to read; only the bodies are binary.
COLUMNS: Final = {
    **{"received_at": "timestamptz", "view_id": "uuid", "seq": "int", "group_id": "int"},
    **{"view_started_at": "timestamptz", **dict.fromkeys(DIMENSION_COLUMNS, "smallint"), "traits": "smallint"},
    **{"session": "bigint", "end_reason": "smallint", "request_trace": "text"},
    **{"isolated": "boolean", "sample_rate": "float8", "requested_interval_us": "int", "interval_us": "int"},
    **{"snippet_us": "int", "snippet_sampled_us": "int", "body_bytes": "int", "trace_id": "uuid"},
    **{"is_gzip": "boolean", "body": "bytea"},
}
ANY_COLUMNS: Final = {**COLUMNS, "pack_id": "uuid", "pack_offset": "int", "pack_length": "int"}
DEDUP_MODE: Final = f"${4 + len(ANY_COLUMNS)}::int"
DIMENSION_LIST: Final = ", ".join(DIMENSION_COLUMNS)


def _write_arrays(columns: Mapping[str, str]) -> str:
    """Returns the parameters of a statement that are arrays, from $4 on."""
    return ", ".join(f"${number}::{kind}[]" for number, kind in enumerate(columns.values(), 4))


# The receipts of both statements, up to the rows that they are made of.
INSERT_RECEIPTS: Final = f"""INSERT INTO ingest_tracereceipt (
        project_id, view_id, seq, group_id, received_at, view_started_at, {DIMENSION_LIST}, traits, session, end_reason,
        request_trace, isolated, sample_rate, requested_interval_us, interval_us, snippet_us, snippet_sampled_us,
        body_bytes, state, attempts, crashes)
    SELECT $1::bigint, view_id, seq, group_id, received_at, view_started_at, {DIMENSION_LIST}, traits, session,
           end_reason, request_trace, isolated, nullif(sample_rate, 1), requested_interval_us, interval_us, snippet_us,
           snippet_sampled_us, body_bytes, $3::smallint, 0, 0"""


def _count_bytes(size: str) -> str:
    """Returns the part of both statements that adds the bytes of new traces, given by `size`, to those of their day."""
    return f"""counted AS (
    INSERT INTO ingest_daybytes (project_id, day_on, shard, bytes)
    SELECT $1::bigint, (received_at AT TIME ZONE 'UTC')::date AS day_on, $2::smallint, sum({size})
    FROM once JOIN receipt USING (view_id, seq) GROUP BY 2 ORDER BY 2
    ON CONFLICT (project_id, day_on, shard) DO UPDATE SET bytes = ingest_daybytes.bytes + excluded.bytes
)"""


# $1: project, $2: shard, $3: state, then the arrays of `COLUMNS`. For posts whose key in their partition finds a
# re-post, with bodies in the database, which is nearly all of them. `OFFSET 0` keeps the planner from reading the whole
# table at once: its one plan is made before it knows the rows.
STORE: Final = f"""
WITH arrived AS (
    SELECT * FROM unnest({_write_arrays(COLUMNS)}) WITH ORDINALITY AS a ({", ".join(COLUMNS)}, position)
), once AS (
    SELECT DISTINCT ON (view_id, seq) * FROM arrived ORDER BY view_id, seq, position
), receipt AS (
    {INSERT_RECEIPTS}
    FROM once WHERE NOT EXISTS (
        SELECT 1 FROM ingest_borderreceipt b
        WHERE b.project_id = $1::bigint AND b.view_id = once.view_id AND b.seq = once.seq OFFSET 0)
    ORDER BY view_id, seq
    ON CONFLICT DO NOTHING
    RETURNING view_id, seq
), {_count_bytes("octet_length(body)")}
INSERT INTO ingest_rawtrace (project_id, view_id, seq, received_at, trace_id, is_gzip, body)
SELECT $1::bigint, view_id, seq, received_at, trace_id, is_gzip, body
FROM once JOIN receipt USING (view_id, seq)
"""
# The same for every deduplication (the last parameter), and for bodies that lie in packs (then `body` is empty). Where
# a trace is known already, its pack has bytes that no row names: maintenance removes them. A pack whose id maintenance
# has taken for an orphan's fails the statement.
STORE_ANY: Final = f"""
WITH arrived AS (
    SELECT * FROM unnest({_write_arrays(ANY_COLUMNS)}) WITH ORDINALITY AS a ({", ".join(ANY_COLUMNS)}, position)
), once AS (
    SELECT DISTINCT ON (view_id, seq) * FROM arrived ORDER BY view_id, seq, position
), fresh AS (
    SELECT * FROM once WHERE NOT EXISTS (
        SELECT 1 FROM ingest_borderreceipt b
        WHERE b.project_id = $1::bigint AND b.view_id = once.view_id AND b.seq = once.seq OFFSET 0)
    AND NOT ({DEDUP_MODE} >= 1 AND EXISTS (
        SELECT 1 FROM ingest_tracereceipt r
        WHERE r.project_id = $1::bigint AND r.view_id = once.view_id AND r.seq = once.seq OFFSET 0))
), taken AS (
    INSERT INTO ingest_borderreceipt (project_id, view_id, seq, received_at)
    SELECT $1::bigint, view_id, seq, received_at FROM fresh WHERE {DEDUP_MODE} >= 2 ORDER BY view_id, seq
    ON CONFLICT (project_id, view_id, seq) DO NOTHING
    RETURNING view_id, seq
), receipt AS (
    {INSERT_RECEIPTS}
    FROM fresh LEFT JOIN taken USING (view_id, seq)
    WHERE {DEDUP_MODE} < 2 OR taken.view_id IS NOT NULL
    ORDER BY view_id, seq
    ON CONFLICT DO NOTHING
    RETURNING view_id, seq
), {_count_bytes("coalesce(pack_length, octet_length(body))")}, pack AS (
    SELECT a.pack_id, min((a.received_at AT TIME ZONE 'UTC')::date) AS day_on, sum(a.pack_length) AS bytes,
           count(*) AS brought, count(stored.position) AS traces
    FROM arrived a
    LEFT JOIN (SELECT once.position FROM once JOIN receipt USING (view_id, seq)) AS stored USING (position)
    WHERE a.pack_id IS NOT NULL
    GROUP BY a.pack_id
), named AS (
    INSERT INTO ingest_pack (project_id, id, day_on, traces, bytes, tidy_at)
    SELECT $1::bigint, pack_id, day_on, traces, bytes, CASE WHEN traces < brought THEN now() END
    FROM pack WHERE traces > 0
), unnamed AS (
    INSERT INTO ingest_pack (project_id, id, day_on, traces, bytes, doomed_at)
    SELECT $1::bigint, pack_id, day_on, 0, bytes, now() FROM pack WHERE traces = 0
    ON CONFLICT DO NOTHING
)
INSERT INTO ingest_rawtrace (
    project_id, view_id, seq, received_at, trace_id, is_gzip, body, pack_id, pack_offset, pack_length)
SELECT $1::bigint, view_id, seq, received_at, trace_id, is_gzip, coalesce(body, ''::bytea), pack_id, pack_offset,
       pack_length
FROM once JOIN receipt USING (view_id, seq)
"""


def store_arrivals(
    *,
    key: KeyConfig,
    arrivals: Sequence[Arrival],
    received_at: datetime,
    headers: SenderHeaders = NO_HEADERS,
    alone: bool = False,
) -> None:
    """Stores envelopes with their receipts in one statement, and counts their bytes in a row of the day.

    Posts of a project that arrive at the same time share the statement. In a transaction it is one of the caller's own.
    So it is with `alone`, for traces that no page posts. Then re-posts are also looked for in other partitions, and the
    row is that of imports; else it is one of several, by chance.

    A re-post (same view and sequence number) changes nothing. When the function returns, the envelopes are durable.
    Raises `django.db.Error` if the database does not answer.
    """
    pairs = [(arrival.envelope.release, page_of(arrival.envelope, key.route_rules)) for arrival in arrivals]
    groups = intern_groups(key.project_id, pairs)
    store_debug_ids(key.project_id, [arrival.envelope for arrival in arrivals])
    dedup_mode = dedup_mode_of([arrival.started_ms for arrival in arrivals], received_at)
    if alone:  # a file that is imported again may say another start
        dedup_mode = max(dedup_mode, DedupMode.LOOK_BACK)
    write = PendingWrite(
        project_id=key.project_id,
        received_at=received_at,
        rows=[
            _make_row(key.project_id, arrival, groups[pair], headers, received_at)
            for arrival, pair in zip(arrivals, pairs, strict=True)
        ],
        dedup_mode=dedup_mode,
    )
    if alone or connection.in_atomic_block:
        _store([write], alone=alone)
        return
    release_connection()
    GROUP_COMMIT.write(write)


def _make_row(
    project_id: int, arrival: Arrival, group_id: int, headers: SenderHeaders, received_at: datetime
) -> tuple[Any, ...]:
    """Returns the values of `COLUMNS`: texts, and the body (hence `Any`).

    A body that came plain and long is compressed: the fastest level takes 0.2 ms for a median trace of 16 kB, and saves
    80 % of disk space and of writes to the log. The view's start is clamped to the seven days before its receipt.
    """
    e = arrival.envelope
    is_gzipped_here = not arrival.is_gzip and len(arrival.body) >= GZIP_FROM_BYTES
    oldest = received_at - timedelta(days=settings.VIEW_START_MAX_AGE_DAYS)
    started_at = max(oldest, min(datetime.fromtimestamp(arrival.started_ms / 1000, UTC), received_at))
    return (
        received_at.isoformat(),
        e.viewId.hex,
        str(e.seq),
        str(group_id),
        started_at.isoformat(),
        *map(str, read_codes(e, headers)),
        str(code_traits(e.userAgent or headers.user_agent, e.sampleInterval)),
        "NULL" if e.session is None else str(hash_session(e.session, project_id, started_at.date())),
        str(classify_end_reason(e.reason)),
        read_request_trace(e.requestTrace) or "NULL",
        "NULL" if e.isolated is None else str(e.isolated),
        "NULL" if e.sampleRate is None else repr(e.sampleRate),
        "NULL" if e.requestedInterval is None else str(to_us(e.requestedInterval)),
        str(to_us(e.sampleInterval)),
        "NULL" if e.cost is None else str(to_us(e.cost.ms)),
        "NULL" if e.cost is None or e.cost.sampled is None else str(to_us(e.cost.sampled)),
        str(arrival.expanded_bytes),
        (e.traceId or uuid5(e.viewId, str(e.seq))).hex,
        str(arrival.is_gzip or is_gzipped_here),
        gzip.compress(arrival.body, compresslevel=1, mtime=0) if is_gzipped_here else arrival.body,
    )


def _store(writes: Sequence[PendingWrite], *, alone: bool = False) -> None:
    """Stores posts of one project, in the caller's transaction if there is one. If a partition is missing, it is made.

    That happens if beat did not run for a week, or if the clock is wrong.
    """
    shard = IMPORTS_SHARD if alone else random.randrange(BYTE_SHARDS)  # noqa: S311  # no secret
    *columns, bodies = zip(*(row for write in writes for row in write.rows), strict=True)
    params: list[Param] = [str(writes[0].project_id), str(shard), str(PENDING)]
    params += ["{" + ",".join(column) + "}" for column in columns]
    dedup_mode = max(write.dedup_mode for write in writes)
    if _has_packs():
        statement, params = STORE_ANY, [*params, "{}", *_place_bodies(writes), str(int(dedup_mode))]
    elif dedup_mode > DedupMode.NONE:
        statement, params = STORE_ANY, [*params, bodies, "{}", "{}", "{}", str(int(dedup_mode))]
    else:
        statement, params = STORE, [*params, bodies]
    execute = execute_in_transaction if connection.in_atomic_block else STORE_POOL.execute_with_retry
    try:
        execute(statement, params)
    except (IntegrityError, InternalError) as error:
        if not _is_about_partition(error):
            raise
        for day_on in sorted({write.received_at.date() for write in writes}):
            create_partitions(day_on, 1)
        execute(statement, params)


def _has_packs() -> bool:
    """Returns whether new bodies go to the object store."""
    return bool(settings.OBJECTS) and settings.OBJECTS_PUT


def _is_about_partition(error: Error) -> bool:
    """Returns whether a partition is missing. A cluster's coordinator hands on a worker's text, without its code."""
    return isinstance(error.__cause__, CheckViolation) or "no partition of relation" in str(error)


def _place_bodies(writes: Sequence[PendingWrite]) -> list[str]:
    """Writes the bodies of posts to the object store; returns the columns with their packs, offsets and lengths."""
    bodies = [
        PackedBody(view_id=UUID(row[1]), seq=int(row[2]), received_at=write.received_at, body=row[-1])
        for write in writes
        for row in write.rows
    ]
    began_s = time.monotonic()
    try:
        places = place_bodies(writes[0].project_id, bodies)
    finally:
        spend(time.monotonic() - began_s)
    columns = zip(*((place.pack_id.hex, str(place.offset), str(place.length)) for place in places), strict=True)
    return ["{" + ",".join(column) + "}" for column in columns]


def read_flush_policy() -> FlushPolicy:
    """Returns how posts share statements, by the settings.

    Usually no thread waits for others, and each statement has a connection. An object costs money and about 20 ms, so
    with an object store posts wait for each other.
    """
    gather_s = settings.OBJECTS_GATHER_MS / 1_000 if _has_packs() else 0.0
    objects_s = gather_s + 2 * settings.OBJECTS_WAIT_MS / 1_000 if _has_packs() else 0.0
    return FlushPolicy(
        gather_s=gather_s,
        stalled_s=gather_s + STALLED_S,
        most_under_way=settings.OBJECTS_AT_ONCE if _has_packs() else settings.INGEST_STORE_CONNECTIONS,
        max_rows=settings.INGEST_TOGETHER_TRACES,
        max_bytes=settings.INGEST_TOGETHER_BYTES,
        deadline_s=settings.INGEST_DATABASE_WAIT_MS / 1_000 + objects_s,
    )


GROUP_COMMIT: Final = GroupCommit(_store, read_flush_policy())
