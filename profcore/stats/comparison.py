"""The comparison of two samples of views: which funcs cost more than before, by how much, and how sure that is.

Everything is stratified by device class and navigation, and by page if asked, unless these are what is compared. The
difference is of means in ms per view, standardised directly to the mix of both samples together. Whether it is a change
at all is decided by ranks. They are not affected by the few slow views that hold most of the time.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

import msgspec
import numpy as np
import numpy.typing as npt

from profcore.stats.culprits import FindCallers
from profcore.stats.estimates import Interval, as_intervals, effective_views
from profcore.stats.joining import PairedViews, SampleViews, has_enough, pair_views
from profcore.stats.ranks import Changes, find_changes, find_whole_changes
from profcore.stats.standardised import common_mix
from profcore.stats.strata import KnownKinds
from profcore.stats.views import IntColumn, Measure, ViewSample

Status = Literal["changed", "new", "gone"]
# The share of false discoveries among significant changes.
FALSE_DISCOVERIES: Final = 0.05
# This many increases at most are looked up in a call tree, the largest: no one reads further.
MAX_LOOKED_UP: Final = 50
MIX_TO_MENTION: Final = 0.05


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """One func's change, in ms per view.

    `base_ms` and `head_ms` are plain means over the views of each sample. `delta_ms` is head minus base at one common
    mix of devices and navigations, and `ci95` is its interval. `crude_delta_ms` is the plain difference. `mix_ms` is
    `crude_delta_ms` minus `delta_ms`: the part that comes from the mix. `relative` is `delta_ms` divided by the
    standardised base mean, None if that is 0. `p` and `q` are from the rank test. `status` says whether one side never
    ran the func in these views.

    Hidden time is inferred: it is in the func *or in something that it called*. `is_seen` says whether the func's
    visible self time by itself rose significantly too; `self_delta_ms` is that part. With other measures all of the
    change is seen. `is_caller` tells of a significant increase whether it lies in what the func called: a seen increase
    is below it in the call tree. It is None if no tree was read.
    """

    func_id: int
    status: Status
    base_ms: float
    head_ms: float
    delta_ms: float
    ci95: Interval | None
    relative: float | None
    crude_delta_ms: float
    mix_ms: float
    rank_z: float
    p: float
    q: float
    base_views_ran: int
    head_views_ran: int
    self_delta_ms: float
    is_seen: bool
    is_caller: bool | None = None

    @property
    def ranking_ms(self) -> float:
        """The sort key of an increase: its visible part if it is that of a caller, else all of it.

        Without a call tree an unseen increase is taken for that of a caller.
        """
        is_caller = not self.is_seen if self.is_caller is None else self.is_caller
        return self.self_delta_ms if is_caller else self.delta_ms

    @property
    def below_ms(self) -> float:
        """The part of a caller's change that is time below it, 0 for others."""
        return self.delta_ms - self.self_delta_ms if self.is_caller else 0.0

    @property
    def has_mix(self) -> bool:
        """Whether the mix changed enough to mention it: by a twentieth of the mean of both sides."""
        return abs(self.mix_ms) > MIX_TO_MENTION * (self.base_ms + self.head_ms) / 2

    @property
    def is_beyond_zero(self) -> bool:
        """Whether the 95 % interval does not include zero."""
        return self.ci95 is not None and (self.ci95.low > 0 or self.ci95.high < 0)

    @property
    def is_significant(self) -> bool:
        """Whether q is below `FALSE_DISCOVERIES`, ranks and means agree, and the interval does not include zero.

        Ranks alone find what only looks like a change: with longer ticks a short function is seen in fewer views.
        """
        return self.q < FALSE_DISCOVERIES and self.rank_z * self.delta_ms > 0 and self.is_beyond_zero

    @property
    def is_increase(self) -> bool:
        """Whether the change is a significant increase."""
        return self.is_significant and self.delta_ms > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The result: differences by func, and how they were found.

    The significant increases come first, largest `ranking_ms` first (`order_increases`). So a caller that only
    surrounds hidden time does not come before the callee that was seen to cost more. All others follow by `delta_ms`,
    largest first.

    With `is_too_few` there are no differences: a side has too few (effective) views in strata that both sides
    have. `left_out_views` counts the views of strata that only one side has, or that have a single view. `overall` is
    the change of the views' whole time by the same measure, with `func_id` -1 and its p as q; None for the measure
    `total`.

    `device_mix` has the code of each common class and its share of the mix at which differences are computed,
    `navigation_mix` that of each common navigation (unknown of classes that are not divided), and `page_mix` that of
    each common page (`SEVERAL_PAGES` of small ones). They are () if these are no strata. `is_weighted` means that
    sample rates differ; `is_complete` is false if contributions of some views have expired. `base_effective` and
    `head_effective` are the effective numbers of compared views: this many equally weighted views carry as much
    information.
    """

    measure: Measure
    base_views: int
    head_views: int
    base_population: int
    head_population: int
    is_too_few: bool
    left_out_views: int
    clipped_views: int
    overall: Difference | None = None
    functions: tuple[Difference, ...] = ()
    device_mix: tuple[tuple[int, float], ...] = ()
    navigation_mix: tuple[tuple[int, float], ...] = ()
    page_mix: tuple[tuple[int, float], ...] = ()
    is_weighted: bool = False
    is_complete: bool = True
    base_effective: float = 0.0
    head_effective: float = 0.0

    @property
    def increases(self) -> tuple[Difference, ...]:
        """The significant increases, largest first."""
        return tuple(difference for difference in self.functions if difference.is_increase)


def compare(
    base: ViewSample,
    head: ViewSample,
    *,
    measure: Measure = "self+hidden",
    known: tuple[KnownKinds, KnownKinds] | None = None,
    by_device: bool = True,
    by_navigation: bool = True,
    by_page: bool = False,
    by_tag: bool = False,
    find_callers: FindCallers | None = None,
) -> Comparison:
    """Returns the comparison of two samples with the same kind of func ids (map them to identities first).

    Samples without funcs (`sample_of_times`) are compared only by their views' whole time. `known` has sums over all
    views of base and head, which make means exact and intervals narrower. It is ignored if sample rates differ within
    a side, and without `by_device`. Device classes and navigations are strata, unless the samples differ by them.
    With `by_page` and `by_tag` pages and tags are strata too. For samples that share pages, `known` must then be by
    page; it is ignored with `by_tag`. `find_callers` reads a call tree for `order_increases`.
    """
    pair = pair_views(
        base, head, known=known, by_device=by_device, by_navigation=by_navigation, by_page=by_page, by_tag=by_tag
    )
    return compare_pair(pair, measure=measure, find_callers=find_callers)


def compare_pair(
    pair: PairedViews, *, measure: Measure = "self+hidden", find_callers: FindCallers | None = None
) -> Comparison:
    """Returns the comparison of two samples whose strata are known."""
    (comparison,) = compare_pairs([pair], measure=measure)
    if comparison.is_too_few or not pair.base.sample.func_count:
        return comparison
    count = len(pair.strata.shared)
    return replace(comparison, functions=_compare_funcs(pair.base, pair.head, measure, count, find_callers))


def compare_pairs(pairs: Sequence[PairedViews], *, measure: Measure = "self+hidden") -> list[Comparison]:
    """Returns the comparisons of the views' whole time of several pairs of samples, such as pages, at once."""
    comparisons = [_describe_sides(pair.base, pair.head, measure) for pair in pairs]
    enough = [at for at, comparison in enumerate(comparisons) if not comparison.is_too_few]
    changes: Sequence[Changes | None] = [None] * len(enough)
    if measure != "total":
        counts = [len(pairs[at].strata.shared) for at in enough]
        changes = find_whole_changes([pairs[at].whole(measure) for at in enough], counts)
    for at, changed in zip(enough, changes, strict=True):
        pair, strata = pairs[at], pairs[at].strata
        mix = common_mix(pair.base.whole("self", ()), pair.head.whole("self", ()), len(strata.shared)).tolist()
        comparisons[at] = replace(
            comparisons[at],
            overall=describe_changes(changed, np.array([-1]))[0] if changed else None,
            device_mix=strata.mix_of_devices(mix) if pair.by_device else (),
            navigation_mix=strata.mix_of_navigations(mix) if pair.by_navigation else (),
            page_mix=strata.mix_of_pages(mix),
        )
    return comparisons


