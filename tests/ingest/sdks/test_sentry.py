"""Sentry's browser SDK posts its envelopes to us: chunks wait for the spans that name their pages."""

import gzip
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

import pytest
from django.conf import settings
from django.db import connection
from pytest_django import Settings

from ingest import joining
from ingest.endpoint.admission import ADMISSION
from ingest.joining import expire_waiting, join_chunks
from ingest.storage import pending_chunks
from ingest.storage.store_pool import STORE_POOL
from profcore.errors import Reason
from profcore.trace.collection import Collection
from projects.collection import change_collection
from projects.key_cache import clear_keys
from projects.keys import change_origins, create_key, read_dsn_key, write_dsn_key
from projects.lifecycle import mark_for_deletion
from projects.models import IngestKey, Project
from tests.aggregate.posting import database_url
from tests.ingest.endpoint.posting import IngestServer
from tests.ingest.sdks.envelopes import (
    PROFILER,
    SHOP,
    START_S,
    age,
    chunk_envelope,
    join,
    make_child,
    make_chunk,
    make_envelope,
    make_legacy,
    make_segment,
    make_transaction,
    send,
    span_envelope,
)
from tests.runner.waiting import wait_until

START_MS = START_S * 1000


def stored(endpoint: IngestServer) -> list[dict[str, Any]]:  # Any: JSON
    """Returns the stored envelopes, by the start of their view and the time of their first sample."""
    bodies = [json.loads(body) for body in endpoint.bodies()]
    return sorted(bodies, key=lambda body: (body.get("viewStart", 0), body["trace"]["samples"][0]["timestamp"]))


def count(endpoint: IngestServer, table: str) -> int:
    ((rows,),) = endpoint.rows(f"SELECT count(*) FROM {table} WHERE project_id = %(project)s")
    return int(rows)


@pytest.mark.parametrize("is_chunk_first", [True, False])
def test_a_chunk_has_the_page_of_the_span_around_it(endpoint: IngestServer, is_chunk_first: bool) -> None:
    bodies = [chunk_envelope(), span_envelope()]
    for sent in bodies if is_chunk_first else reversed(bodies):
        assert send(endpoint, sent).status == 200
    assert endpoint.receipts() == []
    assert join(20) == 0  # pages of which the chunk has samples may still be unknown
    assert join(20) == 1
    (body,) = stored(endpoint)
    assert endpoint.pages() == ["/product/:id"]
    assert (body["release"], body["navigation"], body["device"]) == ("shop@1", "load", {"memory": 8.0, "cores": 4.0})
    assert (body["timeOrigin"], body["viewStart"]) == (START_MS, START_MS)
    assert body["tags"] == {"sdk": "sentry", "env": "production"}
    assert body["environment"] == "production"
    assert (body["requestedInterval"], body["sampleInterval"]) == (10, 10)
    assert [frame["name"] for frame in body["trace"]["frames"]] == ["main", "render", "price"]
    assert body["trace"]["samples"][0]["timestamp"] == pytest.approx(1_000, abs=0.01)
    assert "url" not in body
    assert "userAgent" not in body


def test_the_answer_is_the_sdks(endpoint: IngestServer) -> None:
    answer = send(endpoint, chunk_envelope())
    assert (answer.status, answer.json) == (200, {"id": "e" * 32})
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    assert answer.headers["Access-Control-Expose-Headers"] == "x-sentry-error, x-sentry-rate-limits, retry-after"
    assert "X-Sentry-Rate-Limits" not in answer.headers
    assert send(endpoint, span_envelope()).json == {}


def test_a_chunk_is_split_where_the_next_page_begins(endpoint: IngestServer) -> None:
    send(endpoint, span_envelope(make_segment(), make_segment(1.1, f"{SHOP}/cart/7", number=2)))
    send(endpoint, span_envelope(make_segment(1.15, f"{SHOP}/checkout", number=3)))
    send(endpoint, chunk_envelope())
    assert join() == 1
    bodies = stored(endpoint)
    assert endpoint.pages() == ["/cart/:id", "/checkout", "/product/:id"]
    assert [len(body["trace"]["samples"]) for body in bodies] == [10, 5, 5]
    assert [body["navigation"] for body in bodies] == ["load", "route", "route"]
    assert [body.get("reason") for body in bodies] == ["route", "route", None]
    assert {body["timeOrigin"] for body in bodies} == {START_MS}
    assert [round(body["viewStart"] - START_MS) for body in bodies] == [0, 1_100, 1_150]
    assert len({body["viewId"] for body in bodies}) == 3


