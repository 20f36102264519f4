"""What other SDKs send in parts: chunks that wait for their page, and the spans that name pages."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

import msgspec
from django.db import connection

from ingest.storage.store_pool import STORE_POOL, Param, execute_in_transaction
from profcore.formats.importers.sentry.page_spans import PageSpan

# Of one project. Older ones are deleted then: a chunk comes within a minute of its span, or of the chunk before it.
MAX_SPANS: Final = 50_000

# $1: project, $2: user agent, then arrays. A resend changes nothing, also after its chunk was joined.
INSERT_CHUNKS: Final = """
INSERT INTO ingest_pendingchunk (
    project_id, profiler_id, chunk_id, received_at, started_ms, ended_ms, user_agent, body)
SELECT $1::bigint, profiler_id, chunk_id, now(), started_ms, ended_ms, $2::text, body
FROM unnest($3::uuid[], $4::uuid[], $5::float8[], $6::float8[], $7::bytea[])
     AS c (profiler_id, chunk_id, started_ms, ended_ms, body)
ORDER BY profiler_id, chunk_id
ON CONFLICT DO NOTHING
"""
INSERT_SPANS: Final = """
INSERT INTO ingest_pagespan (project_id, span_id, part, profiler_id, received_at, started_ms, about)
SELECT $1::bigint, span_id, part, profiler_id, now(), started_ms, about
FROM unnest($2::text[], $3::text[], $4::uuid[], $5::float8[], $6::bytea[])
     AS s (span_id, part, profiler_id, started_ms, about)
ORDER BY span_id, part
ON CONFLICT DO NOTHING
"""
_encoder: Final = msgspec.json.Encoder()
_decoder: Final = msgspec.json.Decoder(PageSpan)


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingChunk:
    """A chunk that waits for its page: its identity, the times of its first and last sample, its packed envelope."""

    profiler_id: UUID
    chunk_id: UUID
    started_ms: float
    ended_ms: float
    body: bytes


def insert_chunks(project_id: int, user_agent: str, chunks: Sequence[WaitingChunk]) -> None:
    """Stores chunks until they are joined. When the function returns, they are durable. Raises `django.db.Error`."""
    if chunks:
        columns = [
            [chunk.profiler_id.hex for chunk in chunks],
            [chunk.chunk_id.hex for chunk in chunks],
            [repr(chunk.started_ms) for chunk in chunks],
            [repr(chunk.ended_ms) for chunk in chunks],
        ]
        agent = user_agent.replace("\0", "")
        _execute(INSERT_CHUNKS, [str(project_id), agent, *map(_array, columns), [chunk.body for chunk in chunks]])


def insert_spans(project_id: int, spans: Sequence[PageSpan]) -> None:
    """Stores what names pages. When the function returns, it is durable. Raises `django.db.Error`."""
    if spans:
        columns = [
            [span.span_id for span in spans],
            [span.part for span in spans],
            ["NULL" if span.profiler_id is None else span.profiler_id.hex for span in spans],
            [repr(span.start_ms) for span in spans],
        ]
        _execute(INSERT_SPANS, [str(project_id), *map(_array, columns), [_encoder.encode(span) for span in spans]])


def decode_span(about: bytes) -> PageSpan:
    """Returns a stored span."""
    return _decoder.decode(about)


def has_span_room(project_id: int) -> bool:
    """Returns whether a project has fewer spans than it may."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM (SELECT 1 FROM ingest_pagespan WHERE project_id = %s LIMIT %s) AS s",
            [project_id, MAX_SPANS],
        )
        row = cursor.fetchone()
    return row is not None and row[0] < MAX_SPANS


def _array(values: Sequence[str]) -> str:
    return "{" + ",".join(values) + "}"


def _execute(statement: str, params: list[Param]) -> None:
    if connection.in_atomic_block:
        execute_in_transaction(statement, params)
    else:
        STORE_POOL.execute_with_retry(statement, params)
