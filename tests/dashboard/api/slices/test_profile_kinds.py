"""`profile` beyond a slice's sums: views on their clocks, segments, differences."""

from typing import Any
from urllib.parse import urlsplit

import pytest
from django.http import StreamingHttpResponse
from django.test import Client
from pytest_django import Settings

from profcore.formats.registry import EXPORTERS
from projects.models import IngestKey, Membership
from tests.aggregate.jobs.running_jobs import run_jobs
from tests.aggregate.posting import fold_all, post
from tests.builders import make_project
from tests.dashboard.conftest import People
from tests.envelopes import make_envelope, view_id_of
from tests.profcore.formats.firefox.lint import load_good, read_runs
from tests.profcore.formats.readers import READERS

ADDRESS = "/api/v1/projects/tea/profile?format=firefox"
VIEW = view_id_of("a")


@pytest.fixture
def tea(client: Client, people: People) -> Client:
    """A member's session, and a project with one view: A, which called B, for 10 ms each."""
    project = make_project("tea")
    Membership.objects.create(project=project, user=people.member)
    add(make_envelope("a", "A\nA B", marks=[{"type": "lcp", "start": 3}]))
    client.force_login(people.member)
    return client


def test_a_format_that_cannot_say_it_is_refused_with_those_that_can(tea: Client) -> None:
    address = ADDRESS.replace("firefox", "cpuprofile")
    for query, field, others in (
        ("&segment=page", "segment", "firefox, trace-event, speedscope, collapsed, pprof, csv"),
        ("&base_release=1.0.0&head_release=2.0.0", "base_release", "firefox, speedscope, collapsed, pprof, csv"),
    ):
        response = tea.get(address + query)
        assert response.status_code == 400
        assert response.json()["field"] == field
        assert response.json()["detail"].endswith(f"; {others} have.")


@pytest.mark.parametrize("name", ["cpuprofile", "trace-event", "speedscope", "collapsed", "pprof", "csv"])
def test_a_view_comes_in_every_format(tea: Client, name: str) -> None:
    response = tea.get(ADDRESS.replace("firefox", name) + f"&view={VIEW}")
    assert isinstance(response, StreamingHttpResponse), response.content
    body = response.getvalue()
    for reader in READERS.values():
        if reader.exporter == name:
            assert sum(reader.read(body).self_us.values()) == 20_000


@pytest.mark.parametrize("query", ["&segment=release", "&base_release=1.0.0&head_release=1.0.0"])
def test_segments_and_differences_come_in_every_format_that_has_them(tea: Client, query: str) -> None:
    for name in ("speedscope", "collapsed", "pprof", "csv"):
        response = tea.get(ADDRESS.replace("firefox", name) + query)
        assert isinstance(response, StreamingHttpResponse), response.content
        assert response.getvalue()


def test_the_table_is_of_all_functions_whatever_the_size_guard(tea: Client, settings: Settings) -> None:
    settings.EXPORT_MAX_CALL_NODES = 1
    rows = tea.get(ADDRESS.replace("firefox", "csv"))
    pruned = tea.get(ADDRESS.replace("firefox", "collapsed"))
    assert isinstance(rows, StreamingHttpResponse)
    assert isinstance(pruned, StreamingHttpResponse)
    assert rows.getvalue().count(b'"function",') == 2
    assert b"(pruned)" in pruned.getvalue()


@pytest.mark.parametrize("name", [name for name, exporter in EXPORTERS.items() if "timeline" in exporter.kinds])
def test_a_view_whose_frames_have_no_time_comes_on_its_clock_in_every_format(tea: Client, name: str) -> None:
    envelope = make_envelope("odd", "A\nA B")
    envelope["trace"]["frames"][1] = {"name": "Profiler"}  # its own time counts as unobserved
    envelope["trace"]["frames"].append({"name": "neverSeen", "resourceId": 0, "line": 77, "column": 7})
    add(envelope)
    params = {"format": name, "view": view_id_of("odd")}
    answer = tea.get("/api/v1/projects/tea/profile", params)
    assert isinstance(answer, StreamingHttpResponse), answer.content
    body = answer.getvalue()
    for reader in READERS.values():
        if reader.exporter == name:
            sums = {
                key.label.split()[0]: us for key, us in reader.read(body).self_us.items()
            }  # collapsed adds the place
            assert sums.pop("A") == 10_000
            assert sums.keys() <= {"(profiler)"}
    link = tea.post("/api/v1/projects/tea/links", {"params": params}, content_type="application/json").json()
    assert Client().get(urlsplit(link["url"]).path).status_code == 200
    asked = {"kind": "profile", "params": params}
    job = tea.post("/api/v1/projects/tea/jobs", asked, content_type="application/json").json()
    run_jobs()
    assert tea.get(job["url"]).json()["error"] is None


def add(*envelopes: dict[str, Any]) -> None:
    post("KEY-tea", *envelopes)
    fold_all()


def ask(client: Client, query: str) -> tuple[dict[str, Any], str]:
    """Returns a profile without faults, and the name of its file."""
    response = client.get(ADDRESS + query)
    assert isinstance(response, StreamingHttpResponse), response.content
    return load_good(response.getvalue()), response["Content-Disposition"].partition("=")[2]


