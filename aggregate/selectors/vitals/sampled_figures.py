"""Figures of a slice that budgets bound and that only raw traces tell, from a uniform sample of its views."""

from dataclasses import dataclass

from aggregate.selectors.project.overview import select_overview
from aggregate.selectors.slice.slices import Slice
from aggregate.selectors.vitals.table import check_vitals
from aggregate.selectors.vitals.view_windows import WindowReader
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
    check_vitals(slice_)
    reader = WindowReader(slice_, only_interactions=True)
    population = select_overview(reader.slice_, [], limit=1).whole.views
    values_us: list[int] = []
    rates: list[float] = []
    for seen in reader.read_sample(population, most=most_views):
        check_stop()
        if (sums := seen.sums.get("interaction")) is not None:
            values_us.append(sums.script_us)
            rates.append(seen.rate_of("interaction"))
    return _make(reader, population, len(values_us), estimate_p75(values_us, rates))


def select_forced_mean(slice_: Slice, *, most_views: int) -> SampledFigure:
    """Returns the forced style and layout of a slice's views, as the mean of all views. Raises as above."""
    check_vitals(slice_)
    reader = WindowReader(slice_, only_whole=True)
    population = select_overview(slice_, [], limit=1).whole.views
    values_us: list[int] = []
    rates: list[float] = []
    for seen in reader.read_sample(population, most=most_views):
        check_stop()
        if seen.forced is not None:
            values_us.append(seen.forced.total_us)
            rates.append(seen.view.sample_rate)
    return _make(reader, population, len(values_us), estimate_mean(values_us, rates))


def _make(reader: WindowReader, population: int, views: int, figure: Figure | None) -> SampledFigure:
    return SampledFigure(population=population, read=reader.read, gone=reader.gone, views=views, figure=figure)
