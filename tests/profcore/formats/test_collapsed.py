"""Collapsed stacks: one line per path, and names that cannot break it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from profcore.formats.collapsed import escape, unescape, write_slice
from profcore.formats.slice import ExportFunc
from tests.profcore.formats.builders import export_of
from tests.profcore.strategies import PROPERTY


def test_a_line_is_a_path_with_places_and_its_own_microseconds() -> None:
    funcs = [
        ExportFunc(label="main", name="main"),
        ExportFunc(label="set x", name="set x", uri="https://a.test/a b.js", line=3, column=7),
    ]
    export = export_of({"main": 1_000, "tick": 500}, funcs=funcs, hidden_us=20, idle_us=30)
    export.tree.prefix.append(0)
    export.tree.func.append(1)
    export.tree.self_us.append(3_000)
    export.tree.self_samples.append(1)
    export.tree.hidden_us.append(0)

    lines = b"".join(write_slice(export)).decode().replace("\u00a0", "~").splitlines()

    assert lines == [
        "main 1000",
        "main;set~x~https://a.test/a~b.js:3:7 3000",
        "tick~https://shop.example/assets/app.js:3:1 500",
        "(hidden) 20",
    ]


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("a b", "a\u00a0b"),
        ("a;b", r"a\x3bb"),
        ("a\nb", r"a\nb"),
        ("a\\nb", r"a\\nb"),
        ("a\u00a0b", r"a\xa0b"),
        ("a\u2028b", r"a\u2028b"),
        ("", ""),
    ],
)
def test_what_readers_split_at_is_escaped(text: str, escaped: str) -> None:
    assert escape(text) == escaped


@PROPERTY
@given(st.text())
def test_an_escaped_name_is_one_word_and_comes_back(text: str) -> None:
    escaped = escape(text)

    assert not any(separator in escaped for separator in " ;\n\r\t")
    assert len(escaped.splitlines()) <= 1
    assert unescape(escaped) == text
