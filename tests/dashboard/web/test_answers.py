"""JSON of the read API: what the framework's own writer gives, quicker."""

import json
from datetime import UTC, datetime
from decimal import Decimal
from uuid import UUID

import pytest
from django.test import Client
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy
from hypothesis import given
from hypothesis import strategies as st
from rest_framework.exceptions import ErrorDetail
from rest_framework.renderers import JSONRenderer

from dashboard.web.answers import JsonRenderer, write_json

NUMBERS = st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False, allow_infinity=False)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
ANSWERS = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
)


@given(ANSWERS)
def test_answers_read_back_are_equal_to_the_last_digit(answer: object) -> None:
    assert json.loads(write_json(answer)) == json.loads(JSONRenderer().render(answer) or "null") == answer


@pytest.mark.parametrize(
    "value",
    [
        ErrorDetail("not found", code="x"),
        SafeString("a <b>"),
        gettext_lazy("later"),
        (1, 2),
        Decimal("1.50"),
        UUID(int=7),
        datetime(2026, 11, 23, 9, 30, tzinfo=UTC),
    ],
)
def test_values_of_the_framework_are_written_as_by_the_framework(value: object) -> None:
    assert json.loads(write_json({"detail": value})) == json.loads(JSONRenderer().render({"detail": value}))


def test_numbers_that_are_not_finite_are_null_and_no_answer_is_no_body() -> None:
    assert write_json({"a": float("nan"), "b": [float("inf")]}) == b'{"a":null,"b":[null]}'
    assert JsonRenderer().render(None) == b""


def test_the_read_api_writes_its_answers_so(member: Client) -> None:
    response = member.get("/api/v1/projects/shop/functions")
    assert response["Content-Type"] == "application/json"
    assert response.content == write_json(response.json())
