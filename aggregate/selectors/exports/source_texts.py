"""Texts of original sources in an export, for viewers that show a function's source."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import assert_never

from aggregate.selectors.functions.originals import select_texts
from profcore.formats.slice import (
    DifferenceExport,
    Export,
    ExportFunc,
    SegmentedExport,
    SliceExport,
    TimelineExport,
)


def add_texts(project_id: int, export: Export) -> Export:
    """Returns an export with the texts of its functions' sources, as many as are kept and fit the limit in all.

    Functions with the most self time come first. Two statements.
    """
    match export:
        case SliceExport():
            return replace(export, contents=_select(project_id, _heaviest_first(export)))
        case SegmentedExport():
            return replace(
                export, whole=replace(export.whole, contents=_select(project_id, _heaviest_first(export.whole)))
            )
        case DifferenceExport():
            texts = _select(project_id, [*_heaviest_first(export.head), *_heaviest_first(export.base)])
            return replace(export, head=replace(export.head, contents=texts))
        case TimelineExport():
            return replace(export, contents=_select(project_id, export.funcs))
        case _:
            assert_never(export)


def _heaviest_first(export: SliceExport) -> Sequence[ExportFunc]:
    self_us = Counter[int]()
    for func, us in zip(export.tree.func, export.tree.self_us, strict=True):
        self_us[func] += us
    return [export.funcs[func] for func, _ in self_us.most_common()]


def _select(project_id: int, funcs: Sequence[ExportFunc]) -> dict[str, str]:
    sources: dict[str, int] = {}
    for func in funcs:
        if func.original is not None and func.original.source_id is not None:
            sources.setdefault(func.original.source, func.original.source_id)
    return select_texts(project_id, sources) if sources else {}
