"""`compare`: what a release did to a page's functions, over HTTP."""

from typing import Any

import pytest
from django.test import Client

from projects.creation import create_project
from projects.models import Project
from projects.tokens import create_token
from tests.aggregate.posting import fold_all, post
from tests.envelopes import make_envelope

pytestmark = pytest.mark.django_db
URL = "/api/v1/projects/lab/compare"


@pytest.fixture
def lab() -> Project:
    project, _ = create_project(slug="lab", key="lab-key", origins=["*"])
    return project


@pytest.fixture
def headers(lab: Project) -> dict[str, str]:
    return {"Authorization": f"Bearer {create_token(project=lab)[1]}"}


def post_release(release: str, cost: int, views: int = 30, name: str = "", **fields: Any) -> None:
    envelopes = []
    for number in range(views):
        columns = "\n".join(["main slow"] * (cost + number % 2) + ["main steady"])
        device = {"mobile": number % 3 == 0, "cores": 8}
        envelope = make_envelope(f"{release}-{name}-{number}", columns, release=release, device=device, **fields)
        for frame in envelope["trace"]["frames"]:
            frame["column"] = len(frame["name"])
        envelopes.append(envelope)
    post("lab-key", *envelopes)
    fold_all()


def ask(client: Client, headers: dict[str, str], query: str) -> dict[str, Any]:
    answer = client.get(f"{URL}?{query}", headers=headers)
    assert answer.status_code == 200, answer.content
    comparison: dict[str, Any] = answer.json()
    return comparison


def test_the_func_that_grew_stands_first_with_its_interval_and_q(client: Client, headers: dict[str, str]) -> None:
    post_release("1.0.0", 1)
    post_release("1.1.0", 6)
    comparison = ask(client, headers, "base_release=1.0.0&head_release=1.1.0")
    first = comparison["functions"][0]
    assert (first["label"], first["status"], first["is_significant"]) == ("slow", "changed", True)
    assert first["delta_ms_per_view"] == pytest.approx(50.0)
    assert first["delta_ci95"][0] < 50.0 < first["delta_ci95"][1]
    assert first["q"] < 0.05
    assert (comparison["base"]["views"], comparison["head"]["population"], comparison["measure"]) == (
        30,
        30,
        "self+hidden",
    )
    assert comparison["head"]["slice"]["release"] == ["1.1.0"]


def test_navigations_are_strata_and_may_be_what_is_compared(client: Client, headers: dict[str, str]) -> None:
    post_release("1.0.0", 1, navigation="load")
    post_release("1.1.0", 6, navigation="load")
    comparison = ask(client, headers, "base_release=1.0.0&head_release=1.1.0")
    assert comparison["navigation_mix"] == [{"navigation": "load", "share": 1.0}]
    assert (comparison["functions"][0]["label"], comparison["left_out_views"]) == ("slow", 0)
    post_release("1.2.0", 1, navigation="route")
    others = ask(client, headers, "base_release=1.1.0&head_release=1.2.0")
    assert (others["is_too_few"], others["left_out_views"]) == (True, 60)
    navigations = "base_navigation=load&head_navigation=route"
    asked = ask(client, headers, f"base_release=1.1.0&head_release=1.2.0&{navigations}")
    assert (asked["is_too_few"], asked["left_out_views"], asked["navigation_mix"]) == (False, 0, [])
    assert asked["functions"][-1]["delta_ms_per_view"] == pytest.approx(-50.0)


def test_pages_are_strata_and_may_be_what_is_compared(client: Client, headers: dict[str, str]) -> None:
    for release, views in (("1.0.0", (60, 30)), ("1.1.0", (30, 60))):
        post_release(release, 1, views=views[0], page="/quick", name="quick")
        post_release(release, 9, views=views[1], page="/slow", name="slow")
    comparison = ask(client, headers, "base_release=1.0.0&head_release=1.1.0")
    assert {part["page"]: part["share"] for part in comparison["page_mix"]} == {"/quick": 0.5, "/slow": 0.5}
    assert [function["label"] for function in comparison["functions"] if function["is_significant"]] == []
    assert comparison["overall_delta_ms_per_view"] == pytest.approx(0.0, abs=1.0)
    pages = ask(client, headers, "release=1.0.0&base_page=/quick&head_page=/slow")
    assert (pages["page_mix"], pages["left_out_views"]) == ([], 0)
    assert pages["functions"][0]["label"] == "slow"