def _describe_sides(base: SampleViews, head: SampleViews, measure: Measure) -> Comparison:
    """Returns the comparison of two sides without differences: how many views it has, and whether they are enough."""
    base_weight, head_weight = base.kept_weight, head.kept_weight
    base_sample, head_sample = base.sample, head.sample
    return Comparison(
        measure=measure,
        base_views=base_sample.views,
        head_views=head_sample.views,
        base_population=base_sample.population,
        head_population=head_sample.population,
        is_too_few=not has_enough(base, head),
        left_out_views=base_sample.views + head_sample.views - len(base_weight) - len(head_weight),
        clipped_views=base.clipped + head.clipped,
        is_weighted=len(np.unique(np.concatenate([base_sample.weight, head_sample.weight]))) > 1,
        is_complete=base_sample.is_complete and head_sample.is_complete,
        base_effective=effective_views(base_weight),
        head_effective=effective_views(head_weight),
    )


def _compare_funcs(
    base: SampleViews, head: SampleViews, measure: Measure, strata: int, find_callers: FindCallers | None
) -> tuple[Difference, ...]:
    sides = [views.side(views.sample.row_us(measure)) for views in (base, head)]
    visible = None
    if measure == "self+hidden":
        visible_sides = [views.side(views.sample.self_us) for views in (base, head)]
        # Without weights: this asks which func was seen for certain, not which one matters.
        visible = find_changes(visible_sides[0], visible_sides[1], base.sample.func_count, strata, is_weighted=False)
    changes = find_changes(sides[0], sides[1], base.sample.func_count, strata, is_weighted=True)
    differences = describe_changes(changes, base.sample.func_ids, visible=visible) if changes else []
    increases = [difference for difference in differences if difference.is_increase]
    if measure == "self+hidden":
        increases = order_increases(increases, find_callers)
    return (*increases, *(difference for difference in differences if not difference.is_increase))


