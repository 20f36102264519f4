"""Half surrogate pairs in JSON, against what JavaScript's `toWellFormed` would give."""

import json
import time
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from profcore.surrogates import MAX_HALVES, PIECE_BYTES, replace_halves
from tests.profcore.strategies import PROPERTY

UNITS = st.sampled_from(
    ["\\", '"', "u", "d83d", "\ud83d", "\ude00", "\udbff", "\udc00", "😀", "é", "\n", "\x01", "a", "\\u"]
)
TEXTS = st.lists(UNITS, max_size=12).map("".join)


def well_formed(text: str) -> str:
    """Returns a text as `toWellFormed` does. Two halves that meet are a pair."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


@PROPERTY
@given(st.recursive(TEXTS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3)))
def test_any_json_reads_as_well_formed_text(value: object) -> None:
    body = json.dumps(value).encode()
    repaired = replace_halves(body)
    assert len(repaired) == len(body)
    # A stranger's decoder, which keeps halves, sees the same texts with the halves replaced.
    assert mend(json.loads(repaired, object_pairs_hook=list)) == mend(json.loads(body, object_pairs_hook=list))
    json.dumps(json.loads(repaired), ensure_ascii=False).encode()  # raises for a half
    assert replace_halves(repaired) is repaired


def mend(value: object) -> object:
    """Returns JSON with well-formed texts, and lists in place of objects: names may become the same."""
    if isinstance(value, str):
        return well_formed(value)
    return [mend(part) for part in value] if isinstance(value, list | tuple) else value


@PROPERTY
@given(
    st.binary(max_size=40) | st.lists(st.sampled_from([b"\\", b"u", b"d83d", b"\\ud83d", b"\0", b"x"])).map(b"".join)
)
def test_no_bytes_are_too_odd(body: bytes) -> None:
    assert len(replace_halves(body)) == len(body)


TOKENS = st.sampled_from([b"\\", b"\\\\", b"u", b"d83d", b"\\ud83d", b"\\ude00", b"\\ud83d\\ude00", b"\\u00e9", b"x"])


@PROPERTY
@given(st.lists(TOKENS, min_size=8, max_size=40).map(b"".join), st.integers(16, 40), st.integers(1, 10))
def test_a_body_is_repaired_alike_in_pieces_of_any_size(body: bytes, size: int, most: int) -> None:
    whole = replace_halves(body, most)
    with mock.patch("profcore.surrogates.PIECE_BYTES", size):
        assert replace_halves(body, most) == whole


def test_other_threads_wait_for_no_more_than_a_piece() -> None:
    body = b'"' + b"\\ud83d\\ude00" * (4 * PIECE_BYTES // 12) + b'"'
    with mock.patch("profcore.surrogates._HALF") as half:
        half.subn.side_effect = lambda replacement, piece, most: (piece, 0)
        assert replace_halves(body) is body
    sizes = [len(call.args[1]) for call in half.subn.call_args_list]
    assert sum(sizes) == len(body)
    assert max(sizes) <= PIECE_BYTES


@pytest.mark.parametrize("body", [b"{}", b'"\\u00e9"', b'"\\ud83d\\ude00"', b'"\\\\ud83d"', b'"\\ud83d\0"', b""])
def test_what_has_none_stays_the_same_object(body: bytes) -> None:
    assert replace_halves(body) is body


@pytest.mark.parametrize("piece", [b"\\ud83d", b"\\\\", b"\\ud83d\\ude00", b"\\\\ud83d", b"\\udc00\\n"])
def test_a_body_full_of_escapes_takes_linear_time(piece: bytes) -> None:
    seconds = []
    for size in (200_000, 2_000_000):
        body = b'"' + piece * (size // len(piece)) + b'\\ud83d"'
        began = time.perf_counter()
        replace_halves(body)
        seconds.append(time.perf_counter() - began)
    assert seconds[1] < 40 * seconds[0] + 0.2


def test_a_body_of_very_many_halves_stays_as_it_is() -> None:
    for count, is_repaired in ((MAX_HALVES, True), (MAX_HALVES + 1, False)):
        body = b'"' + b"\\ud83d" * count + b'"'
        assert (replace_halves(body) is not body) is is_repaired
