"""A slice's call tree over the functions that tables show, in which funcs of several releases may be one function."""

from collections.abc import Sequence
from dataclasses import replace

from django.db import connection
from msgspec import structs

from aggregate.selectors.code.symbols import RowId, Symbols
from aggregate.selectors.functions.display_rows import id_of_part, is_made_id, make_part_row
from aggregate.selectors.functions.merged_slice import MergedSlice, merge_slice
from aggregate.selectors.functions.table import FunctionRow, label_rows
from aggregate.selectors.page_views.raw_traces import NO_FUNC
from aggregate.selectors.slice.reading import Reading
from aggregate.selectors.slice.slices import Slice
from profcore.code.display_rules import show_stacks
from profcore.sums.calltree import CallTree, CallTreeBuilder
from profcore.trace.funcs import OTHER_FUNC


def select_rows(project_id: int, func_ids: Sequence[int]) -> list[FunctionRow]:
    """Returns funcs in ascending order of id, without sums. One statement.

    `NO_FUNC` stands for all that the fold had no room for, as "(other)" does in cells (`FOLD_MAX_NEW_FUNCS`).
    """
    unknown = [FunctionRow(id=NO_FUNC, name=OTHER_FUNC.name, views=0)] if NO_FUNC in func_ids else []
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT f.id, f.name, f.uri, f.line, f.col FROM aggregate_func f
               WHERE f.project_id = %s AND f.id = ANY(%s::int[]) ORDER BY f.id""",
            [project_id, list(func_ids)],
        )
        return unknown + [
            FunctionRow(id=func_id, name=name, uri=uri, line=line, column=column, views=0)
            for func_id, name, uri, line, column in cursor
        ]


def merge_named(
    slice_: Slice, code: Symbols, reading: Reading | None = None
) -> tuple[MergedSlice, CallTree, list[FunctionRow]]:
    """Returns a slice's sums, its merged call tree, and the functions that its `func` indexes, without categories.

    Equal call paths of equal functions are one path; functions that a display rule shows as one are equal. A run of
    calls that a rule folds is one node. If a func is different functions in different releases of the slice, the tree
    is merged release by release, and `merge_slice` reads the slice twice.
    """
    whole = merge_slice(slice_, reading)
    func_ids = sorted(set(whole.tree.func))
    rows = select_rows(slice_.project_id, func_ids)
    if code.labels is None and code.display.sums_up:
        return whole, *_join([(whole.tree, rows)], code)
    if code.labels is None:
        index_of = {int(row.id): index for index, row in enumerate(rows)}
        tree = whole.tree
        return whole, replace(tree, func=[index_of[func] for func in tree.func]), rows
    releases = sorted(whole.releases)
    parts = [structs.replace(row, release=release) for release in releases for row in rows]
    named = label_rows(code, parts)
    of_release = [named[at * len(rows) : (at + 1) * len(rows)] for at in range(len(releases))]
    trees = [(whole.tree, of_release[0])] if of_release else []
    if any(len({id_of_part(code, part) for part in same}) > 1 for same in zip(*of_release, strict=True)):
        trees = [
            (merge_slice(replace(slice_, releases=(release,)), reading).tree, rows_of_release)
            for release, rows_of_release in zip(releases, of_release, strict=True)
        ]
    return whole, *_join(trees, code)


def _join(trees: Sequence[tuple[CallTree, Sequence[FunctionRow]]], code: Symbols) -> tuple[CallTree, list[FunctionRow]]:
    """Returns one tree over functions, and these, from trees over funcs with the rows of the funcs."""
    index: dict[RowId, int] = {}
    rows: list[FunctionRow] = []
    made: dict[int, list[FunctionRow]] = {}  # what display rules show as one, by number
    builder = CallTreeBuilder()
    for tree, parts in trees:
        used = set(tree.func)
        number_of = {}
        for part in parts:
            if part.id not in used:
                continue
            row_id = id_of_part(code, part)
            number = number_of[int(part.id)] = index.setdefault(row_id, len(rows))
            if is_made_id(row_id):
                made.setdefault(number, []).append(part)
            if number == len(rows):
                rows.append(structs.replace(part, id=row_id, release=None))
            elif isinstance(part.id, int) and part.mapped is not None:  # the newest func is the one to show
                rows[number] = structs.replace(part, id=row_id, release=None)
        builder.add_tree(tree, number_of)
    for number, parts in made.items():
        if (made_row := make_part_row(code, parts)) is not None:
            rows[number] = made_row
    return _fold_runs(builder.tree, rows), rows


def _fold_runs(tree: CallTree, rows: Sequence[FunctionRow]) -> CallTree:
    """Returns a tree in which a run of calls of one folded function is one node, with the sums of all of them."""
    is_folded = [row.display is not None and row.display.is_folded for row in rows]
    if not any(is_folded):
        return tree
    prefix, func, places = show_stacks(tree.prefix, tree.func, range(len(rows)), is_folded)

    def add_up(column: Sequence[int]) -> list[int]:
        sums = [0] * len(func)
        for place, value in zip(places, column, strict=True):
            sums[place] += value
        return sums

    return CallTree(
        prefix=prefix,
        func=func,
        self_us=add_up(tree.self_us),
        self_samples=add_up(tree.self_samples),
        hidden_us=add_up(tree.hidden_us),
    )
