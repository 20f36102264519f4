"""The endpoint for absences: `/ingest/v1/absent`, where pages report that they recorded nothing."""

from datetime import UTC, datetime
from typing import Final

from django.conf import settings
from django.db import Error

from ingest.deadline import release_connection, with_deadline
from ingest.endpoint.absence_counts import count_absence
from ingest.endpoint.admission import ABSENT_RATE, admit_report, find_sender
from ingest.endpoint.outcomes import INGEST_ABSENCES
from ingest.endpoint.requests import BodyTooLarge, IngestRequest, key_in, read_fields, read_short
from ingest.endpoint.responses import (
    IngestResponse,
    answer_error,
    answer_nothing,
    answer_preflight,
    answer_wrong_method,
    explain_outage,
)
from ingest.storage.view_dimensions import browser_of
from profcore.errors import TraceError
from profcore.trace.absence import Absence, check_absence, decode_absence, decode_absence_fields
from projects.key_cache import KeyConfig

MAX_REPORT_BYTES: Final = 4_096  # contract: a reason, a release, an address
ALLOWED: Final = "GET, POST, OPTIONS"


def take_absence(post: IngestRequest) -> IngestResponse:
    """Counts a report by the ingest contract (docs/ingest.md) and answers 204."""
    if post.method == "OPTIONS":
        return answer_preflight(post.wanted_headers, ALLOWED)
    if post.method not in ("GET", "POST"):
        return answer_wrong_method(ALLOWED, "Reports are posted, or sent as the parameters of an image.")
    try:
        with with_deadline(settings.INGEST_DATABASE_WAIT_MS / 1_000):
            key = find_sender(key_in(post.query))
            admit_report(post, key, ABSENT_RATE)
            release_connection()
            absence = read_absence(post, key)
            browser = browser_of(post.headers.user_agent)
            count_absence(key.project_id, absence, browser=browser, day_on=datetime.now(UTC).date())
    except TraceError as error:
        return refuse_report(error)
    except Error as error:
        return refuse_report(explain_outage(error))
    INGEST_ABSENCES.labels(outcome="counted", reason="").inc()
    return answer_nothing()


def refuse_report(error: TraceError) -> IngestResponse:
    """Returns the answer. Only metrics count it: the counts of refusals are of traces."""
    INGEST_ABSENCES.labels(outcome="refused", reason=error.reason).inc()
    return answer_error(error)


def read_absence(post: IngestRequest, key: KeyConfig) -> Absence:
    """Returns the checked report of a body, or of an image's query. Raises `TraceError`."""
    if post.method == "POST":
        sent = decode_absence(read_short(post, max_bytes=MAX_REPORT_BYTES))
    else:
        if len(post.query) > MAX_REPORT_BYTES:
            raise BodyTooLarge("sent", MAX_REPORT_BYTES)
        sent = decode_absence_fields({name: texts[-1] for name, texts in read_fields(post.query).items()})
    return check_absence(
        sent,
        key.route_rules,
        text_chars=settings.INGEST_MAX_TEXT_CHARS,
        page_chars=settings.INGEST_MAX_PAGE_CHARS,
        url_chars=MAX_REPORT_BYTES,
    )
