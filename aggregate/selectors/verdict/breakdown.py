"""Two sides compared by each dimension that splits a change: whether a change is everywhere, or only on weak phones."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from django.conf import settings
from django.db import connection

from aggregate.selectors.page_views.view_times import Stratum, select_view_times
from aggregate.selectors.slice.slices import FROM_CELLS, Slice, where_slice
from aggregate.selectors.verdict.page_changes import VERDICT_MEASURE
from aggregate.sql import dimension_columns
from profcore.stats.comparison import Comparison, compare
from profcore.stats.standardised import ClassSums
from profcore.stats.strata import KnownKinds, PageKind, device_code, start_code, text_code
from profcore.stats.verdict.judgement import Change, judge_parts
from profcore.stats.views import ViewSample, sample_of_times
from profcore.trace.dimensions import CACHE, DEVICE, DIMENSIONS, NAVIGATION, SDK, Dimension

SPLITTING: Final = tuple(dimension for dimension in DIMENSIONS if dimension.splits_change)
# At most this number of parts of each, those with the most views: more are a handful of views each.
MAX_PARTS: Final = 8

NO_VIEWS: Final = ClassSums(0, 0)
Sums = Mapping[int, Mapping[PageKind, ClassSums]]  # of a side, by the code of a dimension


@dataclass(frozen=True, slots=True)
class PartChange:
    """The change of one value of a dimension."""

    value: str
    change: Change


@dataclass(frozen=True, slots=True)
class Breakdown:
    """The changes by the name of each dimension, slower ones first. A dimension with a single value has no changes.

    The q of all dimensions together are one family.
    """

    parts: Mapping[str, Sequence[PartChange]]


def select_breakdown(base: Slice, head: Slice, *, bound: float) -> Breakdown:
    """Returns two sides of one project by dimension. Two statements, and up to two more for each dimension.

    `bound` is the q below which a change is clear: that of the verdict on both sides. Within a value, strata are those
    of the verdict.
    """
    sums = [_sum_side(side) for side in (base, head)]
    comparisons: dict[tuple[str, str], Comparison] = {}
    for dimension in SPLITTING:
        sides = [side[dimension.name] for side in sums]
        parts = _pick_parts(sides)
        if len(parts) < 2:
            continue
        samples = [
            _read(side, dimension, parts, side_sums) for side, side_sums in zip((base, head), sides, strict=True)
        ]
        for number, code in enumerate(parts):
            known: tuple[KnownKinds, KnownKinds] = (sides[0].get(code, {}), sides[1].get(code, {}))
            comparisons[dimension.name, dimension.values[code]] = _compare(
                samples[0][number], samples[1][number], known
            )
    parts_of: dict[str, list[PartChange]] = {dimension.name: [] for dimension in SPLITTING}
    for (name, value), change in judge_parts(comparisons, bound=bound):
        parts_of[name].append(PartChange(value, change))
    return Breakdown(parts_of)


def _pick_parts(sides: Sequence[Sums]) -> list[int]:
    """Returns the codes of both sides, those with the most views first."""
    views = {
        code: sum(class_sums.views for side in sides for class_sums in side.get(code, {}).values())
        for code in {code for side in sides for code in side}
    }
    return sorted(views, key=lambda code: (-views[code], code))[:MAX_PARTS]


def _read(slice_: Slice, dimension: Dimension, parts: Sequence[int], sums: Sums) -> list[ViewSample]:
    """Returns a uniform sample of the views of each part, complete up to `CHANGE_MAX_VIEWS`. One statement."""
    most = settings.CHANGE_MAX_VIEWS
    counts = [sum(class_sums.views for class_sums in sums.get(code, {}).values()) for code in parts]
    strata = [Stratum(views=count, code=code) for count, code in zip(counts, parts, strict=True)]
    times = select_view_times(slice_, strata, most=most, dimension=dimension)
    samples = []
    for number, count in enumerate(counts):
        view_facts = times.facts(number)
        # A sample varies in size; a part whose views have expired has far fewer.
        is_complete = view_facts.js_us.size >= (count if count <= most else most // 2)
        samples.append(replace(sample_of_times(view_facts, population=count), is_complete=is_complete))
    return samples


def _compare(base: ViewSample, head: ViewSample, known: tuple[KnownKinds, KnownKinds]) -> Comparison:
    is_whole = base.is_complete and head.is_complete
    return compare(base, head, measure=VERDICT_MEASURE, known=known if is_whole else None, by_page=True)


def _sum_side(slice_: Slice) -> dict[str, dict[int, dict[PageKind, ClassSums]]]:
    """Returns the exact sums of a side by dimension and code. One statement."""
    where, params = where_slice(slice_)
    sums: dict[str, dict[int, dict[PageKind, ClassSums]]] = {dimension.name: {} for dimension in SPLITTING}
    columns = dimension_columns("c")
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT g.page, sum(c.views)::bigint, sum(c.js_us + c.hidden_us)::bigint, {columns}
                {FROM_CELLS} WHERE {where} AND c.views > 0 GROUP BY g.page, {columns}""",
            params,
        )
        for page, views, us, *row in cursor:
            codes = dict(zip(DIMENSIONS, row, strict=True))
            device = device_code(codes[DEVICE], codes[SDK])
            kind = (text_code(page), device, start_code(codes[NAVIGATION], codes[CACHE]))
            for dimension in SPLITTING:
                part = sums[dimension.name].setdefault(codes[dimension], {})
                before = part.get(kind, NO_VIEWS)
                part[kind] = ClassSums(views + before.views, us + before.us)
    return sums
