"""The strata of a comparison: views of one device class, SDK, navigation, cache and page are compared with each other.

Within these they are divided further by day or traits (`finer_strata`).

A device class and the SDK that recorded it have one code together (`DEVICE_CODE`): SDKs miss different parts of a view,
so what two of them recorded is never compared. So have a navigation and the state of the cache (`START_CODE`): how a
view began.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from itertools import pairwise
from typing import Final

import numpy as np
import numpy.typing as npt

from profcore.stats.finer_strata import Pair, find_bounds, find_divider, number_groups
from profcore.stats.standardised import ClassSums
from profcore.stats.views import IntColumn, ViewColumns
from profcore.trace.dimensions import CACHES, DEVICE_CLASSES, NAVIGATIONS

# A stratum with a single view on one side has no variance there: its views are left out and counted.
MIN_STRATUM_VIEWS: Final = 2
# A page is a stratum of its own if the smaller side can expect this many of its views. Pages with fewer are joined
# with pages of like time: as strata of their own, most of them would lack a side by chance, and be left out.
MIN_EXPECTED_VIEWS: Final = 4.0
# This many strata at most have a page of their own. A comparison keeps a dozen numbers per func and stratum: for 5,000
# funcs 100 MB. Pages with less than a 200th of the views are put together too.
MAX_PAGE_STRATA: Final = 200
UNKNOWN_NAVIGATION: Final = NAVIGATIONS.index("unknown")
UNKNOWN_CACHE: Final = CACHES.index("unknown")
# The hour in which a cell `c` starts, since 1970.
HOUR: Final = "(extract(epoch FROM c.starts_at) / 3600)::int"
# The device of a view of a cell `c`. Of our own snippet's, it is the code of its class.
DEVICE_CODE: Final = f"c.device_class + {len(DEVICE_CLASSES)} * c.sdk"
# How a view of a cell `c` began. Without a known cache, it is the code of its navigation.
START_CODE: Final = f"c.navigation + {len(NAVIGATIONS)} * c.cache"
STARTS: Final = len(NAVIGATIONS) * len(CACHES)
SEVERAL_PAGES: Final = -1  # in a mix of pages: pages that were put together

Kind = tuple[int, int]  # the codes of device and start
PageKind = tuple[int, int, int]  # the codes of page, device and start
KnownKinds = Mapping[Kind, ClassSums] | Mapping[PageKind, ClassSums]
Views = Sequence[IntColumn]  # the numbers of some views of base and head
Kinds = Mapping[int, IntColumn]  # the numbers of the views of one side, by their start
Shares = tuple[float, float]


def device_code(device_class: int, sdk: int) -> int:
    """Returns the device of a view, as `DEVICE_CODE` does."""
    return device_class + len(DEVICE_CLASSES) * sdk


def start_code(navigation: int, cache: int) -> int:
    """Returns how a view began, as `START_CODE` does."""
    return navigation + len(NAVIGATIONS) * cache


@lru_cache(maxsize=20_000)
def text_code(text: str) -> int:
    """Returns the code of a page, or of a tag's value: the same everywhere. "" is unknown, and has the code 0."""
    return int.from_bytes(sha256(text.encode("utf-8", "surrogatepass")).digest()[:8], "big") >> 2 if text else 0


@dataclass(frozen=True, slots=True)
class Stratum:
    """The views of one device, of some starts (None: the device is not divided), and pages (None: all).

    Of views that are divided further, it has some: `shares` of base and head, of the number of views and of their time.
    """

    device: int
    starts: frozenset[int] | None
    pages: frozenset[int] | None = None
    shares: tuple[Shares, Shares] | None = None


