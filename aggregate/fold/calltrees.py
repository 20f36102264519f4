"""Call trees in the database: each fold appends a piece, and if a cell or day has many, its newest are merged.

Pieces grow geometrically from new to old. So a node is rewritten a logarithmic number of times, and the whole tree of a
heavy page is never rewritten for one trace.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.conf import settings
from django.db import connection

from aggregate.fold.locks import try_keys
from aggregate.fold.stripes import next_piece
from profcore.kernel import find_kernel
from profcore.sums.blobs import EncodedTree, decode_call_tree, encode_counted
from profcore.sums.calltree import CallTree, CallTreeBuilder, merge_call_trees
from profcore.sums.tree_sums import BlobSum

Key = tuple[Any, ...]  # the cell, or group and day, of a tree, as its table has it


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeTable:
    """A table of pieces: its name, and its statements: they return sizes of pieces, take pieces, and append some."""

    name: str
    sizes: str
    take: str
    append: str


CELL_TREES: Final = TreeTable(
    name="aggregate_calltreepiece",
    sizes="""
SELECT cell_id, id, node_count FROM aggregate_calltreepiece JOIN unnest(%b::int[]) AS k (cell_id) USING (cell_id)
WHERE project_id = %s ORDER BY cell_id, id
""",
    take="""
DELETE FROM aggregate_calltreepiece p USING unnest(%b::int[], %b::int[]) AS k (cell_id, id)
WHERE p.project_id = %s AND p.cell_id = k.cell_id AND p.id = k.id
RETURNING p.cell_id, p.id, p.blob
""",
    append="""
INSERT INTO aggregate_calltreepiece (project_id, cell_id, id, node_count, blob)
SELECT %s, * FROM unnest(%b::int[], %b::int[], %b::int[], %b::bytea[])
""",
)
DAY_TREES: Final = TreeTable(
    name="aggregate_daytreepiece",
    sizes="""
SELECT group_id, day_at, id, node_count
FROM aggregate_daytreepiece JOIN unnest(%b::int[], %b::timestamptz[]) AS k (group_id, day_at) USING (group_id, day_at)
WHERE project_id = %s ORDER BY group_id, day_at, id
""",
    take="""
DELETE FROM aggregate_daytreepiece p
USING unnest(%b::int[], %b::timestamptz[], %b::int[]) AS k (group_id, day_at, id)
WHERE p.project_id = %s AND p.group_id = k.group_id AND p.day_at = k.day_at AND p.id = k.id
RETURNING p.group_id, p.day_at, p.id, p.blob
""",
    append="""
INSERT INTO aggregate_daytreepiece (project_id, group_id, day_at, id, node_count, blob)
SELECT %s, * FROM unnest(%b::int[], %b::timestamptz[], %b::int[], %b::int[], %b::bytea[])
""",
)


class StoredTreeSum:
    """The sum of stored trees. Trees are summed up in batches of `TREE_BATCH_NODES` call nodes.

    `check_nodes` is called with the size of the sum after each batch; it may raise to end it.
    """

    def __init__(self, check_nodes: Callable[[int], object] = lambda _: None) -> None:
        self._check_nodes = check_nodes
        self._sum = BlobSum(find_kernel(settings.KERNEL).module)
        self._blobs: list[bytes] = []
        self._nodes = 0

    def add(self, blob: bytes, nodes: int) -> None:
        """Adds a tree by its number of nodes."""
        if self._nodes + nodes > settings.TREE_BATCH_NODES:
            self._add_waiting()
        self._blobs.append(blob)
        self._nodes += nodes

    def tree(self) -> CallTree:
        """Returns the sum."""
        self._add_waiting()
        return self._sum.tree()

    def _add_waiting(self) -> None:
        if self._blobs:
            self._sum.add(self._blobs)
            self._check_nodes(self._sum.size)
            self._blobs, self._nodes = [], 0


def append_call_trees(project_id: int, trees: Sequence[tuple[int, EncodedTree]], stripe: int | None = None) -> None:
    """Adds a tree to each cell's. `trees` is sorted by cell id; call under the groups' locks."""
    append_pieces(CELL_TREES, project_id, [((cell_id,), tree) for cell_id, tree in trees], stripe)


def append_pieces(
    table: TreeTable, project_id: int, trees: Sequence[tuple[Key, EncodedTree]], stripe: int | None = None
) -> None:
    """Adds trees to a table, each to the tree of its key. `trees` is sorted; call under the groups' locks.

    With a stripe, whose lock is held, others may append too. Then one of them merges a tree's pieces at a time.
    """
    trees = [(key, tree) for key, tree in trees if tree.nodes]
    if not trees:
        return
    pieces = _load_piece_sizes(table, project_id, [key for key, _ in trees])
    stale: list[Key] = []
    full = [key for key, _ in trees if len(pieces.get(key, ())) >= settings.CALLTREE_MAX_PIECES]
    merging: dict[Key, list[int]] = {}
    ours = pick_mergeable(project_id, table.name, full, stripe)
    for key, tree in trees:
        if key in ours:
            merging[key] = pick_newest(pieces[key], tree.nodes)
            stale.extend((*key, piece) for piece in merging[key])
    blobs = _take_pieces(table, project_id, stale)
    rows = []
    for key, tree in trees:
        merged = tree
        if key in merging:  # others may have merged some of them since they were looked at
            older = [decode_call_tree(blobs[*key, piece]) for piece in merging[key] if (*key, piece) in blobs]
            merged = encode_counted(merge_call_trees([*older, tree.tree()]))
        rows.append((*key, next_piece((piece for piece, _ in pieces.get(key, ())), stripe), *merged))
    with connection.cursor() as cursor:
        cursor.execute(table.append, [project_id, *(list(column) for column in zip(*rows, strict=True))])


def pick_mergeable(project_id: int, table: str, full: Sequence[Key], stripe: int | None) -> set[Key]:
    """Returns the keys with many pieces that the caller merges: all, or in a stripe those that no one merges now."""
    if stripe is None or not full:
        return set(full)
    return {key for key, is_ours in zip(full, try_keys(project_id, table, full), strict=True) if is_ours}


def pick_newest(pieces: Sequence[tuple[int, int]], new_nodes: int) -> list[int]:
    """Returns the ids of the pieces to merge with a new one of `new_nodes`: the newest ones that are not much larger.

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


def _load_piece_sizes(table: TreeTable, project_id: int, keys: Sequence[Key]) -> dict[Key, list[tuple[int, int]]]:
    sizes: dict[Key, list[tuple[int, int]]] = {}
    with connection.cursor() as cursor:
        cursor.execute(table.sizes, [*(list(column) for column in zip(*keys, strict=True)), project_id])
        for *key, piece, nodes in cursor:
            sizes.setdefault(tuple(key), []).append((piece, nodes))
    return sizes


def _take_pieces(table: TreeTable, project_id: int, keys: Sequence[Key]) -> dict[Key, bytes]:
    """Removes pieces and returns their blobs by key. Each key ends with the id of a piece."""
    if not keys:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(table.take, [*(list(column) for column in zip(*keys, strict=True)), project_id])
        return {tuple(key): bytes(blob) for *key, blob in cursor}


def take_call_trees(project_id: int, moves: Sequence[tuple[int, int]]) -> dict[int, CallTree]:
    """Removes all pieces of cells and returns them merged by target; `moves` are (cell, target). Under the locks."""
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