def test_chunks_of_one_view_are_traces_of_their_own(endpoint: IngestServer) -> None:
    send(endpoint, span_envelope())
    for number in (1, 2, 3):
        send(endpoint, chunk_envelope(make_chunk(60.0 * number, number=number)))
    assert join() == 3
    receipts = endpoint.receipts()
    assert len({view for view, _ in receipts}) == 1
    assert [seq for _, seq in receipts] == [60_000, 120_000, 180_000]


@pytest.mark.parametrize(
    ("fields", "page"),
    [
        ({"sentry.segment.name": "/product/:slug", "sentry.segment.name.source": "route"}, "/product/:slug"),
        ({"sentry.segment.name": "Checkout", "sentry.segment.name.source": "custom"}, "Checkout"),
        ({"url.template": "/product/[id]"}, "/product/[id]"),
        ({"url.full": None, "url.path": "/docs/81724"}, "/docs/:id"),
        ({"url.full": None}, "(unknown)"),
    ],
)
def test_a_routers_name_of_the_page_comes_before_its_address(
    endpoint: IngestServer, fields: dict[str, object], page: str
) -> None:
    send(endpoint, span_envelope(make_segment(own=fields)))
    send(endpoint, chunk_envelope())
    join()
    assert endpoint.pages() == [page]


def test_the_projects_own_routes_apply(endpoint: IngestServer) -> None:
    Project.objects.update(route_rules=["/product/:what"])
    send(endpoint, span_envelope(make_segment(url=f"{SHOP}/product/shoes")))
    send(endpoint, chunk_envelope())
    join()
    assert endpoint.pages() == ["/product/:what"]


def test_addresses_are_not_kept_in_tables(endpoint: IngestServer) -> None:
    send(endpoint, span_envelope())
    ((about,),) = endpoint.rows("SELECT about FROM ingest_pagespan WHERE project_id = %(project)s")
    assert b"/product/:id" in bytes(about)
    assert b"shop.example" not in bytes(about)
    assert b"email" not in bytes(about)


@pytest.mark.parametrize(
    ("said", "navigation"),
    [("navigate", "load"), ("reload", "reload"), ("back_forward", "back_forward"), ("back-forward-cache", "bfcache")],
)
def test_how_the_view_began(endpoint: IngestServer, said: str, navigation: str) -> None:
    send(endpoint, span_envelope(make_segment(own={"browser.navigation.type": said})))
    send(endpoint, chunk_envelope())
    join()
    assert stored(endpoint)[0]["navigation"] == navigation


def test_marks_are_those_of_the_chunks_time(endpoint: IngestServer) -> None:
    children = [
        make_child("ui.long_animation_frame", 1.02, 1.12, number=101),
        make_child("ui.webvital.lcp", 0.0, 0.8, number=102),
        make_child("browser.paint", 0.5, 0.5, number=103, name="first-contentful-paint"),
        make_child("browser.paint", 0.4, 0.4, number=104, name="first-paint"),
        make_child("ui.interaction.click", 1.05, 1.15, number=105),
        make_child("resource.script", 0.1, 0.2, number=106),
        make_child("ui.long_task", 61.0, 61.1, number=107),
    ]
    send(endpoint, span_envelope(make_segment(), *children))
    for number, at_s in enumerate((1.0, 61.0), 1):
        send(endpoint, chunk_envelope(make_chunk(at_s, number=number)))
    assert join() == 2
    first, second = stored(endpoint)
    assert sorted((mark["type"], round(mark["start"])) for mark in first["marks"]) == [
        ("first-contentful-paint", 500),
        ("interaction", 1_050),
        ("largest-contentful-paint", 0),
        ("long-animation-frame", 1_020),
    ]
    assert [(mark["type"], round(mark["start"])) for mark in second["marks"]] == [("longtask", 61_000)]


