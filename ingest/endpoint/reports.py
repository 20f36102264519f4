"""The endpoint for browsers' own reports: `/ingest/v1/reports`, to which the Reporting API sends pages that hung.

A page names it in `Reporting-Endpoints`. The browser sends reports without the page, after it hung or crashed.
"""

from datetime import UTC, datetime
from typing import Final

from django.conf import settings
from django.db import Error

from ingest.deadline import release_connection, with_deadline
from ingest.endpoint.admission import REPORTS_RATE, admit_report, find_sender
from ingest.endpoint.hang_counts import count_hangs
from ingest.endpoint.outcomes import INGEST_REPORTS
from ingest.endpoint.requests import IngestRequest, key_in, read_fields, read_short, skip_body
from ingest.endpoint.responses import (
    IngestResponse,
    answer_error,
    answer_nothing,
    answer_preflight,
    answer_wrong_method,
    explain_outage,
)
from profcore.code.sites import origin_of
from profcore.errors import Reason, TraceError
from profcore.hangs.reports import CrashContext, Hang, check_crash, decode_reports
from profcore.trace.absence import check_text
from profcore.trace.bots import is_bot
from projects.key_cache import KeyConfig, is_origin_allowed

MEDIA_TYPES: Final = ("application/reports+json", "application/json")
MAX_REPORTS_BYTES: Final = 65_536  # 20 reports with stacks of 3 kB


def take_reports(post: IngestRequest) -> IngestResponse:
    """Counts the crash reports of a post (docs/hangs.md), ignores others, and answers 204."""
    if post.method == "OPTIONS":
        return answer_preflight(post.wanted_headers)
    if post.method != "POST":
        return answer_wrong_method(detail="Browsers post reports.")
    received_at = datetime.now(UTC)
    try:
        with with_deadline(settings.INGEST_DATABASE_WAIT_MS / 1_000):
            key = find_sender(key_in(post.query))
            admit_reports(post, key)
            hangs = read_reports(post, key)
            if hangs:
                count_hangs(key.project_id, hangs, received_at=received_at)
    except TraceError as error:
        refusal = refuse_reports(error)
    except Error as error:
        refusal = refuse_reports(explain_outage(error))
    else:
        INGEST_REPORTS.labels(outcome="counted", reason="").inc(len(hangs))
        return answer_nothing()
    release_connection()
    skip_body(post)
    return refusal


def refuse_reports(error: TraceError) -> IngestResponse:
    """Returns the answer. Only metrics count it: the counts of refusals are of traces."""
    INGEST_REPORTS.labels(outcome="refused", reason=error.reason).inc()
    return answer_error(error)


def admit_reports(post: IngestRequest, key: KeyConfig) -> None:
    """Checks project, origin, rate and media type before the body is read. Raises `TraceError`."""
    admit_report(post, key, REPORTS_RATE)
    if post.media_type not in MEDIA_TYPES:
        raise TraceError(Reason.UNSUPPORTED_MEDIA, "$", f"Send {' or '.join(MEDIA_TYPES)}.")
    release_connection()


def read_reports(post: IngestRequest, key: KeyConfig) -> list[Hang]:
    """Returns the hangs of a body. The address may name their release and page. Raises `TraceError`."""
    fields = {name: texts[-1] for name, texts in read_fields(post.query).items()}
    named = CrashContext(release=fields.get("release"), page=fields.get("page"))
    text_chars, page_chars = settings.INGEST_MAX_TEXT_CHARS, settings.INGEST_MAX_PAGE_CHARS
    check_text(named.release, text_chars, "release")
    check_text(named.page, page_chars, "page")
    reports = decode_reports(read_short(post, max_bytes=MAX_REPORTS_BYTES))
    hangs = []
    for number, report in reports.crashes:
        hangs.append(check_crash(number, report, key.route_rules, named, text_chars=text_chars, page_chars=page_chars))
        if not is_origin_allowed(origin_of(report.url) or "null", key.origins):
            detail = "This key may not be used for pages of this origin."
            raise TraceError(Reason.ORIGIN_NOT_ALLOWED, f"$[{number}].url", detail)
    ignored = reports.ignored
    if is_bot(post.headers.user_agent):
        hangs, ignored = [], ignored + len(hangs)  # tables leave out what bots record, too
    INGEST_REPORTS.labels(outcome="ignored", reason="").inc(ignored)
    return hangs
