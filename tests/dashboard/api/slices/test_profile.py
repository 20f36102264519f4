"""`profile`: the slice in a viewer's format, streamed, packed, named, and not sent twice."""

import gzip
import json
from typing import Any

import pytest
from django.http import HttpResponse, StreamingHttpResponse
from django.test import Client

from aggregate.models import Cell
from profcore.formats.firefox.shapes import PROCESSED_PROFILE_VERSION
from projects.models import Project
from tests.dashboard.conftest import RAW_BODY, TRACE_ID, People
from tests.profcore.formats.readers import READERS

VIEW_ID = "6f1d9d0e-6a43-5b53-9f5e-0d3b6c1c2a10"
ADDRESS = "/api/v1/projects/shop/profile?format=firefox"


def body_of(response: Any) -> bytes:  # Any: the test client's answers have no public type of their own
    assert isinstance(response, StreamingHttpResponse)
    return response.getvalue()


def self_times(profile: dict[str, Any]) -> dict[str | None, float]:
    """Returns the weight of each leaf function of the profile's one thread, by name."""
    shared, (thread,) = profile["shared"], profile["threads"]
    times: dict[str | None, float] = {}
    for stack, weight in zip(thread["samples"]["stack"], thread["samples"]["weight"], strict=True):
        name = None
        if stack is not None:
            func = shared["frameTable"]["func"][shared["stackTable"]["frame"][stack]]
            name = shared["stringArray"][shared["funcTable"]["name"][func]]
        times[name] = times.get(name, 0) + weight
    return {name: round(ms, 6) for name, ms in times.items()}


def test_it_is_the_slice_as_a_firefox_profile(member: Client) -> None:
    response = member.get(ADDRESS + "&page=/cart&release=1.0.0")
    assert response["Content-Type"] == "application/json"
    profile = json.loads(body_of(response))
    assert profile["meta"]["preprocessedProfileVersion"] == PROCESSED_PROFILE_VERSION
    assert self_times(profile) == {"draw": 7.0, "main": 2.0, "(hidden)": 0.5, None: 0.3}
    assert profile["meta"]["sourceURL"] == "http://testserver/projects/shop/functions/?release=1.0.0&page=/cart"


def test_it_says_nothing_of_other_slices(member: Client) -> None:
    profile = json.loads(body_of(member.get(ADDRESS + "&page=/other")))
    assert set(self_times(profile)) <= {None}


def test_a_client_that_takes_gzip_gets_the_same_bytes_packed(member: Client) -> None:
    plain, packed = member.get(ADDRESS), member.get(ADDRESS, headers={"Accept-Encoding": "br, gzip;q=0.5"})
    assert packed["Content-Encoding"] == "gzip"
    assert not plain.has_header("Content-Encoding")
    assert gzip.decompress(body_of(packed)) == body_of(plain)
    assert "Accept-Encoding" in packed["Vary"]
    refusing = member.get(ADDRESS, headers={"Accept-Encoding": "gzip;q=0"})
    assert not refusing.has_header("Content-Encoding")


def test_a_download_is_a_gzip_file_with_a_name(member: Client) -> None:
    response = member.get(ADDRESS + "&compress=gzip&page=/cart&release=1.0.0", headers={"Accept-Encoding": "gzip"})
    assert response["Content-Type"] == "application/gzip"
    assert response["Content-Disposition"] == 'attachment; filename="shop-1.0.0-cart.json.gz"'
    assert not response.has_header("Content-Encoding")
    assert self_times(json.loads(gzip.decompress(body_of(response))))["draw"] == 7.0


@pytest.mark.parametrize(
    ("name", "media_type", "file_name"),
    [
        ("cpuprofile", "application/json", "shop-1.0.0-cart.cpuprofile"),
        ("trace-event", "application/json", "shop-1.0.0-cart.trace.json"),
        ("speedscope", "application/json", "shop-1.0.0-cart.speedscope.json"),
        ("collapsed", "text/plain; charset=utf-8", "shop-1.0.0-cart.collapsed.txt"),
        ("pprof", "application/octet-stream", "shop-1.0.0-cart.pb.gz"),
        ("csv", "text/csv; charset=utf-8; header=present", "shop-1.0.0-cart.csv"),
    ],
)
def test_other_formats_come_with_their_type_and_name(
    member: Client, name: str, media_type: str, file_name: str
) -> None:
    response = member.get(f"/api/v1/projects/shop/profile?format={name}&page=/cart&release=1.0.0")
    assert response["Content-Type"] == media_type
    assert response["Content-Disposition"] == f'attachment; filename="{file_name}"'
    assert response["X-Content-Type-Options"] == "nosniff"
    body = body_of(response)
    readers = [reader for reader in READERS.values() if reader.exporter == name]
    assert readers
    for reader in readers:
        sums = {key.label.split(" ")[0]: us for key, us in reader.read(body).self_us.items()}
        assert sums == {"draw": 7_000, "main": 2_000, "(hidden)": 500}


