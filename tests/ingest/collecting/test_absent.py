"""Reports of pages that recorded nothing: each is counted once, for the views it stands for; strangers fill nothing."""

import codecs
import gzip
import json
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.test import Client
from pytest_django import Settings

from aggregate.maintenance.retention import expire_all
from ingest.count_models import AbsentCount
from ingest.endpoint import absence_counts as absent_counts
from ingest.endpoint.absence_counts import SHARDS
from profcore.caching import clear_caches
from profcore.trace.absence import ABSENCE_REASONS
from profcore.trace.dimensions import BROWSERS
from projects.key_cache import clear_keys
from projects.models import IngestKey, Project
from tests.ingest.endpoint.posting import IngestResponse, IngestServer

ABSENT = "/ingest/v1/absent"
CHROME = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36"
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
REPORT = {"reason": "no-header", "release": "1.0.0", "page": "/cart", "rate": 0.01}


def ask(
    method: str, sent: bytes = b"", *, key: str = "shop-key", query: Any = None, **headers: str
) -> IngestResponse:  # Any: as in Django
    response = Client().generic(
        method,
        ABSENT,
        sent,
        "text/plain",
        query_params={"key": key} | (query or {}),
        headers={name.replace("_", "-"): value for name, value in headers.items()},
    )
    return IngestResponse(response.status_code, response.headers, response.content)


def report(body: object = None, *, key: str = "shop-key", **headers: str) -> IngestResponse:
    sent = body if isinstance(body, bytes) else json.dumps(REPORT if body is None else body).encode()
    return ask("POST", sent, key=key, **headers)


def counted() -> dict[tuple[str, str, str, int], tuple[int, int]]:
    """Returns (reports, views) by page, browser, reason and status; the shards of a row together."""
    counts: dict[tuple[str, str, str, int], tuple[int, int]] = {}
    for row in AbsentCount.objects.order_by("page"):
        key = (row.page, BROWSERS[row.browser], ABSENCE_REASONS[row.reason], row.status)
        reports, views = counts.get(key, (0, 0))
        counts[key] = (reports + row.reports, views + row.views)
    return counts


def test_a_report_counts_for_the_views_it_stands_for(endpoint: IngestServer) -> None:
    answer = report(user_agent=CHROME)
    assert (answer.status, answer.content) == (204, b"")
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    assert answer.headers["Cache-Control"] == "no-store"
    report(REPORT | {"rate": 1}, user_agent=CHROME)
    report(user_agent=FIREFOX)
    assert counted() == {
        ("/cart", "chrome", "no-header", 0): (2, 101),
        ("/cart", "firefox", "no-header", 0): (1, 100),
    }
    assert AbsentCount.objects.get(browser=1).day_on == datetime.now(UTC).date()


def test_an_image_may_report_too(endpoint: IngestServer) -> None:
    answer = ask("GET", query={"reason": "csp", "url": "https://shop.example/product/81724?token=x", "rate": "0.5"})
    assert (answer.status, answer.content) == (204, b"")
    assert counted() == {("/product/:id", "unknown", "csp", 0): (1, 2)}


@pytest.mark.parametrize("reason", ABSENCE_REASONS)
def test_each_reason_of_the_contract_is_counted(endpoint: IngestServer, reason: str) -> None:
    assert report({"reason": reason, "page": "/a"}).status == 204
    assert [key[2] for key in counted()] == [reason]


@pytest.mark.parametrize(
    ("body", "views"),
    [({"rate": 0.0000001}, 1_000), ({"rate": 0.001}, 1_000), ({"rate": 1}, 1), ({}, 1), ({"rate": 0.4}, 2)],
)
def test_a_report_stands_for_a_thousand_views_at_most(
    endpoint: IngestServer, body: dict[str, object], views: int
) -> None:
    report({"reason": "twice", "page": "/a"} | body)
    assert list(counted().values()) == [(1, views)]


def test_known_statuses_are_told_apart_and_others_are_not(endpoint: IngestServer) -> None:
    for status in (413, 418, 0, 999):
        report({"reason": "status", "page": "/a", "status": status})
    report({"reason": "cost", "page": "/a", "status": 413})
    assert {key[2:]: value[0] for key, value in counted().items()} == {
        ("status", 413): 1,
        ("status", 0): 3,
        ("cost", 0): 1,
    }


def test_half_a_surrogate_pair_is_replaced(endpoint: IngestServer) -> None:
    assert report(b'{"reason": "csp", "page": "/\\ud83d"}').status == 204
    assert {page for page, *_ in counted()} == {"/\ufffd"}


