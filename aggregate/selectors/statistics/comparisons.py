"""Statistics of a slice from its views' contributions: summaries of one slice, the comparison of two."""

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final

from django.conf import settings
from django.db import connection

from aggregate.selectors.code.symbols import RowId, Symbols, load_symbols
from aggregate.selectors.functions.display_rows import id_of_part, make_part_row
from aggregate.selectors.functions.groups import empty_group, name_group
from aggregate.selectors.functions.hotspots import load_keys
from aggregate.selectors.functions.merged_slice import merge_slice
from aggregate.selectors.functions.renames import find_renames, list_candidates
from aggregate.selectors.functions.table import FunctionRow, label_rows
from aggregate.selectors.page_views.samples import select_marker_sample, select_view_sample
from aggregate.selectors.slice.reading import Reading, SliceTooLarge
from aggregate.selectors.slice.sides import may_share, may_share_devices, may_share_starts
from aggregate.selectors.slice.slices import FROM_CELLS, Slice, where_slice
from profcore.code.identity import identity_of, without_hash
from profcore.stats.comparison import Comparison, compare
from profcore.stats.culprits import find_callers
from profcore.stats.summaries import FuncSummary, Summary, summarise
from profcore.stats.views import Measure, ViewSample, group_funcs, split_funcs
from profcore.sums.calltree import CallTree
from profcore.trace.funcs import FuncKey
from profcore.trace.weights import MARKERS

STRATIFY_BY_TAG: Final = "tag:"


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
    return SliceComparison(comparison, sides.rows, len(code.display), page_names)


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberedSides:
    """The samples of base and head, the number of each of their funcs, and the row to show for each number.

    Funcs with one number are compared as one. `head_numbers` has the numbers of a stored func in the head.
    """

    samples: Sequence[ViewSample]
    numbers: Sequence[Sequence[int]]
    rows: Sequence[FunctionRow]
    head_numbers: Mapping[int, Collection[int]]


def number_funcs(
    project_id: int, samples: Sequence[ViewSample], code: Symbols, group_by: str = "function"
) -> NumberedSides:
    """Returns the samples of base and head with the number of each func's identity, or group. Up to four statements.

    With labels, views must have their releases.
    """
    split = [_split(sample, code) for sample in samples]
    keys = load_keys(project_id, sorted({func_id for _, pairs in split for _, func_id in pairs}))
    identify, show = _identify_func(keys, code) if group_by == "function" else _identify_group(group_by, code)
    index: dict[Hashable, int] = {}
    rows: list[FunctionRow] = []
    members: dict[int, list[FunctionRow]] = {}  # the funcs of both sides that display rules show as one
    number_of: dict[tuple[str, int], int] = {}
    head_numbers: dict[int, set[int]] = {}
    for _, pairs in reversed(split):  # the head's funcs are the ones to show
        fresh = [pair for pair in pairs if pair not in number_of]
        parts = [
            FunctionRow(
                id=func,
                name=key.name,
                uri=key.uri,
                line=key.line,
                column=key.column,
                release=release or None,
            )
            for release, func in fresh
            for key in [keys[func]]
        ]
        for pair, part in zip(fresh, label_rows(code, parts), strict=True):
            row_id = id_of_part(code, part)
            identity = identify(part, row_id)
            if identity not in index:
                index[identity] = len(rows)
                rows.append(show(part, row_id, identity))
            number_of[pair] = number = index[identity]
            if rows[number].is_made:
                members.setdefault(number, []).append(part)
    numbers_of_sides = [[number_of[pair] for pair in pairs] for _, pairs in split]
    for (_, func), number in zip(split[1][1], numbers_of_sides[1], strict=True):
        head_numbers.setdefault(func, set()).add(number)
    for number, several in members.items():
        rows[number] = make_part_row(code, several) or rows[number]
    numbers_of_sides[0] = _join_renamed(code, numbers_of_sides, rows)
    return NumberedSides(
        samples=[sample for sample, _ in split], numbers=numbers_of_sides, rows=rows, head_numbers=head_numbers
    )


def _join_renamed(code: Symbols, numbers: Sequence[Sequence[int]], rows: list[FunctionRow]) -> list[int]:
    """Returns the base's numbers, with those of the new functions in place of renamed ones, whose rows it completes."""
    base, head = map(set, numbers)
    number_of = {rows[number].id: number for number in base ^ head}
    gone, came = (
        list_candidates(rows[number] for number in numbers_of_side) for numbers_of_side in (base - head, head - base)
    )
    new_of = {number_of[old]: number_of[new] for old, new in find_renames(code, gone, came).items()}
    for old, new in new_of.items():
        rows[new] = replace(rows[new], renamed_from=rows[old])
    return [new_of.get(number, number) for number in numbers[0]]


class HeadTree:
    """Finds callers in the call tree of a head, which is read once, when it is first asked for."""

    def __init__(self, head: Slice, sides: NumberedSides) -> None:
        self._head = head
        self._numbers = sides.head_numbers

    def find_callers(self, hidden: Collection[int], seen: Collection[int]) -> Collection[int] | None:
        """Returns those of the hidden increases below which a seen one lies in the tree (`find_callers`).

        It is None if the tree is larger than one answer may read.
        """
        tree = self._tree
        if tree is None:
            return None
        return find_callers(tree.prefix, tree.func, tree.self_us, self._numbers, hidden=hidden, seen=seen)

    @cached_property
    def _tree(self) -> CallTree | None:
        try:
            return merge_slice(self._head, replace(Reading.at_once(), max_nodes=settings.JOB_MAX_NODES)).tree
        except SliceTooLarge:
            return None


def _split(sample: ViewSample, code: Symbols) -> tuple[ViewSample, list[tuple[str, int]]]:
    """Returns a sample, and the (release, func) of each of its funcs.

    With labels, a func may be two functions in two releases, so releases are separate. Without labels it cannot be.
    """
    if code.labels is not None:
        return split_funcs(sample)
    return sample, [("", func_id) for func_id in sample.func_ids.tolist()]


Identify = Callable[[FunctionRow, RowId], Hashable]  # the identity of a func that is summed up in a row
Show = Callable[[FunctionRow, RowId, Hashable], FunctionRow]  # how to show the first func with an identity


def _identify_func(keys: Mapping[int, FuncKey], code: Symbols) -> tuple[Identify, Show]:
    def identify(_part: FunctionRow, row_id: RowId) -> Hashable:
        """Returns the identity of a func. An unmapped one has the identity of its row's func."""
        key = keys.get(row_id) if isinstance(row_id, int) else None
        return identity_of(key) if key else row_id

    def show(part: FunctionRow, row_id: RowId, _identity: Hashable) -> FunctionRow:
        made = make_part_row(code, [part])
        display = code.show(part.key, part.mapped)
        is_shown = (part.id, part.release, part.display) == (row_id, None, display)  # most are: a copy takes longer
        return made or (part if is_shown else replace(part, id=row_id, release=None, display=display))

    return identify, show


def _identify_group(by: str, code: Symbols) -> tuple[Identify, Show]:
    name_of = name_group(by, code)

    def identify(part: FunctionRow, _row_id: RowId) -> Hashable:
        return name_of(part if part.uri is None else replace(part, uri=without_hash(part.uri)))

    return identify, lambda _part, _row_id, identity: empty_group(str(identity), by)