@dataclass(frozen=True, slots=True)
class Strata:
    """The strata that both sides have, and the number of each view's stratum in base and head (-1: left out).

    `has_pages` says whether pages are strata.
    """

    shared: Sequence[Stratum]
    codes: tuple[IntColumn, IntColumn]
    has_pages: bool = False

    def known(self, sums: KnownKinds, side: int = 0) -> list[ClassSums]:
        """Returns the sums of all views of a side (0: base) by stratum; [] if one has none, or if pages are not known.

        Kinds know no day and no traits: of strata that are divided by them, each has its share of the sample.
        """
        wholes = [(stratum.device, stratum.starts, stratum.pages) for stratum in self.shared]
        whole_of = {
            (device, way, page): (device, starts, pages)
            for device, starts, pages in wholes
            for way in ((None,) if starts is None else starts)
            for page in ((None,) if pages is None else pages)
        }
        views, us = dict.fromkeys(wholes, 0), dict.fromkeys(wholes, 0)
        for kind, kind_sums in sums.items():
            *pages, device, start = kind
            page = pages[0] if pages and self.has_pages else None
            for way in (start, None):
                if (whole := whole_of.get((device, way, page))) is not None:
                    views[whole] += kind_sums.views
                    us[whole] += kind_sums.us
        if not all(views.values()):  # its views were received after the sums were read
            return []
        parts = []
        for whole, stratum in zip(wholes, self.shared, strict=True):
            of_views, of_us = stratum.shares[side] if stratum.shares else (1, 1)
            part = max(round(views[whole] * of_views), 1), round(us[whole] * of_us)
            parts.append(ClassSums(*part, is_estimated=stratum.shares is not None))
        return parts

    def mix_of_devices(self, mix: Sequence[float]) -> tuple[tuple[int, float], ...]:
        """Returns the share of each device class, given that of each stratum."""
        return _sum_shares([stratum.device % len(DEVICE_CLASSES) for stratum in self.shared], mix)

    def mix_of_navigations(self, mix: Sequence[float]) -> tuple[tuple[int, float], ...]:
        """Returns the share of each navigation; that of classes that are not divided is unknown, and of several too."""
        ways = [
            _only(frozenset(start % len(NAVIGATIONS) for start in stratum.starts or ()), UNKNOWN_NAVIGATION)
            for stratum in self.shared
        ]
        return tuple(sorted(_sum_shares(ways, mix)))

    def mix_of_pages(self, mix: Sequence[float]) -> tuple[tuple[int, float], ...]:
        """Returns the share of each page, largest first; small ones together as `SEVERAL_PAGES`. () without pages."""
        pages = [_only(stratum.pages, SEVERAL_PAGES) for stratum in self.shared]
        return tuple(sorted(_sum_shares(pages, mix), key=lambda share: (-share[1], share[0]))) if self.has_pages else ()


def _sum_shares(codes: Sequence[int], mix: Sequence[float]) -> tuple[tuple[int, float], ...]:
    shares: dict[int, float] = {}
    for code, share in zip(codes, mix, strict=False):
        shares[code] = shares.get(code, 0.0) + share
    return tuple(shares.items())


def _only(codes: frozenset[int] | None, several: int) -> int:
    return next(iter(codes)) if codes and len(codes) == 1 else several


def find_strata(
    base: ViewColumns,
    head: ViewColumns,
    *,
    by_device: bool,
    by_navigation: bool,
    by_page: bool = False,
    by_tag: bool = False,
) -> Strata:
    """Returns the strata of two samples.

    A device is not divided by navigation if most of its views on either side have an unknown one: what such views are
    cannot be said, so nothing is a stratum of both sides. That is so until all senders name it, and of imports. In the
    same way, a navigation of a device is not divided by the cache. `by_navigation` says whether both are strata, and
    `by_device` whether device classes and SDKs are.

    Pages are no strata if the sides have none in common. Small ones (`MIN_EXPECTED_VIEWS`, `MAX_PAGE_STRATA`) are put
    together, those with the most similar time first. So are small starts of a device class, but only with each
    other; device classes never are. With `by_tag` a page's tags are taken as pages of their own. Each of these is
    divided further by day or traits, if anything is to be.
    """
    devices = [columns.device if by_device else np.zeros_like(columns.device) for columns in (base, head)]
    starts, plain = _join_unknown_caches(devices, [columns.start for columns in (base, head)])
    parts = _Parts.of(base, head, by_page=by_page, by_tag=by_tag)
    finer = find_divider(base, head)
    times = [columns.js_us + columns.hidden_us for columns in (base, head)]
    shared: list[Stratum] = []
    codes = [np.full(column.size, -1, dtype=np.int64) for column in devices]
    base_kinds, head_kinds = map(_list_kinds, devices, starts)
    for device in sorted(base_kinds.keys() & head_kinds.keys()):
        of_starts = base_kinds[device], head_kinds[device]
        for group, chosen in _group_starts(*of_starts) if by_navigation else [(None, _join_starts(*of_starts))]:
            for pages, whole in parts.divide(chosen):
                for views in _divide_further(whole, finer):
                    if min(part.size for part in views) < MIN_STRATUM_VIEWS:
                        continue
                    for side, part in enumerate(views):
                        codes[side][part] = len(shared)
                    shares = None if views is whole else _find_shares(times, whole, views)
                    shared.append(Stratum(device, group and _with_caches(group, device, plain), pages, shares))
    return Strata(shared, (codes[0], codes[1]), parts.has_pages)