def test_a_format_that_is_gzip_by_itself_is_packed_once(member: Client) -> None:
    address = "/api/v1/projects/shop/profile?format=pprof"
    for extra, accepted in (("", ""), ("", "gzip"), ("&compress=gzip", "gzip")):
        response = member.get(address + extra, headers={"Accept-Encoding": accepted})
        assert response["Content-Type"] == "application/octet-stream"
        assert response["Content-Disposition"].endswith('.pb.gz"')
        assert not response.has_header("Content-Encoding")
        assert gzip.decompress(body_of(response))[:2] != b"\x1f\x8b"


def test_a_hostile_page_name_does_not_reach_the_header(member: Client) -> None:
    response = member.get(ADDRESS + "&page=%22%0d%0aSet-Cookie:%20x=1/..%2f..%2f%C3%BC")
    assert response["Content-Disposition"] == 'attachment; filename="shop-Set-Cookie-x-1.json"'


def test_a_client_that_has_it_gets_304_until_a_trace_is_folded(member: Client, shop: Project) -> None:
    first = member.get(ADDRESS)
    again = member.get(ADDRESS, headers={"If-None-Match": first["ETag"]})
    assert isinstance(again, HttpResponse)
    assert (again.status_code, again.content, again["ETag"]) == (304, b"", first["ETag"])
    Cell.objects.filter(project=shop).update(traces=2)
    changed = member.get(ADDRESS, headers={"If-None-Match": first["ETag"]})
    assert changed.status_code == 200
    assert changed["ETag"] != first["ETag"]


def test_each_representation_and_slice_has_an_etag_of_its_own(member: Client) -> None:
    etags = [
        member.get(ADDRESS)["ETag"],
        member.get(ADDRESS, headers={"Accept-Encoding": "gzip"})["ETag"],
        member.get(ADDRESS + "&compress=gzip")["ETag"],
        member.get(ADDRESS + "&page=/cart")["ETag"],
    ]
    assert len(set(etags)) == 4


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("", "format"),
        ("format=", "format"),
        ("format=xml", "format"),
        ("format=firefox&format=firefox", "format"),
        ("format=firefox&compress=zip", "compress"),
        ("format=firefox&from=x", "from"),
        ("format=firefox&sort=self_ms", "sort"),
        ("format=firefox&segment=colour", "segment"),
        ("format=firefox&segment=page&segment=page", "segment"),
        ("format=firefox&axis=time", "axis"),
        ("format=firefox&engine=leaves", "engine"),
        ("format=firefox&base_release=1.0.0", "head_release"),
        ("format=firefox&base_release=1.0.0&head_release=1.0.0&release=1.0.0", "release"),
        (f"format=firefox&view={TRACE_ID}", "view"),
        (f"format=firefox&trace={VIEW_ID}", "trace"),
    ],
)
def test_a_bad_parameter_is_400_and_named(member: Client, query: str, field: str) -> None:
    response = member.get(f"/api/v1/projects/shop/profile?{query}")
    assert response.status_code == 400
    assert response.json()["field"] == field


RAW_ADDRESS = f"/api/v1/projects/shop/profile?format=raw&trace={TRACE_ID}"


def test_a_raw_trace_comes_as_it_is_kept_expanded_or_as_a_file(client: Client, people: People) -> None:
    client.force_login(people.owner)
    plain = client.get(RAW_ADDRESS)
    assert (plain.content, plain["Content-Type"]) == (RAW_BODY, "application/json")
    packed = client.get(RAW_ADDRESS, headers={"Accept-Encoding": "gzip"})
    assert packed["Content-Encoding"] == "gzip"
    assert gzip.decompress(packed.content) == RAW_BODY
    file = client.get(RAW_ADDRESS + "&compress=gzip", headers={"Accept-Encoding": "gzip"})
    assert not file.has_header("Content-Encoding")
    assert file["Content-Type"] == "application/gzip"
    assert file["Content-Disposition"] == f'attachment; filename="trace-{TRACE_ID}.json.gz"'
    assert gzip.decompress(file.content) == RAW_BODY


def test_a_raw_trace_is_for_those_who_may_read_it(member: Client) -> None:
    assert member.get(RAW_ADDRESS).status_code == 403


@pytest.mark.parametrize(
    ("query", "field"),
    [("", "trace"), ("&trace=a&trace=b", "trace"), (f"&trace={TRACE_ID}&page=/cart", "page"), ("&axis=sum", "axis")],
)
def test_a_raw_trace_is_one_and_takes_no_filter(client: Client, people: People, query: str, field: str) -> None:
    client.force_login(people.owner)
    response = client.get("/api/v1/projects/shop/profile?format=raw" + query)
    assert response.status_code == 400
    assert response.json()["field"] == field


def test_a_raw_trace_that_is_not_there_is_404(client: Client, people: People) -> None:
    client.force_login(people.owner)
    for ref in ("00000000-0000-4000-8000-000000000000", "nonsense"):
        assert client.get(f"/api/v1/projects/shop/profile?format=raw&trace={ref}").status_code == 404
