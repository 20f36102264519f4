"""Sentry's browser SDK, whose DSN or `tunnel` names an address below `/sentry/`: its profiles become traces.

A DSN `https://KEY@host/sentry/PROJECT` posts to `/sentry/api/PROJECT/envelope/`; a tunnel is any other address below
`/sentry/`, and its envelopes name the DSN. Chunks of the profiler do not name their page: they wait for the span that
does (`ingest.joining`). All that is neither is skipped and counted. The SDK never sends anything again. It reads the
status, and the header with its rate limits: one for the category `profile` stops chunks only.
"""

import io
import re
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final
from urllib.parse import urlsplit
from uuid import UUID

import msgspec
from django.conf import settings
from prometheus_client import Counter

from ingest.endpoint.admission import ADMISSION
from ingest.endpoint.parsing import ParsedBody, Refused, complete_views
from ingest.endpoint.posts import store_parsed, take_posted
from ingest.endpoint.requests import IngestRequest, TryLater, expanded, read_bounded, read_fields, skip_body
from ingest.endpoint.responses import IngestResponse, answer_error, answer_preflight, answer_wrong_method
from ingest.limits import import_limits
from ingest.storage.pending_chunks import WaitingChunk, insert_chunks, insert_spans
from profcore.errors import Reason, TraceError
from profcore.formats.importers.completing import digest_of
from profcore.formats.importers.sentry.items import Item, iter_items, read_header
from profcore.formats.importers.sentry.page_spans import PageSpan, iter_spans, read_transaction
from profcore.formats.importers.sentry.page_views import place
from profcore.formats.importers.sentry.profiles import read_profile
from profcore.formats.importers.shapes import ImportLimits
from profcore.trace.routes import clean_page, route_of_url
from projects.key_cache import KeyConfig
from projects.keys import read_dsn_key

ADDRESS: Final = re.compile(r"/+sentry/+(?:.*/)?api/+([0-9]+)/+envelope/*", re.DOTALL)
AUTH_KEY: Final = re.compile(r"(?:^Sentry\s+|[,\s])sentry_key=([^,\s]+)")
EXPOSED: Final = ("Access-Control-Expose-Headers", "x-sentry-error, x-sentry-rate-limits, retry-after")
MAX_ITEMS: Final = 100  # of an envelope: the SDK sends one, or a transaction with its profile
MAX_PROFILES: Final = 10
MAX_ID_CHARS: Final = 64  # of an event: it is only told back
MAX_SPANS: Final = 100  # page loads and navigations of an envelope, and such of which it has marks
CHUNK, PROFILE, TRANSACTION, SPAN = "profile_chunk", "profile", "transaction", "span"
KINDS: Final = frozenset(
    {
        *(CHUNK, PROFILE, TRANSACTION, SPAN, "session", "sessions", "event", "attachment", "client_report"),
        *("replay_event", "replay_recording", "feedback", "user_report", "log", "trace_metric", "check_in", "statsd"),
    }
)
ITEMS: Final = Counter(
    "fieldflame_sentry_items_total",
    "Items of Sentry's envelopes, by type (the SDK's, or other) and outcome (read, refused, skipped)",
    ["type", "outcome"],
)


def take_sentry(post: IngestRequest) -> IngestResponse:
    """Answers an envelope of the SDK: what is of profiles is kept, all else is skipped."""
    if post.method == "OPTIONS":
        return answer_preflight(post.wanted_headers)
    if post.method != "POST":
        return answer_wrong_method(detail="Envelopes are posted.")
    try:
        post, public_key = find_sent_key(post)
    except TraceError as error:
        skip_body(post)
        return answer_sdk(answer_error(error))
    envelope = SentryEnvelope(project_id=_project_in(post.path))
    return answer_sdk(take_posted(post, public_key, envelope.read, envelope.store), envelope.event_id)


