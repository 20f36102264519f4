"""Call trees in the database: each fold appends a piece, and if a cell or day has many, its newest are merged.

Pieces grow geometrically from new to old. So a node is rewritten a logarithmic number of times, and the whole tree of a
heavy page is never rewritten for one trace.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.conf import settings
from django.db import connection

from aggregate.fold.lock_stripes import next_piece
from aggregate.fold.locks import try_keys
from profcore.sums.blobs import PackedTree, decode_call_tree, decode_call_trees, pack_call_tree
from profcore.sums.calltree import CallTree, CallTreeBuilder, merge_call_trees
from profcore.sums.tree_sums import CallTreeSum

Key = tuple[Any, ...]  # the cell, or group and day, of a tree, as its table has it


@dataclass(frozen=True, slots=True)
class TreeTable:
    """A table of pieces: its name, and the columns of a tree's key with their types."""

    name: str
    columns: tuple[tuple[str, str], ...]

    @property
    def key(self) -> str:
        """The columns of the key, for a statement."""
        return ", ".join(name for name, _ in self.columns)

    @property
    def arrays(self) -> str:
        """The parameters for an array of each column."""
        return ", ".join(f"%b::{kind}[]" for _, kind in self.columns)


CELL_TREES: Final = TreeTable("aggregate_calltreepiece", (("cell_id", "int"),))
DAY_TREES: Final = TreeTable("aggregate_daytreepiece", (("group_id", "int"), ("day_at", "timestamptz")))


class StoredTreeSum:
    """The sum of stored trees. Trees are summed up in batches of `TREE_BATCH_NODES` call nodes.

    `check_nodes` is called with the size of the sum after each batch; it may raise to end it.
    """

    def __init__(self, check_nodes: Callable[[int], object] = lambda _: None) -> None:
        self._check_nodes = check_nodes
        self._sum = CallTreeSum()
        self._blobs: list[bytes] = []
        self._nodes = 0

    def add(self, blob: bytes, nodes: int) -> None:
        """Adds a tree of so many nodes."""
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
            self._sum.add(decode_call_trees(self._blobs))
            self._check_nodes(self._sum.size)
            self._blobs, self._nodes = [], 0


def append_call_trees(project_id: int, trees: Sequence[tuple[int, PackedTree]], section: int | None = None) -> None:
    """Adds a tree to each cell's. `trees` is sorted by cell id; call under the groups' locks."""
    append_pieces(CELL_TREES, project_id, [((cell_id,), tree) for cell_id, tree in trees], section)


def append_pieces(
    table: TreeTable, project_id: int, trees: Sequence[tuple[Key, PackedTree]], section: int | None = None
) -> None:
    """Adds trees to a table, each to the tree of its key. `trees` is sorted; call under the groups' locks.

    With a section, whose lock is held, others may append too. Then one of them merges a tree's pieces at a time.
    """
    trees = [(key, tree) for key, tree in trees if tree.nodes]
    if not trees:
        return
    pieces = _load_piece_sizes(table, project_id, [key for key, _ in trees])
    stale: list[Key] = []
    full = [key for key, _ in trees if len(pieces.get(key, ())) >= settings.CALLTREE_MAX_PIECES]
    merging: dict[Key, list[int]] = {}
    ours = pick_mergeable(project_id, table.name, full, section)
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
            merged = pack_call_tree(merge_call_trees([*older, tree.tree()]))
        rows.append((*key, next_piece((piece for piece, _ in pieces.get(key, ())), section), *merged))
    with connection.cursor() as cursor:
        cursor.execute(
            f"""INSERT INTO {table.name} (project_id, {table.key}, id, node_count, blob)
                SELECT %s, * FROM unnest({table.arrays}, %b::int[], %b::int[], %b::bytea[])""",
            [project_id, *(list(column) for column in zip(*rows, strict=True))],
        )


def pick_mergeable(project_id: int, table: str, full: Sequence[Key], section: int | None) -> set[Key]:
    """Returns the keys with many pieces that the caller merges: all, or in a section those that nobody merges now."""
    if section is None or not full:
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
        cursor.execute(
            f"""SELECT {table.key}, id, node_count FROM {table.name} JOIN unnest({table.arrays}) AS k ({table.key})
                USING ({table.key}) WHERE project_id = %s ORDER BY {table.key}, id""",
            [*(list(column) for column in zip(*keys, strict=True)), project_id],
        )
        for *key, piece, nodes in cursor:
            sizes.setdefault(tuple(key), []).append((piece, nodes))
    return sizes


def _take_pieces(table: TreeTable, project_id: int, keys: Sequence[Key]) -> dict[Key, bytes]:
    """Removes pieces and returns their blobs by key. Each key ends with the id of a piece."""
    if not keys:
        return {}
    names = [*(name for name, _ in table.columns), "id"]
    with connection.cursor() as cursor:
        cursor.execute(
            f"""DELETE FROM {table.name} p USING unnest({table.arrays}, %b::int[]) AS k ({", ".join(names)})
                WHERE p.project_id = %s AND {" AND ".join(f"p.{name} = k.{name}" for name in names)}
                RETURNING {", ".join(f"p.{name}" for name in names)}, p.blob""",
            [*(list(column) for column in zip(*keys, strict=True)), project_id],
        )
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
