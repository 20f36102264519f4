"""The `mappings` of a source map (ECMA-426): base64 VLQ, decoded in columns, one part at a time.

A segment has 1, 4 or 5 numbers, each the difference to the one before; `,` ends a segment, `;` a line. As in ECMA-426,
a segment that names something impossible is dropped, and the others count. Numbers that cannot be read are errors: all
differences after them would be wrong.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]

STRETCH_BYTES: Final = 1 << 20  # decoded at once: about 60 MB of columns
MAX_DIGITS: Final = 7  # of one number: 35 bits, more than the 32 that the format allows; further ones must be zero
MAX_BITS: Final = 32  # of one number, with its sign
MAX_NUMBER: Final = 2**31 - 1
COMMA: Final = 64
SEMICOLON: Final = 65
FOREIGN: Final = 255
NONE: Final = -1

_VALUES: Final = np.full(256, FOREIGN, dtype=np.uint8)
for _value, _char in enumerate(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/,;"):
    _VALUES[_char] = _value


class MappingsError(ValueError):
    """A segment cannot be read; has its place (line and segment from 1) and a sentence."""

    def __init__(self, line: int, segment: int, what: str) -> None:
        super().__init__(f"line {line}, segment {segment}: {what}")


@dataclass(slots=True)
class Segments:
    """Columns of segments, by generated line and column, all from 0; columns count UTF-16 units.

    `source` and `name` are indexes, -1 for none. A segment without a source maps to nothing.
    """

    line: npt.NDArray[np.int32]
    column: npt.NDArray[np.int32]
    source: npt.NDArray[np.int32]
    source_line: npt.NDArray[np.int32]
    source_column: npt.NDArray[np.int32]
    name: npt.NDArray[np.int32]

    def columns(self) -> tuple[npt.NDArray[np.int32], ...]:
        """Returns the columns in the order of the fields."""
        return (self.line, self.column, self.source, self.source_line, self.source_column, self.name)

    def pick(self, is_kept: npt.NDArray[np.bool_]) -> "Segments":
        """Returns some of the segments, as copies."""
        return Segments(*(values[is_kept] for values in self.columns()))


def decode_mappings(text: str, *, sources: int, names: int, stretch_bytes: int = STRETCH_BYTES) -> Segments:
    """Decodes the mappings of a map with this number of sources and names. Raises `MappingsError`.

    A segment with an impossible column is dropped. One with an impossible original, or with 2 or 3 numbers, maps to
    nothing. One with an impossible name has none, and numbers after the fifth are not read.
    """
    try:
        whole = text.encode("ascii")
    except UnicodeEncodeError as error:
        raise _foreign(text[: error.start].encode("utf-8", "replace"), text[error.start]) from None
    state = _State(limits=(sources, names))
    parts = []
    start = 0
    while start < len(whole):
        end = _end_of_stretch(whole, start, stretch_bytes)
        parts.append(_decode_stretch(whole, start, end, state))
        start = end
    columns = [np.concatenate(column).astype(np.int32) for column in zip(*parts, strict=True)] if parts else _empty()
    segments = Segments(*columns)
    order = segments.line.astype(np.int64) << 32 | segments.column
    if len(order) and (np.diff(order) < 0).any():  # a generator may write a line's segments in any order
        by_place = np.argsort(order, kind="stable")
        segments = Segments(*(column[by_place] for column in segments.columns()))
    return segments


@dataclass(slots=True, kw_only=True)
class _State:
    """The state between two parts: the place, and the numbers that differences are added to."""

    limits: tuple[int, int]
    line: int = 0
    column: int = 0
    source: int = 0
    source_line: int = 0
    source_column: int = 0
    name: int = 0
    segment: int = 0  # number of segments of its line before this part


def _empty() -> list[npt.NDArray[np.int32]]:
    return [np.empty(0, dtype=np.int32) for _ in range(6)]


def _foreign(before: bytes, char: str) -> MappingsError:
    line = before.count(b";")
    segment = before[before.rfind(b";") + 1 :].count(b",")
    return MappingsError(line + 1, segment + 1, f"{char!r} is not a base64 digit.")


def _end_of_stretch(whole: bytes, start: int, stretch_bytes: int) -> int:
    """Returns the end of a part: after a separator, or at the end of the text. Only a hostile segment is longer."""
    if len(whole) - start <= stretch_bytes:
        return len(whole)
    end = start + stretch_bytes
    last = max(whole.rfind(b",", start, end), whole.rfind(b";", start, end))
    if last < 0:
        following = [at for at in (whole.find(b",", end), whole.find(b";", end)) if at >= 0]
        last = min(following, default=len(whole) - 1)
    return last + 1


def _decode_stretch(whole: bytes, start: int, end: int, state: _State) -> tuple[Ints, ...]:
    values = _VALUES[np.frombuffer(whole, dtype=np.uint8, count=end - start, offset=start)]
    foreign = np.flatnonzero(values == FOREIGN)
    if len(foreign):
        at = start + int(foreign[0])
        raise _foreign(whole[:at], chr(whole[at]))
    is_separator = values >= COMMA
    segment_of: Ints = np.cumsum(is_separator) - is_separator
    lines = values == SEMICOLON
    segment_count = int(is_separator.sum()) + 1
    separators = values[is_separator]
    line_of = np.zeros(segment_count, dtype=np.int64)
    line_of[1:] = np.cumsum(separators == SEMICOLON)
    digits = ~is_separator
    numbers, owner = _decode_numbers(values[digits], segment_of[digits], line_of, state)
    lengths = np.bincount(owner, minlength=segment_count)
    result = _add_up(numbers, owner, lengths, line_of, state)
    state.segment = int(segment_count - 1 - np.searchsorted(line_of, line_of[-1])) + (
        state.segment if line_of[-1] == 0 else 0
    )
    state.line += int(lines.sum())
    if line_of[-1] > 0 and not (lengths > 0)[line_of == line_of[-1]].any():
        state.column = 0
    return result


def _at(line_of: Ints, segment: int, state: _State, what: str) -> MappingsError:
    """Returns the error of a segment, by its number in the part."""
    line = int(line_of[segment])
    number = segment - int(np.searchsorted(line_of, line)) + (state.segment if line == 0 else 0)
    return MappingsError(state.line + line + 1, number + 1, what)


def _decode_numbers(digits: npt.NDArray[np.uint8], owner: Ints, line_of: Ints, state: _State) -> tuple[Ints, Ints]:
    """Returns the signed numbers in the digits, and the segment of each."""
    goes_on = (digits & 32) != 0
    if not len(digits):
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    is_last_of_segment = np.append(owner[1:] != owner[:-1], True)
    cut = np.flatnonzero(goes_on & is_last_of_segment)
    if len(cut):
        raise _at(line_of, int(owner[cut[0]]), state, "its last number is cut off.")
    starts = np.flatnonzero(np.append(True, ~goes_on[:-1]))
    places = np.arange(len(digits)) - np.repeat(starts, np.diff(np.append(starts, len(digits))))
    bits = (digits & 31).astype(np.int64)
    raw = np.add.reduceat(bits << 5 * np.minimum(places, MAX_DIGITS), starts)
    long = np.append(owner[(places >= MAX_DIGITS) & (bits > 0)], owner[starts][raw >> MAX_BITS > 0])
    if len(long):
        raise _at(line_of, int(long.min()), state, "a number is too large.")
    return np.where(raw & 1, -(raw >> 1), raw >> 1), owner[starts]


def _add_up(numbers: Ints, owner: Ints, lengths: Ints, line_of: Ints, state: _State) -> tuple[Ints, ...]:
    """Sums the differences; returns line, column, source, source line, source column and name of each segment."""
    first = np.searchsorted(owner, np.arange(len(lengths)))
    used = np.flatnonzero(lengths > 0)
    mapped = np.flatnonzero(lengths >= 4)
    named = np.flatnonzero(lengths >= 5)
    line = line_of[used]
    column = _add_up_lines(numbers[first[used]], line, state)
    sums = {
        "source": state.source + np.cumsum(numbers[first[mapped] + 1]),
        "source_line": state.source_line + np.cumsum(numbers[first[mapped] + 2]),
        "source_column": state.source_column + np.cumsum(numbers[first[mapped] + 3]),
        "name": state.name + np.cumsum(numbers[first[named] + 4]),
    }
    for field, values in {"column": column, **sums}.items():
        if len(values):
            setattr(state, field, int(values[-1]))
    source_count, name_count = state.limits
    is_possible = _is_within(sums["source"], source_count - 1)
    is_possible &= _is_within(sums["source_line"], MAX_NUMBER) & _is_within(sums["source_column"], MAX_NUMBER)
    kept = dict.fromkeys(("source", "source_line", "source_column"), is_possible)
    kept["name"] = _is_within(sums["name"], name_count - 1)
    columns = [state.line + line, column]
    for field, owners in (("source", mapped), ("source_line", mapped), ("source_column", mapped), ("name", named)):
        spread = np.full(len(lengths), NONE, dtype=np.int64)
        spread[owners[kept[field]]] = sums[field][kept[field]]
        columns.append(spread[used])
    is_kept = _is_within(column, MAX_NUMBER)
    return tuple(columns) if is_kept.all() else tuple(values[is_kept] for values in columns)


def _add_up_lines(steps: Ints, line: Ints, state: _State) -> Ints:
    """Returns the column of each segment: sums that begin anew with each line."""
    column = np.cumsum(steps)
    begins = np.flatnonzero(np.append(True, np.diff(line) > 0)) if len(line) else np.empty(0, dtype=np.int64)
    before = np.where(begins > 0, column[begins - 1], 0)
    before = np.where(line[begins] == 0, -state.column, before)  # the line that the previous part began continues
    result: Ints = column - np.repeat(before, np.diff(np.append(begins, len(line))))
    return result


def _is_within(values: Ints, largest: int) -> npt.NDArray[np.bool_]:
    return (values >= 0) & (values <= largest)
