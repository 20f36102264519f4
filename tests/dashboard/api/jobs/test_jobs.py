"""`jobs`: what is too large for an answer, prepared in the background; the same bytes, by the same words."""

import gzip
import json
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.http import QueryDict
from django.test import Client
from pytest_django import Settings

from aggregate.jobs.runs import claim_job
from aggregate.models import Job
from profcore.formats.registry import EXPORTERS
from projects.models import Project
from tests.aggregate.jobs.running_jobs import run_jobs
from tests.dashboard.api.starting_jobs import API, JOBS, body_of, func_id, start
from tests.dashboard.conftest import People
from tests.envelopes import view_id_of


@pytest.mark.parametrize("kind", ["functions", "calltree", "flamegraph", "profile"])
@pytest.mark.parametrize("fine", [[], [("tag", "cache:warm")], [("view", "v1"), ("view", "v4")], [("func_over", "A")]])
def test_a_jobs_result_is_the_answer_to_the_same_question(
    client: Client, site: Project, token: dict[str, str], kind: str, fine: list[tuple[str, str]]
) -> None:
    params: dict[str, Any] = {"format": "firefox"} if kind == "profile" else {}
    for name, value in fine:
        exact = {"view": view_id_of(value), "func_over": f"{func_id('A')}:10"}.get(name, value)
        params.setdefault(name, []).append(exact)
    answer = client.get(API + kind, params, headers=token)
    expected = body_of(answer)
    job = start(client, token, kind, **params)
    run_jobs()
    done = client.get(job["url"], headers=token).json()
    assert (done["state"], done["error"]) == ("done", None)
    assert done["done_traces"] == done["total_traces"] > 0
    result = client.get(done["result_url"], headers=token)
    assert body_of(result) == expected
    assert result["Content-Type"] == answer["Content-Type"]
    if kind == "profile":
        assert result["Fieldflame-Source"] == answer["Fieldflame-Source"] == ("raw" if fine else "cells")


@pytest.mark.parametrize(
    "how",
    [
        {"segment": "page"},
        {"segment": "category", "tag": "cache:warm"},
        {"base_release": "1.0.0", "head_release": "2.0.0"},
        {"base_release": "1.0.0", "head_release": "1.0.0", "tag": "cache:cold"},
        {"view": view_id_of("v1"), "engine": "leaves"},
        {"view": view_id_of("v1"), "axis": "sum"},
    ],
)
def test_every_kind_of_profile_is_the_same_too(
    client: Client, site: Project, token: dict[str, str], how: dict[str, str]
) -> None:
    params = {"format": "firefox", **how}
    answer = client.get(API + "profile", params, headers=token)
    expected = body_of(answer)
    job = start(client, token, "profile", **params)
    run_jobs()
    result = client.get(f"{job['url']}/result", headers=token)
    assert body_of(result) == expected
    assert result["Content-Disposition"] == answer["Content-Disposition"]


@pytest.mark.parametrize("by", ["file", "package", "origin", "category"])
@pytest.mark.parametrize("fine", [{}, {"tag": "cache:cold"}, {"view": view_id_of("v1")}])
def test_groups_are_the_same_too(
    client: Client, site: Project, token: dict[str, str], by: str, fine: dict[str, str]
) -> None:
    params: dict[str, Any] = {"group_by": by, "sort": "views", "limit": 3, **fine}
    expected = body_of(client.get(API + "functions", params, headers=token))
    job = start(client, token, "functions", **params)
    run_jobs()
    assert body_of(client.get(f"{job['url']}/result", headers=token)) == expected


def test_a_result_is_409_until_it_is_there_and_410_once_it_is_gone(
    client: Client, site: Project, token: dict[str, str]
) -> None:
    job = start(client, token, "functions")
    result = f"{job['url']}/result"
    assert (job["state"], job["result_url"]) == ("queued", None)
    waiting = client.get(result, headers=token)
    assert (waiting.status_code, waiting["Retry-After"]) == (409, "2")
    assert claim_job() is not None
    assert client.get(job["url"], headers=token).json()["state"] == "running"
    assert client.get(result, headers=token).status_code == 409
    Job.objects.update(claimed_until=datetime.now(UTC) - timedelta(hours=1))
    run_jobs()
    done = client.get(job["url"], headers=token).json()
    assert (done["result_url"], done["attempts"]) == (result, 2)
    assert client.get(result, headers=token).status_code == 200
    Job.objects.update(expires_at=datetime.now(UTC) - timedelta(seconds=1))
    gone = client.get(result, headers=token)
    assert (gone.status_code, "expired" in gone.json()["detail"]) == (410, True)
    assert client.get(job["url"], headers=token).json()["result_url"] is None


