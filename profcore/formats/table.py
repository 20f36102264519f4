"""The table of functions as CSV (RFC 4180), for spreadsheets and data frames: a row per func, heaviest first.

The last rows are the parts of time that belong to no func: `kind` is `part`. With them the column `self_ms` adds up to
the span.

A spreadsheet takes a text for a formula if it begins with one of some signs. Where lists are separated by semicolons,
as in German or French, it also takes what is behind a semicolon for a cell, whatever the quotes say. So every text is
quoted, and an apostrophe is put in front of what could begin a formula: at the start of a text, and behind everything
that separates cells anywhere. The same goes for an apostrophe there, so removing one at these places restores the text.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final

from profcore.formats.firefox.tables import safe_text
from profcore.formats.slice import DifferenceExport, ExportFunc, SegmentedExport, SliceExport
from profcore.formats.streaming import gather
from profcore.sums.calltree import CallTree
from profcore.sums.fold import FuncSums, sum_by_func

COLUMNS: Final = (
    "kind",
    "label",
    "name",
    "uri",
    "line",
    "column",
    "original_source",
    "original_line",
    "original_column",
    "category",
    "self_ms",
    "total_ms",
    "hidden_ms",
    "hidden_total_ms",
    "self_samples",
    "total_samples",
)
COMPARED: Final = ("self_ms", "total_ms", "hidden_ms", "hidden_total_ms")
NS_DIGITS: Final = 6  # of ms
NUMBERS: Final = len(COMPARED) + 2  # the columns from `self_ms` on
# Also full-width and small signs, which East Asian editions take for the usual ones.
SIGNS: Final = "=+\\-@＝＋－＠﹦﹢﹣﹫\u2212"
# What may be in front of a sign in a cell: space, quotes, characters that are not shown; not what separates cells.
UNSEEN: Final = r'(?:[^\S\t\r\n]|["\x00-\x08\x0b\x0c\x0e-\x1f\xad\u200b-\u200f\u2060\ufeff])*+'
BEGINS_CELL: Final = re.compile(rf"\A(?=[\t\r\n])|(?:\A|(?<=[;,|\t\r\n]))(?='|{UNSEEN}[{SIGNS}])")
Cell = str | int | float | None


def write_slice(export: SliceExport) -> Iterator[bytes]:
    """Yields the table of a slice (UTF-8, no byte order mark) in pieces; equal input gives equal bytes.

    Funcs without JS time, hidden time and samples are left out. `hidden_ms` is the hidden time attributed to a func.
    No other column includes it except `hidden_total_ms`. All hidden time together is the part `(hidden)`.
    """
    yield from _write([COLUMNS], _rows(export))


def write_segments(export: SegmentedExport) -> Iterator[bytes]:
    """Yields the tables of a slice's segments as one, without the whole. Their dimension is the first column."""
    rows = ((safe_text(label), *row) for label, part in export.segments for row in _rows(part))
    yield from _write([(export.by, *COLUMNS)], rows)


def write_difference(export: DifferenceExport) -> Iterator[bytes]:
    """Yields the table of a difference: base, head and head minus base, in ms per page view to the nanosecond.

    The largest increase of self time comes first. A func is the same on both sides if all its written facts are equal.
    """
    sides = [_per_view(side) for side in (export.base, export.head)]
    nothing = [0.0] * len(COMPARED)
    rows = []
    for key in dict.fromkeys([*sides[1], *sides[0]]):
        base, head = (side.get(key, nothing) for side in sides)
        threes = [(before, after, after - before) for before, after in zip(base, head, strict=True)]
        rows.append((key, [round(cell, NS_DIGITS) for three in threes for cell in three], threes[0][2]))
    rows.sort(key=lambda row: (-row[2], _text_key(row[0])))
    header = [f"{side}_{name}" for name in COMPARED for side in ("base", "head", "delta")]
    yield from _write([(*COLUMNS[:-NUMBERS], *header)], ((*key, *cells) for key, cells, _ in rows))


