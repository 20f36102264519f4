"""A slice's call tree over the functions that tables show, where funcs of several releases are one of them."""

from collections.abc import Sequence
from dataclasses import replace

from django.db import connection

from aggregate.selectors.code import Code, RowId
from aggregate.selectors.functions import FunctionRow, label_rows
from aggregate.selectors.reading import Reading
from aggregate.selectors.shown_rows import id_of_part, is_made_id, make_part_row
from aggregate.selectors.slices import Slice
from aggregate.selectors.whole import Whole, merge_slice
from profcore.calltree import CallTree, CallTreeBuilder
from profcore.display_rules import show_stacks


def select_rows(project_id: int, func_ids: Sequence[int]) -> list[FunctionRow]:
    """Returns the facts of funcs in ascending order of id, with no sums. One statement."""
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT f.id, f.name, f.uri, f.line, f.col, 0, 0, 0, 0, 0, 0 FROM aggregate_func f
               WHERE f.project_id = %s AND f.id = ANY(%s::int[]) ORDER BY f.id""",
            [project_id, list(func_ids)],
        )
        return [FunctionRow(*row) for row in cursor]


def merge_named(slice_: Slice, code: Code, reading: Reading | None = None) -> tuple[Whole, CallTree, list[FunctionRow]]:
    """Returns a slice's sums, its merged call tree, and the functions that its `func` indexes, without categories.

    Equal call paths of equal functions are one, functions that a display rule shows as one among them; and of what it
    folds, calls in a row are one node. Where a func is not one function in all releases of the slice, its tree is
    merged release by release; then `merge_slice` has been there twice.
    """
    whole = merge_slice(slice_, reading)
    func_ids = sorted(set(whole.tree.func))
    rows = select_rows(slice_.project_id, func_ids)
    if code.labels is None and code.display.sums_up:
        return whole, *_join([(whole.tree, rows)], code)
    if code.labels is None:
        index_of = {int(row.id): index for index, row in enumerate(rows)}
        tree = whole.tree
        columns = (tree.self_us, tree.self_samples, tree.hidden_us)
        return whole, CallTree(tree.prefix, [index_of[func] for func in tree.func], *columns), rows
    releases = sorted(whole.releases)
    parts = [replace(row, release=release) for release in releases for row in rows]
    named = label_rows(code, parts)
    of_release = [named[at * len(rows) : (at + 1) * len(rows)] for at in range(len(releases))]
    trees = [(whole.tree, of_release[0])] if of_release else []
    if any(len({id_of_part(code, part) for part in same}) > 1 for same in zip(*of_release, strict=True)):
        trees = [
            (merge_slice(replace(slice_, releases=(release,)), reading).tree, own)
            for release, own in zip(releases, of_release, strict=True)
        ]
    return whole, *_join(trees, code)


def _join(trees: Sequence[tuple[CallTree, Sequence[FunctionRow]]], code: Code) -> tuple[CallTree, list[FunctionRow]]:
    """Returns one tree over functions, of trees over funcs with the rows of these."""
    index: dict[RowId, int] = {}
    shown: list[FunctionRow] = []
    made: dict[int, list[FunctionRow]] = {}  # what display rules show as one, by number
    builder = CallTreeBuilder()
    for tree, parts in trees:
        used = set(tree.func)
        number_of = {}
        for part in parts:
            if part.id not in used:
                continue
            row_id = id_of_part(code, part)
            number = number_of[int(part.id)] = index.setdefault(row_id, len(shown))
            if is_made_id(row_id):
                made.setdefault(number, []).append(part)
            if number == len(shown):
                shown.append(replace(part, id=row_id, release=None))
            elif isinstance(part.id, int) and part.mapped is not None:  # the newest func is the one to show
                shown[number] = replace(part, id=row_id, release=None)
        builder.add_tree(tree, number_of)
    for number, parts in made.items():
        if (made_row := make_part_row(code, parts)) is not None:
            shown[number] = made_row
    return _fold_runs(builder.tree, shown), shown


def _fold_runs(tree: CallTree, rows: Sequence[FunctionRow]) -> CallTree:
    """Returns a tree in which calls in a row of one folded function are one node, with the sums of all of them."""
    is_folded = [row.shown is not None and row.shown.is_folded for row in rows]
    if not any(is_folded):
        return tree
    prefix, func, places = show_stacks(tree.prefix, tree.func, range(len(rows)), is_folded)
    sums = []
    for column in (tree.self_us, tree.self_samples, tree.hidden_us):
        own = [0] * len(func)
        for place, value in zip(places, column, strict=True):
            own[place] += value
        sums.append(own)
    return CallTree(prefix, func, *sums)
