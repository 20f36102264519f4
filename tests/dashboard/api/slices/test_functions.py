"""`functions`: every field of the contract, its units, and what a bad parameter is answered."""

from typing import Any

import pytest
from django.test import Client

from aggregate.models import Func
from profcore.trace.dimensions import DIMENSIONS
from projects.models import Project
from tests.builders import MONDAY, make_cell, make_func, make_hotspot, make_label

ADDRESS = "/api/v1/projects/shop/functions"


def ask(client: Client, query: str = "") -> dict[str, Any]:
    response = client.get(f"{ADDRESS}?{query}")
    assert response.status_code == 200, response.content
    answer: dict[str, Any] = response.json()
    return answer


def test_an_answer_has_every_field_of_the_contract(member: Client) -> None:
    answer = ask(member, "release=1.0.0&page=/cart&limit=1")
    ((function),) = answer.pop("functions")
    assert answer == {
        "slice": {
            "release": ["1.0.0"],
            "page": ["/cart"],
            "from": None,
            "to": None,
            "ranges": [],
            **{dimension.name: [] for dimension in DIMENSIONS},
            "view": [],
            "trace": [],
            "tag": [],
            "func_over": [],
        },
        "arrivals": {"received": 1, "refused": 0, "refused_by_reason": {}, "dropped": 0, "dropped_share": 0.0},
        "source": "cells",
        "views": 1,
        "truncated_views": 0,
        "truncated_share": 0.0,
        "traces": 1,
        "samples": 1,
        "time_ms": {"js": 9.0, "hidden": 0.5, "engine": 0, "idle": 0.3}
        | {"unobserved": 0.15, "profiler": 0.05, "span": 10.0},
        "display": {"rules": 0},
        "function_count": 2,
        "statistics": {
            "measure": "self",
            "views": 0,
            "population": 1,
            "effective_views": 0.0,
            "is_weighted": False,
            "is_complete": False,
            "clipped_views": 0,
            "is_too_few": True,
        },
    }
    assert function == {
        "id": "2",
        "name": "draw",
        "label": "draw",
        "uri": "https://shop.example/assets/app.js",
        "line": 1,
        "column": 20,
        "original": None,
        "category": None,
        "is_group": False,
        "colour": None,
        "self_samples": 1,
        "total_samples": 2,
        "self_ms": 7.0,
        "total_ms": 7.0,
        "hidden_ms": 0.0,
        "hidden_total_ms": 0.0,
        "uncertain_ms": 0.0,
        "views": 1,
        "self_share": 7 / 9,
        "self_share_ci95": None,
        "self_ms_per_view": 7.0,
        "self_ms_per_view_ci95": None,
        "p75_self_ms_per_view": None,
        "estimates": None,
    }


def test_milliseconds_are_microseconds_by_a_thousand_and_means_go_over_all_views(member: Client, shop: Project) -> None:
    cell = make_cell(shop, page="/odd", views=3, js_us=1_234_567)
    make_hotspot(cell, make_func(shop, "odd"), self_us=1_234_567, total_us=1_234_567, hidden_us=1, views=2)
    (function,) = ask(member, "page=/odd")["functions"]
    assert (function["self_ms"], function["hidden_ms"]) == (1234.567, 0.001)
    assert function["self_ms_per_view"] == 1234.567 / 3
    assert function["views"] == 2


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("q=DRAW", ["draw"]),
        ("q=app.js:1:10", ["main"]),
        ("q=shop.example", []),  # a host is in every address: only a search with a slash is for these
        ("q=/shop.example/assets", ["draw", "main"]),
        ("q=%25", []),  # no wildcard
        ("q=a&category=built-in", []),
        ("q=a&sort=p75_self_ms", ["draw", "main"]),
        ("q=a&limit=1", ["draw"]),
    ],
)
def test_functions_are_found_by_a_text_and_the_sums_stay(member: Client, query: str, names: list[str]) -> None:
    answer = ask(member, f"page=/cart&{query}")
    assert [row["name"] for row in answer["functions"]] == names
    assert answer["time_ms"]["js"] == 9.0
    if "limit" not in query:
        assert answer["function_count"] == len(names)


def test_a_group_has_the_sums_of_the_functions_found(member: Client) -> None:
    (group,) = ask(member, "page=/cart&group_by=file&q=main")["functions"]
    assert (group["self_ms"], group["total_ms"], group["self_share"]) == (2.0, 9.0, pytest.approx(2 / 9))


def test_a_group_is_found_by_its_name_and_has_all_its_functions(member: Client, shop: Project) -> None:
    cell = make_cell(shop, page="/tags", js_us=9_000)
    for number, name in enumerate(("gtag", "send"), start=1):
        func = make_func(shop, name, uri="https://www.googletagmanager.com/gtag/js")
        make_hotspot(cell, func, self_us=number * 1_000, total_us=number * 1_000)
    make_hotspot(cell, make_func(shop, "own"), self_us=3_000, total_us=3_000)
    assert [row["name"] for row in ask(member, "page=/tags&q=google+tag")["functions"]] == []
    (tag,) = ask(member, "page=/tags&group_by=party&q=google+TAG")["functions"]
    assert (tag["name"], tag["self_ms"]) == ("Google Tag Manager", 3.0)
    (tag,) = ask(member, "page=/tags&group_by=party&q=send")["functions"]
    assert (tag["name"], tag["self_ms"]) == ("Google Tag Manager", 2.0)
    functions = ask(member, "page=/tags&group_by=party&q=google+tag&category=built-in")["functions"]
    assert functions == []