def _per_view(side: SliceExport) -> dict[tuple[Cell, ...], list[float]]:
    """Returns the times of each func and part of a side, ms per page view, by their texts."""
    views = max(side.views, 1)
    sums: dict[tuple[Cell, ...], list[float]] = {}
    for row in _rows(side):
        numbers = row[-NUMBERS : -NUMBERS + len(COMPARED)]
        times = [cell / views if isinstance(cell, float) else 0.0 for cell in numbers]
        known = sums.setdefault(row[:-NUMBERS], [0.0] * len(COMPARED))
        sums[row[:-NUMBERS]] = [before + more for before, more in zip(known, times, strict=True)]
    return sums


def _write(header: Iterable[tuple[Cell, ...]], body: Iterable[tuple[Cell, ...]]) -> Iterator[bytes]:
    yield from gather(map(encode_row, chain(header, body)))


def encode_row(row: tuple[Cell, ...]) -> bytes:
    """Returns a row as bytes: texts guarded and quoted, numbers as they are, nothing for None."""
    return (",".join(map(_encode_cell, row)) + "\r\n").encode()


def _encode_cell(cell: Cell) -> str:
    if isinstance(cell, str):
        return '"' + guard(cell).replace('"', '""') + '"'
    return "" if cell is None else repr(cell)


def guard(text: str) -> str:
    """Returns a text with an apostrophe in front of everything in it that a spreadsheet could take for a formula."""
    return BEGINS_CELL.sub("'", text)


def _rows(export: SliceExport) -> Iterator[tuple[Cell, ...]]:
    sums = _sum_tree(export.tree)
    rows = [(func, _texts(export.funcs[func])) for func in sums.funcs()]
    rows.sort(key=lambda row: (-sums.self_us.get(row[0], 0), -sums.total_us.get(row[0], 0), _text_key(row[1])))
    for func, texts in rows:
        yield ("function", *texts, *_numbers(sums, func))
    time = export.time
    for label, us, samples in (
        ("(hidden)", time.hidden_us, time.hidden_samples),
        ("(engine)", time.engine_us, time.engine_samples),
        ("(idle)", time.idle_us, time.idle_samples),
        ("(unobserved)", time.unobserved_us, 0),
        ("(profiler)", time.profiler_us, time.profiler_samples),
    ):
        yield "part", label, *([None] * 8), us / 1000, us / 1000, None, None, samples, samples


def _sum_tree(tree: CallTree) -> FuncSums:
    """Returns the sums by func, including nodes with time but no samples, which a size guard creates."""
    sums = sum_by_func(tree.prefix, tree.func, tree.self_us, tree.self_samples, tree.hidden_us)
    if any(us and not count for us, count in zip(tree.self_us, tree.self_samples, strict=True)):
        is_seen = [us + count for us, count in zip(tree.self_us, tree.self_samples, strict=True)]
        timed = sum_by_func(tree.prefix, tree.func, tree.self_us, is_seen, tree.hidden_us)
        sums.self_us, sums.total_us = timed.self_us, timed.total_us
    return sums


def _texts(func: ExportFunc) -> tuple[Cell, ...]:
    original = func.original
    return (
        safe_text(func.label),
        safe_text(func.name),
        None if func.uri is None else safe_text(func.uri),
        func.line or None,
        func.column or None,
        None if original is None else safe_text(original.source),
        None if original is None else original.line,
        None if original is None else original.column,
        func.category,
    )


def _text_key(texts: tuple[Cell, ...]) -> tuple[tuple[bool, Cell], ...]:
    return tuple((cell is not None, cell if cell is not None else 0) for cell in texts)


def _numbers(sums: FuncSums, func: int) -> tuple[Cell, ...]:
    return (
        sums.self_us.get(func, 0) / 1000,
        sums.total_us.get(func, 0) / 1000,
        sums.hidden_us.get(func, 0) / 1000,
        sums.hidden_total_us.get(func, 0) / 1000,
        sums.self_samples.get(func, 0),
        sums.total_samples.get(func, 0),
    )
