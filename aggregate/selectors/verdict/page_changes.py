"""Two sides compared page by page, and all pages together, by the whole time of their views: seen and hidden."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from django.conf import settings
from django.db import connection

from aggregate.selectors.page_views.view_times import Stratum, ViewTimes, select_view_times
from aggregate.selectors.slice.sides import may_share_devices, may_share_starts
from aggregate.selectors.slice.slices import FROM_CELLS, Slice, where_slice
from aggregate.selectors.verdict.page_functions import ReadFunctions, read_functions
from profcore.alerts.usage import LEAST_SHARE
from profcore.stats.comparison import Comparison, compare_pair, compare_pairs
from profcore.stats.joining import PairedViews, join_columns, pair_views
from profcore.stats.power import SmallestChange
from profcore.stats.standardised import ClassSums
from profcore.stats.strata import DEVICE_CODE, START_CODE, KnownKinds, text_code
from profcore.stats.verdict.judgement import NO_PAGE
from profcore.stats.views import Measure, ViewSample, sample_of_times
from profcore.trace.dimensions import DEVICE_CLASSES, SDKS

# The pages with the most time. Each takes a part of the reading time, and the question has to be answered at once.
MAX_COMPARED_PAGES: Final = 40
# Pages that an alert has an open state of are compared as well, at most this number.
MAX_FOLLOWED_PAGES: Final = 40
# Up to four pages are read to `CHANGE_MAX_VIEWS` (2,000) views of each side; more share as many. Each has at least
# 200: around exact means of skewed times, intervals from fewer are too narrow (docs/statistics.md).
PAGES_OF_ALL_VIEWS: Final = 4
LEAST_PAGE_VIEWS: Final = 200
# What functions cost, of all pages of a side: 8,000 views of 500 bytes. Decoded it takes nine times as much.
FUNCTION_BYTES: Final = 4_000_000
VERDICT_MEASURE: Final[Measure] = "self+hidden"

# A verdict says which SDKs recorded its sides if their shares differ by this much.
MIN_SDK_SHIFT: Final = 0.1

PageKind = tuple[str, int, int]  # page, and the codes of device and start


@dataclass(frozen=True, slots=True)
class SdkShare:
    """The shares of the page views of base and head that an SDK recorded, 0 to 1."""

    sdk: str
    base: float
    head: float


@dataclass(frozen=True, slots=True)
class PageSums:
    """The exact sums of all views of two sides, by page, device (with the SDK) and start (navigation and cache).

    `shared` are the pages that both sides have and that are compared, those with the most time first (`pick_shared`).
    `page_count` counts all pages of both sides.
    """

    sides: tuple[Mapping[PageKind, ClassSums], Mapping[PageKind, ClassSums]]
    shared: tuple[str, ...]
    page_count: int

    @property
    def views(self) -> tuple[int, int]:
        """All page views of both sides."""
        base, head = (sum(class_sums.views for class_sums in side.values()) for side in self.sides)
        return base, head

    def compare_sdks(self, page: str | None) -> list[SdkShare]:
        """Returns what each SDK recorded of a page, or of all (None); nothing if both sides were recorded alike."""
        counts = [Counter[int](), Counter[int]()]
        for count, side in zip(counts, self.sides, strict=True):
            for (of_page, device, _), class_sums in side.items():
                if page in (None, of_page):
                    count[device // len(DEVICE_CLASSES)] += class_sums.views
        if not all(count.total() for count in counts):
            return []
        shares = [
            SdkShare(sdk, *(count[code] / count.total() for count in counts))
            for code, sdk in enumerate(SDKS)
            if any(count[code] for count in counts)
        ]
        return shares if sum(abs(share.head - share.base) for share in shares) / 2 >= MIN_SDK_SHIFT else []


def sum_pages(base: Slice, head: Slice, *, followed: Sequence[str] = ()) -> PageSums:
    """Returns the sums of two sides of one project. Two statements.

    Of the pages that are `followed`, those that both sides have are compared, the first `MAX_FOLLOWED_PAGES` of them.
    """
    sides = (_sum_side(base), _sum_side(head))
    before, after = (_sum_by_page(side) for side in sides)
    return PageSums(sides, pick_shared(before, after, followed), len(before.keys() | after.keys()))


def pick_shared(
    base: Mapping[str, ClassSums], head: Mapping[str, ClassSums], followed: Sequence[str] = ()
) -> tuple[str, ...]:
    """Returns the pages that are compared of those that both sides have, those with the most time first.

    They are the `MAX_COMPARED_PAGES` with the most time. But a page with `LEAST_SHARE` of the views of both sides comes
    before pages with less: a few long views, which anybody may post, push no page out that users really visit.
    """
    us = {page: base[page].us + head[page].us for page in base.keys() & head.keys()}
    least = [LEAST_SHARE * sum(class_sums.views for class_sums in side.values()) for side in (base, head)]
    rare = {page for page in us if base[page].views < least[0] or head[page].views < least[1]}
    chosen = sorted(us, key=lambda page: (page in rare, -us[page], page))[:MAX_COMPARED_PAGES]
    chosen += [page for page in followed if page in us and page not in chosen][:MAX_FOLLOWED_PAGES]
    return tuple(sorted(chosen, key=lambda page: (-us[page], page)))


def _sum_by_page(side: Mapping[PageKind, ClassSums]) -> dict[str, ClassSums]:
    sums_of_page: dict[str, ClassSums] = {}
    for (page, _, _), class_sums in side.items():
        before = sums_of_page.get(page, ClassSums(0, 0))
        sums_of_page[page] = ClassSums(class_sums.views + before.views, class_sums.us + before.us)
    return sums_of_page


class PageComparer:
    """Compares two sides with these sums: the views that are read, with their functions, are read at once.

    Two statements, and those of `read_functions`.

    If the sides have no page in common, as when a page is compared with another one, all their views are compared.
    """

    def __init__(self, base: Slice, head: Slice, sums: PageSums) -> None:
        self._by_device = may_share_devices(base, head)
        self._by_navigation = may_share_starts(base, head)
        self._slices = base, head
        self._numbers = {page: number for number, page in enumerate(sums.shared)}
        self._sides = (_Side(base, sums.sides[0], sums.shared), _Side(head, sums.sides[1], sums.shared))
        self._pairs: dict[str | None, PairedViews] = {}

    def compare_pages(self) -> dict[str, Comparison]:
        """Returns the comparison of each page that both sides have, in the order of the sums."""
        comparisons = compare_pairs([self._pair(page) for page in self._numbers], measure=VERDICT_MEASURE)
        return dict(zip(self._numbers, comparisons, strict=True))

    def read_functions(self) -> ReadFunctions:
        """Returns the functions of the pages that both sides have."""
        return read_functions(
            *self._slices,
            [side.times for side in self._sides],
            [*self._numbers] or [NO_PAGE],
            by_device=self._by_device,
            by_navigation=self._by_navigation,
        )

    def compare_whole(self) -> Comparison:
        """Returns the comparison of all compared pages together."""
        return compare_pair(self._pair(None), measure=VERDICT_MEASURE)

    def find_smallest(self, page: str | None, bound: float) -> SmallestChange | None:
        """Returns the change that the views of a page, or of all pages, would have shown below a bound of q."""
        return self._pair(page).find_smallest(VERDICT_MEASURE, bound)

    def _pair(self, page: str | None) -> PairedViews:
        if page not in self._pairs:
            number = None if page is None else self._numbers[page]
            base, head = (side.sample(number) for side in self._sides)
            is_whole = base.is_complete and head.is_complete
            self._pairs[page] = pair_views(
                base,
                head,
                known=(self._sides[0].known(number), self._sides[1].known(number)) if is_whole else None,
                by_device=self._by_device,
                by_navigation=self._by_navigation,
                by_page=number is None and bool(self._numbers),
            )
        return self._pairs[page]


class _Side:
    """One side's sampled views by page, with their exact sums. Without shared pages all views are one part."""

    def __init__(self, slice_: Slice, sums: Mapping[PageKind, ClassSums], shared: Sequence[str]) -> None:
        numbers = {page: number for number, page in enumerate(shared)}
        self.sums: list[dict[tuple[int, int, int], ClassSums]] = [{} for _ in shared or (None,)]
        for (page, device, start), class_sums in sums.items():
            if (number := numbers.get(page, -1 if shared else 0)) >= 0:
                self.sums[number][text_code(page), device, start] = class_sums
        self.counts = [sum(class_sums.views for class_sums in part.values()) for part in self.sums]
        self.most = max(
            LEAST_PAGE_VIEWS,
            min(settings.CHANGE_MAX_VIEWS, settings.CHANGE_MAX_VIEWS * PAGES_OF_ALL_VIEWS // len(self.counts)),
        )
        names: Sequence[str | None] = shared or (None,)
        strata = [Stratum(views=count, page=page) for count, page in zip(self.counts, names, strict=True)]
        self.times: ViewTimes = select_view_times(
            slice_, strata, most=self.most, function_bytes=FUNCTION_BYTES // len(self.counts)
        )
        self._parts = [self.times.facts(number) for number in range(len(self.counts))]

    def known(self, number: int | None = None) -> KnownKinds:
        """Returns the sums of one page, or of all compared pages."""
        if number is not None:
            return self.sums[number]
        return {kind: class_sums for part in self.sums for kind, class_sums in part.items()}

    def sample(self, number: int | None = None) -> ViewSample:
        """Returns the views of one page, or of all compared pages.

        Of a page with many views only some were read. If the sums of all are not known, each then counts for more: its
        sample rate is that of its sender times that of the reading.
        """
        wanted = slice(None) if number is None else slice(number, number + 1)
        parts, counts = self._parts[wanted], self.counts[wanted]
        sizes = [part.js_us.size for part in parts]
        # A sample varies in size; a part whose views have expired has far fewer.
        is_complete = all(
            size >= (count if count <= self.most else self.most // 2) for size, count in zip(sizes, counts, strict=True)
        )
        view_columns = join_columns(parts)
        sample = replace(sample_of_times(view_columns, population=sum(counts)), is_complete=is_complete)
        if number is not None or (is_complete and np.unique(view_columns.sample_rate).size <= 1):
            return sample
        taken = [size / max(count, size, 1) for size, count in zip(sizes, counts, strict=True)]
        rates = np.concatenate([part.sample_rate * share for part, share in zip(parts, taken, strict=True)])
        return replace(sample, columns=replace(view_columns, sample_rate=rates))


def _sum_side(slice_: Slice) -> dict[PageKind, ClassSums]:
    where, params = where_slice(slice_)
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT g.page, {DEVICE_CODE}, {START_CODE}, sum(c.views)::bigint,
                       sum(c.js_us + c.hidden_us)::bigint
                {FROM_CELLS} WHERE {where} AND c.views > 0 GROUP BY 1, 2, 3""",
            params,
        )
        return {(page, device, start): ClassSums(views, us) for page, device, start, views, us in cursor}
