"""Call trees: the folded prefix tree of many traces, its merge, its totals and its text picture.

A tree is columnar; parents come before children, and a root's prefix is -1. Nothing here recurses: stacks may be
10,000 deep.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress
from operator import or_
from typing import Final


@dataclass(slots=True)
class CallTree:
    """Call nodes by column. `self_us` and `hidden_us` are µs; hidden time is never part of self."""

    prefix: list[int] = field(default_factory=list)
    func: list[int] = field(default_factory=list)
    self_us: list[int] = field(default_factory=list)
    self_samples: list[int] = field(default_factory=list)
    hidden_us: list[int] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.func)


class CallTreeBuilder:
    """Grows one tree from traces and other trees: equal paths meet in one node."""

    __slots__ = ("_children", "tree")

    def __init__(self) -> None:
        self.tree = CallTree()
        self._children: dict[tuple[int, int], int] = {}

    def node(self, prefix: int, func: int) -> int:
        """Returns the node of `func` called from node `prefix` (-1 for a root); creates it if it is new."""
        key = (prefix, func)
        node = self._children.get(key)
        if node is None:
            tree = self.tree
            node = len(tree.func)
            self._children[key] = node
            tree.prefix.append(prefix)
            tree.func.append(func)
            tree.self_us.append(0)
            tree.self_samples.append(0)
            tree.hidden_us.append(0)
        return node

    def add_stacks(
        self,
        prefix: Sequence[int],
        func: Sequence[int],
        self_us: Sequence[int],
        self_samples: Sequence[int],
        hidden_us: Sequence[int],
    ) -> None:
        """Adds a trace's stacks. A stack becomes a node if it or one of its callees has samples or hidden time."""
        used = list(map(or_, self_samples, hidden_us))  # above zero
        used.append(1)  # by stack; here and in `nodes` the last slot is for the prefix of roots, -1
        for stack in range(len(used) - 2, -1, -1):
            if used[stack]:
                used[prefix[stack]] = 1
        nodes = self._find_nodes(compress(enumerate(zip(prefix, func, strict=True)), used), len(prefix))
        all_us, all_samples, all_hidden = self.tree.self_us, self.tree.self_samples, self.tree.hidden_us
        for node, us, count in compress(zip(nodes, self_us, self_samples, strict=False), self_samples):
            all_us[node] += us
            all_samples[node] += count
        for node, us in compress(zip(nodes, hidden_us, strict=False), hidden_us):
            all_hidden[node] += us

    def add_tree(self, added: CallTree, func_of: Mapping[int, int] | Sequence[int] | None = None) -> list[int]:
        """Adds a tree and returns our node for each of its nodes; `func_of` maps its funcs to ours."""
        func = added.func if func_of is None else [func_of[index] for index in added.func]
        nodes = self._find_nodes(enumerate(zip(added.prefix, func, strict=True)), len(func))
        tree = self.tree
        for ours, theirs in (
            (tree.self_us, added.self_us),
            (tree.self_samples, added.self_samples),
            (tree.hidden_us, added.hidden_us),
        ):
            for node, value in compress(zip(nodes, theirs, strict=False), theirs):
                ours[node] += value
        nodes.pop()
        return nodes

    def _find_nodes(self, rows: Iterable[tuple[int, tuple[int, int]]], count: int) -> list[int]:
        """Returns the node of each stack and creates new ones. `rows` are (stack, (prefix, func)), callers first.

        This is tuned for speed: most of the cost of folding a heavy trace is here.
        """
        nodes = [-1] * (count + 1)  # the last slot is for the prefix of roots, -1
        tree, children = self.tree, self._children
        find, all_prefix, all_func = children.get, tree.prefix, tree.func
        known = size = len(all_func)
        for stack, (parent, index) in rows:
            above = nodes[parent]
            key = (above, index)
            node = find(key)
            if node is None:
                node = children[key] = size
                size += 1
                all_prefix.append(above)
                all_func.append(index)
            nodes[stack] = node
        fresh = [0] * (size - known)
        for column in (tree.self_us, tree.self_samples, tree.hidden_us):
            column.extend(fresh)
        return nodes


