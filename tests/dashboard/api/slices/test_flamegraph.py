"""`flamegraph`: the call tree by columns, of a slice and of two releases, sent once and packed."""

import gzip
from typing import Any

import pytest
from django.test import Client

from projects.models import Project
from tests.aggregate.jobs.running_jobs import run_jobs
from tests.builders import make_call_tree, make_cell, make_func
from tests.dashboard.api.starting_jobs import body_of, start
from tests.dashboard.conftest import People

API = "/api/v1/projects/shop/flamegraph"


def ask(client: Client, query: str = "") -> dict[str, Any]:
    response = client.get(f"{API}?{query}")
    assert response.status_code == 200, response.content
    answer: dict[str, Any] = response.json()
    return answer


def picture(answer: dict[str, Any], side: str = "head") -> list[str]:
    """Returns the tree as lines, `- main (total: 9.0, self: 2.0)`, two spaces a level."""
    prefix, funcs = answer["nodes"]["prefix"], answer["nodes"]["function"]
    levels: list[int] = []
    for above in prefix:
        levels.append(levels[above] + 1 if above >= 0 else 0)
    return [
        f"{'  ' * level}- {answer['functions']['name'][func]} (total: {total}, self: {self_ms})"
        for level, func, total, self_ms in zip(
            levels, funcs, answer[side]["total_ms"], answer[side]["self_ms"], strict=True
        )
    ]


def test_a_slice_is_its_tree_by_columns(member: Client) -> None:
    answer = ask(member)
    assert picture(answer) == ["- main (total: 9.0, self: 2.0)", "  - draw (total: 7.0, self: 7.0)"]
    assert answer["functions"] == {
        "id": ["1", "2"],
        "name": ["main", "draw"],
        "label": ["main", "draw"],
        "uri": ["https://shop.example/assets/app.js"] * 2,
        "line": [1, 1],
        "column": [10, 20],
        "original_source": [None, None],
        "original_line": [None, None],
        "original_column": [None, None],
        "category": [None, None],
        "package": [None, None],
        "is_group": [False, False],
        "colour": [None, None],
    }
    assert (answer["base"], answer["pruned_nodes"], answer["source"]) == (None, 0, "cells")
    assert (answer["head"]["views"], answer["head"]["time_ms"]["js"]) == (1, 9.0)


def test_the_lightest_nodes_are_pruned_and_stay_in_totals(member: Client) -> None:
    for query in ("max_nodes=1", "min_share=0.9"):
        answer = ask(member, query)
        assert picture(answer) == ["- main (total: 9.0, self: 2.0)"]
        assert answer["functions"]["name"] == ["main"]
        assert answer["pruned_nodes"] == 1


def test_two_releases_are_one_tree_over_the_same_functions(member: Client, shop: Project) -> None:
    cell = make_cell(shop, release="2.0.0", views=2, js_us=12_000)
    # Another build: the same script under another content hash.
    main = make_func(shop, "main", uri="https://shop.example/assets/app.js", column=10)
    news = make_func(shop, "news")
    make_call_tree(cell, [(-1, main, 4_000), (0, news, 8_000)])
    answer = ask(member, "base_release=1.0.0&head_release=2.0.0")
    assert picture(answer) == [
        "- main (total: 12.0, self: 4.0)",
        "  - draw (total: 0.0, self: 0.0)",
        "  - news (total: 8.0, self: 8.0)",
    ]
    assert picture(answer, "base") == [
        "- main (total: 9.0, self: 2.0)",
        "  - draw (total: 7.0, self: 7.0)",
        "  - news (total: 0.0, self: 0.0)",
    ]
    assert (answer["base"]["views"], answer["head"]["views"]) == (1, 2)


