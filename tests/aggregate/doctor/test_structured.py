"""Dictionaries of structured headers, as RFC 9651 has them."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregate.doctor.structured import StructuredError, read_dictionary


@pytest.mark.parametrize(
    ("text", "members"),
    [
        ("", {}),
        ("a", {"a": True}),
        ("a=1, b=-2.5,c=?0", {"a": 1, "b": -2.5, "c": False}),
        ('a="x\\"y", b=tok/en', {"a": 'x"y', "b": "tok/en"}),
        ('a=(1 "b" c);q=1, d;x=?1;y', {"a": [1, "b", "c"], "d": True}),
        ("a=:aGk=:", {"a": b"hi"}),
        ("a=1\t,\tb , a=2", {"a": 2, "b": True}),
        ("*;report-to=x", {"*": True}),
    ],
)
def test_a_dictionary_is_read(text: str, members: dict[str, object]) -> None:
    assert read_dictionary(text) == members


@pytest.mark.parametrize(
    ("text", "at"),
    [("A", 0), ("a,", 2), ("a=", 2), ("a b", 1), ("a=(1", 4), ('a="x', 2), ("a;B", 2), ("a=1.2345", 2), ("a=:x:", 2)],
)
def test_the_place_of_an_error_is_named(text: str, at: int) -> None:
    with pytest.raises(StructuredError) as raised:
        read_dictionary(text)
    assert raised.value.at == at


@given(st.text(alphabet='ab*=;,?01."():- \tA\\é'))
def test_nothing_but_its_own_error_is_raised(text: str) -> None:
    with suppress(StructuredError):
        read_dictionary(text)
