"""The funcs of a slice summed up: what is one function across releases, or by file, package, origin and the like."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from django.conf import settings
from django.db import connection

from aggregate.selectors.code import Code, Pair, RowId, RowOf, select_code
from aggregate.selectors.contributions import iter_slice_views
from aggregate.selectors.fine import is_raw
from aggregate.selectors.functions import (
    FunctionRow,
    FunctionTable,
    describe_row,
    keep_rows,
    select_functions,
    select_parts,
    sort_rows,
)
from aggregate.selectors.reading import Reading
from aggregate.selectors.shown_rows import id_of_part, is_made_id, make_part_row, stored_id_of_part
from aggregate.selectors.slices import FROM_CELLS, Slice, where_slice
from aggregate.selectors.whole import merge_slice
from profcore.categories import NO_GROUP
from profcore.fold import sum_by_func
from profcore.sites import origin_of

ALL: Final = 2**31 - 1
GROUPINGS: Final = ("file", "package", "origin", "category", "party")


def name_group(by: str, code: Code) -> Callable[[FunctionRow], str]:
    """Returns what names the group of a func. `by` is one of `GROUPINGS`; what has no group is `(none)`."""
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
    return FunctionRow(name, name, uri, None, None, 0, 0, 0, 0, 0, None, name if is_category else None)


def select_groups(
    slice_: Slice,
    by: str = "function",
    *,
    sort: str = "self_ms",
    limit: int = ALL,
    categories: Sequence[str] = (),
    search: str = "",
    keep: Callable[[FunctionRow], bool] | None = None,
    reading: Reading | None = None,
) -> FunctionTable:
    """Returns a slice's sums and its rows: functions by their identity across releases, or groups of them.

    `by` is `function` or one of `GROUPINGS`. Self and hidden are sums over a row's funcs. Total counts once a sample
    however many of them are on its stack, so it is taken from the merged call tree where several may be. `views` is the
    number of views that ran any of them, from the views' contributions; None in slices of traces or tags, and where
    they are more than the reading may look at. Without source maps, functions are what `select_functions` gives, but
    for those that display rules show as one. Other groups are of the functions as they are stored. `categories` and
    `search` keep funcs before they are summed up: a row has those alone.
    """
    code = select_code(slice_.project_id, as_stored=slice_.as_stored or by != "function")
    if by == "function" and code.labels is None and not code.display.sums_up and keep is None:
        return select_functions(
            slice_, sort=sort, limit=limit, categories=categories, search=search, reading=reading, code=code
        )
    reading = reading or Reading.at_once()
    table = select_parts(slice_, code, reading=reading)
    parts = list(filter(keep, table.functions)) if keep else table.functions
    if categories or search:
        parts = keep_rows(code, [describe_row(code, part) for part in parts], categories, search)
    name_of = (lambda part: id_of_part(code, part)) if by == "function" else name_group(by, code)
    sums = _Sums(parts, [name_of(part) for part in parts])
    summed = [
        _sum_row(members, empty_group(str(row_id), by) if by != "function" else make_part_row(code, members), row_id)
        for row_id, members in sums.members.items()
    ]
    shared = None
    if by == "function":
        if sort == "self_ms":  # which sums alone decide: only what is shown need be counted
            first = {row.id for row in sort_rows([row for row, _ in summed], sort)[:limit]}
            summed = [each for each in summed if each[0].id in first]
        shared = sums.shared([row.id for row, _ in summed])
    counted = _count_once(slice_, sums, shared, table.views, reading)
    shown = sort_rows([counted.apply(row, members) for row, members in summed], sort)[:limit]
    if by == "function":
        shown = [describe_row(code, row) for row in shown]
        stored = len({stored_id_of_part(code, part) for part in parts}) if code.display else len(sums.members)
        table = replace(table, display_rules=len(code.display), stored_count=stored)
    return replace(table, function_count=len(sums.members), functions=shown, row_of=sums.row_of)


class _Sums:
    """Which funcs of which releases are summed up in which row."""

    def __init__(self, parts: Sequence[FunctionRow], names: Sequence[RowId]) -> None:
        self.members: dict[RowId, list[FunctionRow]] = {}
        pairs: dict[Pair, RowId] = {}
        for part, name in zip(parts, names, strict=True):
            self.members.setdefault(name, []).append(part)
            pairs[part.release or "", int(part.id)] = name
        self.row_of = RowOf.of_pairs(pairs)

    def shared(self, rows: Iterable[RowId]) -> dict[RowId, Collection[str]]:
        """Returns which of some rows have several funcs in one release, and those releases: totals may overlap.

        Of funcs that are the same in all releases the release is "".
        """
        found: dict[RowId, Collection[str]] = {}
        for row_id in rows:
            members = self.members[row_id]
            if len(members) > 1:
                releases = [member.release or "" for member in members]
                if several := {release for release in releases if releases.count(release) > 1}:
                    found[row_id] = several
        return found


Shared = Mapping[RowId, Collection[str]]  # rows with several funcs in one release, and those releases


@dataclass(frozen=True, slots=True)
class _Counted:
    """What is no sum over funcs, by row: totals (µs, samples) and views, each of some releases; None: of all.

    `views` is None where they are too many to look at.
    """

    totals_of: Shared | None
    totals: Mapping[RowId, tuple[int, int]]
    views_of: Shared | None
    views: Mapping[RowId, int] | None

    def apply(self, row: FunctionRow, members: Sequence[FunctionRow]) -> FunctionRow:
        """Returns the row of some funcs with its totals and views."""
        total_us, total_samples = self.totals.get(row.id, (0, 0))
        rest = _others(members, row.id, self.totals_of)
        views: int | None = sum(member.views or 0 for member in _others(members, row.id, self.views_of))
        if self.views_of is None or row.id in self.views_of:
            views = None if self.views is None else (views or 0) + self.views.get(row.id, 0)
        return replace(
            row,
            total_us=total_us + sum(member.total_us for member in rest),
            total_samples=total_samples + sum(member.total_samples for member in rest),
            views=views,
        )


def _others(members: Sequence[FunctionRow], row_id: RowId, counted: Shared | None) -> list[FunctionRow]:
    """Returns those of a row's funcs that are not counted but summed up."""
    if counted is None:
        return []
    releases = counted.get(row_id, ())
    return [member for member in members if (member.release or "") not in releases]


