"""`vitals`: its fields over recorded visits, as a request and as a job, and no parameter that is not known."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from pytest_django import DjangoDbBlocker, Settings

from profcore.vitals.windows import WINDOWS
from projects.models import Project
from projects.tokens import create_token
from tests.aggregate.jobs.running_jobs import run_jobs
from tests.aggregate.selectors.vitals.recorded_visits import copy_visits, post_visits, read_visits
from tests.builders import make_project
from tests.dashboard.api.starting_jobs import API, body_of, start
from tests.runner.keeping import keep

Headers = dict[str, str]


@pytest.fixture(scope="module")
def kept(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Headers]:
    yield from keep(django_db_blocker, make_visits)


def make_visits() -> Headers:
    project: Project = make_project("site")
    post_visits("KEY-site", read_visits("1.2.0", 34))
    _, clear = create_token(project=project)
    return {"Authorization": f"Bearer {clear}"}


@pytest.fixture
def bearer(kept: Headers, db: None) -> Headers:
    return kept


def ask(client: Client, bearer: Headers, query: str = "") -> Any:  # Any: JSON
    response = client.get(f"{API}vitals{query}", headers=bearer)
    assert response.status_code == 200, response.content
    return response.json()


def test_a_window_has_its_length_its_parts_and_its_functions(client: Client, bearer: Headers) -> None:
    answer = ask(client, bearer, "?limit=3")
    assert (answer["views"], answer["read_views"]) == (34, 34)
    assert (answer["expired_views"], answer["too_large_views"]) == (0, 0)
    windows = {window["window"]: window for window in answer["windows"]}
    assert list(windows) == list(WINDOWS)
    window = windows["long_frames"]
    assert window["frames"] > window["views"] > 0
    assert windows["lcp"]["frames"] is None
    assert window["ms_per_view"] == pytest.approx(sum(part["ms_per_view"] for part in window["parts"]))
    assert sum(part["share"] for part in window["parts"]) == pytest.approx(1)
    assert window["estimates"]["p75_ms"] > 50
    assert len(window["functions"]) == 3 < window["function_count"]
    top = window["functions"][0]
    assert top["ms_per_view"] == pytest.approx((top["self_ms"] + top["hidden_ms"]) / window["views"])
    assert top["estimates"]["ms_per_view_ci95"][0] <= top["ms_per_view"] <= top["estimates"]["ms_per_view_ci95"][1]
    assert top["label"]


def test_views_that_are_too_large_are_counted(client: Client, bearer: Headers, settings: Settings) -> None:
    settings.VITALS_VIEW_MAX_TRACES = 1
    answer = ask(client, bearer)
    assert answer["views"] == 34 == answer["read_views"] + answer["too_large_views"]
    assert answer["too_large_views"] > 0


def test_groups_have_no_totals(client: Client, bearer: Headers) -> None:
    (first, *_) = ask(client, bearer, "?group_by=party&limit=3")["windows"]
    assert first["functions"]
    assert {row["total_ms"] for row in first["functions"]} == {None}


def test_forced_layout_is_of_all_views_that_were_read(client: Client, bearer: Headers) -> None:
    answer = client.get(f"{API}forced-layout?limit=1000", headers=bearer).json()
    forced = answer["forced_layout"]
    assert forced == ask(client, bearer, "?limit=1000")["forced_layout"]
    assert (answer["views"], forced["views"], forced["measured_views"]) == (34, 34, 0)
    assert 0 < forced["forced_views"] < 34
    assert forced["function_count"] == len(forced["functions"]) > 5
    low, high = forced["estimates"]["ms_per_view_ci95"]
    assert low < forced["ms_per_view"] < high
    attributed = sum(row["ms_per_view"] for row in forced["functions"])
    assert attributed + forced["unattributed_ms_per_view"] == pytest.approx(forced["ms_per_view"])
    top = forced["functions"][0]
    assert top["source"] == "attributed"
    assert 0 < top["forced_ms"] <= top["with_calls_ms"]
    assert top["own_share"] == pytest.approx(min(top["forced_ms"] / top["own_ms"], 1))
    groups = client.get(f"{API}forced-layout?group_by=party", headers=bearer).json()["forced_layout"]["functions"]
    assert {row["with_calls_ms"] for row in groups} == {None}
    assert client.get(f"{API}forced-layout?waits=slow", headers=bearer).json()["field"] == "waits"


def test_slow_waits_are_fewer(client: Client, bearer: Headers) -> None:
    every, slow = (
        {window["window"]: window["views"] for window in ask(client, bearer, query)["windows"]}
        for query in ("", "?waits=slow")
    )
    assert slow.get("interaction", 0) < every["interaction"]
    assert slow["long_frames"] == every["long_frames"]


def test_a_job_reads_every_view(client: Client, bearer: Headers, settings: Settings) -> None:
    whole = ask(client, bearer)
    settings.VITALS_MAX_VIEWS = 10
    job = start(client, bearer, "vitals")
    run_jobs()
    by_job = json.loads(body_of(client.get(f"{job['url']}/result", headers=bearer)))
    assert by_job == whole
    assert client.get(job["url"], headers=bearer).json()["done_traces"] > 34


@pytest.mark.parametrize(
    "query", ["?tag=a:b", "?trace=0e5f7a54-2f0d-5c0b-8f0e-3b1f2a9d7c11", "?waits=long", "?limit=0"]
)
def test_a_bad_parameter_is_named(client: Client, bearer: Headers, query: str) -> None:
    response = client.get(f"{API}vitals{query}", headers=bearer)
    assert response.status_code == 400
    assert response.json()["field"] == query[1:].partition("=")[0]


def test_an_answer_is_cached_until_a_trace_is_folded(
    client: Client, bearer: Headers, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = ask(client, bearer)
    with monkeypatch.context() as patched:
        patched.setattr("dashboard.web.cache.select_vitals", None)
        assert ask(client, bearer) == before
    post_visits("KEY-site", copy_visits(read_visits("1.2.0", 1), 1))
    assert ask(client, bearer)["views"] == 35