@pytest.mark.parametrize(
    "write",
    [
        lambda text: codecs.BOM_UTF8 + text.encode(),
        lambda text: codecs.BOM_UTF16_LE + text.encode("utf-16-le"),
        lambda text: gzip.compress(codecs.BOM_UTF16_BE + text.encode("utf-16-be")),
        lambda text: gzip.compress(text.encode()),
    ],
)
def test_a_report_is_read_as_a_trace_is(endpoint: IngestServer, write: Callable[[str], bytes]) -> None:
    assert report(write('{"reason": "csp", "page": "/é"}')).status == 204
    assert {page for page, *_ in counted()} == {"/é"}


def test_a_report_has_few_bytes_also_expanded(endpoint: IngestServer) -> None:
    for large in (gzip.compress(b"x" * 4_097), codecs.BOM_UTF16_LE + ("€" * 2_000).encode("utf-16-le")):
        assert report(large).status == 413
    assert report(gzip.compress(b"{}")[:-1]).status == 400
    assert counted() == {}


def test_pages_go_through_the_projects_route_rules(endpoint: IngestServer) -> None:
    Project.objects.update(route_rules=["/shop/:category/sale"])
    clear_keys()
    report({"reason": "csp", "url": "https://u:p@shop.example/shop/hats/sale?x#y"})
    report({"reason": "csp", "page": "https://u:p@shop.example/cart?token=x#y"})
    assert [key[0] for key in counted()] == ["/cart", "/shop/:category/sale"]


WRONG: list[tuple[object, str, str]] = [
    (b"", "empty_body", "$"),
    (b"{", "invalid_json", "$"),
    (b"\xff", "invalid_json", "$"),
    (b"[" * 4_000, "wrong_type", "$"),
    ([], "wrong_type", "$"),
    ({"page": "/a"}, "missing_field", "$"),
    (REPORT | {"reason": "bored"}, "invalid_value", "$.reason"),
    (REPORT | {"reason": 7}, "wrong_type", "$.reason"),
    (REPORT | {"rate": 0}, "out_of_range", "$.rate"),
    (REPORT | {"rate": 1.1}, "out_of_range", "$.rate"),
    (REPORT | {"rate": "1"}, "wrong_type", "$.rate"),
    (REPORT | {"status": -1}, "out_of_range", "$.status"),
    (REPORT | {"status": 10**30}, "out_of_range", "$.status"),
    (REPORT | {"release": "x" * 201}, "too_long", "$.release"),
    (REPORT | {"page": "/" * 401}, "too_long", "$.page"),
    (REPORT | {"page": "/\0"}, "invalid_value", "$.page"),
    ({"reason": "csp"}, "missing_page", "$.page"),
    ({"reason": "csp", "page": "", "url": ""}, "missing_page", "$.page"),
]


@pytest.mark.parametrize(("body", "reason", "path"), WRONG)
def test_a_wrong_report_is_refused_with_reason_path_and_sentence(
    endpoint: IngestServer, body: object, reason: str, path: str
) -> None:
    answer = report(body)
    assert answer.status == 400
    assert (answer.reason, answer.json["path"]) == (reason, path)
    assert answer.json["detail"].endswith(".")
    assert "bored" not in answer.content.decode()
    assert counted() == {}
    assert endpoint.refusals() == {}


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ({}, "missing_field"),
        ({"reason": "csp", "page": "/a", "rate": "nan"}, "out_of_range"),
        ({"reason": "csp", "page": "/a", "rate": "many"}, "wrong_type"),
        ({"reason": "csp", "page": "/a", "status": "1.5"}, "wrong_type"),
        ({"reason": "csp", "page": "/\0"}, "invalid_value"),
        ({f"x{n}": "1" for n in range(30)}, "unknown_key"),
    ],
)
def test_a_wrong_image_is_refused(endpoint: IngestServer, query: dict[str, str], reason: str) -> None:
    answer = ask("GET", query=query)
    assert answer.reason == reason
    assert answer.status in (400, 401)
    assert counted() == {}


def test_key_and_origin_are_checked_as_for_traces(endpoint: IngestServer) -> None:
    assert report(key="nobody").status == 401
    IngestKey.objects.update(origins=["https://shop.example"])
    clear_keys()
    assert report(origin="https://shop.example").status == 204
    answer = report(origin="https://other.example")
    assert (answer.status, answer.reason) == (403, "origin_not_allowed")
    assert list(counted().values()) == [(1, 100)]


def test_a_body_of_more_than_4_kb_is_refused(endpoint: IngestServer) -> None:
    fitting = json.dumps(REPORT | {"more": ""}).encode()
    padded = json.dumps(REPORT | {"more": "x" * (4_096 - len(fitting))}).encode()
    assert report(padded).status == 204
    assert report(padded + b" ").status == 413
    assert ask("GET", query=REPORT | {"more": "x" * 4_096}).status == 413


