"""Statistics of a slice from its views' contributions: summaries of one slice, the comparison of two."""

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Final

from django.conf import settings
from django.db import connection
from msgspec import structs

from aggregate.selectors.code.symbols import Pair, RowId, Symbols, load_symbols
from aggregate.selectors.functions.display_rows import make_part_row
from aggregate.selectors.functions.groups import empty_group, name_group
from aggregate.selectors.functions.hotspots import load_keys
from aggregate.selectors.functions.merged_slice import merge_slice
from aggregate.selectors.functions.renames import find_renames, list_candidates
from aggregate.selectors.functions.table import FunctionRow
from aggregate.selectors.page_views.samples import select_marker_sample, select_view_sample
from aggregate.selectors.slice.reading import SliceTooLarge
from aggregate.selectors.slice.sides import may_share, may_share_devices, may_share_starts
from aggregate.selectors.slice.slices import FROM_CELLS, Slice, where_slice
from profcore.code.identity import identity_of, without_hash
from profcore.stats.comparison import Comparison, compare
from profcore.stats.culprits import find_callers
from profcore.stats.joining import join_rare
from profcore.stats.summaries import FuncSummary, Summary, summarise
from profcore.stats.views import Measure, ViewSample, group_funcs, split_funcs
from profcore.sums.calltree import CallTree
from profcore.trace.funcs import OTHER_FUNC, FuncKey
from profcore.trace.weights import MARKERS

STRATIFY_BY_TAG: Final = "tag:"
RARE: Final = 0  # stands for funcs without a row of their own; ids begin at 1


def select_summary(slice_: Slice, *, measure: Measure = "self") -> Summary:
    """Returns every func of a slice with its ms per view, share and percentiles, each with its uncertainty."""
    return summarise(select_view_sample(slice_), measure)


@dataclass(frozen=True, slots=True)
class MarkerTable:
    """The markers of a slice's samples: exact µs by marker, and estimates per view with markers."""

    us: Mapping[str, int]
    summary: Summary

    def estimate(self, marker: str) -> FuncSummary | None:
        """Returns a marker's estimates, None if the slice has no such marker or too few views."""
        return next((summary for summary in self.summary.functions if MARKERS[summary.func_id] == marker), None)


def select_markers(slice_: Slice) -> MarkerTable:
    """Returns the time of a slice by marker, over the views that have any. Three statements.

    Some browsers give markers only to cross-origin isolated pages, others to no page: a missing marker says nothing.
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

    A function's row is that of the head, or of the base if the head does not have it. A group has its name as `id`.
    The head's row of a function that was only renamed has the base's one as `renamed_from`.
    """

    comparison: Comparison
    funcs: Sequence[FunctionRow]
    display_rules: int = 0
    page_names: Mapping[int, str] = field(default_factory=dict)


def compare_slices(
    base: Slice, head: Slice, *, measure: Measure = "self+hidden", group_by: str = "function", stratify: str = ""
) -> SliceComparison:
    """Returns the comparison of two slices of one project, by identity across releases or by group of funcs.

    `group_by` is `function` (see `profcore.code.identity`) or one of `GROUPINGS`. Files are the same if their names
    differ only by a content hash. If the sides name device classes and have none in common, device classes are what is
    compared, and are no strata; so it is with SDKs, navigations, caches and pages. `stratify` is "" or `tag:` and the
    beginning of a tag, whose values are strata too. Raises `NoTotalsError` for totals of groups, and `SliceError` if
    tags have expired.
    """
    code = load_symbols(base.project_id, as_stored=base.as_stored or group_by != "function")
    tag = stratify.removeprefix(STRATIFY_BY_TAG)
    samples = [select_view_sample(slice_, tag=tag) for slice_ in (base, head)]
    sides = number_funcs(base.project_id, samples, code, group_by)
    grouped_base, grouped_head = (
        group_funcs(sample, numbers, known_totals_alone=group_by == "function")
        for sample, numbers in zip(sides.samples, sides.numbers, strict=True)
    )
    comparison = compare(
        grouped_base,
        grouped_head,
        measure=measure,
        by_device=may_share_devices(base, head),
        by_navigation=may_share_starts(base, head),
        by_page=may_share(base.pages, head.pages),
        by_tag=bool(tag),
        find_callers=HeadTree(head, sides).find_callers,
    )
    page_names = {code: name for sample in samples for code, name in sample.columns.page_names.items()}
    rows = [sides.find_row(number) for number in range(sides.count)]
    return SliceComparison(comparison, rows, len(code.display), page_names)


@dataclass(frozen=True, kw_only=True)
class NumberedSides:
    """The samples of base and head, the number of each of their funcs, and how many numbers there are.

    Funcs with one number are compared as one. `find_row` returns the row to show for a number; `head_funcs` are the
    stored funcs of the head's numbers.
    """

    samples: Sequence[ViewSample]
    numbers: Sequence[Sequence[int]]
    count: int
    find_row: Callable[[int], FunctionRow]
    head_funcs: Sequence[int]

    @cached_property
    def head_numbers(self) -> Mapping[int, Collection[int]]:
        """The numbers of each stored func of the head."""
        numbers: dict[int, set[int]] = {}
        for func, number in zip(self.head_funcs, self.numbers[1], strict=True):
            numbers.setdefault(func, set()).add(number)
        return numbers


