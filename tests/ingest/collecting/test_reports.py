"""Browsers' own reports of pages that hung: each crash report is counted once, others are ignored; bounds hold."""

import gzip
import json
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode
from uuid import uuid4

import pytest
from django.db import OperationalError
from prometheus_client import REGISTRY
from pytest_django import Settings

from aggregate.maintenance.retention import expire_all
from ingest.hang_models import HangCount
from profcore.hangs.reports import HANG_REASONS, STACK_STATES
from projects.key_cache import clear_keys
from projects.models import IngestKey, Project
from tests.ingest.endpoint.posting import IngestResponse, IngestServer
from tests.profcore.hangs.recorded import RECORDED

REPORTS = "/ingest/v1/reports"
TYPE = "application/reports+json"
CRASH: dict[str, Any] = {
    "type": "crash",
    "age": 5,
    "url": "https://shop.example/cart",
    "body": {"reason": "unresponsive"},
}


def send(
    endpoint: IngestServer,
    body: object,
    *,
    content_type: str = TYPE,
    key: str = "shop-key",
    query: dict[str, str] | None = None,
    **headers: str,
) -> IngestResponse:
    sent = body if isinstance(body, bytes) else json.dumps(body).encode()
    address = f"{REPORTS}?{urlencode({'key': key} | (query or {}))}"
    return endpoint.ask("POST", sent, content_type=content_type, address=address, **headers)


def with_stack(stack: str, **fields: object) -> dict[str, Any]:  # Any: JSON
    return CRASH | {"body": {"reason": "unresponsive", "stack": stack}} | fields


def with_said(**said: object) -> dict[str, Any]:  # Any: JSON
    return CRASH | {"body": {"crash_report_api": said}}


def counted() -> dict[tuple[str, str, str, str], int]:
    """Returns the number of reports by release, page, reason and state of the stack."""
    counts: dict[tuple[str, str, str, str], int] = {}
    for row in HangCount.objects.all():
        key = (row.release, row.page, HANG_REASONS[row.reason], STACK_STATES[row.stack_state])
        counts[key] = counts.get(key, 0) + row.reports
    return counts


def count_outcome(outcome: str) -> float:
    return REGISTRY.get_sample_value("fieldflame_ingest_reports_total", {"outcome": outcome, "reason": ""}) or 0


def test_what_chromium_sends_is_counted(endpoint: IngestServer, settings: Settings) -> None:
    settings.INGEST_REPORTS_RATE_PER_S = 100
    for post in RECORDED.values():
        answer = send(endpoint, post)
        assert (answer.status, answer.content) == (204, b"")
        assert answer.headers["Access-Control-Allow-Origin"] == "*"
    assert counted() == {
        ("", "/product/:id", "unresponsive", "there"): 1,
        ("", "/p/eval", "unresponsive", "there"): 1,
        ("", "/p/async", "unresponsive", "there"): 1,
        ("", "/p/native", "unresponsive", "there"): 1,
        ("", "/p/nopolicy", "unresponsive", "not-opted-in"): 1,
        ("", "/p/named", "unresponsive", "there"): 1,
        ("", "/p/oom", "oom", "absent"): 1,
        ("1.4.0", "/p/ctx", "unresponsive", "there"): 1,
        ("", "/p/uni", "unresponsive", "there"): 1,
        ("", "/p/regex", "unresponsive", "there"): 1,
        ("", "/p/xhr", "unresponsive", "uncollected"): 1,
    }
    top = HangCount.objects.get(page="/product/:id").frames[0]
    assert top == ["search", "https://site.test:9443/app.js", 3, 3, False]
    assert "who=me" not in json.dumps([row.frames for row in HangCount.objects.all()])


def test_equal_reports_share_a_row_with_the_first_and_last_time(endpoint: IngestServer) -> None:
    send(endpoint, [CRASH | {"age": 120_000}, CRASH])
    send(endpoint, [CRASH])
    [row] = HangCount.objects.all()
    assert row.reports == 3
    assert timedelta(seconds=115) < row.last_at - row.first_at < timedelta(seconds=180)


