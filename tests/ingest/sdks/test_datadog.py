"""Datadog's browser SDK posts its profiles to us: forms with an event and a trace, below an address of its `proxy`."""

import json
import zlib
from urllib.parse import quote, urlencode

import pytest
from pytest_django import Settings

from profcore.errors import Reason
from profcore.trace.collection import Collection
from profcore.trace.dimensions import SDKS
from projects.collection import change_collection
from projects.keys import change_origins
from projects.models import IngestKey, Project
from tests.ingest.endpoint.posting import IngestServer
from tests.ingest.sdks.datadog_forms import FORM, PROFILE, QUOTA, SHOP, Json, make_form, make_parts, send
from tests.profcore.formats.importers.reading import sample_json


def ask_quota(endpoint: IngestServer, session: str = "s", *, origin: str = SHOP) -> Json:
    answer = endpoint.ask("GET", address=f"/datadog/{endpoint.key}{QUOTA}?session_id={session}", origin=origin)
    assert answer.status == 200
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    attributes: Json = answer.json["data"]["attributes"]
    return attributes


def test_each_view_of_a_profile_is_stored(endpoint: IngestServer) -> None:
    answer = send(endpoint, make_form(make_parts()))
    assert (answer.status, answer.json) == (202, {"accepted": 2, "rejected": []})
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    assert endpoint.pages() == ["/cart/:id", "/checkout"]
    cart, checkout = (json.loads(body) for body in endpoint.bodies())
    assert {cart["release"], checkout["release"]} == {"2.1.0"}
    assert cart["tags"]["sdk"] == "datadog"
    assert endpoint.receipts("sdk") == [(SDKS.index("datadog"),)] * 2


def test_a_resend_is_known(endpoint: IngestServer) -> None:
    parts = make_parts()
    packed = parts | {"wall-time.json": zlib.compress(parts["wall-time.json"])}
    for sent in (parts, parts, packed):
        assert send(endpoint, make_form(sent)).status == 202
    assert len(endpoint.receipts()) == 2


def test_chunks_of_one_view_are_traces_of_their_own(endpoint: IngestServer) -> None:
    profile = sample_json("datadog.json")
    send(endpoint, make_form(make_parts(profile)))
    for sample in profile["wall-time.json"]["samples"]:
        sample["timestamp"] += 1
    send(endpoint, make_form(make_parts(profile)))
    assert len(endpoint.receipts()) == 4
    assert len({view for view, _ in endpoint.receipts()}) == 2


def test_a_profile_without_release_or_view_is_unknown_and_not_lost(endpoint: IngestServer) -> None:
    profile = sample_json("datadog.json")
    profile["wall-time.json"]["views"] = []
    profile["event"]["tags_profiler"] = "env:prod"
    assert send(endpoint, make_form(make_parts(profile))).status == 202
    (stored,) = (json.loads(body) for body in endpoint.bodies())
    assert (stored["release"], stored["page"]) == ("(unknown)", "(unknown)")
    assert stored["tags"] == {"sdk": "datadog", "env": "prod"}
    assert stored["environment"] == "prod"


@pytest.mark.parametrize("address", ["", "/", "/anything"])
def test_a_proxy_that_is_a_text_sends_everything_and_only_profiles_are_kept(
    endpoint: IngestServer, address: str
) -> None:
    forward = f"{PROFILE}?ddsource=browser&dd-api-key=pub"
    assert send(endpoint, make_form(make_parts()), address, forward=forward).status == 202
    for track in ("/api/v2/rum?a=b", "/api/v2/replay", "/api/v2/logs"):
        answer = send(endpoint, b"whatever", address, forward=track, content_type="text/plain")
        assert (answer.status, answer.json) == (202, {})
        assert answer.headers["Access-Control-Allow-Origin"] == "*"
    assert len(endpoint.receipts()) == 2
    assert endpoint.refusals() == {}


