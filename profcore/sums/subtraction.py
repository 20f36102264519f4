"""Subtracts one call tree from another, and removes the nodes that become empty."""

from profcore.sums.calltree import CallTree, mark_paths


class NotContained(ValueError):
    """The tree to subtract was never merged into the other."""


def subtract_call_tree(whole: CallTree, part: CallTree) -> CallTree:
    """Returns `whole` without `part`, empty branches pruned: the inverse of merging, up to the order of nodes.

    Raises `NotContained` if a node is missing or has less than `part` has.
    """
    node_of = {(prefix, func): node for node, (prefix, func) in enumerate(zip(whole.prefix, whole.func, strict=True))}
    left = [list(whole.self_us), list(whole.self_samples), list(whole.hidden_us)]
    taken = [part.self_us, part.self_samples, part.hidden_us]
    nodes: list[int] = []
    for index, prefix in enumerate(part.prefix):
        node = node_of.get((nodes[prefix] if prefix >= 0 else -1, part.func[index]))
        if node is None:
            raise NotContained("a call node is missing")
        nodes.append(node)
        for column, amounts in zip(left, taken, strict=True):
            column[node] -= amounts[index]
            if column[node] < 0:
                raise NotContained("a call node has less than is subtracted")
    return _prune(whole, *left)


def _prune(tree: CallTree, self_us: list[int], self_samples: list[int], hidden_us: list[int]) -> CallTree:
    rows = enumerate(zip(self_us, self_samples, hidden_us, strict=True))
    used = mark_paths(tree.prefix, (node for node, sums in rows if any(sums)))
    pruned = CallTree()
    new_of = [-1] * len(used)
    for node, is_used in enumerate(used):
        if not is_used:
            continue
        new_of[node] = len(pruned)
        prefix = tree.prefix[node]
        pruned.prefix.append(new_of[prefix] if prefix >= 0 else -1)
        pruned.func.append(tree.func[node])
        pruned.self_us.append(self_us[node])
        pruned.self_samples.append(self_samples[node])
        pruned.hidden_us.append(hidden_us[node])
    return pruned