@pytest.mark.parametrize("method", ["HEAD", "PUT", "DELETE", "PATCH"])
def test_other_methods_are_told_which_there_are(endpoint: IngestServer, method: str) -> None:
    answer = ask(method)
    assert answer.status == 405
    assert answer.headers["Allow"] == "GET, POST, OPTIONS"
    assert answer.headers["Access-Control-Allow-Origin"] == "*"


def test_a_preflight_needs_no_key() -> None:
    answer = ask("OPTIONS", key="")
    assert (answer.status, answer.headers["Access-Control-Allow-Methods"]) == (204, "GET, POST, OPTIONS")


def test_reports_have_a_rate_of_their_own(endpoint: IngestServer, settings: Settings) -> None:
    settings.INGEST_ABSENT_RATE_PER_S = 1
    answers = [report() for _ in range(20)]
    limited = [answer for answer in answers if answer.status == 429]
    assert limited
    assert limited[0].reason == "rate_limited"
    assert int(limited[0].headers["Retry-After"]) > 0
    assert "stop" not in limited[0].json
    assert endpoint.post([]).status == 202


def test_made_up_pages_count_as_other_and_known_ones_go_on(endpoint: IngestServer, settings: Settings) -> None:
    settings.INGEST_MAX_ABSENT_ROWS = 3
    for number in range(10):
        report(REPORT | {"page": f"/made-up/{number:03}-up"})
    report(REPORT | {"page": "/made-up/000-up"})
    pages = {key[0]: value[0] for key, value in counted().items()}
    assert pages == {"(other)": 7, **{f"/made-up/00{number}-up": 2 if number == 0 else 1 for number in range(3)}}
    AbsentCount.objects.filter(page__startswith="/made-up/00").exclude(page="/made-up/000-up").delete()
    AbsentCount.objects.filter(page="(other)").update(day_on=datetime.now(UTC).date() - timedelta(days=1))
    clear_caches()
    report(REPORT | {"page": "/new"})
    assert ("/new", "unknown", "no-header", 0) in counted()


def test_all_that_a_stranger_may_vary_makes_a_bounded_number_of_rows(
    endpoint: IngestServer, settings: Settings
) -> None:
    settings.INGEST_MAX_ABSENT_ROWS = 2
    settings.INGEST_ABSENT_RATE_PER_S = 10_000
    for status in range(400, 600, 5):
        for agent in (CHROME, FIREFOX, "nobody"):
            report({"reason": "status", "status": status, "page": f"/{status}-{agent}"[:99]}, user_agent=agent)
    assert AbsentCount.objects.count() <= 2 + 3 * 14  # "(other)": browsers × statuses


def test_posts_at_the_same_time_do_not_wait_for_each_other(
    open_endpoint: IngestServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While another transaction holds the row, a second post counts in a shard of its own."""
    report()
    held, let_go = threading.Event(), threading.Event()
    place_of = absent_counts.lend_shard

    def hold() -> None:
        with place_of(), connection.cursor() as cursor:
            cursor.execute("BEGIN")
            cursor.execute("UPDATE ingest_absentcount SET reports = reports WHERE shard = 0")
            held.set()
            let_go.wait(300)
            cursor.execute("ROLLBACK")
        connection.close()

    thread = threading.Thread(target=hold)
    thread.start()
    try:
        assert held.wait(300)
        assert report().status == 204
    finally:
        let_go.set()
        thread.join()
    assert sorted(AbsentCount.objects.values_list("shard", flat=True)) == [0, 1]
    assert list(counted().values()) == [(2, 200)]


def test_more_posts_than_shards_share_them() -> None:
    with absent_counts.lend_shard() as first:
        assert first == 0
        opened = [absent_counts.lend_shard() for _ in range(SHARDS)]
        assert [context.__enter__() for context in opened] == [*range(1, SHARDS), 0]
        for context in opened:
            context.__exit__(None, None, None)
    with absent_counts.lend_shard() as again:
        assert again == 0


def test_without_a_database_the_sender_is_asked_to_come_again(
    endpoint: IngestServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OperationalError("gone")

    monkeypatch.setattr("ingest.endpoint.absences.count_absence", fail)
    answer = report()
    assert (answer.status, answer.reason) == (503, "unavailable")
    assert int(answer.headers["Retry-After"]) > 0


def test_counts_expire_with_the_projects_views(endpoint: IngestServer) -> None:
    now = datetime.now(UTC)
    Project.objects.update(keep_views_days=10)
    for days in (0, 9, 11, 40):
        AbsentCount.objects.create(
            project_id=endpoint.project_id,
            day_on=now.date() - timedelta(days=days),
            page="/a",
            browser=1,
            reason=1,
            status=0,
            shard=0,
            reports=1,
            views=1,
        )
    expire_all(now)
    kept = AbsentCount.objects.values_list("day_on", flat=True)
    assert sorted((now.date() - day).days for day in kept) == [0, 9]
