"""What divides views of one device class, start and page further: the days of both sides, or the traits of views.

On a slow day all views are slow. So where both sides have views on the same days, those of one day are compared with
each other. Else those of alike traits are, where the mix of traits differs: a new version of a browser must not look
like a slower release.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from profcore.stats.views import IntColumn, ViewColumns
from profcore.trace.dimensions import VERSIONS

HOURS_OF_DAY: Final = 24
# Days with fewer views of a side are put together: their times say little about a day.
MIN_DAY_VIEWS: Final = 20
# Days divide the views if those of days that both sides have are worth this part of all: others are left out. If half
# of the visitors get the new release, as many as before the old one, half is left.
MIN_WORTH_OF_DAYS: Final = 0.4
# Traits divide the views if their shares differ by this much. If they do not, they cannot look like a change, and the
# exact sums of all views hold (`Strata.known`).
MIN_SHIFT: Final = 0.1
# With a browser that went from 10 to 90 % of the views, a third of what they could show is left. A fifth or less is
# left where nearly all views of a side have a version that hardly any of the other has: no comparison can divide them.
MIN_WORTH_OF_TRAITS: Final = 0.2
# Neighbours are put together until each side has this many views.
MIN_SIDE_VIEWS: Final = 4

Pair = tuple[IntColumn, IntColumn]  # of base and head


def find_divider(base: ViewColumns, head: ViewColumns) -> Pair | None:
    """Returns a code of each view's day or traits on both sides, -1 for those to leave out; None if nothing divides."""
    return _find_days((base.hour, head.hour)) or _find_traits((base.traits, head.traits))


class _Group(NamedTuple):
    """Neighbouring codes, from the first one on: how many views of base and head have them."""

    first: int
    base: int
    head: int

    @property
    def worth(self) -> float:
        """How much a comparison of its views could show."""
        return self.base * self.head / self.views

    @property
    def views(self) -> int:
        """The number of its views."""
        return self.base + self.head

    def join(self, other: "_Group") -> "_Group":
        """Returns this group and the one after it as one."""
        return _Group(self.first, self.base + other.base, self.head + other.head)


def find_bounds(codes: Sequence[IntColumn], *, each: int = MIN_SIDE_VIEWS, least: float = 0.0) -> IntColumn:
    """Returns the first code of each group of neighbours except the first group: `number_groups` numbers them.

    In each group, `each` side has so many views, and both have `least`. What is smaller joins the neighbour whose views
    are shared by base and head most alike: what is worth more together than alone compares views that differ.
    """
    values, counts = _count(codes)
    groups = [*map(_Group, values.tolist(), *counts.tolist())]
    at = 0
    while len(groups) > 1 and at < len(groups):
        if min(groups[at].base, groups[at].head) >= each and groups[at].views >= least:
            at += 1
            continue
        places = [place for place in (at - 1, at) if 0 <= place < len(groups) - 1]
        joined = {place: groups[place].join(groups[place + 1]) for place in places}
        more = {place: joined[place].worth - groups[place].worth - groups[place + 1].worth for place in places}
        at = min(places, key=lambda place: (round(more[place], 6), joined[place].views))
        groups[at : at + 2] = [joined[at]]
    return np.array([group.first for group in groups[1:]], dtype=np.int64)


def number_groups(codes: IntColumn, bounds: IntColumn) -> IntColumn:
    """Returns the number of each code's group, from 0 on."""
    return np.searchsorted(bounds, codes, side="right")


def _find_days(hours: Pair) -> Pair | None:
    days = hours[0] // HOURS_OF_DAY, hours[1] // HOURS_OF_DAY
    if not all(map(np.size, days)) or min(map(np.max, days)) < max(map(np.min, days)):
        return None  # one release after the other, as most are
    values, counts = _count(days)
    shared = values[(counts.min(axis=0) > 0) & (values > 0)]  # 0 is unknown
    if values.size < 2 or not shared.size:
        return None
    bounds = find_bounds([column[np.isin(column, shared)] for column in days], each=MIN_DAY_VIEWS)
    base, head = (np.where(np.isin(column, shared), number_groups(column, bounds), -1) for column in days)
    groups, of_groups = _count((base, head))
    is_enough = _worth(of_groups[:, groups >= 0]) >= MIN_WORTH_OF_DAYS * _worth(counts.sum(axis=1))
    is_same = groups.size == 1 or int(of_groups[:, groups >= 0].min()) < MIN_DAY_VIEWS
    return (base, head) if is_enough and not is_same else None


def _find_traits(traits: Pair) -> Pair | None:
    if any(2 * np.sum(column % VERSIONS == 0) > column.size for column in traits):  # most versions are unknown
        traits = traits[0] // VERSIONS, traits[1] // VERSIONS
    _, counts = _count(traits)
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    if float(np.abs(shares[1] - shares[0]).sum()) / 2 < MIN_SHIFT:
        return None
    bounds = find_bounds(traits)
    _, of_groups = _count([number_groups(column, bounds) for column in traits])
    is_enough = bounds.size > 0 and _worth(of_groups) >= MIN_WORTH_OF_TRAITS * _worth(counts.sum(axis=1))
    return traits if is_enough else None


def _count(codes: Sequence[IntColumn]) -> tuple[IntColumn, IntColumn]:
    """Returns the distinct codes of both sides, ascending, and how many views of each side have each."""
    values, number = np.unique(np.concatenate(codes), return_inverse=True)
    is_head = np.arange(number.size) >= codes[0].size
    return values, np.stack([np.bincount(number[is_head == side], minlength=values.size) for side in (False, True)])


def _worth(counts: IntColumn) -> float:
    """Returns how much a comparison within parts could show, by the views of base and head in each: n·m/(n + m)."""
    both = counts.sum(axis=0)
    return float(np.sum(counts[0] * counts[1] / np.maximum(both, 1)))
