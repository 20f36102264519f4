"""One function from one release to the next: whether it changed, and which other function it may have become."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.db import connection

from aggregate.selectors.code import select_code
from aggregate.selectors.functions import FunctionRow
from aggregate.selectors.matches import FuncMatch, select_matches
from aggregate.selectors.refs import FuncRef, list_releases
from aggregate.selectors.slices import FROM_CELLS, Slice, where_slice
from aggregate.selectors.statistics import compare_slices
from profcore.funcs import FuncKey
from profcore.identity import identity_of
from profcore.stats.comparison import Comparison, Difference
from profcore.stats.views import Measure


@dataclass(frozen=True, slots=True)
class FuncStep:
    """A function's change between two releases, as `compare` tells it among all functions.

    `difference` is None where no view looked at had such time, or views are too few. `func` is what it is in the head,
    or in the base where it went; of an unmapped one another id, if its script's content hash changed. With `as_stored`
    the comparison is one without display rules: by these the function is a part of another row.
    """

    base: str
    head: str
    comparison: Comparison
    difference: Difference | None
    func: FunctionRow | None
    as_stored: bool


def select_step(slice_: Slice, func: FunctionRow, base: str, head: str, *, measure: Measure) -> FuncStep:
    """Returns a function's change from one release to another, over the rest of a slice."""
    answer = compare_slices(of_release(slice_, base), of_release(slice_, head), measure=measure)
    for difference in answer.comparison.functions:
        row = answer.funcs[difference.func_id]
        if _is_same(row, func):
            return FuncStep(base, head, answer.comparison, difference, row, slice_.as_stored)
    if answer.display_rules and not answer.comparison.is_too_few:
        return select_step(replace(slice_, as_stored=True), func, base, head, measure=measure)
    return FuncStep(base, head, answer.comparison, None, None, slice_.as_stored)


def select_relatives(slice_: Slice, func: FunctionRow, base: str, head: str) -> Sequence[FuncMatch]:
    """Returns the matches that a function has part in: what it may have been before the head, or become in it."""
    matches = select_matches(of_release(slice_, base), of_release(slice_, head))
    return [match for match in matches if func.id in (match.gone.id, match.came.id)]


def select_kin(project_id: int, func: FunctionRow, ref: FuncRef) -> FuncRef:
    """Returns an unmapped function together with those that `compare` takes for it: of other bundles, with its name and
    position, under a URI that is the same but for its content hash. A mapped one is returned as it is.

    Two statements, and those of the labels where source maps are in.
    """
    if func.mapped is not None or func.uri is None:
        return ref
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT id, uri, line, col, name FROM aggregate_func
               WHERE project_id = %s AND name = %s AND line IS NOT DISTINCT FROM %s AND col IS NOT DISTINCT FROM %s""",
            [project_id, func.name, func.line, func.column],
        )
        kin = [func_id for func_id, *key in cursor if identity_of(FuncKey(*key)) == identity_of(func.key)]
    funcs = tuple(sorted({*ref.funcs, *kin}))
    labels = select_code(project_id).labels
    if ref.pairs is None or labels is None:
        return FuncRef(ref.row_id, funcs)
    others = [(release, each) for release in list_releases(project_id) for each in kin if each not in ref.funcs]
    labels.load(others)
    return FuncRef(ref.row_id, funcs, ref.pairs | {pair for pair in others if labels.of(*pair) is None})


def select_homes(slice_: Slice, ref: FuncRef) -> dict[str, int]:
    """Returns which of a function's funcs ran in each release of a slice's cells, of several the newest. One
    statement.
    """
    where, params = where_slice(slice_)
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT g.release, max(h.func_id) {FROM_CELLS}
                CROSS JOIN LATERAL (SELECT h.func_id FROM aggregate_hotspot h
                                    WHERE h.project_id = c.project_id AND h.cell_id = c.id
                                      AND h.func_id = ANY(%(funcs)s::int[]) OFFSET 0) AS h
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
