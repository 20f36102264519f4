"""Pieces of JSON and gzip: complete when joined, each small, equal for equal input."""

import gzip
import json
from collections.abc import Iterator

import msgspec
import pytest

from profcore.formats.streaming import (
    INFLATE_BYTES,
    PIECE_BYTES,
    ROWS_PER_PIECE,
    TextColumn,
    gzip_stream,
    inflate_stream,
    stream_json,
)


class Inner(msgspec.Struct):
    length: int
    rows: list[int]


class Brief(msgspec.Struct, omit_defaults=True):
    kept: int
    left_out: str | None = None


class Outer(msgspec.Struct, kw_only=True):
    name: str
    inner: Inner
    many: list[Inner]
    brief: Brief
    nothing: None = None


class Texts(msgspec.Struct):
    column: TextColumn


class Empty(msgspec.Struct):
    pass


@pytest.mark.parametrize("count", [0, 1, ROWS_PER_PIECE - 1, ROWS_PER_PIECE, ROWS_PER_PIECE + 1, 3 * ROWS_PER_PIECE])
def test_a_column_of_any_length_comes_back_whole(count: int) -> None:
    body = b"".join(stream_json(Inner(count, list(range(count)))))

    assert json.loads(body) == {"length": count, "rows": list(range(count))}


def test_structs_in_structs_and_in_lists_are_walked() -> None:
    outer = Outer(name='a "quoted" name', inner=Inner(1, [7]), many=[Inner(0, []), Inner(2, [1, 2])], brief=Brief(3))

    assert json.loads(b"".join(stream_json(outer))) == {
        "name": 'a "quoted" name',
        "inner": {"length": 1, "rows": [7]},
        "many": [{"length": 0, "rows": []}, {"length": 2, "rows": [1, 2]}],
        "brief": {"kept": 3},
        "nothing": None,
    }


def test_a_struct_without_fields_is_an_empty_object() -> None:
    assert b"".join(stream_json(Empty())) == b"{}"


def test_gzip_gives_equal_bytes_without_a_time() -> None:
    pieces = [b"abc" * 1_000, b"", b"def"]

    packed = b"".join(gzip_stream(pieces))

    assert packed[4:8] == b"\0\0\0\0", "the time of the gzip header"
    assert packed == b"".join(gzip_stream(pieces))
    assert gzip.decompress(packed) == b"".join(pieces)


def test_gzip_of_nothing_is_an_empty_member() -> None:
    assert gzip.decompress(b"".join(gzip_stream([]))) == b""


@pytest.mark.parametrize("texts", [[], [None], [["a", '"\n', "é🎈"], None, [], [""]]])
def test_long_texts_are_written_in_parts(texts: list[list[str] | None]) -> None:
    written = json.loads(b"".join(stream_json(Texts(TextColumn(texts)))))
    assert written["column"] == [None if parts is None else "".join(parts) for parts in texts]


def test_a_text_is_taken_only_when_those_before_it_are_written() -> None:
    taken = []

    def take() -> Iterator[list[str]]:
        for number in range(4):
            taken.append(number)
            yield ["x" * 2 * PIECE_BYTES]

    pieces = stream_json(Texts(TextColumn(take())))
    assert next(pieces).startswith(b'{"column"')
    assert taken == []
    next(pieces)
    assert taken == [0]


def test_a_packed_stream_is_expanded_in_small_pieces() -> None:
    text = b"ab" * 1_000_000
    pieces = list(inflate_stream([gzip.compress(text)]))
    assert b"".join(pieces) == text
    assert max(map(len, pieces)) <= INFLATE_BYTES
