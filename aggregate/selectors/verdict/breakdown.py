"""Two sides compared by device class and by browser: whether a change is everywhere, or only on weak phones."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from django.conf import settings
from django.db import connection

from aggregate.selectors.page_views.view_times import Stratum, select_view_times
from aggregate.selectors.slice.slices import FROM_CELLS, Slice, where_slice
from aggregate.selectors.verdict.page_changes import MEASURE
from profcore.stats.comparison import Comparison, compare
from profcore.stats.standardised import ClassSums
from profcore.stats.strata import KnownKinds, PageKind, text_code
from profcore.stats.verdict import Change, judge_parts
from profcore.stats.views import ViewSample, sample_of_times
from profcore.trace.dimensions import BROWSERS, DEVICE_CLASSES

Dimension = Literal["device", "browser"]
WORDS: Final[Mapping[Dimension, Sequence[str]]] = {"device": DEVICE_CLASSES, "browser": BROWSERS}
# So many parts at most of each, those with the most views: more are a handful of views each.
MAX_PARTS: Final = 8

NO_VIEWS: Final = ClassSums(0, 0)
Sums = Mapping[int, Mapping[PageKind, ClassSums]]  # of a side, by the code of a device class or browser


@dataclass(frozen=True, slots=True)
class PartChange:
    """The change of one device class or browser."""

    value: str
    change: Change


@dataclass(frozen=True, slots=True)
class Breakdown:
    """The changes by device class and by browser, slower ones first. A dimension with a single value has none.

    The q of both dimensions together are one family.
    """

    devices: Sequence[PartChange]
    browsers: Sequence[PartChange]


def select_breakdown(base: Slice, head: Slice, *, bound: float) -> Breakdown:
    """Returns two sides of one project by device class and browser. Up to six statements.

    `bound` is the q below which a change is clear: that of the verdict on both sides. Within a device class or browser
    pages and navigations are strata as in the verdict, and devices within a browser.
    """
    sums = [_sum_side(side) for side in (base, head)]
    found: dict[tuple[Dimension, str], Comparison] = {}
    for dimension in WORDS:
        sides = [each[dimension] for each in sums]
        parts = _pick_parts(sides)
        if len(parts) < 2:
            continue
        samples = [_read(side, dimension, parts, own) for side, own in zip((base, head), sides, strict=True)]
        for number, code in enumerate(parts):
            known: tuple[KnownKinds, KnownKinds] = (sides[0].get(code, {}), sides[1].get(code, {}))
            found[dimension, WORDS[dimension][code]] = _compare(samples[0][number], samples[1][number], known)
    changes = judge_parts(found, bound=bound)
    devices, browsers = (
        [PartChange(value, change) for (dimension, value), change in changes if dimension == wanted]
        for wanted in ("device", "browser")
    )
    return Breakdown(devices, browsers)


def _pick_parts(sides: Sequence[Sums]) -> list[int]:
    """Returns the codes of both sides, those with the most views first."""
    views = {
        code: sum(own.views for side in sides for own in side.get(code, {}).values())
        for code in {code for side in sides for code in side}
    }
    return sorted(views, key=lambda code: (-views[code], code))[:MAX_PARTS]


def _read(slice_: Slice, dimension: Dimension, parts: Sequence[int], sums: Sums) -> list[ViewSample]:
    """Returns a uniform sample of the views of each part, complete up to `CHANGE_MAX_VIEWS`. One statement."""
    most = settings.CHANGE_MAX_VIEWS
    counts = [sum(own.views for own in sums.get(code, {}).values()) for code in parts]
    strata = [
        Stratum(views=count, device=code) if dimension == "device" else Stratum(views=count, browser=code)
        for count, code in zip(counts, parts, strict=True)
    ]
    times = select_view_times(slice_, strata, most=most)
    samples = []
    for number, count in enumerate(counts):
        facts = times.facts(number)
        # A sample varies in size; a part whose views have expired has far fewer.
        is_complete = facts.js_us.size >= (count if count <= most else most // 2)
        samples.append(replace(sample_of_times(facts, population=count), is_complete=is_complete))
    return samples


def _compare(base: ViewSample, head: ViewSample, known: tuple[KnownKinds, KnownKinds]) -> Comparison:
    is_whole = base.is_complete and head.is_complete
    return compare(base, head, measure=MEASURE, known=known if is_whole else None, by_page=True)


def _sum_side(slice_: Slice) -> dict[Dimension, dict[int, dict[PageKind, ClassSums]]]:
    """Returns the exact sums of a side by device class and by browser. One statement."""
    where, params = where_slice(slice_)
    devices: dict[int, dict[PageKind, ClassSums]] = {}
    browsers: dict[int, dict[PageKind, ClassSums]] = {}
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT g.page, c.device_class, c.navigation, c.browser, sum(c.views)::bigint,
                       sum(c.js_us + c.hidden_us)::bigint
                {FROM_CELLS} WHERE {where} AND c.views > 0 GROUP BY 1, 2, 3, 4""",
            params,
        )
        for page, device, navigation, browser, views, us in cursor:
            kind = (text_code(page), device, navigation)
            for part in (devices.setdefault(device, {}), browsers.setdefault(browser, {})):
                before = part.get(kind, NO_VIEWS)
                part[kind] = ClassSums(views + before.views, us + before.us)
    return {"device": devices, "browser": browsers}
