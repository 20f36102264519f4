"""The script part of INP: how long scripts ran in the longest interaction of a view, at the 75th percentile."""

from dataclasses import dataclass

from aggregate.selectors.project.overview import select_overview
from aggregate.selectors.slice.slices import Slice
from aggregate.selectors.vitals.table import check_vitals
from aggregate.selectors.vitals.view_windows import WindowReader
from aggregate.stopping import check_stop
from profcore.stats.estimates import Figure
from profcore.stats.summaries import estimate_p75


@dataclass(frozen=True, slots=True, kw_only=True)
class InteractionScript:
    """Of `population` views, `read` were read, and `gone` had no raw traces any more. `views` have an interaction.

    `p75_ms` is the 75th percentile over these views, ms; None if they are too few.
    """

    population: int
    read: int
    gone: int
    views: int
    p75_ms: Figure | None


def select_interaction_script(slice_: Slice, *, most_views: int) -> InteractionScript:
    """Returns the script part of the longest interactions of a slice's views, from a uniform sample of them.

    It is script and hidden time between the input and the next paint: what the page's functions took of the main
    thread. Raises `SliceError`, and `Stopping` if this worker is told to stop. Four statements, and one for each batch
    of bodies.
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
    return InteractionScript(
        population=population,
        read=reader.read,
        gone=reader.gone,
        views=len(values_us),
        p75_ms=estimate_p75(values_us, rates),
    )
