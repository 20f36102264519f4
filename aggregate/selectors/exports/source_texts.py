"""Texts of original sources in an export, for viewers that show a function's source."""

import codecs
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import accumulate, groupby
from typing import Final, assert_never

from django.conf import settings
from django.db import connection

from aggregate.selectors.functions.originals import SOURCE_VIEW_MAX_BYTES
from ingest.deadline import release_connection, with_deadline
from profcore.formats.slice import (
    DifferenceExport,
    Export,
    ExportFunc,
    SegmentedExport,
    SliceExport,
    SourceTexts,
    TimelineExport,
)
from profcore.formats.streaming import inflate_stream

# Texts that one statement reads: an app of a thousand sources takes some ten statements. They are held packed.
BATCH_BYTES: Final = 2**20
NO_TEXT: Final = (None, 0)


def add_texts(project_id: int, export: Export) -> Export:
    """Returns an export with the texts of its functions' sources, as many as are kept and fit the limit in all.

    Functions with the most self time come first. One statement; the texts are read while the file is written.
    """
    match export:
        case SliceExport():
            return replace(export, contents=_choose(project_id, _heaviest_first(export)))
        case SegmentedExport():
            return replace(
                export, whole=replace(export.whole, contents=_choose(project_id, _heaviest_first(export.whole)))
            )
        case DifferenceExport():
            texts = _choose(project_id, [*_heaviest_first(export.head), *_heaviest_first(export.base)])
            return replace(export, head=replace(export.head, contents=texts))
        case TimelineExport():
            return replace(export, contents=_choose(project_id, export.funcs))
        case _:
            assert_never(export)


def _heaviest_first(export: SliceExport) -> Sequence[ExportFunc]:
    self_us = Counter[int]()
    for func, us in zip(export.tree.func, export.tree.self_us, strict=True):
        self_us[func] += us
    return [export.funcs[func] for func, _ in self_us.most_common()]


def _choose(project_id: int, funcs: Sequence[ExportFunc]) -> SourceTexts:
    """Returns the texts of functions' sources: the first ones that fit, none larger than the source view shows."""
    sources: dict[str, int] = {}
    for func in funcs:
        if func.original is not None and func.original.source_id is not None:
            sources.setdefault(func.original.source, func.original.source_id)
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT s.id, s.size_bytes FROM aggregate_source s
               WHERE s.project_id = %s AND s.id = ANY(%s::int[]) AND s.content IS NOT NULL""",
            [project_id, list(sources.values())],
        )
        size_of = dict(cursor.fetchall())
    chosen, left = dict[str, tuple[int, int]](), settings.SOURCE_TEXTS_MAX_BYTES
    stored = {source: (source_id, size_of[source_id]) for source, source_id in sources.items() if source_id in size_of}
    for source, (source_id, size) in stored.items():
        if size <= min(left, SOURCE_VIEW_MAX_BYTES):
            left -= size
            chosen[source] = source_id, size
    return SourceTexts(partial(_read, project_id, chosen), len(chosen), len(stored) - len(chosen))


def _read(
    project_id: int, chosen: Mapping[str, tuple[int, int]], sources: Sequence[str]
) -> Iterator[Iterator[str] | None]:
    """Yields the text of each source, in parts. One statement for each `BATCH_BYTES` of them.

    A client reads at its own pace, so no connection of the pool is held between two statements.
    """
    rows = [chosen.get(source, NO_TEXT) for source in sources]
    ends = accumulate(size for _, size in rows)
    for _, batch in groupby(zip(rows, ends, strict=True), lambda row: row[1] // BATCH_BYTES):
        ids: list[int | None] = [source_id for (source_id, _), _ in batch]
        with with_deadline(settings.READ_WAIT_S), connection.cursor() as cursor:
            cursor.execute(
                "SELECT s.id, s.content FROM aggregate_source s WHERE s.project_id = %s AND s.id = ANY(%s::int[])",
                [project_id, ids],
            )
            packed = {source_id: bytes(content) for source_id, content in cursor if content is not None}
        release_connection()
        for source_id in ids:
            text = None if source_id is None else packed.get(source_id)
            yield None if text is None else codecs.iterdecode(inflate_stream([text]), "utf-8", "replace")
