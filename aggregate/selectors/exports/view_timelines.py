"""One view on its clock, for the page that draws it: as exporters have it, with the ids of its functions."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.conf import settings

from aggregate.selectors.exports.slice_export import select_ids
from aggregate.selectors.exports.timelines import select_timeline_export
from aggregate.selectors.slice.reading import SliceTooLarge
from aggregate.selectors.slice.slices import Slice
from profcore.formats.slice import ExportFunc
from profcore.formats.timeline import ViewTimeline
from profcore.trace.funcs import FuncKey


@dataclass(frozen=True, slots=True)
class NamedTimeline:
    """A view's timeline. `ids` are the ids of its `funcs` in tables, None for funcs without any time."""

    view: ViewTimeline
    funcs: Sequence[ExportFunc]
    ids: Sequence[str | None]


def select_named_timeline(slice_: Slice, *, project: str) -> NamedTimeline:
    """Returns the view that a slice names, with its release and page, on its clock.

    Raises `SliceTooLarge` beyond `TIMELINE_MAX_SAMPLES`, and what `select_timeline_export` raises.
    """
    export = select_timeline_export(slice_, project=project)
    view = export.views[0]
    if len(view.samples) > settings.TIMELINE_MAX_SAMPLES:
        detail = (
            f"The view has {len(view.samples)} samples; a timeline shows up to {settings.TIMELINE_MAX_SAMPLES}. "
            "Open it in the Firefox Profiler, or download it."
        )
        raise SliceTooLarge("view", detail)
    used = sorted(set(view.func))  # not those that only the profiler's own work has
    place_of = {func: place for place, func in enumerate(used)}
    funcs = [export.funcs[func] for func in used]
    keys = [FuncKey(func.uri, func.line, func.column, func.name) for func in funcs]
    ids = [
        func.identity or (None if func_id is None else str(func_id))
        for func, func_id in zip(funcs, select_ids(slice_.project_id, keys), strict=True)
    ]
    return NamedTimeline(replace(view, func=[place_of[func] for func in view.func]), funcs, ids)
