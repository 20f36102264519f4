"""Large values written in pieces: JSON from typed structs, gzip around any pieces. Equal input gives equal bytes."""

import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

encode_json: Final = msgspec.json.encode
# Small pieces are joined up to this size, which suits compression and sockets.
PIECE_BYTES: Final = 256 * 1024
# A column is written in slices of this many rows: about 100 kB of text, whatever the size of the table.
ROWS_PER_PIECE: Final = 16_384
INFLATE_BYTES: Final = 64 * 1024
GZIP_LEVEL: Final = 6
GZIP_WINDOW: Final = 31  # zlib's largest window, plus 16 for a gzip wrapper, whose time zlib leaves at 0


@dataclass(frozen=True, slots=True)
class TextColumn:
    """A column of long texts, each in parts, or None. A part is taken only when its place in the file is reached."""

    texts: Iterable[Iterable[str] | None]


def stream_json(struct: msgspec.Struct) -> Iterator[bytes]:
    """Yields the JSON of a struct in pieces.

    It walks structs inside structs (as deep as the types nest, never as deep as the data). Their list columns are
    written in slices, everything else in one piece. A field equal to its default is left out if the struct has
    `omit_defaults`. Texts must not have lone surrogates.
    """
    config = struct.__struct_config__
    if config.omit_defaults:
        yield msgspec.json.encode(struct)
        return
    separator = b"{"
    for name in struct.__struct_fields__:
        yield separator + msgspec.json.encode(name) + b":"
        separator = b","
        value: object = getattr(struct, name)
        if isinstance(value, msgspec.Struct):
            yield from stream_json(value)
        elif isinstance(value, list):
            yield from _stream_list(value)
        elif isinstance(value, TextColumn):
            yield from gather(_stream_texts(value))
        else:
            yield msgspec.json.encode(value)
    yield b"{}" if separator == b"{" else b"}"


def _stream_list(rows: list[object]) -> Iterator[bytes]:
    separator = b"["
    if rows and isinstance(rows[0], msgspec.Struct):
        for row in rows:
            yield separator
            yield from stream_json(row) if isinstance(row, msgspec.Struct) else (msgspec.json.encode(row),)
            separator = b","
    else:
        for start in range(0, len(rows), ROWS_PER_PIECE):
            yield separator + msgspec.json.encode(rows[start : start + ROWS_PER_PIECE])[1:-1]
            separator = b","
    yield b"]" if rows else b"[]"


def _stream_texts(column: TextColumn) -> Iterator[bytes]:
    separator = b"["
    for parts in column.texts:
        yield separator + (b"null" if parts is None else b'"')
        if parts is not None:
            yield from (encode_json(part)[1:-1] for part in parts)
            yield b'"'
        separator = b","
    yield b"]" if separator == b"," else b"[]"


def stream_array(rows: Iterable[object]) -> Iterator[bytes]:
    """Yields a JSON array in pieces; it takes rows from an iterator only when it needs them."""
    yield b"["
    yield from gather(_separated(rows))
    yield b"]"


def stream_column(numbers: Sequence[int]) -> Iterator[bytes]:
    """Yields a JSON array of numbers in pieces."""
    yield from _stream_list(list(numbers))


def _separated(rows: Iterable[object]) -> Iterator[bytes]:
    separator = b""
    for row in rows:
        yield separator + encode_json(row)
        separator = b","


def gather(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yields small pieces joined to pieces of `PIECE_BYTES`, or slightly more because of the last one."""
    batch: list[bytes] = []
    size = 0
    for piece in pieces:
        batch.append(piece)
        size += len(piece)
        if size >= PIECE_BYTES:
            yield b"".join(batch)
            batch.clear()
            size = 0
    if batch:
        yield b"".join(batch)


def gzip_stream(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yields the pieces as one gzip member without a time or a name, so that equal input gives equal bytes."""
    compressor = zlib.compressobj(GZIP_LEVEL, zlib.DEFLATED, GZIP_WINDOW)
    for piece in pieces:
        if packed := compressor.compress(piece):
            yield packed
    yield compressor.flush()


def inflate_stream(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yields the expanded bytes of a gzip stream, in pieces of `INFLATE_BYTES` at most."""
    inflater = zlib.decompressobj(GZIP_WINDOW)
    for piece in pieces:
        waiting = piece
        while waiting:
            yield inflater.decompress(waiting, INFLATE_BYTES)
            waiting = inflater.unconsumed_tail
    yield inflater.flush()