def test_one_tag_can_be_a_stratum(client: Client, headers: dict[str, str]) -> None:
    for release, views in (("1.0.0", (60, 30)), ("1.1.0", (30, 60))):
        post_release(release, 1, views=views[0], name="small", tags={"input": "small"})
        post_release(release, 9, views=views[1], name="large", tags=["dark", "input=large"])
    sides = "base_release=1.0.0&head_release=1.1.0"
    mixed, comparison = ask(client, headers, sides), ask(client, headers, f"{sides}&stratify=tag:input")
    assert [function["is_significant"] for function in mixed["functions"] if function["label"] == "slow"] == [True]
    assert [function["is_significant"] for function in comparison["functions"] if function["label"] == "slow"] == [
        False
    ]
    assert comparison["overall_delta_ms_per_view"] == pytest.approx(0.0, abs=1.0)
    assert comparison["left_out_views"] == 0
    others = ask(client, headers, f"{sides}&stratify=tag:output")
    assert others["overall_delta_ms_per_view"] == mixed["overall_delta_ms_per_view"]


def test_nothing_is_significant_where_nothing_changed(client: Client, headers: dict[str, str]) -> None:
    post_release("1.0.0", 3)
    post_release("1.1.0", 3)
    comparison = ask(client, headers, "base_release=1.0.0&head_release=1.1.0")
    assert [func["label"] for func in comparison["functions"] if func["is_significant"]] == []


def test_sides_may_differ_in_more_than_their_release(client: Client, headers: dict[str, str]) -> None:
    post_release("1.0.0", 1)
    post_release("1.1.0", 6)
    comparison = ask(client, headers, "release=1.0.0&base_device=desktop-high&head_device=mobile-high")
    base, head = comparison["base"], comparison["head"]
    assert (base["slice"]["release"], base["slice"]["device"], base["population"]) == (["1.0.0"], ["desktop-high"], 20)
    assert (head["slice"]["release"], head["slice"]["device"], head["population"]) == (["1.0.0"], ["mobile-high"], 10)


def test_devices_can_be_what_is_compared(client: Client, headers: dict[str, str]) -> None:
    post_release("1.0.0", 1, views=75)
    comparison = ask(client, headers, "base_device=desktop-high&head_device=mobile-high")
    assert (comparison["is_too_few"], comparison["left_out_views"], comparison["device_mix"]) == (False, 0, [])
    assert comparison["function_count"] == len(comparison["functions"]) == 2
    shared = ask(client, headers, "base_device=desktop-high&base_device=mobile-high&head_device=mobile-high")
    assert (shared["left_out_views"], shared["device_mix"]) == (50, [{"device": "mobile-high", "share": 1.0}])


def test_what_may_be_noise_can_be_left_out(client: Client, headers: dict[str, str]) -> None:
    post_release("1.0.0", 1)
    post_release("1.1.0", 6)
    comparison = ask(client, headers, "base_release=1.0.0&head_release=1.1.0&only=significant")
    assert [func["label"] for func in comparison["functions"]] == ["slow"]
    assert comparison["function_count"] > 1


def test_an_unchanged_comparison_is_not_sent_again(client: Client, headers: dict[str, str]) -> None:
    post_release("1.0.0", 1)
    post_release("1.1.0", 6)
    address = f"{URL}?base_release=1.0.0&head_release=1.1.0"
    etag = client.get(address, headers=headers)["ETag"]
    known = {**headers, "If-None-Match": etag}
    assert client.get(address, headers=known).status_code == 304
    assert client.get(address + "&measure=self", headers=known).status_code == 200
    post("lab-key", make_envelope("late", "main slow", release="1.1.0"))
    fold_all()
    assert client.get(address, headers=known).status_code == 200


def test_too_few_views_are_said_instead_of_numbers(client: Client, headers: dict[str, str]) -> None:
    post_release("1.0.0", 3, views=5)
    post_release("1.1.0", 9, views=5)
    comparison = ask(client, headers, "base_release=1.0.0&head_release=1.1.0")
    assert (comparison["is_too_few"], comparison["functions"], comparison["overall_p"]) == (True, [], None)


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("head_release=1.1.0", "base_release"),
        ("base_release=1.0.0", "head_release"),
        ("base_release=a&head_release=b&measure=speed", "measure"),
        ("base_release=a&head_release=b&release=c", "release"),
        ("base_release=a&head_release=%00", "head_release"),
        ("page=/cart", "base_release"),
        ("base_device=mobile", "head_device"),
        ("base_device=mobile&head_device=toaster", "head_device"),
        ("base_release=a&head_release=b&limit=0", "limit"),
        ("base_release=a&head_release=b&only=new", "only"),
        ("base_release=a&head_release=b&stratify=page", "stratify"),
        ("base_release=a&head_release=b&stratify=tag:", "stratify"),
    ],
)
def test_a_bad_parameter_is_named(client: Client, headers: dict[str, str], query: str, field: str) -> None:
    answer = client.get(f"{URL}?{query}", headers=headers)
    assert (answer.status_code, answer.json()["field"]) == (400, field)