def names_of(profile: dict[str, Any]) -> list[str]:
    return [thread["name"] for thread in profile["threads"]]


def test_a_view_comes_on_its_clock(tea: Client) -> None:
    profile, name = ask(tea, f"&view={VIEW}")
    assert name == f'"tea-view-{VIEW[:8]}.json"'
    assert profile["threads"][0]["samples"]["threadCPUDelta"] == [0, 10_000, 10_000]
    assert "LargestContentfulPaint" in profile["shared"]["stringArray"]
    assert profile["meta"]["sourceURL"] == f"http://testserver/projects/tea/?view={VIEW}"


def test_a_view_can_be_summed_up(tea: Client) -> None:
    profile, _ = ask(tea, f"&view={VIEW}&axis=sum")
    assert "threadCPUDelta" not in profile["threads"][0]["samples"]


def test_engine_leaves_are_there_when_asked_for(tea: Client) -> None:
    envelope = make_envelope("b", "A")
    envelope["trace"]["samples"][0]["marker"] = "gc"
    add(envelope)
    view = f"&view={view_id_of('b')}"
    for query, is_there in (("", False), ("&engine=none", False), ("&engine=leaves", True)):
        profile, _ = ask(tea, view + query)
        assert ("(garbage collection)" in profile["shared"]["stringArray"]) is is_there


def test_a_views_etag_changes_with_its_own_traces_alone(tea: Client) -> None:
    address = f"{ADDRESS}&view={VIEW}"
    etag = tea.get(address)["ETag"]
    add(make_envelope("b"))
    assert tea.get(address, headers={"If-None-Match": etag}).status_code == 304
    add(make_envelope("a", seq=1))
    assert tea.get(address, headers={"If-None-Match": etag}).status_code == 200


def test_the_etag_changes_with_the_projects_own_origins(tea: Client) -> None:
    # A key with any origin has its sites cached for some seconds: only named ones change at once.
    IngestKey.objects.update(origins=["https://other.example"])
    for query in ("", f"&view={VIEW}"):
        etag = tea.get(ADDRESS + query)["ETag"]
        assert tea.get(ADDRESS + query, headers={"If-None-Match": etag}).status_code == 304
        IngestKey.objects.update(origins=["https://shop.example"])
        assert tea.get(ADDRESS + query, headers={"If-None-Match": etag}).status_code == 200
        IngestKey.objects.update(origins=["https://other.example"])


def test_segments_are_tracks_below_the_whole(tea: Client) -> None:
    add(make_envelope("b", "C", page="/list"))
    profile, name = ask(tea, "&segment=page")
    assert name == '"tea-by-page.json"'
    assert names_of(profile) == ["All: 2 pages", "page: /cart", "page: /list"]


def test_segments_by_navigation_say_how_views_began(tea: Client) -> None:
    add(make_envelope("b", "C", navigation="route"), make_envelope("c", "C\nC\nC", navigation="bfcache"))
    profile, name = ask(tea, "&segment=navigation")
    assert name == '"tea-by-navigation.json"'
    assert names_of(profile)[0].startswith("All")
    assert sorted(names_of(profile)[1:]) == ["navigation: bfcache", "navigation: route", "navigation: unknown"]
    (alone, _) = ask(tea, "&navigation=route")
    entries = [entry for section in alone["meta"]["extra"] for entry in section["entries"]]
    assert [entry["value"] for entry in entries if entry["label"] == "Navigations"] == ["route"]


def test_a_difference_is_head_minus_base_for_each_view(tea: Client) -> None:
    add(make_envelope("b", "A\nA\nA", release="2.0.0"), make_envelope("c", "A B", release="2.0.0"))
    profile, name = ask(tea, "&base_release=1.0.0&head_release=2.0.0&page=/cart")
    assert name == '"tea-1.0.0-to-2.0.0-cart.json"'
    assert names_of(profile) == ["Change per view", "Head: 2.0.0", "Base: 1.0.0"]
    assert [us for _, us in read_runs(profile)] == [5_000, -5_000, 0]
    assert profile["meta"]["sourceURL"].endswith("/functions/?release=1.0.0&release=2.0.0&page=/cart")


def test_each_kind_of_export_has_an_etag_of_its_own(tea: Client) -> None:
    view = f"&view={VIEW}"
    queries = ["", "&segment=page", "&segment=device", "&base_release=1.0.0&head_release=1.0.0", view]
    queries += [f"{view}&axis=sum", f"{view}&engine=leaves"]
    assert len({tea.get(ADDRESS + query)["ETag"] for query in queries}) == len(queries)


def test_a_view_of_another_project_is_refused_like_one_that_is_not_there(tea: Client) -> None:
    make_project("other")
    post("KEY-other", make_envelope("x"))
    fold_all()
    answers = [tea.get(f"{ADDRESS}&view={view_id_of(word)}") for word in ("x", "nowhere")]
    assert [answer.status_code for answer in answers] == [400, 400]
    assert answers[0].content == answers[1].content
