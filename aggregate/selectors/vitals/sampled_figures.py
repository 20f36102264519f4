"""Figures of a slice that budgets bound and that only raw traces tell, from a uniform sample of its views."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from aggregate.selectors.project.overview import select_overview
from aggregate.selectors.slice.slices import Slice
from aggregate.selectors.vitals.table import check_vitals
from aggregate.selectors.vitals.view_windows import WindowedView, WindowReader
from aggregate.stopping import check_stop
from profcore.stats.estimates import Figure
from profcore.stats.summaries import estimate_mean, estimate_p75


@dataclass(frozen=True, slots=True, kw_only=True)
class SampledFigure:
    """Of `population` views, `read` were read, and `gone` had no raw traces any more. `views` count for the figure.

    `figure` is in ms; None if these are too few.
    """

    population: int
    read: int
    gone: int
    views: int
    figure: Figure | None


def select_interaction_script(slice_: Slice, *, most_views: int) -> SampledFigure:
    """Returns the script part of the longest interactions of a slice's views, at their 75th percentile.

    It is script and hidden time between the input and the next paint: what the page's functions took of the main
    thread. Views without an interaction do not count. Raises `SliceError`, and `Stopping` if this worker is told to
    stop. Four statements, and one for each batch of bodies.
    """
    reader = WindowReader(slice_, only_interactions=True)

    def read(seen: WindowedView) -> tuple[int, float] | None:
        sums = seen.read.sums.get("interaction")
        return None if sums is None else (sums.script_us, seen.rate_of("interaction"))

    return _select(reader, most_views, read, estimate_p75)


def select_forced_mean(slice_: Slice, *, most_views: int) -> SampledFigure:
    """Returns the forced style and layout of a slice's views, as the mean of all views. Raises as above."""
    reader = WindowReader(slice_, only_whole=True)

    def read(seen: WindowedView) -> tuple[int, float] | None:
        forced = seen.read.forced
        return None if forced is None else (forced.total_us, seen.view.sample_rate)

    return _select(reader, most_views, read, estimate_mean)


def _select(
    reader: WindowReader,
    most_views: int,
    read: Callable[[WindowedView], tuple[int, float] | None],
    estimate: Callable[[Sequence[int], Sequence[float]], Figure | None],
) -> SampledFigure:
    """Returns an estimate of what `read` returns of each view: µs, and its rate; None for one that does not count."""
    check_vitals(reader.slice_)
    population = select_overview(reader.slice_, [], limit=1).whole.views
    values: list[tuple[int, float]] = []
    for seen in reader.read_sample(population, most=most_views):
        check_stop()
        if (value := read(seen)) is not None:
            values.append(value)
    return SampledFigure(
        population=population,
        read=reader.read,
        gone=reader.gone,
        views=len(values),
        figure=estimate([us for us, _ in values], [rate for _, rate in values]),
    )
