"""The messages of pprof's `profile.proto` that we write, and as much of the wire's encoding as they take.

The encoding has not changed since 2008, and these are four message types: generated code would tie us to one major
version of its runtime after another, for less than what is below. Judges read the result in the tests.
"""

from collections.abc import Iterable
from typing import Final

LENGTH_DELIMITED: Final = 2
VARINT_BITS: Final = 7
VARINT_MASK: Final = 0x7F
VARINT_MORE: Final = 0x80
UINT64: Final = 1 << 64


def varint(number: int) -> bytes:
    """Encodes a whole number of 64 bits; one below zero as its two's complement."""
    rest = number % UINT64
    encoded = bytearray()
    while rest > VARINT_MASK:
        encoded.append(rest & VARINT_MASK | VARINT_MORE)
        rest >>= VARINT_BITS
    encoded.append(rest)
    return bytes(encoded)


def number_field(field: int, number: int) -> bytes:
    """Encodes an integer field; nothing where it is 0, which is what readers take a missing one for."""
    return varint(field << 3) + varint(number) if number else b""


def bytes_field(field: int, content: bytes) -> bytes:
    """Encodes a string, a message inside a message, or packed numbers."""
    return varint(field << 3 | LENGTH_DELIMITED) + varint(len(content)) + content


def packed(numbers: Iterable[int]) -> bytes:
    """Encodes the content of a repeated integer field."""
    return b"".join(map(varint, numbers))


class Strings:
    """The string table: the empty one first, each once, in order of arrival."""

    __slots__ = ("_index",)

    def __init__(self) -> None:
        self._index: dict[str, int] = {"": 0}

    def intern(self, text: str) -> int:
        """Returns the index of a text, which `safe_text` has been through."""
        return self._index.setdefault(text, len(self._index))

    def encode(self) -> bytes:
        """Returns the table: `Profile.string_table`."""
        return b"".join(bytes_field(6, text.encode()) for text in self._index)


def value_type(kind: int, unit: int) -> bytes:
    """A `ValueType`, of indexes into the string table."""
    return number_field(1, kind) + number_field(2, unit)


def function(function_id: int, name: int, system_name: int, filename: int, start_line: int) -> bytes:
    """A `Function`."""
    texts = number_field(2, name) + number_field(3, system_name) + number_field(4, filename)
    return number_field(1, function_id) + texts + number_field(5, start_line)


def mapping(mapping_id: int, filename: int) -> bytes:
    """A `Mapping` without addresses, which says that its functions, files and lines are known: none to look up."""
    known = b"".join(number_field(field, 1) for field in (7, 8, 9))
    return number_field(1, mapping_id) + number_field(5, filename) + known


def location(location_id: int, mapping_id: int, function_id: int, line: int, column: int) -> bytes:
    """A `Location` of one `Line`, without an address."""
    content = number_field(1, function_id) + number_field(2, line) + number_field(3, column)
    return number_field(1, location_id) + number_field(2, mapping_id) + bytes_field(4, content)


def label(key: int, *, text: int = 0, number: int = 0, unit: int = 0) -> bytes:
    """A `Label`: with a text or with a number and its unit."""
    return number_field(1, key) + number_field(2, text) + number_field(3, number) + number_field(4, unit)


def sample(location_ids: bytes, values: Iterable[int], labels: Iterable[bytes] = ()) -> bytes:
    """A `Sample`; its location ids are packed, the leaf's first."""
    content = bytes_field(1, location_ids) + bytes_field(2, packed(values))
    return content + b"".join(bytes_field(3, text) for text in labels)
