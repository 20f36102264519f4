"""Tags read separately from the trace: the values that count, and no error on any input."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from profcore.trace.tags import has_tags


@pytest.mark.parametrize(
    ("tags", "wanted", "has_all"),
    [
        ({"a": "1", "b": "2"}, [("a", "1")], True),
        ({"a": "1", "b": "2"}, [("a", "1"), ("b", "2")], True),
        ({"a": "1", "b": "2"}, [("a", "1"), ("b", "1")], False),
        ({"a": "1"}, [("a", "1"), ("a", "2")], False),
        ({"a": ""}, [("a", "")], True),
        (["a", "b"], [("b", "")], True),
        (["a", "b"], [("b", "1")], False),
        ({}, [("a", "")], False),
        (None, [("a", "")], False),
        (None, [], True),
    ],
)
def test_all_wanted_tags_must_be_there(tags: object, wanted: list[tuple[str, str]], has_all: bool) -> None:
    body = json.dumps({"trace": {"samples": [1, 2]}, "tags": tags, "seq": 0}).encode()
    assert has_tags(body, wanted) is has_all


@given(st.binary(max_size=200))
def test_a_body_that_cannot_be_read_carries_no_tag(body: bytes) -> None:
    assert has_tags(body, [("a", "1")]) is False
    assert has_tags(b'{"tags": {"a": 1}, ' + body, [("a", "1")]) is False