def find_sent_key(post: IngestRequest) -> tuple[IngestRequest, str]:
    """Returns the key of the query, of the header, or of the DSN in the envelope, whose body is read then.

    Raises `TraceError`.
    """
    sent = read_fields(post.query).get("sentry_key", [""])[-1]
    if not sent and (match := AUTH_KEY.search(post.sentry_auth)):
        sent = match[1]
    if not sent:
        body = read_bounded(post.stream, declared=post.length, max_bytes=settings.INGEST_MAX_BODY_BYTES)
        post = replace(post, stream=io.BytesIO(body), length=len(body))
        with _expand(body) as text:
            sent = _key_of_dsn(read_header(text, import_limits()).dsn or "")
    return post, read_dsn_key(sent)


def answer_sdk(response: IngestResponse, event_id: str | None = None) -> IngestResponse:
    """Returns an answer as the SDK reads it: 200, and how long to send no profiles."""
    headers = [header for header in response.headers if header[0] != EXPOSED[0]]
    headers.append(EXPOSED)
    if response.pause_s:
        headers.append(("X-Sentry-Rate-Limits", f"{response.pause_s}:profile:project"))
    if response.status != 202:
        return replace(response, headers=headers)
    content = msgspec.json.encode({"id": event_id[:MAX_ID_CHARS]} if event_id else {})
    return replace(response, status=200, headers=headers, content=content)