def _sum_row(
    members: Sequence[FunctionRow], group: FunctionRow | None, row_id: RowId
) -> tuple[FunctionRow, Sequence[FunctionRow]]:
    """Returns the row of some funcs and these. A function's facts are those of its newest func.

    Of funcs that an override made one, those go first that it was made of.
    """

    if group is None and len(members) == 1 and members[0].id == row_id and members[0].release is None:
        return members[0], members  # as most are, of thousands

    def rank(member: FunctionRow) -> tuple[bool, int, int, str]:
        own = member.mapped.identity if member.mapped else member.id
        return own == row_id, int(member.id), member.self_us, member.release or ""

    shown = group or max(members, key=rank)
    row = replace(
        shown,
        id=row_id,
        self_samples=sum(member.self_samples for member in members),
        self_us=sum(member.self_us for member in members),
        total_us=sum(member.total_us for member in members),
        hidden_us=sum(member.hidden_us for member in members),
        release=None,
    )
    return row, members


def _count_once(slice_: Slice, sums: _Sums, shared: Shared | None, views: int, reading: Reading) -> _Counted:
    """Counts samples and views once, however many funcs of a row they hold: of `shared` rows, or of all.

    Where no view ran two funcs of a shared row, as with a build for old browsers beside one for new ones, its total is
    a sum; else it comes from the call trees of those releases. While somebody waits for more than `COPIES_MAX_VIEWS`
    views, the total of copies is a sum even so, and views are not told, unless no cell has two of them. Functions that
    a display rule shows as one do call each other: their total is never a sum.
    """
    if shared is not None and not shared:
        return _Counted({}, {}, {}, {})
    if shared is not None and reading.max_views is not None and views > settings.COPIES_MAX_VIEWS:
        made = {row_id: several for row_id, several in shared.items() if is_made_id(row_id)}
        copies = {row_id: several for row_id, several in shared.items() if row_id not in made}
        if not slice_.is_fine and copies:
            copies = dict(_meeting_in_cells(slice_, sums, copies))
        return _Counted(made, _read_totals(slice_, sums, made, reading) if made else {}, copies | made, None)
    looked = _look_at_views(slice_, views, sums.row_of, shared, reading)
    overlapping = shared
    if shared is not None and looked is not None:
        overlapping = {row_id: several for row_id, several in shared.items() if row_id in looked.overlapping}
    totals = _read_totals(slice_, sums, overlapping, reading)
    return _Counted(overlapping, totals, shared, looked.views if looked else None)


