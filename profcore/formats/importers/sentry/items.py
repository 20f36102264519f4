"""Sentry's envelopes: a line with a header, then items, each a line with its header and a payload."""

from collections.abc import Iterator
from typing import Final, NamedTuple

import msgspec

from profcore.errors import Reason, TraceError
from profcore.formats.importers.building import invalid
from profcore.formats.importers.shapes import ImportLimits, decode


class EnvelopeHeader(msgspec.Struct, gc=False):
    """The first line. Through a tunnel it holds the DSN."""

    event_id: str | None = None
    dsn: str | None = None


class ItemHeader(msgspec.Struct, gc=False):
    """The line before an item of an envelope; without `length` the item ends with its line."""

    type: str
    length: int | None = None


class Item(NamedTuple):
    """An item of an envelope, and its place among the others."""

    number: int
    type: str
    body: bytes

    @property
    def path(self) -> str:
        """The item's place, for errors."""
        return f"$[{self.number}]"


_header_decoder: Final = msgspec.json.Decoder(EnvelopeHeader)
_item_decoder: Final = msgspec.json.Decoder(ItemHeader)


def read_header(body: bytes, limits: ImportLimits) -> EnvelopeHeader:
    """Returns an envelope's header. Raises `TraceError`."""
    end = body.find(b"\n")
    return decode(body[: end if end >= 0 else len(body)], _header_decoder, limits)


def iter_items(body: bytes, limits: ImportLimits, *, most: int) -> Iterator[Item]:
    """Yields the items of an envelope. Raises `TraceError` for a damaged one, and for more than `most` items."""
    offset = body.find(b"\n") + 1
    for number in range(most):
        while body[offset : offset + 1] in (b"\n", b"\r"):
            offset += 1
        if offset >= len(body) or offset == 0:
            return
        end = body.find(b"\n", offset)
        start = end + 1 if end >= 0 else len(body)
        header = decode(body[offset : end if end >= 0 else start], _item_decoder, limits, f"$[{number}]")
        stop = _find_end(body, start, header, number)
        yield Item(number, header.type, body[start:stop])
        offset = stop
    if body[offset:].strip():
        raise TraceError(Reason.TOO_MANY, "$", f"The envelope has more than {most} items.")


def _find_end(body: bytes, start: int, header: ItemHeader, number: int) -> int:
    if header.length is None:
        stop = body.find(b"\n", start)
        return len(body) if stop < 0 else stop
    stop = start + header.length
    if not start <= stop <= len(body):
        raise invalid(f"$[{number}]", "The item is longer than the file.")
    return stop
