"""A slice in the form that exporters need: the cells' call trees merged into one, with the funcs they name."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from django.conf import settings
from django.db import connection
from msgspec import structs

from aggregate.selectors.code.symbols import Symbols, load_symbols
from aggregate.selectors.functions.display_rows import show_rows
from aggregate.selectors.functions.merged_slice import MergedSlice
from aggregate.selectors.functions.named_trees import merge_named
from aggregate.selectors.functions.table import FunctionRow, describe_row
from aggregate.selectors.slice.reading import Reading
from aggregate.selectors.slice.slices import FROM_CELLS, Slice, where_slice
from profcore.formats.pruning import prune_export
from profcore.formats.slice import ExportFunc, ExportOriginal, SliceExport
from profcore.trace.dimensions import EXPORTED_DIMENSIONS
from profcore.trace.funcs import FuncKey, func_digest

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
DEFAULT_INTERVAL_US: Final = 10_000  # what the snippet asks for; used only for a slice without any trace
# The usual interval is read from the traces of this number of views, taken from as many cells. Each view costs two
# index look-ups, and field traffic uses only one or two intervals.
INTERVAL_VIEWS: Final = 1_000


def fingerprint_slice(slice_: Slice) -> str:
    """Returns a text that changes with every trace folded into one of a slice's cells, and with every refold.

    Compacting a call tree does not change it, because the tree's sum stays the same. One statement: the database sums
    up the cells, of which a project of a million views has 26,000.
    """
    where, params = where_slice(slice_)
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT concat_ws(' ', count(*), sum(c.traces), sum(c.views), sum(c.span_us),
                       bit_xor(hash_record_extended(ROW(c.id, c.traces, c.views, c.span_us, c.fold_version), 0)),
                       (SELECT concat_ws(' ', count(*), max(r.finished_at)) FROM aggregate_refoldrun r
                        WHERE r.project_id = %(project_id)s)) {FROM_CELLS} WHERE {where}""",
            params,
        )
        return str(cursor.fetchall()[0][0])


def select_slice_export(
    slice_: Slice,
    *,
    project: str,
    link: str | None = None,
    reading: Reading | None = None,
    is_pruned: bool = True,
) -> SliceExport:
    """Returns a slice ready to be written in any format. `project` is the name to show, `link` the way back.

    With `is_pruned`, call paths beyond `EXPORT_MAX_CALL_NODES` are left out, the lightest first.

    Six statements for a slice of any size: cells, the pieces of their call trees, their funcs, the project's code and
    sites, and the usual sampling interval. A fine slice takes three more. The merged tree is held in memory, and
    `TREE_BATCH_NODES` nodes of the cells' trees; a reading at once also holds all of these packed.
    """
    code = load_symbols(slice_.project_id, as_stored=slice_.as_stored)
    whole, tree, rows = merge_named(slice_, code, reading)
    starts, ends = _bounds(slice_, whole)
    export = SliceExport(
        project=project,
        query=slice_.query(),
        funcs=[make_export_func(code, row) for row in rows],
        tree=tree,
        time=whole.time,
        views=whole.views,
        traces=whole.traces,
        samples=whole.time.samples,
        interval_ms=(whole.interval_us or _select_interval_us(slice_.project_id, whole.cell_ids)) / 1000,
        started_at_ms=_epoch_ms(starts),
        ended_at_ms=_epoch_ms(ends),
        releases=sorted(whole.releases),
        pages=sorted(whole.pages),
        dimensions={
            dimension.plural: [dimension.values[code] for code in sorted(whole.codes[dimension.name])]
            for dimension in EXPORTED_DIMENSIONS
        },
        link=link,
        display_rules=len(code.display),
    )
    return prune_export(export, settings.EXPORT_MAX_CALL_NODES) if is_pruned else export


def _bounds(slice_: Slice, whole: MergedSlice) -> tuple[datetime, datetime]:
    """Returns the slice's own bounds; where one is open, the bound of the cells found."""
    start = slice_.from_at or min(whole.starts, default=slice_.to_at or EPOCH)
    end = slice_.to_at or max(whole.ends, default=start)
    return start, max(start, end)


