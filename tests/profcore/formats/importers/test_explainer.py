"""The API's first proposal: frames with `uri` and `category`, samples without `stackId`."""

import pytest

from profcore.errors import Reason
from tests.profcore.formats.importers.reading import lines, places, read_envelope, read_fault, sample, sample_json


def test_frames_find_their_resources_and_samples_without_a_stack_stay_without() -> None:
    envelope = read_envelope(sample("explainer.json"))

    assert lines(envelope) == [
        "0 main",
        "10 main render",
        "20 main render price",
        "30 main render price",
        "40 -",
        "50 ?",
        "60 -",
    ]
    assert envelope.trace.resources == ["https://shop.example/app.js", "https://cdn.example/lib.js"]
    assert places(envelope)["price"] == ("https://cdn.example/lib.js", 2, 3)
    assert places(envelope)[""] == ("https://shop.example/app.js", 1, 1)


def test_a_caller_may_be_named_parent_or_stack() -> None:
    draft = sample_json("explainer.json")
    for stack in draft["stacks"]:
        stack["parentId"] = stack.pop("stackId", None)

    assert lines(read_envelope(draft)) == lines(read_envelope(sample("explainer.json")))


def test_the_draft_may_lie_in_an_object() -> None:
    wrapped = {"timing": {}, "trace": sample_json("explainer.json")}

    assert lines(read_envelope(wrapped)) == lines(read_envelope(sample("explainer.json")))


def test_what_stands_beside_the_draft_is_kept() -> None:
    fields = {"release": "1.4.2", "page": "/cart", "timeOrigin": 1_760_000_000_000.0, "sampleInterval": 10.0}

    envelope = read_envelope({**fields, "trace": sample_json("explainer.json")})

    assert {name: getattr(envelope, name) for name in fields} == fields
    assert envelope.tags == {"imported": "explainer"}


@pytest.mark.parametrize(
    ("table", "index", "row", "reason", "path"),
    [
        ("stacks", 1, {"frameId": 9}, Reason.DANGLING_ID, "$.stacks[1].frameId"),
        ("stacks", 1, {"frameId": 1, "stackId": 1}, Reason.PARENT_ORDER, "$.stacks[1]"),
        ("samples", 0, {"timestamp": 0, "stackId": -1}, Reason.DANGLING_ID, "$.samples[0].stackId"),
        ("samples", 0, {"timestamp": None}, Reason.WRONG_TYPE, "$.samples[0].timestamp"),
    ],
)
def test_a_fault_is_named_by_its_path(table: str, index: int, row: object, reason: Reason, path: str) -> None:
    draft = sample_json("explainer.json")
    draft[table][index] = row

    assert read_fault(draft) == (reason, path)
