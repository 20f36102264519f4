"""What a receipt keeps of a view: its start, device class, browser, navigation, intervals, cost, why it ended."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from profcore.trace.dimensions import (
    BROWSERS,
    CACHES,
    CAPTURES,
    DEVICE_CLASSES,
    END_REASONS,
    ENVIRONMENTS,
    NAVIGATIONS,
    SDKS,
    VERSIONS,
    hash_session,
)
from tests.envelopes import make_envelope
from tests.ingest.endpoint.posting import IngestServer

CHROME = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/150.0.0.0 Safari/537.36"
HEADLESS = CHROME.replace("Chrome/", "HeadlessChrome/")
EDGE = CHROME + " Edg/150.0.0.0"
PHONE = (
    "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/150.0.0.0 Mobile Safari/537.36"
)


def receipt_of(endpoint: IngestServer, columns: str, *, agent: str = "", **fields: Any) -> tuple[Any, ...]:  # Any: JSON
    answer = endpoint.post(make_envelope("a", **fields), user_agent=agent)
    assert answer.status == 202, answer.json
    return endpoint.receipts(columns)[0]


def started_after_receipt(endpoint: IngestServer, **fields: Any) -> timedelta:
    started_at, received_at = receipt_of(endpoint, "view_started_at, received_at", **fields)
    difference: timedelta = started_at - received_at
    return difference


def ms_ago(**ago: float) -> float:
    return (datetime.now(UTC) - timedelta(**ago)).timestamp() * 1000


def test_a_view_starts_when_its_envelope_says(endpoint: IngestServer) -> None:
    started_ms = ms_ago(hours=3)
    (started_at,) = receipt_of(endpoint, "view_started_at", viewStart=started_ms)
    assert abs(started_at.timestamp() * 1000 - started_ms) < 0.001


def test_a_view_without_a_start_starts_at_its_time_origin(endpoint: IngestServer) -> None:
    assert started_after_receipt(endpoint, timeOrigin=ms_ago(hours=5)) == pytest.approx(
        timedelta(hours=-5), abs=timedelta(seconds=10)
    )


def test_a_start_in_the_future_is_the_receipt(endpoint: IngestServer) -> None:
    assert started_after_receipt(endpoint, viewStart=ms_ago(hours=-1)) == timedelta(0)


def test_a_start_long_ago_is_seven_days_before_the_receipt(endpoint: IngestServer) -> None:
    assert started_after_receipt(endpoint, viewStart=ms_ago(days=8)) == timedelta(days=-7)


def test_a_start_within_seven_days_is_kept(endpoint: IngestServer) -> None:
    assert timedelta(days=-7) < started_after_receipt(endpoint, viewStart=ms_ago(days=6.9)) < timedelta(days=-6.8)


@pytest.mark.parametrize(
    ("agent", "fields", "browser"),
    [
        (CHROME, {}, "chrome"),
        (EDGE, {}, "edge"),
        (CHROME, {"userAgent": EDGE}, "edge"),
        (CHROME, {"userAgent": ""}, "chrome"),
        ("", {}, "unknown"),
        ("curl/8.0", {}, "other"),
        (HEADLESS, {}, "bot"),
        (CHROME, {"userAgent": f"webdriver {CHROME}"}, "bot"),
        (HEADLESS, {"userAgent": CHROME}, "chrome"),
        (HEADLESS, {"url": "https://shop.example/"}, "bot"),
        (HEADLESS, {"url": "http://127.0.0.1:3000/"}, "chrome"),
        (CHROME, {"userAgent": f"webdriver {EDGE}", "url": "http://shop.localhost/"}, "edge"),
        ("\x7f\\'\"" * 400, {}, "unknown"),
    ],
)
def test_the_browser_is_the_envelopes_else_the_headers(
    endpoint: IngestServer, agent: str, fields: dict[str, Any], browser: str
) -> None:
    (code,) = receipt_of(endpoint, "browser", agent=agent, **fields)
    assert BROWSERS[code] == browser


@pytest.mark.parametrize(
    ("agent", "fields", "device"),
    [
        ("", {}, "unknown"),
        (CHROME, {}, "desktop"),
        (PHONE, {}, "mobile"),
        (CHROME, {"userAgent": PHONE}, "mobile"),
        (CHROME, {"device": {"mobile": True}}, "mobile"),
        (PHONE, {"device": {"mobile": False}}, "desktop"),
        (CHROME, {"device": {"memory": 8, "cores": 12}}, "desktop-high"),
        (CHROME, {"device": {"memory": 2, "cores": 12}}, "desktop-low"),
        (PHONE, {"device": {"cores": 2}}, "mobile-low"),
        (PHONE, {"device": {"cores": 1e300, "memory": 1e300}}, "mobile-high"),
        (PHONE, {"device": {"cores": -1e300}}, "mobile-low"),
        ("", {"device": {"memory": 2}}, "unknown"),
    ],
)
def test_the_device_class_is_the_envelopes_else_the_headers(
    endpoint: IngestServer, agent: str, fields: dict[str, Any], device: str
) -> None:
    (code,) = receipt_of(endpoint, "device_class", agent=agent, **fields)
    assert DEVICE_CLASSES[code] == device


def test_intervals_rate_and_isolation_are_kept(endpoint: IngestServer) -> None:
    row = receipt_of(
        endpoint,
        "interval_us, requested_interval_us, sample_rate, isolated",
        sampleInterval=10.0005,
        requestedInterval=8,
        sampleRate=0.25,
        isolated=True,
    )
    assert row == (10_001, 8_000, 0.25, True)


def test_what_was_not_said_is_null(endpoint: IngestServer) -> None:
    assert receipt_of(endpoint, "requested_interval_us, sample_rate, isolated") == (None, None, None)


@pytest.mark.parametrize(
    ("reason", "kept"),
    [
        (None, "unknown"),
        ("timer", "timer"),
        ("buffer-full", "samplebufferfull"),
        ("hidden", "hidden"),
        ("mine", "other"),
    ],
)
def test_why_a_trace_ended_is_kept_as_a_word_of_a_closed_set(
    endpoint: IngestServer, reason: str | None, kept: str
) -> None:
    (code,) = receipt_of(endpoint, "end_reason", reason=reason)
    assert END_REASONS[code] == kept


@pytest.mark.parametrize("word", [None, *NAVIGATIONS[1:]])
def test_how_the_view_began_is_kept(endpoint: IngestServer, word: str | None) -> None:
    (code,) = receipt_of(endpoint, "navigation", navigation=word)
    assert NAVIGATIONS[code] == (word or "unknown")


def test_a_sender_that_says_nothing_of_it_has_an_unknown_navigation(endpoint: IngestServer) -> None:
    assert receipt_of(endpoint, "navigation, snippet_us, snippet_sampled_us") == (0, None, None)


@pytest.mark.parametrize("word", [None, *CACHES[1:]])
def test_whether_the_page_was_in_the_cache_is_kept(endpoint: IngestServer, word: str | None) -> None:
    (code,) = receipt_of(endpoint, "cache", cache=word)
    assert CACHES[code] == (word or "unknown")


@pytest.mark.parametrize("word", ["unknown", "", "Cold", "hot"])
def test_another_word_for_the_cache_is_refused(endpoint: IngestServer, word: str) -> None:
    answer = endpoint.post(make_envelope("a", cache=word))
    assert (answer.status, answer.reason, answer.json["path"]) == (400, "invalid_value", "$.cache")
    assert endpoint.receipts() == []


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        (None, "production"),
        (" ", "production"),
        ("production", "production"),
        ("vercel-production", "production"),
        ("EU-Prod", "production"),
        ("Staging", "staging"),
        ("pre-prod", "staging"),
        ("non_production", "staging"),
        ("vercel-preview", "preview"),
        ("dev", "development"),
        ("qa.eu", "test"),
        ("acme", "other"),
        ("reproduction", "other"),
    ],
)
def test_an_environment_is_known_by_the_words_in_its_name(
    endpoint: IngestServer, name: str | None, wanted: str
) -> None:
    (code,) = receipt_of(endpoint, "environment", environment=name)
    assert ENVIRONMENTS[code] == wanted


@pytest.mark.parametrize(
    ("tags", "wanted"),
    [
        (None, "fieldflame"),
        ({"sdk": "sentry", "env": "production"}, "sentry"),
        ({"sdk": "datadog"}, "datadog"),
        ({"sdk": "faro"}, "other"),
        ({"imported": "sentry"}, "sentry"),
        ({"imported": "cpuprofile"}, "other"),
        ({"plan": "free"}, "fieldflame"),
        (["sdk:sentry"], "fieldflame"),
    ],
)
def test_the_sdk_is_that_of_the_tags_and_else_our_own(
    endpoint: IngestServer, tags: dict[str, str] | list[str] | None, wanted: str
) -> None:
    (code,) = receipt_of(endpoint, "sdk", tags=tags)
    assert SDKS[code] == wanted


def test_a_tag_of_a_site_with_our_snippet_names_no_sdk(endpoint: IngestServer) -> None:
    (code,) = receipt_of(endpoint, "sdk", tags={"sdk": "payments-2.1"}, snippet={"version": "1.1.1"})
    assert SDKS[code] == "fieldflame"


@pytest.mark.parametrize(("said", "wanted"), [(None, "whole"), (False, "whole"), (True, "slow")])
def test_a_view_says_that_only_its_slow_moments_were_kept(
    endpoint: IngestServer, said: bool | None, wanted: str
) -> None:
    (code,) = receipt_of(endpoint, "capture", onlySlow=said, slowRate=0.5)
    assert CAPTURES[code] == wanted


TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        (None, None),
        (f"00-{TRACE}-00f067aa0ba902b7-01", TRACE),
        (f"00-{TRACE.upper()}-00F067AA0BA902B7-01", TRACE),
        (f"cc-{TRACE}-00f067aa0ba902b7-01-what-the-future-brings", TRACE),
        (TRACE.upper(), TRACE),
        ("3f2b1c9e-8d47-4a0b-9c55-0d6f1e2a3b4c", "3f2b1c9e-8d47-4a0b-9c55-0d6f1e2a3b4c"),
        ("Order_77", "Order_77"),
        ("undefined", None),
        ("NULL", None),
        ("", None),
        ("two words", None),
        ('"},{', None),
        ("a" * 65, None),
        ("0" * 32, None),
        (f"00-{'0' * 32}-00f067aa0ba902b7-01", None),
    ],
)
def test_the_id_of_a_trace_in_a_tracing_system_is_kept(
    endpoint: IngestServer, sent: str | None, kept: str | None
) -> None:
    assert receipt_of(endpoint, "request_trace", requestTrace=sent) == (kept,)


def test_the_version_of_the_engine_and_long_ticks_are_kept_as_traits(endpoint: IngestServer) -> None:
    assert receipt_of(endpoint, "traits", agent=EDGE, sampleInterval=16) == (VERSIONS + 150,)


@pytest.mark.parametrize("agent", ["", "Mozilla/5.0", CHROME.replace("150", "1024")])
def test_without_a_known_version_the_traits_are_unknown(endpoint: IngestServer, agent: str) -> None:
    assert receipt_of(endpoint, "traits", agent=agent) == (0,)


def test_a_session_is_kept_as_a_hash_of_its_project_and_day(endpoint: IngestServer) -> None:
    session, project_id, started_at = receipt_of(endpoint, "session, project_id, view_started_at", session="s" * 64)
    assert session == hash_session("s" * 64, project_id, started_at.date())
    others = [hash_session("s" * 64, project_id + 1, started_at.date())]
    others.append(hash_session("s" * 64, project_id, started_at.date() + timedelta(days=1)))
    assert len({session, *others}) == 3


def test_a_view_without_a_session_has_none(endpoint: IngestServer) -> None:
    assert receipt_of(endpoint, "session") == (None,)


@pytest.mark.parametrize("session", ["", "s" * 65, "a b", "\u00e9", "a\n", "anna@shop.example"])
def test_another_session_is_refused(endpoint: IngestServer, session: str) -> None:
    answer = endpoint.post(make_envelope("a", session=session))
    assert (answer.status, answer.reason, answer.json["path"]) == (400, "invalid_value", "$.session")
    assert endpoint.receipts() == []


@pytest.mark.parametrize("word", ["unknown", "", "Load", "soft", "l" * 9_000])
def test_another_word_for_a_navigation_is_refused(endpoint: IngestServer, word: str) -> None:
    answer = endpoint.post(make_envelope("a", navigation=word))
    assert (answer.status, answer.reason, answer.json["path"]) == (400, "invalid_value", "$.navigation")
    assert endpoint.receipts() == []


@pytest.mark.parametrize(("ms", "kept_us"), [(0, 0), (1.25, 1_250), (60_000, 60_000_000)])
def test_what_the_snippet_itself_took_is_kept(endpoint: IngestServer, ms: float, kept_us: int) -> None:
    assert receipt_of(endpoint, "snippet_us, snippet_sampled_us", cost={"ms": ms}) == (kept_us, None)


def test_so_is_what_its_own_samples_say(endpoint: IngestServer) -> None:
    cost = {"ms": 1.25, "sampled": 30}
    assert receipt_of(endpoint, "snippet_us, snippet_sampled_us", cost=cost) == (1_250, 30_000)


@pytest.mark.parametrize(
    ("cost", "reason", "path"),
    [
        ({"ms": -0.001}, "out_of_range", "$.cost.ms"),
        ({"ms": 60_000.1}, "out_of_range", "$.cost.ms"),
        ({"ms": "1"}, "wrong_type", "$.cost.ms"),
        ({"ms": 0, "sampled": 60_000.1}, "out_of_range", "$.cost.sampled"),
        ({"ms": 0, "sampled": -1}, "out_of_range", "$.cost.sampled"),
        ({"ms": 0, "sampled": True}, "wrong_type", "$.cost.sampled"),
        ({}, "missing_field", "$.cost"),
        (1.25, "wrong_type", "$.cost"),
    ],
)
def test_a_cost_that_cannot_be_is_refused(endpoint: IngestServer, cost: object, reason: str, path: str) -> None:
    answer = endpoint.post(make_envelope("a", cost=cost))
    assert (answer.status, answer.reason, answer.json["path"]) == (400, reason, path)
