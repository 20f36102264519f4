"""Chunks of other SDKs are joined with their pages, by project, profiler and time, and stored as traces.

A chunk does not name its page: a span does, which is posted before or after it. A span ends at most half a minute after
its page began and leaves half a second later, so a chunk waits that long. Without a span it is stored under an unknown
page. The endpoint's own statement stores the traces, so receipts, quotas and folding are the same.
"""

import gzip
import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

from django.db import InterfaceError, OperationalError, connection, transaction
from prometheus_client import Counter

from ingest.endpoint.admission import take_quota
from ingest.endpoint.outcomes import count_refusals
from ingest.endpoint.parsing import ParsedBody, complete_views
from ingest.limits import envelope_limits
from ingest.notify import notify_worker
from ingest.storage.groups import intern_groups
from ingest.storage.packs.store import BodiesUnavailable
from ingest.storage.pending_chunks import MAX_SPANS, decode_span
from ingest.storage.storing import page_of, store_arrivals
from ingest.storage.view_dimensions import SenderHeaders
from profcore.errors import Reason
from profcore.formats.importers.completing import UNNAMED
from profcore.formats.importers.sentry.page_spans import PageSpan
from profcore.formats.importers.sentry.page_views import MAX_VIEWS, SLACK_MS, split_chunk
from profcore.formats.importers.shapes import InputTrace
from profcore.trace.wire import decode_envelope
from projects.key_cache import KeyConfig, key_config_of
from projects.lifecycle import hold_project
from projects.models import Project

logger = logging.getLogger(__name__)

SETTLED_S: Final = 35  # the spans of all pages of which a chunk has samples have ended then, and were posted
LATEST_S: Final = 90
TURN_S: Final = 4.0  # shared by the projects; beat sends the task every 5 s, so that it keeps one process busy at most
BATCH: Final = 1_000  # chunks of a project in a turn: each takes some ms
KEEP_JOINED_S: Final = 3_600  # no SDK sends a chunk again, and a proxy does so within seconds
KEEP_WAITING_S: Final = 86_400  # a chunk that could not be stored until then is given up
KEEP_SPANS_S: Final = 86_400  # the page of a document that is open for longer is unknown
KEPT_SPANS: Final = MAX_SPANS * 4 // 5  # the newest ones, once a project has nearly as many as it may
MAX_MARK_ITEMS: Final = 200  # items with only marks that are read for a chunk
OUTAGES: Final = (OperationalError, InterfaceError, BodiesUnavailable)  # the chunk waits
CHUNK: Final = "project_id = %(project)s AND profiler_id = %(profiler)s AND chunk_id = %(chunk)s"
JOINED_CHUNKS: Final = Counter(
    "fieldflame_joined_chunks_total",
    "Chunks of other SDKs, by outcome: joined with a page, no_span in time, or failed",
    ["outcome"],
)
for _outcome in ("joined", "no_span", "failed"):  # so that the first one of each is seen as a rise
    JOINED_CHUNKS.labels(_outcome)


@dataclass(frozen=True, slots=True, kw_only=True)
class DueChunk:
    """A chunk that waits no longer, with the times of its first and last sample."""

    project_id: int
    profiler_id: UUID
    chunk_id: UUID
    started_ms: float
    ended_ms: float

    @property
    def params(self) -> dict[str, int | float | UUID]:
        """The parameters of statements about it."""
        times = {"started": self.started_ms, "ended": self.ended_ms}
        return {"project": self.project_id, "profiler": self.profiler_id, "chunk": self.chunk_id, **times}


def join_chunks() -> int:
    """Stores chunks whose page is known, or late, as traces; returns how many. It may be killed and run again.

    What fails in one project holds up no other.
    """
    projects = Project.objects.filter(pk__in=_list_projects(), deletion_started_at=None)
    count = 0
    for project in projects:
        key = key_config_of(project)
        ends_at_s = time.monotonic() + TURN_S / len(projects)
        try:
            for chunk in _list_due(project.pk):
                count += _join(key, chunk)
                if time.monotonic() >= ends_at_s:
                    break
        except OUTAGES:
            logger.exception("Chunks of project %s could not be stored; they wait.", project.pk)
    if count:
        notify_worker()
    return count


def _list_projects() -> list[int]:
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT DISTINCT project_id FROM ingest_pendingchunk
               WHERE joined_at IS NULL AND received_at <= now() - %s * interval '1 second'""",
            [SETTLED_S],
        )
        return sorted(project_id for (project_id,) in cursor)


def _list_due(project_id: int) -> list[DueChunk]:
    """Returns chunks of a project, the oldest first: those with a span that began before them, and late ones."""
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT c.profiler_id, c.chunk_id, c.started_ms, c.ended_ms FROM ingest_pendingchunk c
               WHERE c.project_id = %(project)s AND c.joined_at IS NULL
                 AND c.received_at <= now() - %(settled)s * interval '1 second'
                 AND (c.received_at <= now() - %(latest)s * interval '1 second' OR EXISTS (
                     SELECT 1 FROM ingest_pagespan s WHERE s.project_id = %(project)s
                     AND s.profiler_id = c.profiler_id AND s.started_ms <= c.started_ms + %(slack)s))
               ORDER BY c.received_at LIMIT %(batch)s""",
            {"project": project_id, "settled": SETTLED_S, "latest": LATEST_S, "batch": BATCH, "slack": SLACK_MS},
        )
        return [
            DueChunk(
                project_id=project_id, profiler_id=profiler_id, chunk_id=chunk_id, started_ms=started, ended_ms=ended
            )
            for profiler_id, chunk_id, started, ended in cursor
        ]