def _epoch_ms(at: datetime) -> int:
    return (at - EPOCH) // timedelta(milliseconds=1)


def make_export_func(code: Symbols, row: FunctionRow) -> ExportFunc:
    """Returns a function in the form that exporters need."""
    original = None
    if row.mapped is not None:
        place = row.mapped.original
        original = ExportOriginal(place.source, place.line, place.column, row.mapped.source_id)
    row = describe_row(code, row)
    return ExportFunc(
        label=row.label,
        name=row.name,
        uri=row.uri,
        line=row.line,
        column=row.column,
        category=row.category,
        original=original,
        identity=None if original is None and not row.is_made else str(row.id),
        colour=row.display.colour if row.display else None,
        is_made=row.is_made,
        original_name=row.mapped.original.name if row.mapped else None,
        body_hash=row.mapped.original.body_hash if row.mapped else None,
    )


class NamedFuncs(NamedTuple):
    """Funcs in the form that exporters need, which of them display rules fold, and how many rules there are."""

    funcs: Sequence[ExportFunc]
    is_folded: Sequence[bool]
    display_rules: int


def make_export_funcs(
    project_id: int, keys: Sequence[FuncKey], releases: Sequence[str] = (), *, as_stored: bool = False
) -> NamedFuncs:
    """Returns funcs in the form that exporters need, in the order of their keys.

    The keys need not be stored. Frames without any time are not stored: only raw traces name them, no sum does. A func
    has a label only if it is one function in all of the `releases` that the funcs are from. Three statements at most,
    and two more for labels.
    """
    code = load_symbols(project_id, as_stored=as_stored)
    rows = [
        FunctionRow(
            id=0,
            name=key.name,
            uri=key.uri,
            line=key.line,
            column=key.column,
        )
        for key in keys
    ]
    labels = code.labels
    if labels is not None and releases:
        ids = select_ids(project_id, keys)
        labels.load([(release, func_id) for release in releases for func_id in ids if func_id is not None])
        for at, func_id in enumerate(ids):
            if func_id is not None and len({labels.id_of(release, func_id) for release in releases}) == 1:
                label = labels.of(releases[0], func_id)
                rows[at] = structs.replace(rows[at], id=labels.id_of(releases[0], func_id), mapped=label)
    rows = show_rows(code, rows)
    is_folded = [row.display is not None and row.display.is_folded for row in rows]
    return NamedFuncs([make_export_func(code, row) for row in rows], is_folded, len(code.display))


def select_ids(project_id: int, keys: Sequence[FuncKey]) -> list[int | None]:
    """Returns the stored ids of funcs, None for funcs without any time. One statement."""
    digests = [func_digest(project_id, key) for key in keys]
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT digest, id FROM aggregate_func WHERE project_id = %s AND digest = ANY(%s::bytea[])",
            [project_id, digests],
        )
        id_of = {bytes(digest): func_id for digest, func_id in cursor}
    return [id_of.get(digest) for digest in digests]


def _select_interval_us(project_id: int, cell_ids: Sequence[int]) -> int:
    """Returns the interval in use of most of the slice's traces, µs."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT mode() WITHIN GROUP (ORDER BY COALESCE(r.used_interval_us, r.interval_us))
                FROM (SELECT view_id, group_id FROM aggregate_pageview WHERE project_id = %(project_id)s
                      AND cell_id = ANY(%(cells)s::int[]) LIMIT {INTERVAL_VIEWS}) v
                JOIN ingest_tracereceipt r ON r.project_id = %(project_id)s AND r.view_id = v.view_id
                     AND r.group_id = v.group_id""",
            {"project_id": project_id, "cells": list(cell_ids[:: len(cell_ids) // INTERVAL_VIEWS + 1])},
        )
        row = cursor.fetchone()
    return row[0] if row and row[0] else DEFAULT_INTERVAL_US