def test_children_may_leave_before_their_segment(endpoint: IngestServer) -> None:
    child = make_child("ui.long_animation_frame", 1.02, 1.12)
    for body in (span_envelope(child), span_envelope(make_segment()), chunk_envelope()):
        send(endpoint, body)
    join()
    assert [mark["type"] for mark in stored(endpoint)[0]["marks"]] == ["long-animation-frame"]


def test_spans_of_pages_without_a_profiler_are_not_kept(endpoint: IngestServer) -> None:
    child = make_child("ui.long_animation_frame", 1.02, 1.12)
    del child["attributes"]["thread.id"]
    other = make_segment(number=2, own={"sentry.op": "http.client"})
    send(endpoint, span_envelope(make_segment(own={"sentry.profiler_id": None}), other, child))
    assert count(endpoint, "ingest_pagespan") == 0


@pytest.mark.parametrize(("source", "page"), [("url", "/product/:id"), ("route", "/product/4711")])
def test_version_10_names_the_page_in_a_transaction(endpoint: IngestServer, source: str, page: str) -> None:
    send(endpoint, make_envelope(("transaction", make_transaction(source=source))))
    send(endpoint, make_envelope(("transaction", make_transaction(1.1, "/cart"))))
    send(endpoint, chunk_envelope(make_chunk(client_sdk={"version": "10.78.0"})))
    assert join() == 1
    product, cart = stored(endpoint)
    assert endpoint.pages() == sorted(["/cart", page])
    assert (product["navigation"], cart["navigation"]) == ("load", "route")
    assert product["device"] == {"memory": 8.0, "cores": 4.0}
    kinds = [(mark["type"], round(mark["duration"])) for mark in product["marks"]]
    assert kinds == [("long-animation-frame", 200), ("largest-contentful-paint", 800)]


def test_a_profile_of_format_1_has_the_page_of_its_transaction_at_once(endpoint: IngestServer) -> None:
    transaction = make_transaction(event_id="d" * 32)
    del transaction["contexts"]["profile"]  # the SDK removes it once it has put the profile into the envelope
    body = make_envelope(("transaction", transaction), ("profile", make_legacy()), event_id="d" * 32)
    for _ in range(2):
        assert send(endpoint, body).status == 200
    assert endpoint.pages() == ["/product/:id"]
    (legacy,) = stored(endpoint)
    assert (legacy["navigation"], legacy["device"]["cores"]) == ("load", 4.0)
    assert "userAgent" not in legacy
    assert count(endpoint, "ingest_pagespan") == 0


@pytest.mark.parametrize(("name", "page"), [("/product/4711", "/product/:id"), ("Checkout", "Checkout")])
def test_a_profile_of_format_1_without_its_transaction_has_its_name(
    endpoint: IngestServer, name: str, page: str
) -> None:
    profile = make_legacy() | {"transactions": [{"name": name, "id": "d" * 32}]}
    assert send(endpoint, make_envelope(("profile", profile))).status == 200
    assert endpoint.pages() == [page]


def test_an_envelope_has_at_most_ten_profiles(endpoint: IngestServer) -> None:
    send(endpoint, make_envelope(*[("profile", make_legacy(number)) for number in range(1, 13)]))
    assert len(endpoint.receipts()) == 10
    assert endpoint.refusals() == {Reason.TOO_MANY: 2}


def test_all_else_is_skipped(endpoint: IngestServer) -> None:
    others: list[tuple[str, object]] = [(kind, {}) for kind in ("session", "event", "client_report", "what_is_that")]
    assert send(endpoint, make_envelope(*others)).status == 200
    assert send(endpoint, b"{}").status == 200
    assert send(endpoint, make_envelope(("span", {"op": "ui.interaction.click"}))).status == 200
    assert endpoint.refusals() == {}
    assert count(endpoint, "ingest_pagespan") == count(endpoint, "ingest_pendingchunk") == 0


def test_a_chunk_without_a_span_is_stored_in_the_end(endpoint: IngestServer) -> None:
    send(endpoint, chunk_envelope(make_chunk(release="", environment="")))
    assert join(80) == 0
    assert join(15) == 1
    (body,) = stored(endpoint)
    assert (body["page"], body["release"], body["tags"]) == ("(unknown)", "(unknown)", {"sdk": "sentry"})
    assert UUID(body["viewId"]).hex == PROFILER


