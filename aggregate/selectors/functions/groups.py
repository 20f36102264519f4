"""The funcs of a slice summed up: by function across releases, or by file, package, origin and so on."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from django.conf import settings
from django.db import connection
from msgspec import structs

from aggregate.fold.hotspots import spots_of_funcs
from aggregate.selectors.code.rows import RowOf
from aggregate.selectors.code.symbols import Pair, RowId, Symbols, load_symbols
from aggregate.selectors.functions.display_rows import id_of_part, is_made_id, make_part_row, stored_id_of_part
from aggregate.selectors.functions.merged_slice import merge_slice
from aggregate.selectors.functions.table import (
    FunctionRow,
    FunctionTable,
    describe_row,
    keep_rows,
    select_functions,
    select_parts,
    sort_rows,
)
from aggregate.selectors.page_views.contributions import iter_slice_views
from aggregate.selectors.page_views.fine_sums import is_raw
from aggregate.selectors.slice.reading import Reading, SliceTooLarge
from aggregate.selectors.slice.slices import FROM_CELLS, Slice, where_slice
from profcore.code.categories import NO_GROUP
from profcore.code.sites import origin_of
from profcore.sums.fold import sum_by_func

ALL: Final = 2**31 - 1
Namer = Callable[[FunctionRow], str]
GROUPINGS: Final = ("file", "package", "origin", "category", "party")


def name_group(by: str, code: Symbols) -> Namer:
    """Returns the function that names the group of a func, `(none)` if it has none. `by` is one of `GROUPINGS`."""
    namers: Mapping[str, Callable[[FunctionRow], str | None]] = {
        "file": lambda row: row.mapped.original.source if row.mapped else row.uri,
        "package": lambda row: code.package_of(row.key, row.mapped),
        "origin": lambda row: origin_of(row.uri),
        "category": lambda row: row.category or code.categorize(row.key, row.mapped),
        "party": lambda row: code.party_of(row.key, row.mapped),
    }
    name = namers[by]
    return lambda row: name(row) or NO_GROUP


def empty_group(name: str, by: str) -> FunctionRow:
    """Returns the row of a group, without sums."""
    is_category = by == "category" and name != NO_GROUP
    uri = name if by == "file" and name != NO_GROUP else None
    return FunctionRow(id=name, name=name, uri=uri, category=name if is_category else None)


def select_function_table(
    slice_: Slice,
    *,
    sort: str = "self_ms",
    limit: int = ALL,
    categories: Sequence[str] = (),
    search: str = "",
    keep: Callable[[FunctionRow], bool] | None = None,
    reading: Reading | None = None,
    code: Symbols | None = None,
) -> FunctionTable:
    """Returns a slice's sums and its functions, by their identity across releases.

    Without source maps these are what `select_functions` gives, except those that display rules show as one.
    `categories`, `search` and `keep` choose funcs before they are summed up: a row has only those. About totals and
    views of a row see `_count_once`.
    """
    code = code or load_symbols(slice_.project_id, as_stored=slice_.as_stored)
    if code.labels is None and not code.display.sums_up and keep is None:
        return select_functions(
            slice_, sort=sort, limit=limit, categories=categories, search=search, reading=reading, code=code
        )
    reading = reading or Reading.at_once()
    table = select_parts(slice_, code, reading=reading)
    parts = _choose_parts(code, list(filter(keep, table.functions)) if keep else table.functions, categories, search)
    membership = _Membership(parts, [id_of_part(code, part) for part in parts])
    rows = [_sum_row(members, make_part_row(code, members), row_id) for row_id, members in membership.members.items()]
    if sort == "self_ms":  # sums decide this order, so only the rows to show need be counted
        first = {row.id for row in sort_rows([row for row, _ in rows], sort)[:limit]}
        rows = [pair for pair in rows if pair[0].id in first]
    counted = _count_once(slice_, membership, membership.shared([row.id for row, _ in rows]), table.views, reading)
    counted_rows = sort_rows([counted.apply(row, members) for row, members in rows], sort)[:limit]
    return replace(
        table,
        function_count=len(membership.members),
        functions=[describe_row(code, row) for row in counted_rows],
        row_of=membership.row_of,
        display_rules=len(code.display),
        stored_count=len({stored_id_of_part(code, part) for part in parts})
        if code.display
        else len(membership.members),
    )


def select_group_table(
    slice_: Slice,
    by: str,
    *,
    sort: str = "self_ms",
    limit: int = ALL,
    categories: Sequence[str] = (),
    search: str = "",
    reading: Reading | None = None,
    counts_once: bool = True,
) -> FunctionTable:
    """Returns a slice's sums and its groups of funcs, `by` one of `GROUPINGS`. Display rules do not apply to them.

    `categories` and `search` choose funcs before they are summed up: a group has only those, or all if its name has the
    text. `_count_once` (most of the time) makes totals and views; without `counts_once` they are sums over the funcs.
    """
    code = load_symbols(slice_.project_id, as_stored=True)
    reading = reading or Reading.at_once()
    table = select_parts(slice_, code, reading=reading)
    name_of = name_group(by, code)
    parts = _choose_parts(code, table.functions, categories, search, name_of)
    membership = _Membership(parts, [name_of(part) for part in parts])
    rows = [_sum_row(members, empty_group(str(name), by), name) for name, members in membership.members.items()]
    shared: Shared | None = None if counts_once else {}
    counted = _count_once(slice_, membership, shared, table.views, reading)
    counted_rows = sort_rows([counted.apply(row, members) for row, members in rows], sort)[:limit]
    return replace(table, function_count=len(membership.members), functions=counted_rows, row_of=membership.row_of)


def _choose_parts(
    code: Symbols, parts: Sequence[FunctionRow], categories: Sequence[str], search: str, name_of: Namer | None = None
) -> Sequence[FunctionRow]:
    if not categories and not search:
        return parts
    rows = keep_rows(code, [describe_row(code, part) for part in parts], categories, "")
    matching = keep_rows(code, rows, (), search)
    if name_of is None or not search:
        return matching
    kept, text = set(map(id, matching)), search.casefold()
    return [row for row in rows if id(row) in kept or text in name_of(row).casefold()]


class _Membership:
    """The funcs that are summed up in each row."""

    def __init__(self, parts: Sequence[FunctionRow], names: Sequence[RowId]) -> None:
        self.members: dict[RowId, list[FunctionRow]] = {}
        pairs: dict[Pair, RowId] = {}
        for part, name in zip(parts, names, strict=True):
            self.members.setdefault(name, []).append(part)
            pairs[part.release or "", int(part.id)] = name
        self.row_of = RowOf.of_pairs(pairs)

    def shared(self, rows: Iterable[RowId]) -> dict[RowId, Collection[str]]:
        """Returns the rows that have several funcs in one release, with those releases: there totals may overlap.

        For funcs that are the same in all releases, the release is "".
        """
        releases_of_row: dict[RowId, Collection[str]] = {}
        for row_id in rows:
            members = self.members[row_id]
            if len(members) > 1:
                releases = [member.release or "" for member in members]
                if several := {release for release in releases if releases.count(release) > 1}:
                    releases_of_row[row_id] = several
        return releases_of_row


Totals = tuple[int, int, int]  # µs, samples, and hidden µs
Shared = Mapping[RowId, Collection[str]]  # rows with several funcs in one release, and those releases


@dataclass(frozen=True, slots=True)
class _Counted:
    """Values that are no sum over a row's funcs: totals (µs, samples, hidden µs) and views, by row.

    `totals_of` and `views_of` say which releases they cover, None for all. The funcs of other releases are summed up.
    `views` is None if there are too many views to look at.
    """

    totals_of: Shared | None
    totals: Mapping[RowId, Totals]
    views_of: Shared | None
    views: Mapping[RowId, int] | None

    def apply(self, row: FunctionRow, members: Sequence[FunctionRow]) -> FunctionRow:
        """Returns the row of some funcs with its totals and views."""
        total_us, total_samples, hidden_us = self.totals.get(row.id, (0, 0, 0))
        rest = _others(members, row.id, self.totals_of)
        views: int | None = sum(member.views or 0 for member in _others(members, row.id, self.views_of))
        if self.views_of is None or row.id in self.views_of:
            views = None if self.views is None else (views or 0) + self.views.get(row.id, 0)
        return structs.replace(
            row,
            total_us=total_us + sum(member.total_us for member in rest),
            total_samples=total_samples + sum(member.total_samples for member in rest),
            hidden_total_us=hidden_us + sum(member.hidden_total_us for member in rest),
            views=views,
        )


def _others(members: Sequence[FunctionRow], row_id: RowId, counted: Shared | None) -> list[FunctionRow]:
    """Returns the funcs of a row whose values are summed up instead of counted."""
    if counted is None:
        return []
    releases = counted.get(row_id, ())
    return [member for member in members if (member.release or "") not in releases]


def _sum_row(
    members: Sequence[FunctionRow], group: FunctionRow | None, row_id: RowId
) -> tuple[FunctionRow, Sequence[FunctionRow]]:
    """Returns the row of some funcs, and the funcs. A function's facts are those of its newest func.

    If a rule merged several functions into one, the facts come from the function that the others were merged into.
    """

    if group is None and len(members) == 1 and members[0].id == row_id and members[0].release is None:
        return members[0], members  # most of the thousands of rows are such

    def rank(member: FunctionRow) -> tuple[bool, int, int, str]:
        row_of_member = member.mapped.identity if member.mapped else member.id
        return row_of_member == row_id, int(member.id), member.self_us, member.release or ""

    named_row = group or max(members, key=rank)
    row = structs.replace(
        named_row,
        id=row_id,
        self_samples=sum(member.self_samples for member in members),
        self_us=sum(member.self_us for member in members),
        total_us=sum(member.total_us for member in members),
        hidden_us=sum(member.hidden_us for member in members),
        uncertain_us=sum(member.uncertain_us for member in members),
        release=None,
    )
    return row, members


def _count_once(
    slice_: Slice, membership: _Membership, shared: Shared | None, views: int, reading: Reading
) -> _Counted:
    """Returns totals and views in which a sample or view counts once per row, for `shared` rows, or for all.

    If no view ran two funcs of a shared row, its total is a sum. That is so with a build for old browsers and one for
    new ones. Else the total comes from the call trees of those releases. A reading at once of more than
    `COPIES_MAX_VIEWS` views sums up the totals of copies all the same. It then leaves out the views of a row, unless no
    cell has two of its funcs. Functions that a display rule shows as one call each other: their total is never a sum.
    """
    if shared is not None and not shared:
        return _Counted({}, {}, {}, {})
    if shared is not None and reading.max_views is not None and views > settings.COPIES_MAX_VIEWS:
        made = {row_id: several for row_id, several in shared.items() if is_made_id(row_id)}
        copies = {row_id: several for row_id, several in shared.items() if row_id not in made}
        if not slice_.is_fine and copies:
            copies = dict(_meeting_in_cells(slice_, membership, copies))
        return _Counted(made, _read_totals(slice_, membership, made, reading) if made else {}, copies | made, None)
    looked = _count_views(slice_, views, membership.row_of, shared, reading)
    overlapping = shared
    if shared is not None and looked is not None:
        overlapping = {row_id: several for row_id, several in shared.items() if row_id in looked.overlapping}
    totals = _read_totals(slice_, membership, overlapping, reading)
    return _Counted(overlapping, totals, shared, looked.views if looked else None)


def _read_totals(
    slice_: Slice, membership: _Membership, wanted: Shared | None, reading: Reading
) -> dict[RowId, Totals]:
    """Returns the totals of wanted rows in their releases, or of all rows, from call trees."""
    totals: dict[RowId, Totals] = {}
    for slice_of_release, rows in _trees_to_read(slice_, membership, wanted):
        for row_id, (us, samples, hidden_us) in _total_by_row(
            slice_of_release, membership.row_of, rows, reading
        ).items():
            known = totals.get(row_id, (0, 0, 0))
            totals[row_id] = known[0] + us, known[1] + samples, known[2] + hidden_us
    return totals


def _trees_to_read(
    slice_: Slice, membership: _Membership, wanted: Shared | None
) -> list[tuple[Slice, set[RowId] | None]]:
    """Returns the slices whose call trees have the totals, each with its rows, None for all rows."""
    if wanted is not None and any("" in several for several in wanted.values()):
        return [(slice_, set(wanted))]
    if wanted is not None:
        names = sorted({release for several in wanted.values() for release in several})
        return [
            (replace(slice_, releases=(name,)), {row_id for row_id, several in wanted.items() if name in several})
            for name in names
        ]
    if membership.row_of.by_pair:  # one func is not of one row in all releases
        names = sorted({part.release or "" for members in membership.members.values() for part in members})
        return [(replace(slice_, releases=(name,)), None) for name in names]
    return [(slice_, None)]


def _total_by_row(slice_: Slice, row_of: RowOf, wanted: set[RowId] | None, reading: Reading) -> dict[RowId, Totals]:
    """Returns the totals of each row, or of those wanted. A sample counts once per row."""
    tree = merge_slice(slice_, reading).tree
    release = slice_.releases[0] if len(slice_.releases) == 1 else ""
    row_of_func = {func: row_of.of(release, func) for func in set(tree.func)}
    names = list(
        dict.fromkeys(row for row in row_of_func.values() if row is not None and (wanted is None or row in wanted))
    )
    index_of = {name: index for index, name in enumerate(names)}
    rest = len(names)  # funcs that are not listed: without time, of another category, or not wanted
    index_of_func = {func: rest if row is None else index_of.get(row, rest) for func, row in row_of_func.items()}
    group = [index_of_func[func] for func in tree.func]
    sums = sum_by_func(tree.prefix, group, tree.self_us, tree.self_samples, tree.hidden_us)
    columns = (sums.total_us, sums.total_samples, sums.hidden_total_us)
    return {
        name: (columns[0].get(index, 0), columns[1].get(index, 0), columns[2].get(index, 0))
        for name, index in index_of.items()
    }


def _meeting_in_cells(slice_: Slice, membership: _Membership, shared: Shared) -> Shared:
    """Returns the rows that have two of their funcs in one cell. One statement."""
    copies = [
        (str(row_id), member.release, int(member.id))
        for row_id, several in shared.items()
        for member in membership.members[row_id]
        if member.release in several
    ]
    where, params = where_slice(slice_)
    names = ("rows", "releases_of", "funcs_of")
    params |= {name: list(column) for name, column in zip(names, zip(*copies, strict=True), strict=True)}
    spots = spots_of_funcs("%(funcs_of)s::int[]", project="%(project_id)s", cell="c.id")
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT DISTINCT m.row FROM (
                    SELECT w.row {FROM_CELLS} CROSS JOIN LATERAL ({spots} OFFSET 0) AS h
                    JOIN unnest(%(rows)s::text[], %(releases_of)s::text[], %(funcs_of)s::int[])
                      AS w (row, release, func) ON w.release = g.release AND w.func = h.func_id
                    WHERE {where} GROUP BY c.id, w.row HAVING count(DISTINCT w.func) > 1) m""",
            params,
        )
        met = {row for (row,) in cursor}
    return {row_id: several for row_id, several in shared.items() if str(row_id) in met}


