"""Texts with a byte order mark, in any encoding of Unicode, become UTF-8 without one, in bounded memory."""

import codecs
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from profcore.unicode import ENCODINGS, PIECE_BYTES, TextTooLong, to_utf8
from tests.profcore.strategies import PROPERTY

MARKS = [(codecs.BOM_UTF8, "utf-8"), *ENCODINGS]


@PROPERTY
@given(st.text(max_size=50).filter(lambda text: not text.startswith(("\ufeff", "\0"))), st.sampled_from(MARKS))
def test_a_text_is_the_same_in_every_encoding(text: str, encoding: tuple[bytes, str]) -> None:
    mark, name = encoding
    assert to_utf8(mark + text.encode(name), 1_000) == text.encode()


def test_a_body_without_a_mark_is_the_same_object() -> None:
    for body in (b"", b"{}", b"\xff", b"\xef\xbb", bytes(range(256))):
        assert to_utf8(body, 1) is body


@pytest.mark.parametrize("name", ["utf-16-le", "utf-16-be"])
def test_what_is_no_character_is_replaced(name: str) -> None:
    mark = {known: mark for mark, known in ENCODINGS}[name]
    lone = "a\ud83db".encode(name, "surrogatepass")
    assert to_utf8(mark + lone, 100).decode() == "a\ufffdb"
    assert to_utf8(mark + "a".encode(name) + b"\x00", 100).decode() == "a\ufffd"


def test_a_character_on_the_border_of_two_pieces_stays_whole() -> None:
    text = "a" * (PIECE_BYTES // 2 - 1) + "\U0001f600" + "b"
    assert to_utf8(codecs.BOM_UTF16_LE + text.encode("utf-16-le"), 2**22) == text.encode()


def test_a_text_that_grows_beyond_its_bound_is_refused_in_bounded_memory() -> None:
    body = codecs.BOM_UTF16_LE + "\u4e00".encode("utf-16-le") * 10_000_000
    tracemalloc.start()
    try:
        with pytest.raises(TextTooLong):
            to_utf8(body, 5_000_000)
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()