@pytest.mark.parametrize(
    ("parts", "reason", "path"),
    [
        ({}, Reason.MISSING_FIELD, "$.wall-time.json"),
        ({"event": b"{}"}, Reason.MISSING_FIELD, "$.wall-time.json"),
        ({"event": b"{", "wall-time.json": b"{}"}, Reason.INVALID_JSON, "$"),
        ({"event": b"{}", "wall-time.json": b"[]"}, Reason.WRONG_TYPE, "$.wall-time.json"),
        ({"event": b"{}", "wall-time.json": b"\x78\x9cnot zlib"}, Reason.INVALID_VALUE, "$.wall-time.json"),
        ({"wall-time.json": zlib.compress(b"{}")[:-3]}, Reason.INVALID_VALUE, "$.wall-time.json"),
        ({"wall-time.json": zlib.compress(b" " * 60_000_000)}, Reason.TOO_LARGE, "$"),
    ],
)
def test_what_cannot_be_read_is_refused_by_its_part(
    endpoint: IngestServer, parts: dict[str, bytes], reason: Reason, path: str
) -> None:
    answer = send(endpoint, make_form(parts))
    assert (answer.json["reason"], answer.json["path"]) == (reason, path)
    assert answer.status in (400, 413)
    assert endpoint.refusals() == {reason: 1}


@pytest.mark.parametrize(
    ("body", "content_type", "status"),
    [
        (b"{}", "application/json", 415),
        (b"{}", "multipart/form-data", 400),
        (b"no form at all", FORM, 400),
        (make_form({str(number): b"" for number in range(200)}), FORM, 400),
        (make_form({str(number): b"" for number in range(5_000)}, is_file=False), FORM, 400),
        (make_form(make_parts(), is_file=False), FORM, 400),
    ],
)
def test_a_form_that_is_none_is_refused(endpoint: IngestServer, body: bytes, content_type: str, status: int) -> None:
    answer = send(endpoint, body, content_type=content_type)
    assert answer.status == status
    assert answer.json["detail"]


def test_a_view_that_is_refused_leaves_the_others(endpoint: IngestServer) -> None:
    profile = sample_json("datadog.json")
    profile["wall-time.json"]["views"][0]["viewName"] = "x" * 500
    answer = send(endpoint, make_form(make_parts(profile)))
    assert answer.status == 202
    assert (answer.json["accepted"], [one["path"] for one in answer.json["rejected"]]) == (1, ["$.page"])
    assert endpoint.refusals() == {Reason.TOO_LONG: 1}


def test_views_that_share_their_tables_are_not_written_a_hundred_times(endpoint: IngestServer) -> None:
    profile = sample_json("datadog.json")
    trace, view = profile["wall-time.json"], profile["wall-time.json"]["views"][0]
    trace["stacks"] = [{"frameId": 0, "parentId": at - 1} if at else {"frameId": 0} for at in range(5_000)]
    trace["samples"] = [{"timestamp": at, "stackId": 4_999} for at in range(100)]
    trace["views"] = [
        view | {"viewId": f"11111111-2222-4333-8444-{at:012}", "startClocks": {"relative": at, "timeStamp": at}}
        for at in range(100)
    ]
    answer = send(endpoint, make_form(make_parts(profile)))
    assert 2 <= answer.json["accepted"] <= 4
    assert [one["reason"] for one in answer.json["rejected"]] == ["too_large"]


def test_keys_origins_and_quotas_are_those_of_our_own_posts(endpoint: IngestServer, settings: Settings) -> None:
    body = make_form(make_parts())
    unknown = endpoint.ask("POST", body, content_type=FORM, address=f"/datadog/nobody{PROFILE}")
    assert (unknown.status, unknown.reason) == (401, "unknown_key")
    change_origins(IngestKey.objects.get(public_key=endpoint.key), [SHOP])
    other = send(endpoint, body, origin="https://elsewhere.example")
    assert (other.status, other.reason) == (403, "origin_not_allowed")
    assert ask_quota(endpoint, origin="https://elsewhere.example") == {"admitted": False, "reason": "org_disabled"}
    settings.INGEST_MAX_TRACES_PER_DAY = 1
    answer = send(endpoint, body)
    assert (answer.json["accepted"], [one["reason"] for one in answer.json["rejected"]]) == (1, ["quota_exceeded"])
    assert ask_quota(endpoint) == {"admitted": False, "reason": "quota_exceeded"}