def test_samples_before_every_span_are_of_an_unknown_page(endpoint: IngestServer) -> None:
    send(endpoint, span_envelope(make_segment(1.2, f"{SHOP}/cart", number=2)))
    send(endpoint, chunk_envelope(make_chunk(count=30)))
    assert join(40) == 0
    assert join(60) == 1
    assert endpoint.pages() == ["(unknown)", "/cart"]
    assert [len(body["trace"]["samples"]) for body in stored(endpoint)] == [10, 20]


def test_a_first_sample_just_before_its_span_is_of_that_page(endpoint: IngestServer) -> None:
    send(endpoint, span_envelope(make_segment(1.05, f"{SHOP}/cart", number=2)))
    send(endpoint, chunk_envelope())
    assert join() == 1
    assert endpoint.pages() == ["/cart"]
    assert len(endpoint.receipts()) == 1


def test_a_replay_of_every_envelope_changes_nothing(endpoint: IngestServer) -> None:
    segments = [make_segment(), make_segment(1.1, f"{SHOP}/cart", number=2)]
    sent = [chunk_envelope(), span_envelope(segments[0]), chunk_envelope(make_chunk(61, number=2))]
    late = span_envelope(segments[1])  # its page is a part of the first chunk, which is joined before it comes
    for body in (*sent, *sent):
        assert send(endpoint, body).status == 200
    assert join() == 2
    before = endpoint.rows("SELECT * FROM ingest_tracereceipt ORDER BY view_id, seq"), endpoint.bodies()
    for body in (*sent, late, *sent, late):
        assert send(endpoint, body).status == 200
    assert join(100) == 0
    assert before == (endpoint.rows("SELECT * FROM ingest_tracereceipt ORDER BY view_id, seq"), endpoint.bodies())


def test_another_projects_profiler_joins_nothing(endpoint: IngestServer) -> None:
    other = Project.objects.create(slug="other", name="Other")
    key = create_key(project=other, origins=["*"])
    theirs = IngestServer(other.pk, key.public_key)
    send(theirs, span_envelope(make_segment(url=f"{SHOP}/theirs")))
    send(endpoint, chunk_envelope())
    assert join() == 0
    send(theirs, chunk_envelope())
    assert join(60) == 2
    assert (endpoint.pages(), theirs.pages()) == (["(unknown)"], ["/theirs"])


@pytest.mark.parametrize(
    ("address", "headers"),
    [
        ("/sentry/api/{id}/envelope/?sentry_key={key}", {}),
        ("/sentry//api/{id}/envelope?sentry_key={key}", {}),
        ("/sentry/eu/api/{id}/envelope/?sentry_key={key}", {}),
        ("/sentry/api/{id}/envelope/", {"x_sentry_auth": "Sentry sentry_version=7, sentry_key={key}, sentry_client=a"}),
        ("/sentry/api/{id}/envelope/", {"x_sentry_auth": "Sentry sentry_key={key},sentry_version=7"}),
        ("/sentry/tunnel/", {}),
        ("/sentry/tunnel", {}),
    ],
)
def test_the_key_is_in_the_query_the_header_or_the_dsn(
    endpoint: IngestServer, address: str, headers: dict[str, str]
) -> None:
    written = write_dsn_key(endpoint.key)
    names = {"id": endpoint.project_id, "key": written}
    filled = {name: value.format(**names) for name, value in headers.items()}
    dsn = f"https://{written}@ff.example/sentry/{endpoint.project_id}"
    body = make_envelope(("profile_chunk", make_chunk()), dsn=dsn)
    for sent in (body, gzip.compress(body)):
        assert send(endpoint, sent, address=address.format(**names), **filled).status == 200
    assert count(endpoint, "ingest_pendingchunk") == 1


def test_a_key_is_one_of_its_project_and_of_allowed_origins(endpoint: IngestServer) -> None:
    for address in (
        f"/sentry/api/{endpoint.project_id + 1}/envelope/?sentry_key={endpoint.key}",
        f"/sentry/api/{endpoint.project_id}/envelope/?sentry_key=nobody",
        f"/sentry/api/{endpoint.project_id}/envelope/",
        "/sentry/tunnel/",
    ):
        answer = send(endpoint, chunk_envelope(), address=address)
        assert (answer.status, answer.reason) == (401, "unknown_key")
        assert answer.headers["Access-Control-Allow-Origin"] == "*"
    change_origins(IngestKey.objects.get(public_key=endpoint.key), [SHOP])
    answer = send(endpoint, chunk_envelope(), origin="https://elsewhere.example")
    assert (answer.status, answer.headers["X-Sentry-Rate-Limits"]) == (403, "3600:profile:project")