def _read_totals(slice_: Slice, sums: _Sums, wanted: Shared | None, reading: Reading) -> dict[RowId, tuple[int, int]]:
    """Returns (µs, samples) of some rows in the releases wanted of them, or of all, from call trees."""
    totals: dict[RowId, tuple[int, int]] = {}
    for each, rows in _trees_to_read(slice_, sums, wanted):
        for row_id, (us, samples) in _total_by_row(each, sums.row_of, rows, reading).items():
            known = totals.get(row_id, (0, 0))
            totals[row_id] = known[0] + us, known[1] + samples
    return totals


def _trees_to_read(slice_: Slice, sums: _Sums, wanted: Shared | None) -> list[tuple[Slice, set[RowId] | None]]:
    """Returns the slices whose call trees tell totals, with the rows of which each does; None for all rows."""
    if wanted is not None and any("" in several for several in wanted.values()):
        return [(slice_, set(wanted))]
    if wanted is not None:
        names = sorted({release for several in wanted.values() for release in several})
        return [
            (replace(slice_, releases=(name,)), {row_id for row_id, several in wanted.items() if name in several})
            for name in names
        ]
    if sums.row_of.by_pair:  # one func is not of one row in all releases
        names = sorted({part.release or "" for members in sums.members.values() for part in members})
        return [(replace(slice_, releases=(name,)), None) for name in names]
    return [(slice_, None)]


def _total_by_row(
    slice_: Slice, row_of: RowOf, wanted: set[RowId] | None, reading: Reading
) -> dict[RowId, tuple[int, int]]:
    """Returns (µs, samples) of each row, or of those wanted, once a sample."""
    tree = merge_slice(slice_, reading).tree
    release = slice_.releases[0] if len(slice_.releases) == 1 else ""
    found = {func: row_of.of(release, func) for func in set(tree.func)}
    names = list(dict.fromkeys(row for row in found.values() if row is not None and (wanted is None or row in wanted)))
    index_of = {name: index for index, name in enumerate(names)}
    rest = len(names)  # funcs that are not listed: without time, of another category, or not wanted
    index_of_func = {func: rest if row is None else index_of.get(row, rest) for func, row in found.items()}
    group = [index_of_func[func] for func in tree.func]
    sums = sum_by_func(tree.prefix, group, tree.self_us, tree.self_samples, tree.hidden_us)
    return {name: (sums.total_us.get(index, 0), sums.total_samples.get(index, 0)) for name, index in index_of.items()}


def _meeting_in_cells(slice_: Slice, sums: _Sums, shared: Shared) -> Shared:
    """Returns the rows of which some cell has two funcs. One statement."""
    copies = [
        (str(row_id), member.release, int(member.id))
        for row_id, several in shared.items()
        for member in sums.members[row_id]
        if member.release in several
    ]
    where, params = where_slice(slice_)
    names = ("rows", "releases_of", "funcs_of")
    params |= {name: list(column) for name, column in zip(names, zip(*copies, strict=True), strict=True)}
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT DISTINCT m.row FROM (
                    SELECT w.row {FROM_CELLS}
                    JOIN unnest(%(rows)s::text[], %(releases_of)s::text[], %(funcs_of)s::int[])
                      AS w (row, release, func) ON w.release = g.release
                    JOIN aggregate_hotspot h ON h.project_id = c.project_id AND h.cell_id = c.id AND h.func_id = w.func
                    WHERE {where} GROUP BY c.id, w.row HAVING count(*) > 1) m""",
            params,
        )
        met = {row for (row,) in cursor}
    return {row_id: several for row_id, several in shared.items() if str(row_id) in met}


@dataclass(frozen=True, slots=True)
class _Looked:
    """How many views ran each row, and rows of which a view ran several funcs."""

    views: Mapping[RowId, int]
    overlapping: Collection[RowId]


def _look_at_views(slice_: Slice, views: int, row_of: RowOf, shared: Shared | None, reading: Reading) -> _Looked | None:
    if is_raw(slice_) or (reading.max_views is not None and views > reading.max_views):
        return None
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
    is_complete = shared is None or seen == views  # what has expired may have been of any row
    return _Looked(counts, overlapping) if is_complete else None
