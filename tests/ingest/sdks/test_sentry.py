"""Sentry's browser SDK posts its envelopes to us: chunks wait for the spans that name their pages."""

from uuid import UUID

import pytest

from profcore.errors import Reason
from profcore.trace.dimensions import SDKS
from projects.keys import create_key
from projects.models import Project
from tests.ingest.endpoint.posting import IngestServer
from tests.ingest.sdks.envelopes import (
    PROFILER,
    SHOP,
    START_S,
    chunk_envelope,
    count,
    join,
    make_child,
    make_chunk,
    make_envelope,
    make_legacy,
    make_segment,
    make_transaction,
    send,
    span_envelope,
    stored,
)

START_MS = START_S * 1000


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
    assert endpoint.receipts("sdk, request_trace") == [(SDKS.index("sentry"), "b" * 32)]
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
    assert endpoint.receipts("request_trace") == [("c" * 32,)] * 2
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
    assert legacy["requestTrace"] == "c" * 32
    assert count(endpoint, "ingest_pagespan") == 0


@pytest.mark.parametrize(("name", "page"), [("/product/4711", "/product/:id"), ("Checkout", "Checkout")])
def test_a_profile_of_format_1_without_its_transaction_has_its_name(
    endpoint: IngestServer, name: str, page: str
) -> None:
    profile = make_legacy() | {"transactions": [{"name": name, "id": "d" * 32, "trace_id": "e" * 32}]}
    assert send(endpoint, make_envelope(("profile", profile))).status == 200
    assert endpoint.pages() == [page]
    assert endpoint.receipts("request_trace") == [("e" * 32,)]


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
