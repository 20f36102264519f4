"""One function in two releases: its change, and the other function that it may have become."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.db import connection

from aggregate.fold.hotspots import spots_of_funcs
from aggregate.selectors.code.refs import FuncRef, list_releases
from aggregate.selectors.code.symbols import load_symbols
from aggregate.selectors.functions.matches import FuncMatch, select_matches
from aggregate.selectors.functions.renames import OtherName
from aggregate.selectors.functions.table import FunctionRow
from aggregate.selectors.slice.slices import FROM_CELLS, Slice, where_slice
from aggregate.selectors.statistics.comparisons import compare_slices
from profcore.code.identity import identity_of
from profcore.stats.comparison import Comparison, Difference
from profcore.stats.views import Measure
from profcore.trace.funcs import FuncKey


@dataclass(frozen=True, slots=True, kw_only=True)
class FuncStep:
    """A function's change between two releases, as `compare` finds it among all functions.

    `difference` is None if no view looked at had such time, or if views are too few. `func` is the function in the
    head, or in the base if the head does not have it. An unmapped function has another id if its script's content hash
    changed. With `as_stored` the comparison is without display rules, because these make the function part of a row.
    """

    base: str
    head: str
    comparison: Comparison
    difference: Difference | None
    func: FunctionRow | None
    as_stored: bool


def select_step(slice_: Slice, func: FunctionRow, base: str, head: str, *, measure: Measure) -> FuncStep:
    """Returns a function's change from one release to another, in a slice without its own releases."""
    answer = compare_slices(of_release(slice_, base), of_release(slice_, head), measure=measure)
    for difference in answer.comparison.functions:
        row = answer.funcs[difference.func_id]
        if _is_same(row, func) or (row.renamed_from is not None and _is_same(row.renamed_from, func)):
            return FuncStep(
                base=base,
                head=head,
                comparison=answer.comparison,
                difference=difference,
                func=row,
                as_stored=slice_.as_stored,
            )
    if answer.display_rules and not answer.comparison.is_too_few:
        return select_step(replace(slice_, as_stored=True), func, base, head, measure=measure)
    return FuncStep(
        base=base, head=head, comparison=answer.comparison, difference=None, func=None, as_stored=slice_.as_stored
    )


def select_relatives(slice_: Slice, func: FunctionRow, base: str, head: str) -> Sequence[FuncMatch]:
    """Returns the matches that include a function: what it may have been in the base, or have become in the head."""
    matches = select_matches(of_release(slice_, base), of_release(slice_, head))
    return [match for match in matches if func.id in (match.gone.id, match.came.id)]


def select_kin(project_id: int, func: FunctionRow, ref: FuncRef, other_names: Sequence[OtherName] = ()) -> FuncRef:
    """Returns an unmapped function together with the funcs of other bundles that `compare` treats as the same.

    These have its name and position, and a URI that differs only by a content hash. A mapped function is returned with
    those of its other names (`select_other_names`). Two statements, and those of the labels if the project
    has source maps.
    """
    if func.mapped is not None:
        return _join(ref, other_names)
    if func.uri is None:
        return ref
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT id, uri, line, col, name FROM aggregate_func
               WHERE project_id = %s AND name = %s AND line IS NOT DISTINCT FROM %s AND col IS NOT DISTINCT FROM %s""",
            [project_id, func.name, func.line, func.column],
        )
        identity = identity_of(func.key)
        kin = [
            func_id
            for func_id, uri, line, column, name in cursor
            if identity_of(FuncKey(uri, line, column, name)) == identity
        ]
    funcs = tuple(sorted({*ref.funcs, *kin}))
    labels = load_symbols(project_id).labels
    if ref.pairs is None or labels is None:
        return FuncRef(ref.row_id, funcs)
    others = [
        (release, func_id) for release in list_releases(project_id) for func_id in kin if func_id not in ref.funcs
    ]
    labels.load(others)
    return FuncRef(ref.row_id, funcs, ref.pairs | {pair for pair in others if labels.of(*pair) is None})


def _join(ref: FuncRef, others: Sequence[OtherName]) -> FuncRef:
    """Returns a function with its funcs under other names."""
    if not others or ref.pairs is None:
        return ref
    refs = [ref, *(name.ref for name in others)]
    funcs = tuple(sorted({func for part in refs for func in part.funcs}))
    return FuncRef(ref.row_id, funcs, frozenset(pair for part in refs for pair in part.pairs or ()))


def select_homes(slice_: Slice, ref: FuncRef) -> dict[str, int]:
    """Returns the newest of a function's funcs that ran in each release of a slice's cells. One statement."""
    where, params = where_slice(slice_)
    spots = spots_of_funcs("%(funcs)s::int[]", project="%(project_id)s", cell="c.id")
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT g.release, max(h.func_id) {FROM_CELLS}
                CROSS JOIN LATERAL ({spots} OFFSET 0) AS h
                WHERE {where} GROUP BY 1""",
            {**params, "funcs": list(ref.funcs)},
        )
        return dict(cursor.fetchall())


def of_release(slice_: Slice, release: str) -> Slice:
    """Returns the slice in one release."""
    return replace(slice_, releases=(release,))


def _is_same(row: FunctionRow, func: FunctionRow) -> bool:
    if row.mapped is not None or func.mapped is not None:
        return row.id == func.id
    return identity_of(row.key) == identity_of(func.key)