def test_keys_are_parts_of_a_dsn(endpoint: IngestServer) -> None:
    new = create_key(project=Project.objects.get(), origins=["*"]).public_key
    assert write_dsn_key(new) == new
    assert new.isalnum()
    assert write_dsn_key("shop-key").isalnum()
    for key in (new, "shop-key", "a_b", "xyz", "é"):
        assert read_dsn_key(write_dsn_key(key)) == key


def test_a_preflight_allows_what_a_transport_with_headers_asks_for(endpoint: IngestServer) -> None:
    wanted = "content-type,sentry-trace,baggage,x-sentry-auth"
    answer = endpoint.ask("OPTIONS", address="/sentry/tunnel/", access_control_request_headers=wanted)
    assert answer.status == 204
    assert answer.headers["Access-Control-Allow-Headers"] == wanted
    assert "POST" in answer.headers["Access-Control-Allow-Methods"]
    assert endpoint.ask("GET", address="/sentry/tunnel/").status == 405


def test_our_stop_is_a_rate_limit_of_profiles(endpoint: IngestServer, settings: Settings) -> None:
    change_collection(Project.objects.get(), Collection(off=True))
    answer = send(endpoint, chunk_envelope())
    assert (answer.status, answer.headers["X-Sentry-Rate-Limits"]) == (200, "3600:profile:project")
    change_collection(Project.objects.get(), Collection())
    settings.INGEST_MAX_TRACES_PER_DAY = 1
    assert "X-Sentry-Rate-Limits" not in send(endpoint, chunk_envelope(make_chunk(number=2))).headers
    answer = send(endpoint, chunk_envelope(make_chunk(number=3)))
    seconds, _, rest = answer.headers["X-Sentry-Rate-Limits"].partition(":")
    assert 0 < int(seconds) <= 86_400
    assert rest == "profile:project"
    assert endpoint.refusals() == {Reason.QUOTA_EXCEEDED: 1}
    assert count(endpoint, "ingest_pendingchunk") == 2


def test_a_rate_limit_says_for_how_long(endpoint: IngestServer, settings: Settings) -> None:
    settings.INGEST_RATE_PER_S = 1
    send(endpoint, chunk_envelope())
    answer = send(endpoint, chunk_envelope())
    assert (answer.status, answer.headers["X-Sentry-Rate-Limits"]) == (429, "1:profile:project")


def test_each_view_counts_for_the_days_quota(endpoint: IngestServer, settings: Settings) -> None:
    settings.INGEST_MAX_TRACES_PER_DAY = 2
    send(endpoint, span_envelope(*[make_segment(at / 20, f"{SHOP}/{at}x", number=at) for at in range(20, 24)]))
    assert send(endpoint, chunk_envelope()).status == 200
    assert join() == 1
    assert len(endpoint.receipts()) == 2
    assert endpoint.refusals() == {Reason.QUOTA_EXCEEDED: 2}


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", Reason.INVALID_JSON),
        (b"[]\n", Reason.WRONG_TYPE),
        (b'{"event_id":"1"}\nno item', Reason.INVALID_JSON),
        (b'{}\n{"type":"profile_chunk","length":99}\n{}', Reason.INVALID_VALUE),
        (b'{}\n{"type":"profile_chunk","length":-1}\n{}', Reason.INVALID_VALUE),
        (b'{}\n{"type":"profile_chunk"}', Reason.INVALID_JSON),
        (b'{}\n{"type":"span"}\n[1]', Reason.WRONG_TYPE),
        (b'{}\n{"type":"span"}\n{"more":' + b"[" * 10_000, Reason.TOO_NESTED),
        (b"{}\n" + b'{"type":"session"}\n{}\n' * 101, Reason.TOO_MANY),
        (b"\x1f\x8bno gzip", Reason.INVALID_GZIP),
        (b"\xff\xfe", Reason.INVALID_JSON),
        (gzip.compress(b" " * 60_000_000), Reason.TOO_LARGE),
        (chunk_envelope(make_chunk(platform="python")), Reason.UNSUPPORTED_MEDIA),
        (chunk_envelope(make_chunk(release="r" * 201)), Reason.TOO_LONG),
        (chunk_envelope(make_chunk(count=0)), None),
    ],
)
def test_what_cannot_be_read_is_refused_with_a_reason(
    endpoint: IngestServer, body: bytes, reason: Reason | None
) -> None:
    answer = send(endpoint, body)
    assert answer.status == 200 if reason is None else 400 <= answer.status < 500
    assert "Access-Control-Allow-Origin" in answer.headers
    assert endpoint.refusals() == ({} if reason is None else {reason: 1})


