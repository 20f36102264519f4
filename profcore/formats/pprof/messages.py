"""The messages of pprof's `profile.proto` that we write, and the part of the wire encoding that they need.

The encoding has not changed since 2008, and there are only a few message types. Generated code would be larger than
this module and would tie us to the major versions of its runtime. In the tests, other tools read the result.
"""

from collections.abc import Iterable
from typing import Final

LENGTH_DELIMITED: Final = 2
VARINT_BITS: Final = 7
VARINT_MASK: Final = 0x7F
VARINT_MORE: Final = 0x80
UINT64: Final = 1 << 64


def varint(number: int) -> bytes:
    """Returns the encoding of a 64-bit integer; a negative one is in two's complement."""
    rest = number % UINT64
    encoded = bytearray()
    while rest > VARINT_MASK:
        encoded.append(rest & VARINT_MASK | VARINT_MORE)
        rest >>= VARINT_BITS
    encoded.append(rest)
    return bytes(encoded)


def number_field(field: int, number: int) -> bytes:
    """Returns the encoding of an integer field; empty for 0, which is a missing field's value for readers."""
    return varint(field << 3) + varint(number) if number else b""


def bytes_field(field: int, content: bytes) -> bytes:
    """Returns the encoding of a string, a message inside a message, or packed numbers."""
    return varint(field << 3 | LENGTH_DELIMITED) + varint(len(content)) + content


def packed(numbers: Iterable[int]) -> bytes:
    """Returns the encoded content of a repeated integer field."""
    return b"".join(map(varint, numbers))


class Strings:
    """The string table: the empty string first, each string once, in the order in which they were added."""

    __slots__ = ("_index",)

    def __init__(self) -> None:
        self._index: dict[str, int] = {"": 0}

    def intern(self, text: str) -> int:
        """Returns the index of a text that `safe_text` returned."""
        return self._index.setdefault(text, len(self._index))

    def encode(self) -> bytes:
        """Returns the table: `Profile.string_table`."""
        return b"".join(bytes_field(6, text.encode()) for text in self._index)


def value_type(kind: int, unit: int) -> bytes:
    """Returns a `ValueType`, made of indexes into the string table."""
    return number_field(1, kind) + number_field(2, unit)


def function(function_id: int, name: int, system_name: int, filename: int, start_line: int) -> bytes:
    """Returns a `Function`."""
    texts = number_field(2, name) + number_field(3, system_name) + number_field(4, filename)
    return number_field(1, function_id) + texts + number_field(5, start_line)


def mapping(mapping_id: int, filename: int) -> bytes:
    """Returns a `Mapping` without addresses, which says that its functions, files and lines need no look-up."""
    known = b"".join(number_field(field, 1) for field in (7, 8, 9))
    return number_field(1, mapping_id) + number_field(5, filename) + known


def location(location_id: int, mapping_id: int, function_id: int, line: int, column: int) -> bytes:
    """Returns a `Location` with one `Line` and without an address."""
    content = number_field(1, function_id) + number_field(2, line) + number_field(3, column)
    return number_field(1, location_id) + number_field(2, mapping_id) + bytes_field(4, content)


def label(key: int, *, text: int = 0, number: int = 0, unit: int = 0) -> bytes:
    """Returns a `Label` with a text, or with a number and its unit."""
    return number_field(1, key) + number_field(2, text) + number_field(3, number) + number_field(4, unit)


def sample(location_ids: bytes, values: Iterable[int], labels: Iterable[bytes] = ()) -> bytes:
    """Returns a `Sample`; its location ids are packed, the leaf's first."""
    content = bytes_field(1, location_ids) + bytes_field(2, packed(values))
    return content + b"".join(bytes_field(3, text) for text in labels)