@dataclass(slots=True, kw_only=True)
class SentryEnvelope:
    """One envelope: `read` splits it, `store` keeps what it found. `project_id` is that of the address, or None."""

    project_id: int | None
    event_id: str | None = None
    chunks: dict[int, WaitingChunk] = field(default_factory=dict)  # by the index of their arrival
    spans: list[PageSpan] = field(default_factory=list)
    transactions: dict[UUID | None, PageSpan] = field(default_factory=dict)  # by their ids

    @contextmanager
    def read(self, post: IngestRequest, key: KeyConfig) -> Iterator[ParsedBody]:
        """Reads the body, and yields an envelope for each profile. Raises `TraceError` if it has nothing but errors."""
        if self.project_id not in (None, key.project_id):
            raise TraceError(Reason.UNKNOWN_KEY, "$", "The key of the DSN is not one of its project.")
        sent = read_bounded(post.stream, declared=post.length, max_bytes=settings.INGEST_MAX_BODY_BYTES)
        with _expand(sent) as body:
            yield self._parse(body, key)

    def store(self, post: IngestRequest, key: KeyConfig, parsed: ParsedBody, received_at: datetime) -> None:
        """Keeps spans and chunks until they are joined, and stores other profiles as traces."""
        ADMISSION.take_rate(key.project_id, count=len(self.spans), may_owe=True)
        insert_spans(key.project_id, self.spans)
        chunks = [self.chunks[arrival.index] for arrival in parsed.arrivals if arrival.index in self.chunks]
        insert_chunks(key.project_id, post.headers.user_agent, chunks)
        whole = [arrival for arrival in parsed.arrivals if arrival.index not in self.chunks]
        store_parsed(post, key, replace(parsed, arrivals=whole), received_at)

    def _parse(self, body: bytes, key: KeyConfig) -> ParsedBody:
        limits = import_limits()
        self.event_id = read_header(body, limits).event_id
        parsed = ParsedBody(is_batch=True)
        items = list(iter_items(body, limits, most=MAX_ITEMS))
        # A profile of format 1 comes behind its transaction; nothing says that it must.
        for item in sorted(items, key=lambda item: item.type in (CHUNK, PROFILE)):
            refused_before = len(parsed.refused)
            try:
                is_read = self._read_item(item, parsed, limits)
            except TraceError as error:
                is_read = True
                parsed.refused.append(Refused(item.number, None, error))
            is_refused = len(parsed.refused) > refused_before
            kind = item.type if item.type in KINDS else "other"
            ITEMS.labels(kind, "refused" if is_refused else "read" if is_read else "skipped").inc()
        self._check_spans(parsed, key)
        if parsed.refused and not parsed.arrivals and not self.spans:
            raise parsed.refused[0].error
        return parsed

    def _read_item(self, item: Item, parsed: ParsedBody, limits: ImportLimits) -> bool:
        """Reads what an item says of profiles and pages; returns whether it is of such a type. Raises `TraceError`."""
        if item.type == SPAN:
            self.spans += iter_spans(item, limits)
        elif item.type == TRANSACTION:
            if (found := read_transaction(item, limits)) is not None:
                self.transactions[found[0]] = found[1]
                self.spans += [found[1]] if found[1].profiler_id is not None else []
        elif item.type in (CHUNK, PROFILE):
            if len(parsed.arrivals) >= MAX_PROFILES:
                raise TraceError(Reason.TOO_MANY, item.path, f"An envelope may have {MAX_PROFILES} profiles.")
            self._read_profile(item, parsed, limits)
        else:
            return False
        return True

    def _read_profile(self, item: Item, parsed: ParsedBody, limits: ImportLimits) -> None:
        profile = read_profile(item.body, limits, item.path)
        draft, samples = profile.found.draft, profile.found.draft.trace.samples
        draft.userAgent = None  # the request has it too
        if not profile.is_chunk:
            if profile.own_id is not None and (span := self.transactions.get(profile.own_id)) is not None:
                place(draft, span, span.marks)
            elif (draft.page or "").startswith("/"):  # the path of an address, if no router named it
                draft.page, draft.url = None, draft.page
        digest = digest_of(item.body)
        completed = complete_views([profile.found], digest=digest, sdk="sentry", whole_bytes=len(item.body))
        parsed.refused += [replace(refused, index=item.number) for refused in completed.refused]
        for arrival in completed.arrivals:
            parsed.arrivals.append(replace(arrival, index=item.number))
            if profile.is_chunk:
                times = [arrival.envelope.timeOrigin + sample.timestamp for sample in samples] or [0.0]
                self.chunks[item.number] = WaitingChunk(
                    profiler_id=arrival.envelope.viewId,
                    chunk_id=profile.own_id or UUID(bytes=digest),
                    started_ms=min(times),
                    ended_ms=max(times),
                    body=arrival.body,
                )

    def _check_spans(self, parsed: ParsedBody, key: KeyConfig) -> None:
        """Makes the addresses of pages routes. Spans beyond the bounds of envelopes and projects are refused."""
        if len(self.spans) > MAX_SPANS:
            error = TraceError(Reason.TOO_MANY, "$", f"The envelope has spans of more than {MAX_SPANS} pages.")
        elif self.spans and not ADMISSION.has_span_room(key.project_id):
            error = TryLater(Reason.TOO_MANY_PENDING, "$", "The project has too many spans of pages for a day.")
        else:
            for span in self.spans:
                span.name, span.url = _page_of(span, key.route_rules), None
            return
        self.spans = []
        parsed.refused.append(Refused(0, None, error))


def _page_of(span: PageSpan, route_rules: Sequence[str]) -> str | None:
    """Returns the page of a span: its name, or the route of its address. The address itself is not kept."""
    page = clean_page(span.name) if span.name else route_of_url(span.url, route_rules) if span.url else None
    return page and page[: settings.INGEST_MAX_PAGE_CHARS]


def _expand(sent: bytes) -> AbstractContextManager[bytes]:
    most = settings.INGEST_MAX_EXPANDED_BYTES
    return expanded(sent, large_bytes=settings.INGEST_LARGE_BODY_BYTES, max_bytes=most)


def _project_in(path: str) -> int | None:
    match = ADDRESS.fullmatch(path)
    return int(match[1]) if match and len(match[1]) < 20 else None


def _key_of_dsn(dsn: str) -> str:
    try:
        return urlsplit(dsn).username or ""
    except ValueError:
        return ""