@dataclass(frozen=True, slots=True)
class _ViewCounts:
    """The number of views that ran each row, and the rows of which a view ran several funcs."""

    views: Mapping[RowId, int]
    overlapping: Collection[RowId]


def _count_views(
    slice_: Slice, views: int, row_of: RowOf, shared: Shared | None, reading: Reading
) -> _ViewCounts | None:
    if is_raw(slice_) or (reading.max_views is not None and views > reading.max_views):
        return None
    try:
        return _count_each(slice_, views, row_of, shared, reading)
    except SliceTooLarge:  # by the bytes of their contributions
        return None


def _count_each(
    slice_: Slice, views: int, row_of: RowOf, shared: Shared | None, reading: Reading
) -> _ViewCounts | None:
    counts: dict[RowId, int] = {}
    overlapping: set[RowId] = set()
    seen = 0
    for page in iter_slice_views(slice_, reading):
        seen += len(page)
        for view in page:
            ran: set[RowId] = set()
            for func_id in view.contribution.funcs_run():
                row_id = row_of.of(view.release, func_id)
                if row_id is None or (shared is not None and not {"", view.release} & set(shared.get(row_id, ()))):
                    continue
                if row_id in ran:
                    overlapping.add(row_id)
                ran.add(row_id)
            for row_id in ran:
                counts[row_id] = counts.get(row_id, 0) + 1
        reading.on_traces(sum(view.traces for view in page))
    is_complete = shared is None or seen == views  # an expired view may have run any row
    return _ViewCounts(counts, overlapping) if is_complete else None