def _join(key: KeyConfig, chunk: DueChunk) -> bool:
    """Stores a chunk as the traces of its views; returns whether it did. One that cannot be stored is given up."""
    try:
        return _store(key, chunk, _split(chunk))
    except OUTAGES:
        raise
    except Exception:
        logger.exception("A chunk of project %s could not be stored.", chunk.project_id)
    return _store(key, chunk, ParsedBody(is_batch=True), [Reason.FOLD_ERROR])


def _split(chunk: DueChunk) -> ParsedBody:
    """Returns an envelope for each view of a chunk; none if another process was faster."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT body FROM ingest_pendingchunk WHERE {CHUNK} AND joined_at IS NULL", chunk.params)
        row = cursor.fetchone()
    if row is None:
        return ParsedBody(is_batch=True)
    body = gzip.decompress(row[0])
    spans, marks_after_ms = _select_spans(chunk)
    drafts = split_chunk(decode_envelope(body, envelope_limits()), spans, marks_after_ms=marks_after_ms)
    return complete_views(map(InputTrace, drafts), digest=chunk.chunk_id.bytes, sdk="sentry", whole_bytes=len(body))


def _select_spans(chunk: DueChunk) -> tuple[list[PageSpan], float]:
    """Returns what is known of a chunk's pages, and the end of the chunk before it, which has the marks until then."""
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT span_id, about FROM ingest_pagespan
               WHERE project_id = %(project)s AND profiler_id = %(profiler)s AND started_ms <= %(ended)s
               ORDER BY started_ms DESC LIMIT %(most)s""",
            {**chunk.params, "most": MAX_VIEWS},
        )
        rows = cursor.fetchall()
        cursor.execute(
            """SELECT span_id, about FROM ingest_pagespan
               WHERE project_id = %(project)s AND span_id = ANY(%(spans)s) AND profiler_id IS NULL
               ORDER BY started_ms DESC LIMIT %(most)s""",
            {**chunk.params, "spans": [span_id for span_id, _ in rows], "most": MAX_MARK_ITEMS},
        )
        rows += cursor.fetchall()
        cursor.execute(
            """SELECT max(ended_ms) FROM ingest_pendingchunk
               WHERE project_id = %(project)s AND profiler_id = %(profiler)s AND ended_ms <= %(started)s""",
            chunk.params,
        )
        before = cursor.fetchone()
    # Without one, it is longer ago than the rows of joined chunks stay.
    long_ago_ms = chunk.started_ms - KEEP_JOINED_S * 1000
    marks_after_ms = long_ago_ms if before is None or before[0] is None else before[0]
    return [decode_span(about) for _, about in rows], marks_after_ms


def _store(key: KeyConfig, chunk: DueChunk, parsed: ParsedBody, reasons: Sequence[Reason] = ()) -> bool:
    """Stores the traces of a chunk, all or none; returns whether it did: another process may have been faster."""
    now = datetime.now(UTC)
    pages = [(arrival.envelope.release, page_of(arrival.envelope, key.route_rules)) for arrival in parsed.arrivals]
    # Before the transaction: the process caches ids of groups, and a rollback would remove these groups again.
    intern_groups(key.project_id, pages)
    with transaction.atomic(), connection.cursor() as cursor:
        if not hold_project(chunk.project_id):
            return False
        cursor.execute(
            f"""SELECT user_agent FROM ingest_pendingchunk WHERE {CHUNK} AND joined_at IS NULL
                FOR UPDATE SKIP LOCKED""",
            chunk.params,
        )
        row = cursor.fetchone()
        if row is None:
            return False
        more = max(len(parsed.arrivals) - 1, 0)  # the endpoint took one out of the quota when it answered
        beyond = more - take_quota(key, more, now)
        if arrivals := parsed.arrivals[: len(parsed.arrivals) - beyond]:
            headers = SenderHeaders(user_agent=row[0])
            store_arrivals(key=key, arrivals=arrivals, headers=headers, received_at=now)
        cursor.execute(
            f"UPDATE ingest_pendingchunk SET joined_at = now(), body = '', user_agent = '' WHERE {CHUNK}", chunk.params
        )
    refused = [*reasons, *(refused.error.reason for refused in parsed.refused), *[Reason.QUOTA_EXCEEDED] * beyond]
    count_refusals(chunk.project_id, refused, now)
    is_unknown = any(page == UNNAMED for _, page in pages)
    JOINED_CHUNKS.labels("no_span" if is_unknown else "joined" if pages else "failed").inc()
    return True


def expire_waiting() -> None:
    """Deletes chunks that were joined an hour ago, and spans after a day or beyond the project's bound."""
    for project_id in Project.objects.order_by("id").values_list("id", flat=True):
        with connection.cursor() as cursor:
            params = {"project": project_id, "joined": KEEP_JOINED_S, "waiting": KEEP_WAITING_S, "kept": KEPT_SPANS}
            cursor.execute(
                """DELETE FROM ingest_pendingchunk
                   WHERE project_id = %(project)s AND joined_at < now() - %(joined)s * interval '1 second'""",
                params,
            )
            cursor.execute(
                """DELETE FROM ingest_pendingchunk WHERE project_id = %(project)s AND joined_at IS NULL
                   AND received_at < now() - %(waiting)s * interval '1 second'""",
                params,
            )
            if given_up := cursor.rowcount:
                JOINED_CHUNKS.labels("failed").inc(given_up)
                logger.error("%s chunks of project %s were given up after a day.", given_up, project_id)
            cursor.execute(
                """DELETE FROM ingest_pagespan WHERE project_id = %(project)s AND received_at <= greatest(
                       now() - %(spans)s * interval '1 second',
                       (SELECT s.received_at FROM ingest_pagespan s WHERE s.project_id = %(project)s
                        ORDER BY s.received_at DESC OFFSET %(kept)s LIMIT 1))""",
                {**params, "spans": KEEP_SPANS_S},
            )