def number_funcs(
    project_id: int, samples: Sequence[ViewSample], code: Symbols, group_by: str = "function"
) -> NumberedSides:
    """Returns the samples of base and head with the number of each func's identity, or group. Up to four statements.

    With labels, views must have their releases. Beyond `COMPARE_MAX_FUNCS`, those with the least time are "(other)".
    """
    samples = join_rare(samples, most=settings.COMPARE_MAX_FUNCS, rest=RARE)
    split = [_split(sample, code) for sample in samples]
    distinct = dict.fromkeys(pair for _, pairs in reversed(split) for pair in pairs)  # the head's are the ones to show
    keys = load_keys(project_id, sorted({func_id for _, func_id in distinct} - {RARE})) | {RARE: OTHER_FUNC}
    if code.labels is not None:
        code.labels.load(pair for pair in distinct if pair[0])
    identify, show = _identify_func(keys, code) if group_by == "function" else _identify_group(group_by, keys, code)
    index: dict[Hashable, int] = {}
    members: list[list[Pair]] = []
    number_of: dict[Pair, int] = {}
    for pair in distinct:
        number_of[pair] = number = index.setdefault(identify(pair), len(members))
        if number == len(members):
            members.append([])
        members[number].append(pair)
    base, head = ([number_of[pair] for pair in pairs] for _, pairs in split)
    renamed = _find_renamed(code, base, head, lambda number: show(members[number]))
    new_of = {old: new for new, old in renamed.items()}

    @cache
    def find_row(number: int) -> FunctionRow:
        row = show(members[number])
        return structs.replace(row, renamed_from=show(members[renamed[number]])) if number in renamed else row

    return NumberedSides(
        samples=[sample for sample, _ in split],
        numbers=[[new_of.get(number, number) for number in base], head],
        count=len(members),
        find_row=find_row,
        head_funcs=[func_id for _, func_id in split[1][1]],
    )


def _find_renamed(
    code: Symbols, base: Sequence[int], head: Sequence[int], find_row: Callable[[int], FunctionRow]
) -> Mapping[int, int]:
    """Returns the functions of the base that were only renamed, by the numbers of the new ones in the head."""
    if code.labels is None:
        return {}
    of_base, of_head = set(base), set(head)
    rows = {number: find_row(number) for number in of_base ^ of_head}
    number_of = {row.id: number for number, row in rows.items()}
    gone, came = (
        list_candidates(rows[number] for number in numbers) for numbers in (of_base - of_head, of_head - of_base)
    )
    return {number_of[new]: number_of[old] for old, new in find_renames(code, gone, came).items()}


class HeadTree:
    """Finds callers in the call tree of a head, which is read once, when it is first asked for."""

    def __init__(self, head: Slice, sides: NumberedSides) -> None:
        self._head = head
        self._sides = sides

    def find_callers(self, hidden: Collection[int], seen: Collection[int]) -> Collection[int] | None:
        """Returns those of the hidden increases below which a seen one lies in the tree (`find_callers`).

        It is None if the tree is larger than one answer may read.
        """
        tree = self._tree
        if tree is None:
            return None
        return find_callers(tree.prefix, tree.func, tree.self_us, self._sides.head_numbers, hidden=hidden, seen=seen)

    @cached_property
    def _tree(self) -> CallTree | None:
        try:
            return merge_slice(self._head).tree
        except SliceTooLarge:
            return None


def _split(sample: ViewSample, code: Symbols) -> tuple[ViewSample, list[Pair]]:
    """Returns a sample, and the (release, func) of each of its funcs.

    With labels, a func may be two functions in two releases, so releases are separate. Without labels it cannot be.
    """
    if code.labels is not None:
        return split_funcs(sample)
    return sample, [("", func_id) for func_id in sample.func_ids.tolist()]


Identify = Callable[[Pair], Hashable]  # the identity of a func in a release
Show = Callable[[Sequence[Pair]], FunctionRow]  # how to show the funcs with an identity, the first of which counts


def _identify_func(keys: Mapping[int, FuncKey], code: Symbols) -> tuple[Identify, Show]:
    def find_id(pair: Pair) -> RowId:
        """Returns the id of the row that a func belongs to, as `id_of_part` does, without a row of its own."""
        release, func_id = pair
        display = code.show(keys[func_id], code.label(release or None, func_id)) if code.display.rules else None
        if display is not None and display.row_id is not None:
            return display.row_id
        return func_id if code.labels is None or not release else code.labels.id_of(release, func_id)

    def identify(pair: Pair) -> Hashable:
        """Returns the identity of a func. An unmapped one has the identity of its row's func."""
        row_id = find_id(pair)
        key = keys.get(row_id) if isinstance(row_id, int) else None
        return identity_of(key) if key else row_id

    def show(members: Sequence[Pair]) -> FunctionRow:
        part = _make_part(members[0], keys, code)
        row_id, display = find_id(members[0]), code.show(part.key, part.mapped)
        if display is not None and display.row_id is not None:
            return make_part_row(code, [_make_part(pair, keys, code) for pair in members]) or part
        return structs.replace(part, id=row_id, release=None, display=display)

    return identify, show


def _identify_group(by: str, keys: Mapping[int, FuncKey], code: Symbols) -> tuple[Identify, Show]:
    name_of = name_group(by, code)

    def identify(pair: Pair) -> Hashable:
        part = _make_part(pair, keys, code)
        return name_of(part if part.uri is None else structs.replace(part, uri=without_hash(part.uri)))

    return identify, lambda members: empty_group(str(identify(members[0])), by)


def _make_part(pair: Pair, keys: Mapping[int, FuncKey], code: Symbols) -> FunctionRow:
    """Returns the row of a func in a release by itself."""
    release, func_id = pair[0] or None, pair[1]
    key = keys[func_id]
    return FunctionRow(
        id=func_id,
        name=key.name,
        uri=key.uri,
        line=key.line,
        column=key.column,
        mapped=code.label(release, func_id),
        release=release,
    )