def test_a_report_belongs_to_the_day_of_the_hang(endpoint: IngestServer) -> None:
    day_ms = 86_400_000
    send(endpoint, [CRASH | {"age": 2 * day_ms}, CRASH | {"age": -5}, CRASH | {"age": 1e300}])
    today = datetime.now(UTC).date()
    days = HangCount.objects.order_by("day_on").values_list("day_on", flat=True)
    assert [(today - day).days for day in days] in ([7, 2, 0], [7, 2, -1])  # midnight may pass


def test_release_and_page_come_from_the_page_or_from_the_address(endpoint: IngestServer) -> None:
    send(endpoint, [CRASH], query={"release": "1.0.0", "page": "/shop/:item"})
    said = {"reason": "oom", "crash_report_api": {"release": "2.0.0", "page": "/other", "user": "u-1"}}
    send(endpoint, [CRASH | {"body": said}], query={"release": "1.0.0"})
    assert set(counted()) == {
        ("1.0.0", "/shop/:item", "unresponsive", "absent"),
        ("2.0.0", "/other", "oom", "absent"),
    }


def test_pages_go_through_the_projects_route_rules(endpoint: IngestServer) -> None:
    Project.objects.update(route_rules=["/shop/:category/sale"])
    clear_keys()
    send(endpoint, [CRASH | {"url": "https://shop.example/shop/hats/sale?x#y"}])
    assert {page for _, page, *_ in counted()} == {"/shop/:category/sale"}


def test_other_reports_are_ignored_politely(endpoint: IngestServer) -> None:
    others = [
        {"type": "deprecation", "url": "https://shop.example/", "body": {"id": "x", "deep": [[[]]]}},
        {"type": "csp-violation"},
        {"type": "crash", "url": "https://shop.example/a", "body": None},
    ]
    before = count_outcome("ignored"), count_outcome("counted")
    assert send(endpoint, others).status == 204
    assert send(endpoint, []).status == 204
    assert (count_outcome("ignored"), count_outcome("counted")) == (before[0] + 2, before[1] + 1)
    assert set(counted()) == {("", "/a", "crash", "absent")}


def test_bots_do_not_count(endpoint: IngestServer) -> None:
    assert send(endpoint, [CRASH], user_agent="Mozilla/5.0 HeadlessChrome/156.0.0.0").status == 204
    assert counted() == {}


WRONG: list[tuple[object, str, str]] = [
    (b" ", "empty_body", "$"),
    (b"[{", "invalid_json", "$"),
    (b"[" * 60_000, "wrong_type", "$[0]"),
    (b'[{"type": "crash", "body": ' + b"[" * 60_000, "too_nested", "$"),
    ({}, "wrong_type", "$"),
    ([7], "wrong_type", "$[0]"),
    ([{"url": "https://shop.example/"}], "missing_field", "$[0]"),
    ([CRASH, {"type": 5}], "wrong_type", "$[1].type"),
    ([CRASH | {"age": "old"}], "wrong_type", "$[0].age"),
    ([CRASH, {"type": "crash"}], "missing_field", "$[1].url"),
    ([CRASH | {"url": "https://shop.example/\0"}], "invalid_value", "$[0].url"),
    ([CRASH | {"body": []}], "wrong_type", "$[0].body"),
    ([CRASH, CRASH | {"body": {"stack": {}}}], "wrong_type", "$[1].body.stack"),
    ([CRASH | {"body": {"reason": 1}}], "wrong_type", "$[0].body.reason"),
    ([with_said(release="x" * 201)], "too_long", "$[0].body.crash_report_api.release"),
    ([with_said(page="/\0")], "invalid_value", "$[0].body.crash_report_api.page"),
    ([with_said(page=7)], "wrong_type", "$[0].body.crash_report_api.page"),
    ([CRASH] * 21, "too_many", "$"),
]


@pytest.mark.parametrize(("body", "reason", "path"), WRONG)
def test_a_wrong_post_is_refused_with_reason_path_and_sentence(
    endpoint: IngestServer, body: object, reason: str, path: str
) -> None:
    answer = send(endpoint, body)
    assert answer.status == 400
    assert (answer.reason, answer.json["path"]) == (reason, path)
    assert answer.json["detail"].endswith(".")
    assert counted() == {}


