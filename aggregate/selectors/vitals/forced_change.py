"""How much of a function's change between two sides is forced layout: of a small sample of each side's views."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from aggregate.selectors.code.refs import FuncRef, find_ref
from aggregate.selectors.exports.slice_export import select_ids
from aggregate.selectors.project.overview import select_overview
from aggregate.selectors.slice.slices import Slice
from aggregate.selectors.verdict.verdict import Culprit
from aggregate.selectors.vitals.view_windows import WindowReader
from profcore.stats.estimates import Figure
from profcore.stats.summaries import estimate_mean

# Of each side: a verdict is looked at often, and a view takes up to 4 ms. Enough for means that clearly differ.
MOST_VIEWS: Final = 100
# With this part of a change it is mostly forced layout.
MOSTLY: Final = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class ForcedChange:
    """What a function forced per view on both sides, ms, and by how much its time rose."""

    base: Figure
    head: Figure
    delta_ms: float

    @property
    def forced_ms(self) -> float:
        """By how much its forced layout rose."""
        return self.head.value - self.base.value

    @property
    def is_mostly(self) -> bool:
        """Whether it is certain that forced layout rose, by at least half of the change. Intervals do not touch."""
        if self.head.ci95 is None or (self.base.value and self.base.ci95 is None):
            return False
        base_high = self.base.ci95.high if self.base.ci95 is not None else 0.0
        return self.head.ci95.low > base_high and self.forced_ms >= MOSTLY * self.delta_ms


def select_forced_change(base: Slice, head: Slice, culprit: Culprit) -> ForcedChange | None:
    """Returns the forced layout of a function that takes longer. None if it does not, or if views are too few."""
    delta_ms = culprit.difference.delta_ms
    if delta_ms <= 0:
        return None
    now = find_ref(head.project_id, culprit.func.id)
    renamed = culprit.func.renamed_from
    figures = (
        _select_mean(base, now if renamed is None else find_ref(base.project_id, renamed.id)),
        _select_mean(head, now),
    )
    if figures[0] is None or figures[1] is None:
        return None
    return ForcedChange(base=figures[0], head=figures[1], delta_ms=delta_ms)


def _select_mean(slice_: Slice, ref: FuncRef) -> Figure | None:
    """Returns what a function forced per view of a slice, None for too few views."""
    reader = WindowReader(slice_, only_whole=True)
    population = select_overview(slice_, [], limit=1).whole.views
    forced: list[tuple[str, Mapping[int, int]]] = []
    rates: list[float] = []
    for seen in reader.read_sample(population, most=MOST_VIEWS):
        if seen.read.forced is not None:
            funcs = seen.read.forced.funcs
            forced.append((seen.view.release, funcs.by_func(funcs.self_us)))
            rates.append(seen.view.sample_rate)
    id_of = select_ids(slice_.project_id, reader.funcs.keys)
    wanted = {release: frozenset(ref.funcs_in(release)) for release, _ in forced}
    values_us = [
        sum(us for index, us in self_us.items() if id_of[index] in wanted[release]) for release, self_us in forced
    ]
    return estimate_mean(values_us, rates)