def test_deleting_cancels_and_throws_away(client: Client, site: Project, token: dict[str, str]) -> None:
    for is_done in (False, True):
        job = start(client, token, "functions", limit=1 + is_done)
        if is_done:
            run_jobs()
        assert client.delete(job["url"], headers=token).status_code == 204
        assert client.get(job["url"], headers=token).json()["state"] == "cancelled"
        gone = client.get(f"{job['url']}/result", headers=token)
        assert (gone.status_code, gone.json()["detail"]) == (410, "The job was cancelled.")
        assert client.delete(job["url"], headers=token).status_code == 204


def test_a_profile_is_a_named_file_packed_as_asked(client: Client, site: Project, token: dict[str, str]) -> None:
    plain = start(client, token, "profile", format="firefox", tag="cache:warm", page="/p1")
    packed = start(client, token, "profile", format="firefox", tag="cache:warm", page="/p1", compress="gzip")
    run_jobs()
    one = client.get(f"{plain['url']}/result", headers=token)
    assert one["Content-Type"] == "application/json"
    assert one["Content-Disposition"] == 'attachment; filename="site-p1.json"'
    assert not one.has_header("Content-Encoding")
    profile = body_of(one)
    on_the_way = client.get(f"{plain['url']}/result", headers={**token, "Accept-Encoding": "gzip"})
    assert on_the_way["Content-Encoding"] == "gzip"
    assert gzip.decompress(body_of(on_the_way)) == profile
    assert "Accept-Encoding" in on_the_way["Vary"]
    file = client.get(f"{packed['url']}/result", headers={**token, "Accept-Encoding": "gzip"})
    assert (file["Content-Type"], file.has_header("Content-Encoding")) == ("application/gzip", False)
    assert file["Content-Disposition"] == 'attachment; filename="site-p1.json.gz"'
    assert gzip.decompress(body_of(file)) == profile
    query = "page=/p1&tag=cache%3Awarm&format=firefox&compress=gzip"
    assert gzip.decompress(body_of(client.get(f"{API}profile?{query}", headers=token))) == profile
    assert file["Cache-Control"] == "private, no-cache"


ASKED = {"slice": "", "segments": "&segment=page", "difference": "&base_release=1.0.0&head_release=1.0.0"}


@pytest.mark.parametrize(
    ("name", "kind"), [(name, kind) for name, exporter in EXPORTERS.items() for kind in exporter.kinds if kind in ASKED]
)
def test_a_profile_in_any_format_is_the_file_that_the_address_answers(
    client: Client, site: Project, token: dict[str, str], name: str, kind: str
) -> None:
    query = QueryDict(f"format={name}&tag=cache:warm{ASKED[kind]}")
    job = start(client, token, "profile", **dict(query.lists()))
    run_jobs()
    result = client.get(f"{job['url']}/result", headers=token)
    answer = client.get(f"{API}profile?{query.urlencode()}", headers=token)
    assert body_of(result) == body_of(answer)
    for header in ("Content-Type", "Content-Disposition"):
        assert result[header] == answer[header]


def test_jobs_are_listed_newest_first(client: Client, site: Project, token: dict[str, str]) -> None:
    ids = [start(client, token, "functions", limit=n)["id"] for n in (1, 2, 3)]
    listed = client.get(JOBS, headers=token).json()["jobs"]
    assert [job["id"] for job in listed] == ids[::-1]
    assert listed[0]["params"] == {"limit": ["3"]}


def test_equal_jobs_are_one_and_too_many_are_429(
    client: Client, site: Project, token: dict[str, str], settings: Settings
) -> None:
    settings.JOBS_MAX_UNFINISHED = 1
    first = start(client, token, "functions", tag="a:b")
    assert start(client, token, "functions", tag=["a:b"])["id"] == first["id"]
    body = {"kind": "functions", "params": {"tag": "c:d"}}
    response = client.post(JOBS, body, content_type="application/json", headers=token)
    assert (response.status_code, response["Retry-After"]) == (429, "60")


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ("", "kind"),
        ("[]", "kind"),
        ("nonsense", "kind"),
        ("[" * 60_000, "kind"),
        ('"\xff"', "kind"),
        ("{}", "kind"),
        ('{"kind": "breakdown"}', "kind"),
        ('{"kind": ["functions"]}', "kind"),
        ('{"kind": "functions", "param": {}}', "param"),
        ('{"kind": "functions", "params": []}', "params"),
        ('{"kind": "functions", "params": {"tag": {"a": "b"}}}', "tag"),
        ('{"kind": "functions", "params": {"tag": true}}', "tag"),
        ('{"kind": "functions", "params": {"tag": [null]}}', "tag"),
        ('{"kind": "functions", "params": {"tag": "x"}}', "tag"),
        ('{"kind": "functions", "params": {"tag": "a:\\u0000"}}', "tag"),
        ('{"kind": "functions", "params": {"tag": "a:\\ud800"}}', "params"),
        ('{"kind": "functions", "params": {"\\ud800": null}}', "\ufffd"),
        ('{"kind": "functions", "params": {"\\ud800": 1}}', "params"),
        ('{"kind": "functions", "\\ud800": 1}', "\ufffd"),
        ('{"kind": "\\ud800"}', "kind"),
        ('{"kind": "functions", "params": {"tga": "a:b"}}', "tga"),
        ('{"kind": "functions", "params": {"format": "firefox"}}', "format"),
        ('{"kind": "functions", "params": {"limit": 0}}', "limit"),
        ('{"kind": "functions", "params": {"limit": 1e999}}', "limit"),
        ('{"kind": "profile", "params": {}}', "format"),
        ('{"kind": "profile", "params": {"format": "xml"}}', "format"),
        ('{"kind": "profile", "params": {"format": "firefox", "axis": "time"}}', "axis"),
        ('{"kind": "profile", "params": {"format": "cpuprofile", "segment": "page"}}', "segment"),
        ('{"kind": "profile", "params": {"format": "firefox", "base_release": "1"}}', "head_release"),
        ('{"kind": "calltree", "params": {"min_share": 2}}', "min_share"),
        ('{"kind": "functions", "params": {"page": "' + "x" * 70_000 + '"}}', "params"),
    ],
)
def test_a_bad_job_is_400_and_named(
    client: Client, site: Project, token: dict[str, str], body: str, field: str
) -> None:
    response = client.post(JOBS, body.encode("latin-1"), content_type="application/json", headers=token)
    assert response.status_code == 400, response.content
    assert response.json()["field"] == field
    assert not Job.objects.exists()


