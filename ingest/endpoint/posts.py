"""Takes a post: checks its key, sender and room, stores its envelopes, counts the outcome and answers.

The readers of the bodies differ: our own contract's (`views`), and those of other SDKs.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from typing import Final

from django.db import Error

from ingest.deadline import release_connection, with_deadline
from ingest.endpoint.admission import ADMISSION, check_sender, find_sender, quota_of, seconds_to_next_day
from ingest.endpoint.outcomes import INGEST_ENVELOPES, count_refusals
from ingest.endpoint.parsing import ParsedBody, Refused
from ingest.endpoint.requests import IngestRequest, TryLater, skip_body
from ingest.endpoint.responses import STOP_S, IngestResponse, answer, answer_error, explain_outage, stop_of
from ingest.notify import notify_soon
from ingest.storage.storing import GROUP_COMMIT, store_arrivals
from profcore.errors import Reason, TraceError
from projects.key_cache import KeyConfig

# Reads a post's body. What it yields is used while it is held, so that few large bodies are in memory at a time.
Reader = Callable[[IngestRequest, KeyConfig], AbstractContextManager[ParsedBody]]
# Makes what is left of it durable.
Store = Callable[[IngestRequest, KeyConfig, ParsedBody, datetime], None]
ACCEPTED: Final = INGEST_ENVELOPES.labels(outcome="accepted", reason="")


def store_parsed(post: IngestRequest, key: KeyConfig, parsed: ParsedBody, received_at: datetime) -> None:
    """Stores a post's envelopes."""
    if parsed.arrivals:
        store_arrivals(key=key, arrivals=parsed.arrivals, headers=post.headers, received_at=received_at)


def take_posted(post: IngestRequest, public_key: str, read: Reader, store: Store = store_parsed) -> IngestResponse:
    """Stores a post's envelopes, and answers 202 once they are durable, or says why not."""
    received_at = datetime.now(UTC)
    key: KeyConfig | None = None
    try:
        with with_deadline(GROUP_COMMIT.policy.deadline_s):
            key = find_sender(public_key)
            check_sender(post, key)
            ADMISSION.check(key, received_at)
            # A slow sender may take long from here on, and must not hold a connection of the pool.
            release_connection()
            with read(post, key) as parsed:
                _charge(key, parsed, received_at)
                store(post, key, parsed, received_at)
            return conclude(key, parsed, received_at)
    except TraceError as error:
        refusal = refuse(key, error, received_at)
    except Error as error:
        refusal = refuse(None, explain_outage(error), received_at)
    release_connection()
    skip_body(post)
    return refusal


def refuse(key: KeyConfig | None, error: TraceError, received_at: datetime) -> IngestResponse:
    """Counts a post that is refused as a whole, and returns the answer."""
    INGEST_ENVELOPES.labels(outcome="refused", reason=error.reason).inc()
    if key is not None:
        count_refusals(key.project_id, [error.reason], received_at)
    return answer_error(error)


def _charge(key: KeyConfig, parsed: ParsedBody, received_at: datetime) -> None:
    """Charges the project, and moves envelopes beyond its quota to the refused ones; a single one raises."""
    sent = len(parsed.arrivals) + len(parsed.refused)
    granted = ADMISSION.charge(key, received_at, sent=sent, accepted=len(parsed.arrivals))
    beyond = parsed.arrivals[granted:]
    if not beyond:
        return
    detail = f"The project may send {quota_of(key)} traces a day (UTC)."
    error = TryLater(Reason.QUOTA_EXCEEDED, "$", detail, retry_after_s=seconds_to_next_day(received_at))
    if not parsed.is_batch:
        raise error
    parsed.arrivals = parsed.arrivals[:granted]
    for arrival in beyond:
        trace_id = arrival.envelope.traceId
        parsed.refused.append(Refused(arrival.index, str(trace_id) if trace_id else None, error))
    parsed.refused.sort(key=lambda refused: refused.index)


def conclude(key: KeyConfig, parsed: ParsedBody, received_at: datetime) -> IngestResponse:
    """Counts a post whose envelopes are stored, notifies a worker, and returns the answer.

    `stop` says for how many seconds the page may as well stop sending, if it should.
    """
    ACCEPTED.inc(len(parsed.arrivals))
    for refused in parsed.refused:
        INGEST_ENVELOPES.labels(outcome="refused", reason=refused.error.reason).inc()
    if parsed.refused:
        count_refusals(key.project_id, [refused.error.reason for refused in parsed.refused], received_at)
    release_connection()
    if parsed.arrivals:
        notify_soon()
    content: dict[str, object] = {
        "accepted": len(parsed.arrivals),
        "rejected": [_describe(refused) for refused in parsed.refused],
    }
    stops_s = [STOP_S] if key.collection.off else [stop_of(refused.error) or 0 for refused in parsed.refused]
    if any(stops_s):
        content["stop"] = max(stops_s)
    return answer(202, content, pause_s=max(stops_s, default=0))


def _describe(refused: Refused) -> dict[str, object]:
    error = refused.error
    return {
        "index": refused.index,
        "traceId": refused.trace_id,
        "reason": error.reason,
        "path": error.path,
        "detail": error.detail,
    }
