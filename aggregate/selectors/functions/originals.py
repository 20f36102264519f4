"""The text of original sources: the lines around a function's definition, and where functions end."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

from django.db import connection

from aggregate.selectors.code.symbols import SourcePlace
from aggregate.selectors.functions.table import FunctionRow
from ingest.endpoint.requests import expand
from profcore.symbolicate.lines import find_character, read_lines
from profcore.symbolicate.scopes import FunctionText

# Lines around a definition that the source view shows: two screens. Minified originals have lines of 100 kB.
SOURCE_VIEW_LINES: Final = 60
SOURCE_VIEW_LINE_CHARS: Final = 400
SOURCE_VIEW_MAX_BYTES: Final = 4 * 2**20  # a web process grows by up to four times as much for a moment
LINES_BEFORE: Final = 5  # the definition's head and what is above it: a comment, a decorator


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A line of a source, or the part of a very long line around the definition; then `is_cut` is true."""

    number: int
    text: str
    is_cut: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceExcerpt:
    """Some lines of an original source. `line` and `column` say where the function is defined, 1-based.

    `lines` is empty if the map came without the source's text, or if that is longer than `SOURCE_VIEW_MAX_BYTES`.
    """

    path: str
    line: int
    column: int
    lines: tuple[SourceLine, ...]
    line_count: int


def select_excerpt(project_id: int, row: FunctionRow) -> SourceExcerpt | None:
    """Returns the source around a function's definition, None if no source map says where that is.

    At most `SOURCE_VIEW_LINES` lines of `SOURCE_VIEW_LINE_CHARS` characters. One statement.
    """
    if row.mapped is None:
        return None
    original = row.mapped.original
    sources = {original.source: row.mapped.source_id}
    text = select_texts(project_id, sources).get(original.source)
    if text is None:
        return SourceExcerpt(path=original.source, line=original.line, column=original.column, lines=(), line_count=0)
    first = max(0, original.line - 1 - LINES_BEFORE)
    excerpt, line_count = read_lines(text, first, SOURCE_VIEW_LINES)
    if not excerpt:  # the map names a line that the text does not have
        first = max(0, line_count - LINES_BEFORE)
        excerpt, _ = read_lines(text, first, LINES_BEFORE)
    return SourceExcerpt(
        path=original.source,
        line=original.line,
        column=original.column,
        lines=tuple(_cut(first + at + 1, line, original.line, original.column) for at, line in enumerate(excerpt)),
        line_count=line_count,
    )


def select_function_texts(project_id: int, places: Collection[SourcePlace]) -> dict[SourcePlace, FunctionText]:
    """Returns the texts of functions, as far as labelling could read them. One statement, none without places."""
    if not places:
        return {}
    source_ids, lines, columns = zip(*sorted(places), strict=True)
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT DISTINCT ON (l.source_id, l.line, l.col)
                      l.source_id, l.line, l.col, l.first_line, l.last_line, l.text_digest
               FROM aggregate_label l
               JOIN unnest(%s::int[], %s::int[], %s::int[]) AS p (source_id, line, col)
                 ON (l.source_id, l.line, l.col) = (p.source_id, p.line, p.col)
               WHERE l.project_id = %s AND l.source_id = ANY(%s::int[]) AND l.first_line IS NOT NULL
               ORDER BY l.source_id, l.line, l.col, l.release DESC, l.func_id""",
            [list(source_ids), list(lines), list(columns), project_id, list(dict.fromkeys(source_ids))],
        )
        return {
            (source_id, line, column): FunctionText(
                first_line=first, last_line=last, digest=None if digest is None else bytes(digest)
            )
            for source_id, line, column, first, last, digest in cursor
        }


def _cut(number: int, text: str, line: int, column: int) -> SourceLine:
    """Returns a line, cut if it is long: the definition's line around its column, others at their end."""
    most = SOURCE_VIEW_LINE_CHARS
    start = max(0, min(find_character(text, column) - most // 4, len(text) - most)) if number == line else 0
    return SourceLine(number, text[start : start + most], len(text) > most)


def select_texts(project_id: int, sources: Mapping[str, int]) -> dict[str, str]:
    """Returns the kept texts of sources, given with their ids, by path, without those beyond `SOURCE_VIEW_MAX_BYTES`.

    One statement.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT s.id, s.content FROM aggregate_source s
               WHERE s.project_id = %s AND s.id = ANY(%s::int[]) AND s.content IS NOT NULL AND s.size_bytes <= %s""",
            [project_id, list(sources.values()), SOURCE_VIEW_MAX_BYTES],
        )
        packed = {source_id: bytes(content) for source_id, content in cursor}
    return {path: _expand(packed[source_id]) for path, source_id in sources.items() if source_id in packed}


def _expand(packed: bytes) -> str:
    return expand(packed, max_bytes=SOURCE_VIEW_MAX_BYTES).decode("utf-8", "replace")
