"""Datadog's wall-time.json, alone, with its event, and deflated as its SDK sends it."""

import zlib
from uuid import UUID

from profcore.errors import Reason
from profcore.trace.routes import clean_page
from profcore.trace.wire import Mark
from tests.profcore.formats.importers.reading import (
    NOW_MS,
    PLACES,
    lines,
    places,
    read,
    read_fault,
    sample,
    sample_json,
)

CART, CHECKOUT = UUID("11111111-2222-4333-8444-555555555555"), UUID("99999999-2222-4333-8444-555555555555")


def test_each_view_gets_the_samples_and_long_tasks_of_its_time() -> None:
    cart, checkout = (imported.completed.envelope for imported in read(sample("datadog.json")))

    assert (cart.viewId, cart.page, cart.viewStart) == (CART, "/cart/:id", 1_795_256_989_500)
    assert (checkout.viewId, checkout.page) == (CHECKOUT, "/checkout")
    assert lines(cart) == ["0 main", "10 main render", "20 main render price", "30 main render price", "40 -"]
    assert lines(checkout) == ["50 main render setTimeout", "60 -"]
    assert cart.marks == [Mark("longtask", 0, 52)]
    assert checkout.marks == [Mark("long-animation-frame", 52, 60)]


def test_what_the_sdk_writes_for_numbers_is_a_pages_id() -> None:
    profile = sample_json("datadog.json")
    views = profile["wall-time.json"]["views"]
    names = {"/product/?/reviews": "/product/:id/reviews", "/?": "/:id", "/a/?/?": "/a/:id/:id", "/a?b": "/a"}
    for name, page in names.items():
        for view in views:
            view["viewName"] = name
        envelopes = [imported.completed.envelope for imported in read(profile)]
        assert [clean_page(envelope.page or "") for envelope in envelopes] == [page, page]


def test_the_event_tells_environment_and_service() -> None:
    profile = sample_json("datadog.json")
    profile["event"]["tags_profiler"] += ",env:later,host:browser"
    assert [imported.completed.envelope.tags for imported in read(profile)] == [
        {"imported": "datadog", "env": "prod", "service": "shop"}
    ] * 2


def test_the_event_tells_the_release_and_the_clocks_tell_the_time() -> None:
    for imported in read(sample("datadog.json")):
        envelope = imported.completed.envelope
        assert (envelope.release, envelope.timeOrigin) == ("2.1.0", 1_795_256_990_000)
        assert (envelope.requestedInterval, envelope.userAgent) == (10, None)
        assert imported.completed.missing == ("sampleInterval",)


def test_a_part_of_a_trace_holds_only_what_its_samples_need() -> None:
    _, checkout = (imported.completed.envelope for imported in read(sample("datadog.json")))

    assert places(checkout) == {name: place for name, place in PLACES.items() if name != "price"}
    assert checkout.trace.resources == ["https://shop.example/app.js"]


def test_the_trace_alone_says_no_release_and_may_be_deflated() -> None:
    body = sample("datadog.json")
    trace = sample_json("datadog.json")["wall-time.json"]

    (plain, _), (whole, _) = read(trace), read(body)
    assert plain.completed.envelope.release == "given-release"
    assert plain.completed.envelope.timeOrigin != NOW_MS
    deflated = read(zlib.compress(body))
    assert [one.completed for one in deflated] == [one.completed for one in read(body)]
    assert plain.completed.envelope.viewId == whole.completed.envelope.viewId


def test_a_view_whose_id_is_no_uuid_gets_one_of_its_own() -> None:
    trace = sample_json("datadog.json")["wall-time.json"]
    trace["views"] = [{**trace["views"][0], "viewId": "view-1"}]

    (once,), (again,) = read(trace), read(trace)
    assert once.completed.envelope.viewId == again.completed.envelope.viewId
    assert "viewId" in once.completed.missing


def test_the_chunks_of_one_view_are_different_traces_of_it() -> None:
    trace = sample_json("datadog.json")["wall-time.json"]
    trace["views"] = trace["views"][:1]
    later = {**trace, "samples": [{"timestamp": 90, "stackId": 0}]}

    (first,), (second,) = read(trace), read(later)
    assert first.completed.envelope.viewId == second.completed.envelope.viewId == CART
    assert first.completed.envelope.seq != second.completed.envelope.seq


def test_a_fault_is_named_by_its_path_in_the_file() -> None:
    profile = sample_json("datadog.json")
    profile["wall-time.json"]["stacks"][1]["parentId"] = 2

    assert read_fault(profile) == (Reason.PARENT_ORDER, "$.wall-time.json.stacks[1].parentId")