def merge_call_trees(trees: Iterable[CallTree]) -> CallTree:
    """Returns the sum of trees over the same funcs. Commutative and associative up to the order of nodes."""
    builder = CallTreeBuilder()
    for tree in trees:
        builder.add_tree(tree)
    return builder.tree


def total_us(tree: CallTree) -> list[int]:
    """Returns each node's total: its own self time and that of all its descendants."""
    totals = list(tree.self_us)
    for node in range(len(totals) - 1, -1, -1):
        prefix = tree.prefix[node]
        if prefix >= 0:
            totals[prefix] += totals[node]
    return totals


def find_topmost(prefix: Sequence[int], func: Sequence[int], func_count: int) -> list[bool]:
    """Tells for each node whether none of its callers has the same func. There a total counts once per sample."""
    if func_count <= MASK_FUNCS:
        return _topmost_by_masks(prefix, func)
    return _topmost_by_walk(prefix, func)


# Big-integer bit masks beat a depth-first walk on recorded traces (80 funcs), but take nodes × funcs / 8 bytes:
# at this bound 200,000 stacks, the most a trace may hold, take 27 MB.
MASK_FUNCS: Final = 1_024


def _topmost_by_masks(prefix: Sequence[int], func: Sequence[int]) -> list[bool]:
    bits = [1 << place for place in range(max(func, default=-1) + 1)]
    masks = [0] * (len(prefix) + 1)  # by node; the last slot is for the prefix of roots, -1
    topmost: list[bool] = []
    for node, parent in enumerate(prefix):
        above = masks[parent]
        masks[node] = both = above | bits[func[node]]
        topmost.append(both != above)
    return topmost


def _topmost_by_walk(prefix: Sequence[int], func: Sequence[int]) -> list[bool]:
    count = len(func)
    first_child, sibling, roots = [-1] * count, [-1] * count, []
    for node in range(count - 1, -1, -1):
        parent = prefix[node]
        if parent >= 0:
            sibling[node] = first_child[parent]
            first_child[parent] = node
        else:
            roots.append(node)
    topmost = [False] * count
    on_path: dict[int, int] = {}
    pending = [(root, True) for root in roots]
    while pending:
        node, is_entry = pending.pop()
        key = func[node]
        if not is_entry:
            on_path[key] -= 1
            continue
        topmost[node] = not on_path.get(key)
        on_path[key] = on_path.get(key, 0) + 1
        pending.append((node, False))
        child = first_child[node]
        while child >= 0:
            pending.append((child, True))
            child = sibling[child]
    return topmost


def picture(tree: CallTree, names: Sequence[str] | Mapping[int, str]) -> str:
    """Returns the tree as text, one line per node (`- A (total: 3, self: 0)`), heaviest first, two spaces per level."""
    totals = total_us(tree)
    children: dict[int, list[int]] = {}
    for node, prefix in enumerate(tree.prefix):
        children.setdefault(prefix, []).append(node)
    lines: list[str] = []

    def ordered(nodes: Iterable[int]) -> list[int]:
        by_name = sorted(nodes, key=lambda node: names[tree.func[node]], reverse=True)
        return sorted(by_name, key=totals.__getitem__)  # popped from the end: heaviest first, then by name

    pending = [(node, 0) for node in ordered(children.get(-1, ()))]
    while pending:
        node, depth = pending.pop()
        lines.append(f"{'  ' * depth}- {names[tree.func[node]]} (total: {totals[node]}, self: {tree.self_us[node]})")
        pending.extend((child, depth + 1) for child in ordered(children.get(node, ())))
    return "\n".join(lines)


def mark_paths(prefix: Sequence[int], stacks: Iterable[int]) -> list[bool]:
    """Tells for each stack whether it is one of `stacks` or a caller of one. Values below 0 mean no stack."""
    used = [False] * len(prefix)
    for stack in stacks:
        if stack >= 0:
            used[stack] = True
    for stack in range(len(used) - 1, -1, -1):
        if used[stack] and prefix[stack] >= 0:
            used[prefix[stack]] = True
    return used
