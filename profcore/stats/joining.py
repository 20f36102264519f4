"""Samples put together from several, parts of one, and two side by side with the strata that both have."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

import numpy as np
import numpy.typing as npt

from profcore.stats.estimates import clip_weights, effective_views, has_rates
from profcore.stats.power import SmallestChange, find_smallest_change
from profcore.stats.standardised import ClassSums, Side, make_side
from profcore.stats.strata import KnownKinds, Strata, find_strata
from profcore.stats.summaries import US_PER_MS
from profcore.stats.views import (
    FloatColumn,
    IntColumn,
    Measure,
    ViewColumns,
    ViewSample,
    align,
    group_funcs,
    keep_rows,
    sum_by,
)

# With fewer views per side nothing is compared: the simulations of the suite begin here.
MIN_COMPARED_VIEWS: Final = 20
NUMBER_COLUMNS: Final = (
    "js_us",
    "hidden_us",
    "device",
    "start",
    "sample_rate",
    "page",
    "tag",
    "hour",
    "traits",
    "session",
)


def split_views(sample: ViewSample, part: IntColumn, count: int) -> list[ViewSample]:
    """Returns the views of each of so many parts, by number; views, and rows by their views, are in the order of parts.

    Each has all func ids, and its views are the whole population. Nothing is copied.
    """
    of_views = np.searchsorted(part, np.arange(count + 1)).tolist()
    of_rows = np.searchsorted(sample.view, of_views).tolist()
    return [
        replace(
            keep_rows(sample, slice(*rows)),
            view=sample.view[slice(*rows)] - views[0],
            columns=pick_columns(sample.columns, slice(*views)),
            population=views[1] - views[0],
        )
        for views, rows in zip(pairwise(of_views), pairwise(of_rows), strict=True)
    ]


def join_columns(parts: Sequence[ViewColumns]) -> ViewColumns:
    """Returns the columns of several samples as one; page names of all."""
    if len(parts) == 1:
        return parts[0]
    return ViewColumns(
        **{name: np.concatenate([getattr(part, name) for part in parts]) for name in NUMBER_COLUMNS},
        release=[release for part in parts for release in part.release],
        page_names={code: name for part in parts for code, name in part.page_names.items()},
    )


def pick_columns(columns: ViewColumns, is_kept: npt.NDArray[np.bool_] | IntColumn | slice) -> ViewColumns:
    """Returns the columns of some views."""
    release: Sequence[str] = ()
    if columns.release:
        release = [columns.release[at] for at in np.arange(columns.js_us.size)[is_kept].tolist()]
    return replace(columns, **{name: getattr(columns, name)[is_kept] for name in NUMBER_COLUMNS}, release=release)


@dataclass(frozen=True, slots=True)
class SampleViews:
    """A sample with the weights and strata by which its views are compared."""

    sample: ViewSample
    weight: FloatColumn
    clipped: int  # how many weights were cut
    stratum: IntColumn

    @property
    def kept_weight(self) -> FloatColumn:
        """The weights of the views in strata that both sides have."""
        return self.weight[self.stratum >= 0]

    def side(self, row_us: IntColumn) -> Side:
        """Returns the rows of one column that are above zero."""
        above = np.flatnonzero(row_us > 0)
        rows = self.sample
        return Side(
            view=rows.view[above],
            func=rows.func[above],
            value=row_us[above] / US_PER_MS,
            weight=self.weight,
            stratum=self.stratum,
        )

    def whole(self, measure: Measure, known: Sequence[ClassSums]) -> Side:
        """Returns the views' own time as if it were one func's."""
        return make_side(self.sample.view_us(measure) / US_PER_MS, self.weight, self.stratum, known)


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedViews:
    """Two samples over one list of funcs, with their common strata. `known` has the sums of all views by kind."""

    base: SampleViews
    head: SampleViews
    strata: Strata
    known: tuple[KnownKinds, KnownKinds] | None
    by_device: bool
    by_navigation: bool

    def whole(self, measure: Measure) -> tuple[Side, Side]:
        """Returns the views' own time on both sides as if it were one func's."""
        sums = _known_by_stratum(self.base.sample, self.head.sample, self.strata, self.known)
        return self.base.whole(measure, sums[0]), self.head.whole(measure, sums[1])

    def find_smallest(self, measure: Measure, bound: float) -> SmallestChange | None:
        """Returns the smallest change of the whole time that they would show below a bound of p; None with too few."""
        if not has_enough(self.base, self.head):
            return None
        return find_smallest_change(*self.whole(measure), len(self.strata.shared), bound)


def pair_views(
    base: ViewSample,
    head: ViewSample,
    *,
    known: tuple[KnownKinds, KnownKinds] | None = None,
    by_device: bool = True,
    by_navigation: bool = True,
    by_page: bool = False,
    by_tag: bool = False,
) -> PairedViews:
    """Returns two samples with their common strata. Arguments are those of `compare`."""
    base, head = align(base, head)
    strata = find_strata(
        base.columns, head.columns, by_device=by_device, by_navigation=by_navigation, by_page=by_page, by_tag=by_tag
    )
    base_views, head_views = (
        SampleViews(side, *clip_weights(side.weight), codes)
        for side, codes in zip((base, head), strata.codes, strict=True)
    )
    return PairedViews(
        base=base_views,
        head=head_views,
        strata=strata,
        known=known if by_device and not by_tag else None,
        by_device=by_device,
        by_navigation=by_navigation,
    )


def has_enough(base: SampleViews, head: SampleViews) -> bool:
    """Returns whether both sides have enough effective views in common strata, and of each rate that carries weight."""
    weights = (base.kept_weight, head.kept_weight)
    return min(map(effective_views, weights)) >= MIN_COMPARED_VIEWS and all(
        has_rates(weight).all() for weight in weights
    )


def _known_by_stratum(
    base: ViewSample, head: ViewSample, strata: Strata, known: tuple[KnownKinds, KnownKinds] | None
) -> tuple[Sequence[ClassSums], Sequence[ClassSums]]:
    """Returns the known sums per stratum of both sides; empty for both if sample rates differ within a side."""
    if known is None or any(np.unique(sample.weight).size > 1 for sample in (base, head)):
        return (), ()
    sides = [strata.known(sums, side) for side, sums in enumerate(known)]
    return (sides[0], sides[1]) if sides[0] and sides[1] else ((), ())


def join_rare(samples: Sequence[ViewSample], *, most: int, rest: int) -> list[ViewSample]:
    """Returns samples that have `most` funcs together, those with the most self and hidden time, then total time.

    All others are one func with the id `rest`, whose total is not known, and counts as zero, if a view has two of them.
    """
    ids = np.unique(np.concatenate([sample.func_ids for sample in samples]))
    if ids.size <= most:
        return [*samples]
    places = [np.searchsorted(ids, sample.func_ids) for sample in samples]
    busy_us, total_us = np.zeros((2, ids.size), dtype=np.int64)
    for sample, place in zip(samples, places, strict=True):
        busy_us += sum_by(place[sample.func], sample.row_us("self+hidden"), ids.size)
        total_us += sum_by(place[sample.func], sample.total_us, ids.size)
    is_rare = np.ones(ids.size, dtype=bool)
    is_rare[np.lexsort((-total_us, -busy_us))[:most]] = False
    return [
        group_funcs(sample, np.where(is_rare[place], rest, sample.func_ids), known_totals_alone=True)
        for sample, place in zip(samples, places, strict=True)
    ]
