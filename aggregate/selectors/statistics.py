"""Statistics of a slice from its views' contributions: summaries of one slice, the comparison of two."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace

from django.db import connection

from aggregate.selectors.code import Code, RowId, select_code
from aggregate.selectors.functions import FunctionRow, label_rows, load_keys
from aggregate.selectors.groups import empty_group, name_group
from aggregate.selectors.samples import select_marker_sample, select_view_sample
from aggregate.selectors.shown_rows import id_of_part, make_part_row
from aggregate.selectors.slices import FROM_CELLS, Slice, where_slice
from profcore.funcs import FuncKey
from profcore.identity import identity_of, without_hash
from profcore.stats.comparison import Comparison, compare
from profcore.stats.summaries import FuncSummary, Summary, summarise
from profcore.stats.views import Measure, ViewSample, group_funcs, split_funcs
from profcore.weights import MARKERS


def select_summary(slice_: Slice, *, measure: Measure = "self") -> Summary:
    """Returns every func of a slice with its ms a view, share and percentiles, each with its uncertainty."""
    return summarise(select_view_sample(slice_), measure)


@dataclass(frozen=True, slots=True)
class MarkerTable:
    """What samples of a slice carried: exact µs by marker, and what a view with markers has of each."""

    us: Mapping[str, int]
    summary: Summary

    def estimate(self, marker: str) -> FuncSummary | None:
        """Returns a marker's estimates, None where it never came, or views are too few."""
        return next((each for each in self.summary.functions if MARKERS[each.func_id] == marker), None)


def select_markers(slice_: Slice) -> MarkerTable:
    """Returns the time of a slice by marker, over the views that came with any. Three statements.

    Browsers give markers to pages that are cross-origin isolated, or to none: their absence says nothing.
    """
    where, params = where_slice(slice_)
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT m.n, sum(m.us)::bigint {FROM_CELLS}
                CROSS JOIN LATERAL unnest(c.marker_us) WITH ORDINALITY AS m (us, n)
                WHERE {where} AND c.marker_us IS NOT NULL GROUP BY m.n ORDER BY m.n""",
            params,
        )
        sums = {MARKERS[number - 1]: us for number, us in cursor}
    return MarkerTable(sums, summarise(select_marker_sample(slice_)))


@dataclass(frozen=True, slots=True)
class SliceComparison:
    """The comparison of two slices; `funcs[d.func_id]` is the row of a difference `d`, without sums.

    A function's is that of the head release, or of the base where it went; of a group `id` and `name` are its name.
    """

    comparison: Comparison
    funcs: Sequence[FunctionRow]
    display_rules: int = 0


def compare_slices(
    base: Slice, head: Slice, *, measure: Measure = "self+hidden", group_by: str = "function"
) -> SliceComparison:
    """Compares two slices of one project by identity across releases (`profcore.identity`), or by group of funcs.

    `group_by` is `function` or one of `GROUPINGS`; files are told apart without the content hash in their names.
    Where the sides name device classes and have none in common, these are what is compared, and no stratum.
    Raises `NoTotalsError` for totals of groups.
    """
    code = select_code(base.project_id, as_stored=base.as_stored or group_by != "function")
    samples = [select_view_sample(slice_) for slice_ in (base, head)]
    split = [_split(sample, code) for sample in samples]
    keys = load_keys(base.project_id, sorted({func_id for _, pairs in split for _, func_id in pairs}))
    identify = _identify_func(keys, code) if group_by == "function" else _identify_group(group_by, code)
    index: dict[Hashable, int] = {}
    shown: list[FunctionRow] = []
    members: dict[int, list[FunctionRow]] = {}  # what display rules show as one, of both sides
    grouped = []
    for sample, pairs in reversed(split):  # the head's funcs are the ones to show
        parts = [
            FunctionRow(func, key.name, key.uri, key.line, key.column, 0, 0, 0, 0, 0, None, release=release)
            for release, func in pairs
            for key in [keys[func]]
        ]
        numbers = []
        for part in label_rows(code, parts):
            identity, row = identify(part, id_of_part(code, part))
            if identity not in index:
                index[identity] = len(shown)
                shown.append(row)
            number = index[identity]
            numbers.append(number)
            if shown[number].is_made:
                members.setdefault(number, []).append(part)
        grouped.append(group_funcs(sample, numbers, known_totals_alone=group_by == "function"))
    for number, several in members.items():
        shown[number] = make_part_row(code, several) or shown[number]
    by_device = not (base.devices and head.devices) or bool(set(base.devices) & set(head.devices))
    found = compare(grouped[1], grouped[0], measure=measure, by_device=by_device)
    return SliceComparison(found, shown, len(code.display))


def _split(sample: ViewSample, code: Code) -> tuple[ViewSample, list[tuple[str, int]]]:
    """Returns a sample with what may be two functions in two releases apart; without labels nothing may."""
    if code.labels is not None:
        return split_funcs(sample)
    return sample, [("", func_id) for func_id in sample.func_ids.tolist()]


Identify = Callable[[FunctionRow, RowId], tuple[Hashable, FunctionRow]]


def _identify_func(keys: Mapping[int, FuncKey], code: Code) -> Identify:
    def identify(part: FunctionRow, row_id: RowId) -> tuple[Hashable, FunctionRow]:
        """Returns what a func is known by, and how to show it: an unmapped one by what its row's own func is."""
        key = keys.get(row_id) if isinstance(row_id, int) else None
        made = make_part_row(code, [part])
        row = made or replace(part, id=row_id, release=None, shown=code.show(part.key, part.mapped))
        return identity_of(key) if key else row_id, row

    return identify


def _identify_group(by: str, code: Code) -> Identify:
    name_of = name_group(by, code)

    def identify(part: FunctionRow, _row_id: RowId) -> tuple[Hashable, FunctionRow]:
        name = name_of(part if part.uri is None else replace(part, uri=without_hash(part.uri)))
        return name, empty_group(name, by)

    return identify
