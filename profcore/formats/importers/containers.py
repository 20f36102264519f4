"""Containers: gzip, zlib, zip, a JSON array, NDJSON. Each yields further inputs, within the file's budget.

Names inside a zip are for people only: nothing is ever written under them.
"""

import re
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from typing import Final

from profcore.errors import Reason, TraceError
from profcore.formats.importers.shapes import Budget, Container, Source
from profcore.inflating import CutShort, Damaged, TooLong, TooManyMembers, inflate
from profcore.litter import is_litter
from profcore.trace.wire import split_array

GZIP_MAGIC: Final = b"\x1f\x8b"
ZIP_MAGIC: Final = b"PK\x03\x04"
ZIP_ENTRY: Final = b"PK\x01\x02"  # begins each entry of a zip's directory
GZIP_OR_ZLIB: Final = 47  # zlib's code for "either header"
ZLIB_METHODS: Final = frozenset({0x78, 0x68, 0x58, 0x48, 0x38})  # deflate with a window of 8 to 32 KiB
CHUNK_BYTES: Final = 64 * 1024
MAX_MEMBERS: Final = 10_000  # of a gzip; writers of blocks of 64 KiB need 6,400 for what an input may have
LINE: Final = re.compile(rb"[^ \t\r\n][^\n]*")
CONTROL: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
MAX_NAME_CHARS: Final = 120
# The exceptions of `zipfile` for damaged or hostile archives.
ZIP_ERRORS: Final = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    NotImplementedError,
    RuntimeError,
    ValueError,
    OSError,
)


def show_name(name: str) -> str:
    """Returns a member's or file's name that is safe to show: short, on one line, in one direction."""
    name = CONTROL.sub("\ufffd", name)
    return name if len(name) <= MAX_NAME_CHARS else name[: MAX_NAME_CHARS - 1] + "…"


def is_compressed(source: Source) -> bool:
    """Returns whether an input is gzip, by its magic, or zlib, by its two bytes, which are a multiple of 31."""
    body = source.body
    if body[:2] == GZIP_MAGIC:
        return True
    return len(body) > 2 and body[0] in ZLIB_METHODS and (body[0] * 256 + body[1]) % 31 == 0


def open_compressed(source: Source, budget: Budget) -> Iterator[Source]:
    """Yields the content of a gzip (with one or more members) or a zlib stream."""
    body = expand(source.body, budget.room())
    budget.take(len(body))
    yield Source(source.place, body, source.limits)


def expand(body: bytes, most: int) -> bytes:
    """Returns unpacked gzip or zlib. Raises `TraceError` as soon as it exceeds `most` bytes, and if it is damaged."""
    try:
        return inflate(body, window=GZIP_OR_ZLIB, max_bytes=most, max_members=MAX_MEMBERS)
    except TooLong:
        raise TraceError(Reason.TOO_LARGE, "$", f"Unpacked, it has more than {most} bytes.") from None
    except CutShort:
        detail = "The compressed bytes end too early."
    except Damaged as error:
        detail = f"The compressed bytes are damaged: {error}."
    except TooManyMembers:
        detail = f"It has more than {MAX_MEMBERS} compressed members."
    raise TraceError(Reason.INVALID_GZIP, "$", detail)


def is_zip(source: Source) -> bool:
    """Returns whether an input is a zip, by its first bytes; others, such as self-extracting ones, are not read."""
    return source.body[:4] == ZIP_MAGIC


def open_zip(source: Source, budget: Budget) -> Iterator[Source]:
    """Yields a zip's files in the order of its directory, except what file managers add. Only deflated or stored."""
    if source.body.count(ZIP_ENTRY) > source.limits.members:  # before `zipfile` creates an object for each
        raise TraceError(Reason.TOO_MANY, "$", f"The archive holds more than {source.limits.members} files.")
    with _zip_errors():
        archive = zipfile.ZipFile(BytesIO(source.body))
    for entry in archive.infolist():
        if entry.is_dir() or is_litter(entry.filename):
            continue
        place = f"{source.place} › {show_name(entry.filename)}"
        with _zip_errors(entry.filename):
            body = _read_entry(archive, entry, budget.room())
        budget.take(len(body))
        yield Source(place, body, source.limits)


def _read_entry(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, most: int) -> bytes:
    if entry.flag_bits & 1:
        raise TraceError(Reason.INVALID_VALUE, "$", f"{show_name(entry.filename)} is encrypted.")
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        detail = f"{show_name(entry.filename)} is packed by an unsupported method (deflate is supported)."
        raise TraceError(Reason.INVALID_VALUE, "$", detail)
    with archive.open(entry) as member:
        body = member.read(most + 1)
    if len(body) > most:
        raise TraceError(Reason.TOO_LARGE, "$", f"Unpacked, {show_name(entry.filename)} has more than {most} bytes.")
    return body


@contextmanager
def _zip_errors(member: str = "") -> Iterator[None]:
    """Turns the errors of `zipfile` for damaged archives into a `TraceError`."""
    try:
        yield
    except ZIP_ERRORS as error:
        what = f"{show_name(member)} in the archive" if member else "The archive"
        raise TraceError(Reason.INVALID_VALUE, "$", f"{what} is damaged: {show_name(str(error))}.") from None


def is_array(source: Source) -> bool:
    """Returns whether an input is a JSON array."""
    return source.start == b"["


def open_array(source: Source, budget: Budget) -> Iterator[Source]:
    """Yields the elements of a JSON array, each as its own bytes."""
    for index, element in enumerate(split_array(source.body, source.limits.members)):
        body = bytes(element)
        budget.take(len(body))
        yield Source(f"{source.place} › $[{index}]", body, source.limits)


def is_lines(source: Source) -> bool:
    """Returns whether an input is NDJSON: the first line is a whole JSON object, and the next begins another value."""
    if source.start != b"{":
        return False
    lines = LINE.finditer(source.body)
    first, second = next(lines).group().rstrip(), next(lines, None)
    return second is not None and first.endswith(b"}") and second.group()[:1] in b"{["


def open_lines(source: Source, budget: Budget) -> Iterator[Source]:
    """Yields the lines that are not empty."""
    line, counted_to = 1, 0
    for match in LINE.finditer(source.body):
        line += source.body.count(b"\n", counted_to, match.start())
        counted_to = match.start()
        body = match.group().rstrip()
        budget.take(len(body))
        yield Source(f"{source.place} › line {line}", body, source.limits)


COMPRESSED: Final = Container("gzip", is_compressed, open_compressed)
ZIP: Final = Container("zip", is_zip, open_zip)
ARRAY: Final = Container("JSON array", is_array, open_array)
LINES: Final = Container("NDJSON", is_lines, open_lines)
