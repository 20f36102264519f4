"""One view on its clock, for the page that draws it: what the exporters have, with the ids of its functions."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.conf import settings

from aggregate.selectors.exports import select_ids
from aggregate.selectors.reading import SliceTooLarge
from aggregate.selectors.slices import Slice
from aggregate.selectors.timelines import select_timeline_export
from profcore.formats.slice import ExportFunc
from profcore.formats.timeline import ViewTimeline
from profcore.funcs import FuncKey


@dataclass(frozen=True, slots=True)
class NamedTimeline:
    """A view's timeline. `ids` are those that tables have its `funcs` under, None of funcs without any time."""

    view: ViewTimeline
    funcs: Sequence[ExportFunc]
    ids: Sequence[str | None]


def select_named_timeline(slice_: Slice, *, project: str) -> NamedTimeline:
    """Returns the view that a slice names, with its release and page, on its clock.

    Raises `SliceTooLarge` beyond `TIMELINE_MAX_SAMPLES`, and as `select_timeline_export`.
    """
    export = select_timeline_export(slice_, project=project)
    view = export.views[0]
    if len(view.samples) > settings.TIMELINE_MAX_SAMPLES:
        detail = (
            f"The view has {len(view.samples)} samples; a timeline shows up to {settings.TIMELINE_MAX_SAMPLES}. "
            "Open it in the Firefox Profiler, or download it."
        )
        raise SliceTooLarge("view", detail)
    keys = [FuncKey(func.uri, func.line, func.column, func.name) for func in export.funcs]
    ids = [
        func.identity or (None if func_id is None else str(func_id))
        for func, func_id in zip(export.funcs, select_ids(slice_.project_id, keys), strict=True)
    ]
    return NamedTimeline(view, export.funcs, ids)