def test_a_bad_item_leaves_the_others(endpoint: IngestServer) -> None:
    body = make_envelope(("profile_chunk", "{}"), ("profile_chunk", make_chunk()), ("span", "x"))
    assert send(endpoint, body).status == 200
    assert endpoint.refusals() == {Reason.MISSING_FIELD: 1, Reason.INVALID_JSON: 1}
    assert count(endpoint, "ingest_pendingchunk") == 1


def test_wild_numbers_and_texts_do_no_harm(endpoint: IngestServer) -> None:
    wild = [
        make_segment(number=2) | {"start_timestamp": 1e300},
        make_segment(number=3) | {"span_id": "not hex"},
        make_segment(number=4, own={"device.memory.estimated_capacity": -1, "device.processor_count": "many\0"}),
        make_segment(number=5, own={"url.full": "http://[\0"}),
        make_segment(number=6, own={"sentry.segment.name": "a\0b" * 500, "sentry.segment.name.source": "custom"}),
        make_child("ui.long_task", 5, 1, number=7),
        make_child("ui.long_task", -1e12, 1, number=8),
        make_child("ui.long_task", 1, 2, number=9) | {"span_id": "{}"},
        *[make_child("ui.long_task", 1, 1.1, number=at) for at in range(1_000, 1_300)],
    ]
    assert send(endpoint, span_envelope(make_segment(), *wild)).status == 200
    send(endpoint, chunk_envelope(make_chunk(client_sdk={}, chunk_id="odd", profiler_id=PROFILER.upper())))
    assert join() == 1
    assert len(stored(endpoint)[0]["marks"]) <= 100


def test_views_that_share_their_tables_are_not_written_a_hundred_times(endpoint: IngestServer) -> None:
    chunk = make_chunk(count=100)
    chunk["profile"]["stacks"] = [[0] * 5_000]
    for sample in chunk["profile"]["samples"]:
        sample["stack_id"] = 0
    segments = [make_segment(1 + at / 100, f"{SHOP}/page{at}x", number=at + 1) for at in range(100)]
    assert send(endpoint, span_envelope(*segments)).status == 200
    send(endpoint, chunk_envelope(chunk))
    assert join() == 1
    assert 2 <= len(endpoint.receipts()) <= 4
    assert endpoint.refusals() == {Reason.TOO_LARGE: 1}


def test_the_spans_of_a_project_are_bounded(endpoint: IngestServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pending_chunks, "MAX_SPANS", 5)
    monkeypatch.setattr(joining, "KEPT_SPANS", 4)
    for number in range(1, 8):
        ADMISSION.clear()
        send(endpoint, span_envelope(make_segment(number=number)))
    assert count(endpoint, "ingest_pagespan") == 5
    assert endpoint.refusals() == {Reason.TOO_MANY_PENDING: 2}
    with_age = "UPDATE ingest_pagespan SET received_at = now() - span_id::int * interval '1 minute' RETURNING span_id"
    endpoint.rows(with_age)
    expire_waiting()
    assert endpoint.rows("SELECT span_id::int FROM ingest_pagespan ORDER BY 1") == [(1,), (2,), (3,), (4,)]


def test_chunks_that_wait_are_bounded_as_traces_are(endpoint: IngestServer, settings: Settings) -> None:
    settings.INGEST_MAX_PENDING = 2
    statuses = []
    for number in range(1, 4):
        ADMISSION.clear()
        statuses.append(send(endpoint, chunk_envelope(make_chunk(number=number))).status)
    assert statuses == [200, 200, 429]
    assert endpoint.refusals() == {Reason.TOO_MANY_PENDING: 1}


