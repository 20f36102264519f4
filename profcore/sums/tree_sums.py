"""Sums many call trees column by column, for slices of thousands of cells.

`CallTreeBuilder` handles one node at a time, which suits a trace. Here all nodes of the same depth are looked up
together, in a hash table of (caller, func). The sums are the same; only the order of nodes differs.
"""

from collections.abc import Sequence
from types import ModuleType
from typing import Final

import numpy as np
import numpy.typing as npt

from profcore.sums.blobs import TreeColumns, decode_call_trees
from profcore.sums.calltree import CallTree

IntColumn = npt.NDArray[np.int64]

FUNC_BITS: Final = 31  # of a key; the other 32 are for the caller
FREE: Final = -1
FIRST_SLOTS: Final = 1 << 10
# Fibonacci hashing: 2⁶⁴ / φ spreads keys that follow each other over the whole table.
SPREAD: Final = np.uint64(0x9E37_79B9_7F4A_7C15)
SUMS: Final = 3  # self µs, self samples, hidden µs
# Rows of one depth. Looking up fewer by column takes 70 µs all the same, one by one about 1 µs each.
NARROW: Final = 64
FEW_NARROW: Final = 100  # depths, which take 7 ms by column
NODES_A_LEVEL: Final = 500  # of the sum so far: a dictionary of this many takes as long as one depth by column


class BlobSum:
    """Adds up stored call trees over the same funcs: by the compiled kernel if there is one, else by its twin."""

    __slots__ = ("_kernel_sum", "_sum", "size")

    def __init__(self, kernel: ModuleType | None) -> None:
        self.size = 0
        self._kernel_sum = None if kernel is None else kernel.TreeSum()
        self._sum = CallTreeSum()

    def add(self, blobs: Sequence[bytes]) -> None:
        """Adds trees. Raises `BlobError`, and `ValueError` as `CallTreeSum.add` does."""
        nodes = None if self._kernel_sum is None else self._kernel_sum.add(blobs)
        if nodes is None:
            self._sum.add(decode_call_trees(blobs))
            nodes = self.size  # at least, if the kernel has added some
        self.size = max(nodes, self._sum.size)

    def tree(self) -> CallTree:
        """Returns the sum, callers before callees. The order of nodes depends on the order of additions."""
        if self._kernel_sum is not None:
            columns = TreeColumns(*(np.frombuffer(column, dtype="<i8") for column in self._kernel_sum.columns()))
            if not self._sum.size:
                return CallTree(*(column.tolist() for column in columns))
            self._sum.add(columns)
            self._kernel_sum = None
        return self._sum.tree()


class CallTreeSum:
    """Adds up call trees over the same funcs (0 to 2³¹ - 1): equal paths meet in one node.

    Takes about 90 bytes per node of the sum, and 100 per node that is added at once.
    """

    __slots__ = ("_index", "_key", "_sums", "size")

    def __init__(self) -> None:
        self.size = 0
        self._index = _KeyTable()
        self._key = np.zeros(0, dtype=np.int64)
        self._sums = np.zeros((SUMS, 0), dtype=np.int64)

    def add(self, trees: TreeColumns) -> None:
        """Adds trees. Raises `ValueError` if a func is below 0 or above 31 bits."""
        if not trees.func.size:
            return
        if int(trees.func.min()) < 0 or int(trees.func.max()) >> FUNC_BITS:
            raise ValueError("a func of more than 31 bits")
        nodes = self._find_nodes(trees.prefix, trees.func)
        for column, theirs in zip(self._sums, (trees.self_us, trees.self_samples, trees.hidden_us), strict=True):
            used = np.flatnonzero(theirs)
            np.add.at(column, nodes[used], theirs[used])

    def tree(self) -> CallTree:
        """Returns the sum, callers before callees. The order of nodes depends on the order of additions."""
        key = self._key[: self.size]
        columns = ((key >> FUNC_BITS) - 1, key & (1 << FUNC_BITS) - 1, *self._sums[:, : self.size])
        return CallTree(*(column.tolist() for column in columns))

    def _find_nodes(self, prefix: IntColumn, func: IntColumn) -> IntColumn:
        """Returns the node of each row, and creates new ones."""
        depth = sum_over_callers(prefix, (prefix >= 0).astype(np.int64))
        counts = np.bincount(depth)
        # NumPy sorts small integers by radix, several times as fast.
        order = np.argsort(depth.astype(np.int16) if counts.size <= 1 << 15 else depth, kind="stable")
        prefix, func = prefix[order], func[order]
        nodes = np.full(prefix.size + 1, -1, dtype=np.int64)  # the last slot is for the prefix of roots, -1
        lookup = _RowLookup(self._key[: self.size]) if self._is_deep(counts) else None
        start = 0
        for end in np.cumsum(counts).tolist():
            rows = order[start:end]
            if lookup is not None and end - start < NARROW:
                nodes[rows] = lookup.find(nodes.take(prefix[start:end]).tolist(), func[start:end].tolist())
            else:
                if lookup is not None:
                    self._append(lookup.take_new())
                keys = nodes.take(prefix[start:end])
                keys += 1
                keys <<= FUNC_BITS
                keys |= func[start:end]
                known = self._index.find(keys)
                missing = np.flatnonzero(known < 0)
                if missing.size:
                    known[missing] = self._add_nodes(keys[missing])
                    if lookup is not None:
                        lookup.learn(keys[missing], known[missing])
                nodes[rows] = known
            start = end
        if lookup is not None:
            self._append(lookup.take_new())
        return nodes[:-1]

    def _is_deep(self, counts: IntColumn) -> bool:
        """Returns whether many depths have few rows, so that rows are better looked up one by one there.

        A recursion of 10,000 calls took 0.7 s by column.
        """
        narrow = int((counts < NARROW).sum())
        return narrow > FEW_NARROW and narrow * NODES_A_LEVEL > self.size

    def _add_nodes(self, keys: IntColumn) -> IntColumn:
        """Creates the missing nodes, and returns the node of each key."""
        new, place = np.unique(keys, return_inverse=True)
        return self._append(new)[place]

    def _append(self, new: IntColumn) -> IntColumn:
        """Creates nodes of distinct new keys, and returns them."""
        made = np.arange(self.size, self.size + new.size)
        self.size += new.size
        if self.size > self._key.size:
            more = max(self.size, 2 * self._key.size) - self._key.size
            self._key = np.concatenate([self._key, np.zeros(more, dtype=np.int64)])
            self._sums = np.concatenate([self._sums, np.zeros((SUMS, more), dtype=np.int64)], axis=1)
        self._key[made] = new
        self._index.add(new, made)
        return made