def test_a_preflight_allows_what_the_sdk_asks_for(endpoint: IngestServer) -> None:
    for path in (PROFILE, QUOTA):
        answer = endpoint.ask(
            "OPTIONS",
            address=f"/datadog/{endpoint.key}{path}",
            access_control_request_headers="dd-client-token",
            access_control_request_method="GET",
        )
        assert answer.status == 204
        assert answer.headers["Access-Control-Allow-Headers"] == "dd-client-token"
        assert "GET" in answer.headers["Access-Control-Allow-Methods"]


def test_the_quota_is_our_own_word_on_recording(endpoint: IngestServer) -> None:
    assert ask_quota(endpoint) == {"admitted": True, "reason": "quota_ok"}
    assert ask_quota(IngestServer(endpoint.project_id, "nobody")) == {"admitted": False, "reason": "org_disabled"}
    project = Project.objects.get(pk=endpoint.project_id)
    change_collection(project, Collection(off=True))
    assert ask_quota(endpoint) == {"admitted": False, "reason": "org_disabled"}


def test_a_rate_draws_sessions_by_their_id(endpoint: IngestServer) -> None:
    change_collection(Project.objects.get(pk=endpoint.project_id), Collection(rate=0.25))
    drawn = [ask_quota(endpoint, f"session-{number}")["admitted"] for number in range(200)]
    assert 30 < sum(drawn) < 70
    assert drawn == [ask_quota(endpoint, f"session-{number}")["admitted"] for number in range(200)]
    for number, is_drawn in enumerate(drawn[:40]):  # where `proxy` is a text
        forward = urlencode({"ddforward": f"{QUOTA}?session_id=session-{number}", "ddforwardSubdomain": "quota"})
        answer = endpoint.ask("GET", address=f"/datadog/{endpoint.key}?{forward}", origin=SHOP)
        assert answer.json["data"]["attributes"]["admitted"] is is_drawn
    send(endpoint, make_form(make_parts()))
    assert {json.loads(body)["sampleRate"] for body in endpoint.bodies()} == {0.25}


def test_odd_addresses_are_answered(endpoint: IngestServer) -> None:
    for query in ("ddforward=%ff", "&".join(f"a{number}=1" for number in range(50)), "ddforward=http://[", "="):
        assert endpoint.ask("POST", b"", address=f"/datadog/{endpoint.key}/x?{query}").status in (202, 400)
    for path in ("/datadog/%0a/x", "/datadog//" + endpoint.key + PROFILE + "/", f"/datadog/{quote('é')}/x"):
        answer = endpoint.ask("POST", b"", address=path)
        assert answer.status in (400, 401, 415)
    assert endpoint.ask("DELETE", address=f"/datadog/{endpoint.key}/x").status == 405


def test_the_debug_ids_of_scripts_are_kept(endpoint: IngestServer) -> None:
    profile, debug_id = sample_json("datadog.json"), "f997c982-fb7b-472d-9f0a-84d5c8ad7d7c"
    trace = profile["wall-time.json"]
    trace["debugIds"] = [{"resourceId": at, "debugId": debug_id} for at in (0, 9_999, -1)]
    assert send(endpoint, make_form(make_parts(profile))).status == 202
    kept = endpoint.rows("SELECT uri, debug_id::text FROM ingest_scriptdebugid WHERE project_id = %(project)s")
    assert kept == [(trace["resources"][0], debug_id)]