def test_functions_are_grouped_and_kept_by_category(member: Client, shop: Project) -> None:
    cell = make_cell(shop, page="/lib", js_us=5_000)
    make_hotspot(
        cell, make_func(shop, "map", uri="https://a.example/node_modules/d3/a.js"), self_us=3_000, total_us=3_000
    )
    make_hotspot(cell, make_func(shop, "push", uri=None, line=None), self_us=2_000, total_us=2_000)
    (built_in,) = ask(member, "page=/lib&category=built-in")["functions"]
    assert (built_in["name"], built_in["category"]) == ("push", "built-in")
    groups = ask(member, "group_by=category&page=/lib")["functions"]
    assert [(row["id"], row["category"], row["self_ms"]) for row in groups] == [
        ("library", "library", 3.0),
        ("built-in", "built-in", 2.0),
    ]
    (file,) = ask(member, "group_by=file&page=/cart")["functions"]
    assert (file["id"], file["uri"], file["self_ms"]) == (file["uri"], "https://shop.example/assets/app.js", 9.0)
    assert file["total_ms"] == 9.0  # once a sample: main called draw


def test_sort_and_limit_are_honoured(member: Client) -> None:
    assert [row["name"] for row in ask(member, "sort=total_ms")["functions"]] == ["main", "draw"]
    assert [row["name"] for row in ask(member, "sort=self_ms&group_by=function")["functions"]] == ["draw", "main"]
    assert [row["name"] for row in ask(member, "limit=1")["functions"]] == ["draw"]


def test_the_slice_says_to_what_times_were_rounded(member: Client) -> None:
    assert ask(member, f"from={MONDAY.isoformat()}&to=2026-11-16T09:10:00Z")["slice"] == {
        "release": [],
        "page": [],
        "from": "2026-11-16T09:00:00Z",
        "to": "2026-11-16T10:00:00Z",
        "ranges": [{"from": "2026-11-16T09:00:00Z", "to": "2026-11-16T10:00:00Z"}],
        **{dimension.name: [] for dimension in DIMENSIONS},
        "view": [],
        "trace": [],
        "tag": [],
        "func_over": [],
    }
    assert ask(member, "from=2026-11-16T10:00:00Z")["views"] == 0


def test_a_slice_field_may_be_repeated(member: Client, shop: Project) -> None:
    make_cell(shop, release="2.0.0", views=10)
    make_cell(shop, release="3.0.0", views=100)
    assert ask(member, "release=1.0.0&release=3.0.0")["views"] == 101


def test_a_slice_with_hidden_time_alone_has_no_share(member: Client, shop: Project) -> None:
    cell = make_cell(shop, page="/hidden", hidden_us=5)
    make_hotspot(cell, make_func(shop, "quiet"), hidden_us=5)
    (function,) = ask(member, "page=/hidden")["functions"]
    assert function["self_share"] is None


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("group_by=colour", "group_by"),
        ("group_by=function&group_by=function", "group_by"),
        ("sort=p95_self_ms", "sort"),
        ("measure=own", "measure"),
        ("measure=total&group_by=file", "measure"),
        ("sort=self_ms%3Bdrop", "sort"),
        ("limit=0", "limit"),
        ("limit=-1", "limit"),
        ("limit=ten", "limit"),
        ("limit=", "limit"),
        ("limit=10001", "limit"),
        ("limit=%D9%A3", "limit"),
        ("relaese=1.0.0", "relaese"),
        ("format=json", "format"),
        ("from=yesterday", "from"),
        ("to=1e9", "to"),
        ("device=toaster", "device"),
        ("browser=netscape", "browser"),
        ("page=%00", "page"),
        ("category=nonsense", "category"),
        ("view=nonsense", "view"),
        ("trace=1", "trace"),
        ("tag=nocolon", "tag"),
        ("tag=%00:x", "tag"),
        ("func_over=1", "func_over"),
        ("func_over=x:1", "func_over"),
        ("func_over=9999999999:1", "func_over"),
        ("func_over=1:-1", "func_over"),
        ("func_over=1:nan", "func_over"),
    ],
)
def test_a_bad_parameter_is_400_and_named(member: Client, query: str, field: str) -> None:
    response = member.get(f"{ADDRESS}?{query}")
    assert response.status_code == 400
    answer = response.json()
    assert answer["field"] == field
    assert set(answer) == {"detail", "field"}
    assert field in answer["detail"]


def test_answers_are_kept_out_of_shared_caches(member: Client) -> None:
    response = member.get(ADDRESS)
    assert response["Cache-Control"] == "private, no-cache"
    assert "Cookie" in response["Vary"]


def test_the_functions_of_a_source_are_those_that_source_maps_have_in_it(member: Client, shop: Project) -> None:
    main, draw = (Func.objects.get(project=shop, name=name) for name in ("main", "draw"))
    make_label(main, "1.0.0", "src/main.ts", "start", line=3)
    make_label(draw, "1.0.0", "web/src/draw.ts", "draw", line=7)
    whole = ask(member)
    found = ask(member, "source_path=src/main.ts")
    assert [function["label"] for function in found["functions"]] == ["start"]
    assert (found["function_count"], found["time_ms"]) == (1, whole["time_ms"])
    both = ask(member, "source_path=src/main.ts&source_path=web/src/draw.ts&source_path=nowhere.ts")
    assert {function["label"] for function in both["functions"]} == {"start", "draw"}
    assert ask(member, "source_path=main.ts")["functions"] == []
    assert ask(member, "source_path=")["functions"] == []


@pytest.mark.parametrize("query", ["source_path=a.ts&group_by=file", "&".join(["source_path=a.ts"] * 101)])
def test_source_paths_are_bounded_and_of_functions(member: Client, query: str) -> None:
    response = member.get(f"{ADDRESS}?{query}")
    assert (response.status_code, response.json()["field"]) == (400, "source_path")