def test_a_scripts_new_content_hash_makes_no_new_function(member: Client, shop: Project) -> None:
    trees = {"r1": "https://shop.example/app-0a1b2c3d.js", "r2": "https://shop.example/app-9f8e7d6c.js"}
    for release, uri in trees.items():
        cell = make_cell(shop, release=release, page="/x", js_us=1_000)
        make_call_tree(cell, [(-1, make_func(shop, "boot", uri=uri, column=7), 1_000)])
    answer = ask(member, "base_release=r1&head_release=r2")
    assert picture(answer) == picture(answer, "base") == ["- boot (total: 1.0, self: 1.0)"]
    assert answer["functions"]["uri"] == [trees["r2"]]


def test_what_is_heavy_on_one_side_alone_is_kept(member: Client, shop: Project) -> None:
    cell = make_cell(shop, release="2.0.0", js_us=100_000)
    make_call_tree(cell, [(-1, make_func(shop, "big"), 99_000), (-1, make_func(shop, "small"), 1_000)])
    answer = ask(member, "base_release=1.0.0&head_release=2.0.0&min_share=0.5")
    assert sorted(answer["functions"]["name"]) == ["big", "draw", "main"]  # draw: 78 % of the base
    assert answer["pruned_nodes"] == 1


def test_a_slice_without_views_is_an_empty_tree(member: Client) -> None:
    answer = ask(member, "release=nobodys")
    assert (answer["head"]["views"], answer["nodes"]["prefix"]) == (0, [])


def test_it_is_packed_and_not_sent_again_until_something_is_folded(member: Client, shop: Project) -> None:
    first = member.get(API, headers={"Accept-Encoding": "gzip"})
    assert first["Content-Encoding"] == "gzip"
    assert gzip.decompress(first.content) == member.get(API).content
    assert first["Cache-Control"] == "private, no-cache"
    again = {"Accept-Encoding": "gzip", "If-None-Match": first["ETag"]}
    assert (member.get(API, headers=again).status_code, member.get(API, headers=again).content) == (304, b"")
    assert member.get(f"{API}?max_nodes=1", headers=again).status_code == 200
    make_cell(shop, page="/list", js_us=5)
    assert member.get(API, headers=again).status_code == 200


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("base_release=1.0.0", "head_release"),
        ("base_release=1.0.0&head_release=1.0.0&release=1.0.0", "release"),
        ("min_share=2", "min_share"),
        ("max_nodes=0", "max_nodes"),
        ("format=firefox", "format"),
        ("tag=x", "tag"),
    ],
)
def test_what_cannot_be_used_is_refused_by_its_name(member: Client, people: People, query: str, field: str) -> None:
    response = member.get(f"{API}?{query}")
    assert (response.status_code, response.json()["field"]) == (400, field)


def test_a_job_answers_the_same_difference(client: Client, site: Project, token: dict[str, str]) -> None:
    sides = {"base_release": "1.0.0", "head_release": "1.0.0", "tag": "cache:cold"}
    expected = body_of(client.get("/api/v1/projects/site/flamegraph", sides, headers=token))
    job = start(client, token, "flamegraph", **sides)
    run_jobs()
    done = client.get(job["url"], headers=token).json()
    assert done["done_traces"] == done["total_traces"] > 0
    assert body_of(client.get(done["result_url"], headers=token)) == expected


def test_a_slice_that_is_too_large_names_the_job_that_would_do(
    client: Client, site: Project, token: dict[str, str], settings: Any
) -> None:
    settings.READ_MAX_VIEWS = 1
    response = client.get("/api/v1/projects/site/flamegraph?tag=cache:warm", headers=token)
    assert response.status_code == 400
    assert response.json()["job_kind"] == "flamegraph"


@pytest.mark.parametrize(("address", "limit"), [("flamegraph", "JOB_MAX_NODES"), ("functions", "JOB_MAX_FUNCS")])
def test_what_is_too_large_for_a_job_too_names_none(
    client: Client, site: Project, token: dict[str, str], settings: Any, address: str, limit: str
) -> None:
    setattr(settings, limit, 1)
    response = client.get(f"/api/v1/projects/site/{address}", headers=token)
    assert (response.status_code, response.json()["field"]) == (400, "from")
    assert "more than 1" in response.json()["detail"]
    assert "job_kind" not in response.json()