def test_the_address_is_checked_too(endpoint: IngestServer) -> None:
    for query, path in ({"release": "x" * 201}, "release"), ({"page": "/\0"}, "page"):
        answer = send(endpoint, [CRASH], query=query)
        assert (answer.status, answer.json["path"]) == (400, path)
    assert send(endpoint, [CRASH], key="nobody").status == 401
    assert send(endpoint, [CRASH], content_type="text/plain").status == 415
    assert endpoint.ask("GET", address=REPORTS).headers["Allow"] == "POST, OPTIONS"


def test_sender_and_reported_page_must_both_be_of_the_keys_origins(endpoint: IngestServer) -> None:
    IngestKey.objects.update(origins=["https://shop.example"])
    clear_keys()
    assert send(endpoint, [CRASH], origin="https://shop.example").status == 204
    assert send(endpoint, [CRASH], origin="https://other.example").status == 403
    for url in ("https://other.example/", "about:blank", "https://shop.example.evil.example/"):
        answer = send(endpoint, [CRASH, CRASH | {"url": url}])
        assert (answer.status, answer.reason, answer.json["path"]) == (403, "origin_not_allowed", "$[1].url")
    assert sum(counted().values()) == 1


def test_a_body_of_more_than_64_kb_is_refused_also_expanded(endpoint: IngestServer) -> None:
    padded = json.dumps([CRASH]).encode().ljust(65_536)
    assert send(endpoint, padded).status == 204
    assert send(endpoint, padded + b" ").status == 413
    assert send(endpoint, gzip.compress(b" " * 10_000_000)).status == 413


def test_hostile_texts_are_stored_as_texts(endpoint: IngestServer) -> None:
    stacks = [
        "\n    at \ud83d (https://a.example/\u0000.js:1:2)",
        "\u0000",
        "at <script>alert(1)</script>",
        "x" * 60_000,
    ]
    for stack in stacks:
        assert send(endpoint, [with_stack(stack)]).status == 204
    names = [frame[0] for row in HangCount.objects.all() for frame in row.frames]
    assert sorted(names) == ["<script>alert(1)</script>", "\ufffd"]


def test_made_up_pages_count_as_other_and_known_ones_go_on(endpoint: IngestServer, settings: Settings) -> None:
    settings.INGEST_MAX_HANG_ROWS = 3
    made_up = [CRASH | {"url": f"https://shop.example/{name}"} for name in "abcdef"]
    assert send(endpoint, made_up).status == 204
    assert send(endpoint, [with_stack(f"at f (https://a.example/b.js:1:{n + 1})") for n in range(5)]).status == 204
    send(endpoint, made_up[:1])
    assert counted() == {
        ("", "/a", "unresponsive", "absent"): 2,
        ("", "/b", "unresponsive", "absent"): 1,
        ("", "/c", "unresponsive", "absent"): 1,
        ("(other)", "(other)", "unresponsive", "there"): 8,
    }


def test_reports_have_a_rate_of_their_own(endpoint: IngestServer, settings: Settings) -> None:
    settings.INGEST_REPORTS_RATE_PER_S = 1
    limited = [answer for answer in [send(endpoint, [CRASH]) for _ in range(20)] if answer.status == 429]
    assert limited
    assert int(limited[0].headers["Retry-After"]) > 0
    assert endpoint.post([]).status == 202


def test_without_a_database_the_browser_is_asked_to_come_again(
    endpoint: IngestServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OperationalError("gone")

    monkeypatch.setattr("ingest.endpoint.reports.count_hangs", fail)
    answer = send(endpoint, [CRASH])
    assert (answer.status, answer.reason) == (503, "unavailable")


def test_counts_expire_with_the_projects_sums(endpoint: IngestServer) -> None:
    now = datetime.now(UTC)
    Project.objects.update(keep_cells_days=10, keep_views_days=5, keep_raw_days=5)
    for days in (0, 9, 11, 40):
        HangCount.objects.create(
            project_id=endpoint.project_id,
            day_on=now.date() - timedelta(days=days),
            release="",
            page="/a",
            reason=2,
            signature=uuid4(),
            stack_state=1,
            frames=[],
            reports=1,
            first_at=now,
            last_at=now,
        )
    expire_all(now)
    assert sorted((now.date() - day).days for day in HangCount.objects.values_list("day_on", flat=True)) == [0, 9]
