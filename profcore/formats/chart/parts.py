"""Charts of several slices together: a slice's segments, or the two sides of a difference."""

from collections.abc import Sequence
from dataclasses import replace

from profcore.formats.chart.model import HIDDEN, Chart, Metadata
from profcore.formats.chart.slices import chart_of_slices, metadata_of_slice, name_track, safe_texts
from profcore.formats.firefox.tables import safe_text
from profcore.formats.slice import DifferenceExport, SegmentedExport, SliceExport
from profcore.sums.calltree import CallTree
from profcore.trace.weights import TimeParts

NO_LABEL = "(none)"


def chart_of_segments(export: SegmentedExport, *, with_whole: bool) -> Chart:
    """Returns the chart of segments, one track for each, below the whole if that is wanted.

    Without the whole, the tracks add up to it, for formats that sum them. Hidden, engine and idle time have no
    category, so they get a separate track there.
    """
    parts = [(label or NO_LABEL, part) for label, part in export.segments]
    if with_whole:
        parts.insert(0, (f"All: {name_track(export.whole)}", export.whole))
    elif export.by == "category":
        parts.append((HIDDEN, _without_stacks(export.whole)))
    chart = chart_of_slices(parts, export.whole)
    return replace(chart, tracks_by=export.by, metadata={**chart.metadata, "segments_by": export.by})


def _without_stacks(export: SliceExport) -> SliceExport:
    time = export.time
    rest = TimeParts(
        hidden_us=time.hidden_us,
        engine_us=time.engine_us,
        idle_us=time.idle_us,
        hidden_samples=time.hidden_samples,
        engine_samples=time.engine_samples,
        idle_samples=time.idle_samples,
    )
    return replace(export, tree=CallTree(), time=rest)


def chart_of_difference(export: DifferenceExport) -> Chart:
    """Returns the chart of a difference: the tracks `base` and `head`, in whole nanoseconds per page view.

    So sides of different size can be compared. The time of a path is rounded once, to the nanosecond.
    """
    chart = chart_of_slices([("base", export.base), ("head", export.head)], export.head)
    for track, side in zip(chart.tracks, (export.base, export.head), strict=True):
        views = max(side.views, 1)
        track.us = [_round(us * 1000, views) for us in track.us]
    metadata: Metadata = {
        "project": safe_text(export.project),
        "query": safe_text(export.query),
        "unit": "nanoseconds per page view",
        **_side_metadata("base", export.base),
        **_side_metadata("head", export.head),
    }
    if export.link is not None:
        metadata["link"] = safe_text(export.link)
    names = [export.project, *_named(export.base.releases), "to", *_named(export.head.releases)]
    return replace(chart, title=" ".join(safe_texts(names)), metadata=metadata, unit="nanoseconds", tracks_by="side")


def _named(releases: Sequence[str]) -> Sequence[str]:
    return releases if len(releases) == 1 else [f"{len(releases)} releases"]


def _side_metadata(word: str, side: SliceExport) -> Metadata:
    return {f"{word}_{name}": fact for name, fact in metadata_of_slice(side).items() if name not in ("project", "link")}


def _round(number: int, by: int) -> int:
    return (2 * number + by) // (2 * by)
