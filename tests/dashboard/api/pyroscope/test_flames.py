"""`SelectMergeStacktraces` and `SelectMergeProfile`: our own flame graph, to the µs, and pprof."""

from typing import Any

import pytest
from django.test import Client

from dashboard.api.pyroscope.messages import make_message, read_message
from dashboard.api.slices.queries import MAX_NODES
from projects.models import Project
from tests.builders import make_call_tree, make_cell, make_func, make_label
from tests.dashboard.api.pyroscope.asking import SERVICE, ask, question, type_id
from tests.profcore.formats.pyroscope.reading import picture

Headers = dict[str, str]


def flames(client: Client, bearer: Headers, **more: Any) -> list[str]:
    graph = ask(client, bearer, "SelectMergeStacktraces", **question(**more))["flamegraph"]
    return picture(graph["names"], [list(map(int, level["values"])) for level in graph["levels"]])


def test_a_slice_is_its_tree(client: Client, bearer: Headers) -> None:
    assert flames(client, bearer) == [
        "total 9000000 0",
        "  main app.js:1:10 9000000 2000000",
        "    draw app.js:1:20 7000000 7000000",
    ]
    assert flames(client, bearer, kind="hidden") == ["total 500000 0", "  (hidden) 500000 500000"]


def test_functions_of_one_name_stay_apart_and_have_their_original_places(
    client: Client, bearer: Headers, shop: Project
) -> None:
    cell = make_cell(shop, page="/pay", js_us=3_000)
    one, two = make_func(shop, "t"), make_func(shop, "t")
    make_call_tree(cell, [(-1, one, 1_000), (-1, two, 2_000)])
    make_label(one, "1.0.0", "src/pay.ts", "decode", line=12, column=3)
    names = [line.split()[:2] for line in flames(client, bearer, selector='{page="/pay"}')[1:]]
    assert names == [["t", f"app.js:1:{two.column}"], ["decode", "pay.ts:12:3"]]


def test_light_nodes_are_pruned(client: Client, bearer: Headers) -> None:
    assert flames(client, bearer, maxNodes=1)[1:] == [
        "  main app.js:1:10 9000000 2000000",
        "    (pruned) 7000000 7000000",
    ]
    for nodes in (-1, MAX_NODES + 1):
        answer = ask(client, bearer, "SelectMergeStacktraces", 400, **question(maxNodes=nodes))
        assert answer["message"] == f"max_nodes must be from 1 to {MAX_NODES}."
    assert len(flames(client, bearer, maxNodes=0)) == 3


@pytest.mark.parametrize(
    "fields",
    [
        {"format": "PROFILE_FORMAT_TREE"},
        {"format": "PROFILE_FORMAT_DOT"},
        {"format": 99},
        {"format": "PROFILE_FORMAT_PPROF"},  # in JSON
        {"profileIdSelector": ["7c9e6679-7425-40de-944b-e07fc1f90ae7"]},
        {"traceIdSelector": ["7c9e66797425440de944be07fc1f90ae"]},
        {"spanSelector": ["9a517183f26a089d"]},
        {"stackTraceSelector": {"callSite": [{"name": "main"}]}},
        {"stackTraceSelector": {"goPgo": {}}},
        {"async": {"type": "ASYNC_QUERY_TYPE_FORCE"}},
    ],
)
def test_what_we_have_not_is_unimplemented(client: Client, bearer: Headers, fields: dict[str, Any]) -> None:
    answer = ask(client, bearer, "SelectMergeStacktraces", 404, **question(**fields))
    assert answer["code"] == "unimplemented"
    assert answer["message"].startswith(("Fieldflame ", "A pprof profile"))


def test_empty_wishes_are_none(client: Client, bearer: Headers) -> None:
    wishes = {"stackTraceSelector": {}, "async": {}, "format": "PROFILE_FORMAT_FLAMEGRAPH", "unknown": {"a": [1]}}
    assert len(flames(client, bearer, **wishes)) == 3


def test_an_unknown_type_is_refused(client: Client, bearer: Headers) -> None:
    answer = ask(client, bearer, "SelectMergeStacktraces", 400, **question(kind="cpu"))
    assert answer["message"].startswith("There is no profile type 'browser:cpu:nanoseconds:wall:nanoseconds', but ")
    assert type_id("script") in answer["message"]


def test_pprof_is_answered_by_either_method(client: Client, bearer: Headers) -> None:
    asked = question()
    fields = {"profile_typeID": asked["profileTypeID"], "start": asked["start"], "end": asked["end"]}
    bodies = []
    for method, more in (("SelectMergeProfile", {}), ("SelectMergeStacktraces", {"format": 4})):
        message = make_message(f"{method}Request", **fields, **more)
        response = client.post(
            SERVICE + method, message.SerializeToString(), content_type="application/proto", headers=bearer
        )
        assert response.status_code == 200
        bodies.append(response.content)
    assert read_message("SelectMergeStacktracesResponse", bodies[1], is_json=False).pprof.profile == bodies[0]
    assert b"https://shop.example/assets/app.js" in bodies[0]


def test_pprof_has_no_json(client: Client, bearer: Headers) -> None:
    assert ask(client, bearer, "SelectMergeProfile", 404, **question())["code"] == "unimplemented"