class _RowLookup:
    """Finds nodes row by row, in a dictionary of all nodes of a sum. New ones wait until they are taken."""

    __slots__ = ("_new", "_node_of")

    def __init__(self, keys: IntColumn) -> None:
        self._node_of = {key: node for node, key in enumerate(keys.tolist())}
        self._new: list[int] = []

    def find(self, callers: list[int], funcs: list[int]) -> list[int]:
        """Returns the node of each row by the node of its caller, and its func."""
        node_of, nodes = self._node_of, []
        for caller, func in zip(callers, funcs, strict=True):
            key = (caller + 1 << FUNC_BITS) | func
            node = node_of.get(key)
            if node is None:
                node = node_of[key] = len(node_of)
                self._new.append(key)
            nodes.append(node)
        return nodes

    def learn(self, keys: IntColumn, nodes: IntColumn) -> None:
        """Takes in nodes that were created by column."""
        self._node_of.update(zip(keys.tolist(), nodes.tolist(), strict=True))

    def take_new(self) -> IntColumn:
        """Returns the keys of the nodes found since, in the order of their numbers."""
        new, self._new = self._new, []
        return np.array(new, dtype=np.int64)


class _KeyTable:
    """A hash table from keys (≥ 0) to numbers (≥ 0), by open addressing, for whole columns of keys at once."""

    __slots__ = ("_count", "_key", "_number", "_shift")

    def __init__(self) -> None:
        self._count = 0
        self._make_slots(FIRST_SLOTS)

    def _make_slots(self, slots: int) -> None:
        """Creates an empty table with this number of slots, a power of 2."""
        self._key = np.full(slots, FREE, dtype=np.int64)
        self._number = np.zeros(slots, dtype=np.int64)
        self._shift = np.uint64(64 - slots.bit_length() + 1)

    def find(self, keys: IntColumn) -> IntColumn:
        """Returns the number of each key, or -1."""
        slot = self._first_slots(keys)
        seen, numbers = self._key.take(slot), self._number.take(slot)
        rest = np.flatnonzero(seen != keys)
        numbers[rest] = -1
        rest = rest[seen[rest] != FREE]
        while rest.size:
            slot[rest] = at = slot[rest] + 1 & self._key.size - 1
            seen = self._key[at]
            is_it = seen == keys[rest]
            numbers[rest[is_it]] = self._number[at[is_it]]
            rest = rest[~is_it & (seen != FREE)]
        return numbers

    def add(self, keys: IntColumn, numbers: IntColumn) -> None:
        """Adds distinct new keys."""
        self._count += keys.size
        if 2 * self._count > self._key.size:  # lookups in a fuller table take long
            is_used = self._key != FREE
            keys, numbers = np.append(self._key[is_used], keys), np.append(self._number[is_used], numbers)
            self._make_slots(1 << (2 * self._count).bit_length())
        slot = self._first_slots(keys)
        rest = np.arange(keys.size)
        while rest.size:
            at = slot[rest]
            free = rest[self._key[at] == FREE]
            self._key[slot[free]] = keys[free]  # if several keys want one slot, the last gets it
            has_it = self._key[at] == keys[rest]
            self._number[at[has_it]] = numbers[rest[has_it]]
            rest = rest[~has_it]
            slot[rest] = slot[rest] + 1 & self._key.size - 1

    def _first_slots(self, keys: IntColumn) -> IntColumn:
        return (keys.view(np.uint64) * SPREAD >> self._shift).view(np.int64)


def sum_over_callers(prefix: IntColumn, values: IntColumn) -> IntColumn:
    """Returns for each row the sum of its value and those of its callers. Callers come first; a root's caller is -1.

    Each step doubles the distance to the callers: ten steps for 1,000 callers.
    """
    above = np.append(prefix, -1)
    above[above < 0] = prefix.size  # its value is 0, and its caller is itself
    sums = np.append(values, 0)
    while bool((above < prefix.size).any()):
        sums += sums.take(above)
        above = above.take(above)
    return sums[:-1]