def test_what_waited_is_deleted(endpoint: IngestServer) -> None:
    send(endpoint, span_envelope())
    send(endpoint, chunk_envelope())
    join()
    assert endpoint.rows("SELECT octet_length(body), user_agent FROM ingest_pendingchunk") == [(0, "")]
    expire_waiting()
    assert count(endpoint, "ingest_pagespan") == count(endpoint, "ingest_pendingchunk") == 1
    endpoint.rows("UPDATE ingest_pagespan SET received_at = now() - interval '25 hours' RETURNING 1")
    endpoint.rows("UPDATE ingest_pendingchunk SET joined_at = now() - interval '2 hours' RETURNING 1")
    expire_waiting()
    assert count(endpoint, "ingest_pagespan") == count(endpoint, "ingest_pendingchunk") == 0


def test_a_chunk_that_breaks_us_holds_up_no_other(endpoint: IngestServer) -> None:
    send(endpoint, span_envelope())
    send(endpoint, chunk_envelope(make_chunk(number=1)))
    endpoint.rows("UPDATE ingest_pendingchunk SET body = 'no gzip' RETURNING 1")
    send(endpoint, chunk_envelope(make_chunk(61, number=2)))
    assert join() == 2
    assert len(endpoint.receipts()) == 1
    assert endpoint.refusals() == {Reason.FOLD_ERROR: 1}


def test_a_project_with_many_chunks_leaves_time_for_others(
    endpoint: IngestServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(joining, "TURN_S", 0.0)
    key = create_key(project=Project.objects.create(slug="other", name="Other"), origins=["*"])
    for number in (1, 2, 3):
        send(endpoint, chunk_envelope(make_chunk(number, number=number)))
    send(IngestServer(key.project_id, key.public_key), chunk_envelope())
    assert join(100) == 2
    assert join(0) == 1


def test_a_project_that_is_being_deleted_gets_no_traces(endpoint: IngestServer) -> None:
    send(endpoint, span_envelope())
    send(endpoint, chunk_envelope())
    mark_for_deletion(Project.objects.get())
    age(100)
    assert join_chunks() == 0
    assert endpoint.receipts() == []


def test_two_workers_store_a_chunk_once(open_endpoint: IngestServer) -> None:
    send(open_endpoint, span_envelope())
    for number in range(1, 9):
        send(open_endpoint, chunk_envelope(make_chunk(number, number=number)))
    age(40)
    with ThreadPoolExecutor(4) as pool:
        joined = list(pool.map(lambda _: run_apart(join_chunks), range(4)))
    assert sum(joined) == len(open_endpoint.receipts()) == 8


def run_apart(work: Callable[[], int]) -> int:
    """Runs work in this thread, and closes its connection."""
    try:
        return work()
    finally:
        connection.close()


KILLED = """
import os, signal
from ingest import joining
store = joining.store_arrivals
def store_and_die(**given):
    store(**given)
    os.kill(os.getpid(), signal.SIGKILL)
joining.store_arrivals = store_and_die
joining.join_chunks()
"""


@pytest.mark.kills
@pytest.mark.slow(10)
def test_nothing_that_was_answered_is_lost_by_a_kill(open_endpoint: IngestServer) -> None:
    """The web process ends between chunk and span, and the worker in the middle of a join."""
    assert send(open_endpoint, chunk_envelope()).status == 200
    STORE_POOL.close()
    ADMISSION.clear()
    clear_keys()
    assert send(open_endpoint, span_envelope()).status == 200
    age(40)
    environment = {"DATABASE_URL": database_url(), "FIELDFLAME_SECRET_KEY": settings.SECRET_KEY}
    command = [sys.executable, str(settings.BASE_DIR / "manage.py"), "shell", "-v", "0", "-c", KILLED]
    killed = subprocess.run(command, env={**os.environ, **environment}, check=False, capture_output=True, timeout=200)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert open_endpoint.receipts() == []
    wait_until(lambda: join_chunks() == 1)  # until the server has seen that the process is gone, its lock holds
    assert (len(open_endpoint.receipts()), open_endpoint.pages()) == (1, ["/product/:id"])
    assert join_chunks() == 0