def order_increases(increases: Sequence[Difference], find_callers: FindCallers | None) -> list[Difference]:
    """Returns significant increases, the likeliest culprit first.

    Hidden time lies in a func or in something that it called. If a seen increase lies below a func whose increase is
    unseen, or mostly hidden, the func is a caller, and counts only by its visible part. Else it counts by all of it: it
    may be a culprit that itself loses its stack. Without a tree all unseen ones count by their visible part.
    """
    hidden = sorted(filter(_is_hidden, increases), key=lambda increase: -increase.delta_ms)[:MAX_LOOKED_UP]
    seen = [increase.func_id for increase in increases if increase.is_seen]
    callers: Collection[int] | None = () if find_callers else None
    if hidden and seen and find_callers is not None:
        callers = find_callers([increase.func_id for increase in hidden], seen)
    if callers is not None:
        increases = [msgspec.structs.replace(increase, is_caller=increase.func_id in callers) for increase in increases]
    return sorted(increases, key=lambda increase: -increase.ranking_ms)


def _is_hidden(difference: Difference) -> bool:
    return not difference.is_seen or difference.delta_ms > 2 * difference.self_delta_ms


def _are_increases(changes: Changes) -> npt.NDArray[np.bool_]:
    """Returns whether each func's change is a significant increase, as `Difference.is_increase` says."""
    return (changes.q < FALSE_DISCOVERIES) & (changes.z > 0) & (changes.low > 0)


def describe_changes(
    changes: Changes,
    func_ids: IntColumn,
    *,
    visible: Changes | None = None,
    among: npt.NDArray[np.bool_] | None = None,
) -> list[Difference]:
    """Returns the difference of each func with any time, or of those `among` them, largest first.

    `visible` are changes of the visible time.
    """
    delta, is_seen = changes.delta, np.ones(func_ids.size, dtype=bool)
    if visible is not None:
        is_tested = np.isin(np.arange(func_ids.size), visible.funcs)
        delta, is_seen = np.where(is_tested, visible.delta, 0.0), is_tested & _are_increases(visible)
    described = changes.funcs if among is None else changes.funcs[among[changes.funcs]]
    order = described[np.lexsort((func_ids[described], -changes.delta[described]))]
    crude_delta = changes.crude[1] - changes.crude[0]
    columns = {
        "func_id": func_ids,
        "base_views_ran": changes.ran[0],
        "head_views_ran": changes.ran[1],
        "base_ms": changes.crude[0],
        "head_ms": changes.crude[1],
        "delta_ms": changes.delta,
        "crude_delta_ms": crude_delta,
        "mix_ms": crude_delta - changes.delta,
        "rank_z": changes.z,
        "p": changes.p,
        "q": changes.q,
        "self_delta_ms": delta,
        "is_seen": is_seen,
    }
    has_base = changes.standard_base > 0
    relative = np.divide(changes.delta, changes.standard_base, out=np.zeros_like(changes.delta), where=has_base)
    rows = zip(*(column[order].tolist() for column in columns.values()), strict=True)
    derived = zip(
        np.where(changes.ran[0] == 0, "new", np.where(changes.ran[1] == 0, "gone", "changed"))[order].tolist(),
        [
            value if known else None
            for value, known in zip(relative[order].tolist(), has_base[order].tolist(), strict=True)
        ],
        as_intervals(changes.low[order], changes.high[order]),
        strict=True,
    )
    return [
        Difference(status=status, relative=share, ci95=ci95, **dict(zip(columns, row, strict=True)))
        for row, (status, share, ci95) in zip(rows, derived, strict=True)
    ]