def _list_kinds(device: IntColumn, start: IntColumn) -> Mapping[int, Kinds]:
    """Returns the numbers of the views of each device and start."""
    kind = device * STARTS + start
    order = np.argsort(kind, kind="stable")
    firsts = np.flatnonzero(np.diff(kind[order], prepend=-1)).tolist()
    kinds: dict[int, dict[int, IntColumn]] = {}
    for (first, last), code in zip(pairwise([*firsts, kind.size]), kind[order[firsts]].tolist(), strict=True):
        kinds.setdefault(code // STARTS, {})[code % STARTS] = order[first:last]
    return kinds


def _divide_further(whole: Views, finer: Pair | None) -> Sequence[Views]:
    """Returns the parts of some views of both sides by day or traits; the views themselves if nothing divides them."""
    if finer is None:
        return [whole]
    kept = [views[codes[views] >= 0] for views, codes in zip(whole, finer, strict=True)]
    inside = [codes[views] for codes, views in zip(finer, kept, strict=True)]
    bounds = find_bounds(inside, least=sum(codes.size for codes in finer) / MAX_PAGE_STRATA)
    groups = [number_groups(codes, bounds) for codes in inside]
    parts = [
        [views[group == number] for views, group in zip(kept, groups, strict=True)] for number in range(bounds.size + 1)
    ]
    is_all = bounds.size == 0 and all(some.size == every.size for some, every in zip(kept, whole, strict=True))
    return [whole] if is_all else parts


def _find_shares(times: Sequence[IntColumn], whole: Views, part: Views) -> tuple[Shares, Shares]:
    """Returns the shares of a part, of the views and of their time, on both sides."""
    base, head = (
        (some.size / every.size, float(us[some].sum() / max(us[every].sum(), 1)))
        for us, every, some in zip(times, whole, part, strict=True)
    )
    return base, head


def _join_unknown_caches(
    devices: Sequence[IntColumn], starts: Sequence[IntColumn]
) -> tuple[list[IntColumn], set[tuple[int, int]]]:
    """Returns the starts of both sides, and the (device class, navigation) that the cache does not divide.

    It does not where most of such views on either side have an unknown one. Their starts are then their navigation.
    """
    ways = len(NAVIGATIONS)
    kinds = [device * ways + start % ways for device, start in zip(devices, starts, strict=True)]
    count = max(int(kind.max(initial=-1)) for kind in kinds) + 1
    is_plain = np.zeros(count, dtype=bool)
    for kind, start in zip(kinds, starts, strict=True):
        known = np.bincount(kind[start // ways != UNKNOWN_CACHE], minlength=count)
        is_plain |= 2 * known < np.bincount(kind, minlength=count)
    joined = [np.where(is_plain[kind], start % ways, start) for kind, start in zip(kinds, starts, strict=True)]
    return joined, {divmod(kind, ways) for kind in np.flatnonzero(is_plain).tolist()}


def _with_caches(starts: frozenset[int], device: int, plain: Collection[tuple[int, int]]) -> frozenset[int]:
    """Returns starts with all caches of those that the cache does not divide."""
    whole = {start for start in starts if (device, start) in plain}
    return starts | {start + code * len(NAVIGATIONS) for start in whole for code in range(len(CACHES))}


def _group_starts(base: Kinds, head: Kinds) -> list[tuple[frozenset[int] | None, Views]]:
    """Returns the starts that both sides of a device have, with their views: each by itself, small ones together.

    As strata of their own, most of the small ones would lack a side by chance: 28 views of seven kinds would leave
    nothing to compare. All are together (None) if most views of a side have an unknown navigation.
    """
    sizes = [{start: views.size for start, views in side.items()} for side in (base, head)]
    for of_start in sizes:
        unknown = sum(size for start, size in of_start.items() if start % len(NAVIGATIONS) == UNKNOWN_NAVIGATION)
        if 2 * unknown > sum(of_start.values()):
            return [(None, _join_starts(base, head))]
    both = sorted(base.keys() & head.keys())
    known = [sum(of_start[start] for start in both) for of_start in sizes]
    smaller = min(known) / max(sum(known), 1)
    small = [start for start in both if (sizes[0][start] + sizes[1][start]) * smaller < MIN_EXPECTED_VIEWS]
    groups = [[start] for start in both if start not in small] + ([small] if small else [])
    return [(frozenset(group), _join_starts(base, head, group)) for group in groups]


def _join_starts(base: Kinds, head: Kinds, starts: Collection[int] | None = None) -> Views:
    """Returns the views of some starts of both sides, or of all."""
    wanted = [[side[start] for start in (side if starts is None else starts)] for side in (base, head)]
    return [views[0] if len(views) == 1 else np.concatenate(views) for views in wanted]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Parts:
    """What divides the views of one device class and navigation: pages, tags, both or nothing.

    `of_view` has the index of each view's part by side, -1 if the other side lacks it; `page` and `time_us` are by
    part, the time being the mean of both sides together.
    """

    count: int
    of_view: tuple[IntColumn, IntColumn]
    page: IntColumn
    time_us: npt.NDArray[np.float64]
    has_pages: bool

    @classmethod
    def of(cls, base: ViewColumns, head: ViewColumns, *, by_page: bool, by_tag: bool) -> "_Parts":
        if not by_page and not by_tag:
            nothing = np.zeros(1, dtype=np.int64)
            of_view = (np.zeros_like(base.page), np.zeros_like(head.page))
            return cls(count=1, of_view=of_view, page=nothing, time_us=np.zeros(1), has_pages=False)
        sides = (base, head)
        has_pages = by_page and bool(np.intersect1d(base.page, head.page).size)
        columns = [
            np.stack([s.page if has_pages else np.zeros_like(s.page), s.tag if by_tag else np.zeros_like(s.tag)])
            for s in sides
        ]
        keys, inverse = np.unique(np.concatenate(columns, axis=1), axis=1, return_inverse=True)
        inverse = inverse.reshape(-1)
        is_head = np.arange(inverse.size) >= base.page.size
        seen = [np.bincount(inverse[is_head == side], minlength=keys.shape[1]) for side in (False, True)]
        part = np.where((seen[0] > 0) & (seen[1] > 0), np.arange(keys.shape[1]), -1)[inverse]
        time = np.concatenate([s.js_us + s.hidden_us for s in sides])
        return cls(
            count=int(keys.shape[1]),
            of_view=(part[: base.page.size], part[base.page.size :]),
            page=keys[0],
            time_us=np.bincount(inverse, time, minlength=keys.shape[1]) / np.maximum(seen[0] + seen[1], 1),
            has_pages=has_pages,
        )

    def divide(self, chosen: Views) -> Sequence[tuple[frozenset[int] | None, Views]]:
        """Returns the parts of the chosen views of both sides, each with its pages (None without pages)."""
        if self.count <= 1:
            return [(self._pages(np.arange(self.count)), chosen)]
        inside = [of[views] for of, views in zip(self.of_view, chosen, strict=True)]
        counts = [np.bincount(parts[parts >= 0], minlength=self.count) for parts in inside]
        both = counts[0] + counts[1]
        smaller = min(column.sum() for column in counts) / max(both.sum(), 1)
        least = max(MIN_EXPECTED_VIEWS / smaller if smaller else np.inf, self._all_views() / MAX_PAGE_STRATA)
        groups = [np.array([part]) for part in np.flatnonzero(both >= least)]
        groups += _put_together(np.flatnonzero((both > 0) & (both < least)), both, self.time_us, least)
        divided = []
        for group in groups:
            is_of = np.zeros(self.count + 1, dtype=bool)
            is_of[group] = True  # the last entry, False, is that of views without a part
            divided.append(
                (self._pages(group), [views[is_of[parts]] for views, parts in zip(chosen, inside, strict=True)])
            )
        return divided

    def _pages(self, group: IntColumn) -> frozenset[int] | None:
        return frozenset(self.page[group].tolist()) if self.has_pages else None

    def _all_views(self) -> int:
        return sum(column.size for column in self.of_view)


def _put_together(
    small: IntColumn, views: IntColumn, time_us: npt.NDArray[np.float64], least: float
) -> list[IntColumn]:
    """Returns groups of small parts with `least` views each: neighbours in the order of their time."""
    if not small.size:
        return []
    ordered = small[np.argsort(time_us[small], kind="stable")]
    cuts, inside = [0], 0
    for place, count in enumerate(views[ordered].tolist(), start=1):
        inside += count
        if inside >= least:
            cuts.append(place)
            inside = 0
    cuts = [*cuts[:-1], ordered.size] if len(cuts) > 1 else [0, ordered.size]
    return [ordered[start:end] for start, end in pairwise(cuts)]