def test_a_member_starts_one_with_a_csrf_token_and_not_without(people: People, monkeypatch: pytest.MonkeyPatch) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(people.member)
    jobs_of_shop = "/api/v1/projects/shop/jobs"
    body = {"kind": "functions", "params": {}}
    assert client.post(jobs_of_shop, body, content_type="application/json").status_code == 403
    client.get("/projects/shop/")
    csrf = {"X-CSRFToken": client.cookies["csrftoken"].value}
    started = client.post(jobs_of_shop, body, content_type="application/json", headers=csrf)
    assert started.status_code == 202
    assert client.delete(started["Location"]).status_code == 403
    assert client.delete(started["Location"], headers=csrf).status_code == 204


def test_a_stranger_finds_no_job_anywhere(client: Client, people: People, bearer: dict[str, str]) -> None:
    options = {"content_type": "application/json", "headers": bearer}
    url = client.post("/api/v1/projects/shop/jobs", {"kind": "functions"}, **options)["Location"]  # type: ignore[arg-type]
    run_jobs()
    assert client.get(url, headers=bearer).status_code == 200
    client.force_login(people.stranger)
    for address in (
        url,
        url + "/result",
        url.replace("shop", "elsewhere"),
        url.replace("shop", "elsewhere") + "/result",
    ):
        assert client.get(address).status_code == 404
    assert client.delete(url).status_code == client.delete(url.replace("shop", "elsewhere")).status_code == 404
    asked = client.post("/api/v1/projects/shop/jobs", "nonsense", content_type="application/json")
    nobodys = client.post("/api/v1/projects/no-such-project/jobs", "nonsense", content_type="application/json")
    assert (asked.status_code, asked.content) == (404, nobodys.content)
    assert client.get("/api/v1/projects/elsewhere/jobs").json() == {"jobs": []}
    assert Job.objects.get().state == Job.State.DONE


def test_what_is_no_job_is_404_and_what_is_no_method_405(client: Client, site: Project, token: dict[str, str]) -> None:
    for ref in (str(uuid4()), "1", "x", "%00"):
        assert client.get(f"{JOBS}/{ref}", headers=token).status_code == 404
        assert client.get(f"{JOBS}/{ref}/result", headers=token).status_code == 404
    job = start(client, token, "functions")
    assert client.put(job["url"], headers=token).status_code == 405
    assert client.delete(f"{job['url']}/result", headers=token).status_code == 405
    assert client.get(JOBS + "?state=done", headers=token).status_code == 400


def test_a_stored_job_that_this_version_no_longer_reads_fails_with_its_field(
    client: Client, site: Project, token: dict[str, str]
) -> None:
    job = start(client, token, "functions")
    Job.objects.update(params=[["colour", "red"]])
    run_jobs()
    failed = client.get(job["url"], headers=token).json()
    assert (failed["state"], failed["error"]["field"]) == ("failed", "colour")


def test_a_jobs_answer_is_json_as_the_api_gives_it(client: Client, site: Project, token: dict[str, str]) -> None:
    job = start(client, token, "functions", tag="cache:warm")
    run_jobs()
    answer = json.loads(body_of(client.get(f"{job['url']}/result", headers=token)))
    assert (answer["source"], answer["views"], answer["slice"]["tag"]) == ("raw", 6, ["cache:warm"])
