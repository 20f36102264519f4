"""A slice with its segments, and the difference of two slices, for exporters."""

from dataclasses import replace
from typing import Final

from django.conf import settings
from django.db import connection
from django.utils import timezone

from aggregate.selectors.code.symbols import load_symbols
from aggregate.selectors.exports.slice_export import select_slice_export
from aggregate.selectors.functions.renames import Candidate, find_renames
from aggregate.selectors.slice.reading import Reading
from aggregate.selectors.slice.sides import name_sides
from aggregate.selectors.slice.slices import FROM_CELLS, Slice, where_slice
from aggregate.selectors.verdict.sentence import plain_text, write_sentence
from aggregate.selectors.verdict.verdict import select_verdict
from profcore.code.identity import Original
from profcore.formats.matching import align_funcs, share_funcs
from profcore.formats.pruning import prune_both, prune_export
from profcore.formats.segments import split_by_category, sum_exports
from profcore.formats.slice import DifferenceExport, ExportFunc, SegmentedExport, SliceExport
from profcore.trace.dimensions import DIMENSIONS

MIN_SEGMENT_NODES: Final = 1_000


def select_segmented_export(
    slice_: Slice,
    by: str,
    *,
    project: str,
    link: str | None = None,
    reading: Reading | None = None,
    is_pruned: bool = True,
) -> SegmentedExport:
    """Returns a slice cut by one dimension (`SEGMENTS`), the segment with the most JS time first.

    Segments beyond `EXPORT_MAX_SEGMENTS` become one, at the end. Each segment is read as a slice, with four statements;
    the whole is their sum. With `is_pruned`, the tracks together have about `EXPORT_MAX_CALL_NODES` call nodes.
    """
    if by == "category":
        whole = select_slice_export(slice_, project=project, link=link, reading=reading, is_pruned=False)
        by_category = split_by_category(whole)
        return _prune(by_category) if is_pruned else by_category
    values = _select_values(slice_, by)
    largest, rest = values[: settings.EXPORT_MAX_SEGMENTS], values[settings.EXPORT_MAX_SEGMENTS :]
    groups = [(value, [value]) for value in largest] + ([(f"{len(rest)} others", rest)] if rest else [])
    segments: list[tuple[str, SliceExport]] = []
    for label, group in groups:
        part = select_slice_export(
            slice_.with_values(by, *group), project=project, link=link, reading=reading, is_pruned=False
        )
        if part.views:  # a fine slice may have none in some of its cells
            segments.append((label, part))
    if not segments:
        nothing = select_slice_export(slice_, project=project, link=link, reading=reading, is_pruned=is_pruned)
        return SegmentedExport(by, nothing, ())
    parts = share_funcs([part for _, part in segments])
    whole = sum_exports(parts, query=slice_.query())
    export = SegmentedExport(by, whole, list(zip([label for label, _ in segments], parts, strict=True)))
    return _prune(export) if is_pruned else export


def _prune(export: SegmentedExport) -> SegmentedExport:
    most = max(settings.EXPORT_MAX_CALL_NODES // (len(export.segments) + 1), MIN_SEGMENT_NODES)
    segments = [(label, prune_export(part, most)) for label, part in export.segments]
    return SegmentedExport(export.by, prune_export(export.whole, most), segments)


def _select_values(slice_: Slice, by: str) -> list[str]:
    """Returns the values of a dimension in a slice's cells, those with the most JS time first."""
    dimension = next((dimension for dimension in DIMENSIONS if dimension.name == by), None)
    column = f"c.{dimension.column}" if dimension else f"g.{by}"
    where, params = where_slice(slice_)
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT {column} {FROM_CELLS} WHERE {where} AND c.traces > 0
                GROUP BY {column} ORDER BY sum(c.js_us) DESC, {column}""",
            params,
        )
        return [dimension.values[value] if dimension else value for (value,) in cursor]


def select_difference_export(
    base: Slice,
    head: Slice,
    *,
    query: str,
    project: str,
    link: str | None = None,
    reading: Reading | None = None,
    is_pruned: bool = True,
) -> DifferenceExport:
    """Returns the difference of two slices. Equal functions are one function, and both sides are pruned alike.

    A function that was only renamed is one too, under its new name (`find_renames`).
    """
    base_side, head_side = (
        select_slice_export(side, project=project, link=link, reading=reading, is_pruned=False) for side in (base, head)
    )
    before, after = align_funcs(_rename(base.project_id, base_side, head_side), head_side)
    if is_pruned:
        before, after = prune_both(before, after, settings.EXPORT_MAX_CALL_NODES)
    verdict = "" if base.is_fine or head.is_fine else _write_verdict(base, head)
    return DifferenceExport(project=project, query=query, base=before, head=after, link=link, verdict=verdict)


def _write_verdict(base: Slice, head: Slice) -> str:
    verdict = select_verdict(base, head, now=timezone.now())
    return plain_text(write_sentence(verdict, *name_sides(base, head)))


def _rename(project_id: int, base: SliceExport, head: SliceExport) -> SliceExport:
    """Returns the base with the head's identity of each function that was renamed."""
    sides = [
        {func.identity: func for func in side.funcs if func.original and not func.is_made} for side in (base, head)
    ]
    gone, came = (
        [
            candidate
            for name, func in side.items()
            if name not in opposite and (candidate := _candidate(func)) is not None
        ]
        for side, opposite in (sides, sides[::-1])
    )
    new_of = find_renames(load_symbols(project_id), gone, came) if gone and came else {}
    if not new_of:
        return base
    renamed = {str(old): str(new) for old, new in new_of.items()}
    return replace(
        base,
        funcs=[replace(func, identity=renamed.get(func.identity or "", func.identity)) for func in base.funcs],
    )


def _candidate(func: ExportFunc) -> Candidate | None:
    original = func.original
    if original is None or original.source_id is None or func.identity is None:
        return None
    place = Original(original.source, original.line, original.column, func.original_name, func.body_hash)
    return Candidate(func.identity, place, (original.source_id, original.line, original.column))
