"""Call trees in the database: each fold appends a piece; when a cell has many, its newest are merged.

Pieces grow geometrically from new to old, so that a node is rewritten a logarithmic number of times, and the whole
tree of a heavy page is never rewritten for one trace.
"""

from collections.abc import Sequence

from django.conf import settings
from django.db import connection

from profcore.blobs import decode_call_tree, encode_call_tree
from profcore.calltree import CallTree, CallTreeBuilder, merge_call_trees


def append_call_trees(project_id: int, trees: Sequence[tuple[int, CallTree]]) -> None:
    """Adds a tree to each cell's. `trees` is sorted by cell id; call under the groups' locks."""
    trees = [(cell_id, tree) for cell_id, tree in trees if len(tree)]
    if not trees:
        return
    pieces = _load_piece_sizes(project_id, [cell_id for cell_id, _ in trees])
    stale: list[tuple[int, int]] = []
    merging: dict[int, list[int]] = {}
    for cell_id, tree in trees:
        known = pieces.get(cell_id, [])
        if len(known) + 1 > settings.CALLTREE_MAX_PIECES:
            merging[cell_id] = pick_newest(known, len(tree))
            stale.extend((cell_id, piece) for piece in merging[cell_id])
    blobs = _take_pieces(project_id, stale)
    rows = []
    for cell_id, tree in trees:
        merged = tree
        if cell_id in merging:
            older = [decode_call_tree(blobs[cell_id, piece]) for piece in merging[cell_id]]
            merged = merge_call_trees([*older, tree])
        next_id = max((piece for piece, _ in pieces.get(cell_id, [])), default=0) + 1
        rows.append((cell_id, next_id, len(merged), encode_call_tree(merged)))
    with connection.cursor() as cursor:
        cursor.execute(
            """INSERT INTO aggregate_calltreepiece (project_id, cell_id, id, node_count, blob)
               SELECT %s, * FROM unnest(%b::int[], %b::int[], %b::int[], %b::bytea[])""",
            [project_id, *(list(column) for column in zip(*rows, strict=True))],
        )


def pick_newest(pieces: Sequence[tuple[int, int]], new_nodes: int) -> list[int]:
    """Returns the ids of the pieces to merge with a new one of `new_nodes`: the newest, while not much larger.

    `pieces` are (id, node count) in ascending order of id; at least one is picked.
    """
    picked: list[int] = []
    total = new_nodes
    for piece, nodes in reversed(pieces):
        if picked and nodes > 2 * total:
            break
        picked.append(piece)
        total += nodes
    return picked[::-1]


def _load_piece_sizes(project_id: int, cell_ids: Sequence[int]) -> dict[int, list[tuple[int, int]]]:
    sizes: dict[int, list[tuple[int, int]]] = {}
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT cell_id, id, node_count FROM aggregate_calltreepiece
               WHERE project_id = %s AND cell_id = ANY(%b::int[]) ORDER BY cell_id, id""",
            [project_id, list(cell_ids)],
        )
        for cell_id, piece, nodes in cursor:
            sizes.setdefault(cell_id, []).append((piece, nodes))
    return sizes


def _take_pieces(project_id: int, keys: Sequence[tuple[int, int]]) -> dict[tuple[int, int], bytes]:
    if not keys:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(
            """DELETE FROM aggregate_calltreepiece p USING unnest(%b::int[], %b::int[]) AS k (cell_id, id)
               WHERE p.project_id = %s AND p.cell_id = k.cell_id AND p.id = k.id RETURNING p.cell_id, p.id, p.blob""",
            [[cell_id for cell_id, _ in keys], [piece for _, piece in keys], project_id],
        )
        return {(cell_id, piece): bytes(blob) for cell_id, piece, blob in cursor}


def take_call_trees(project_id: int, moves: Sequence[tuple[int, int]]) -> dict[int, CallTree]:
    """Removes all pieces of cells; returns them merged by the cell each `(cell, target)` names. Under the locks."""
    target_of = dict(moves)
    with connection.cursor() as cursor:
        cursor.execute(
            """DELETE FROM aggregate_calltreepiece WHERE project_id = %s AND cell_id = ANY(%b::int[])
               RETURNING cell_id, blob""",
            [project_id, sorted(target_of)],
        )
        builders: dict[int, CallTreeBuilder] = {}
        for cell_id, blob in cursor:
            builders.setdefault(target_of[cell_id], CallTreeBuilder()).add_tree(decode_call_tree(bytes(blob)))
    return {cell_id: builder.tree for cell_id, builder in builders.items()}
