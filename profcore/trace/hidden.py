"""Attributes hidden time: which call node was most likely running while the browser gave no stack.

The rule: a run of hidden samples belongs to the deepest common prefix of the stacks just before and just after it
within the same long task. If only one side has a stack, the run belongs to that stack's root-most func. If neither has
one, or the two have different roots, it belongs to nobody. Both stacks were on the main thread in one uninterrupted
task, so their common part stayed on the stack in between, unless it returned and was called again.
"""

from bisect import bisect_left
from collections.abc import Sequence
from typing import Final, NamedTuple

NO_STACK: Final = -1
FEW_RUNS: Final = 64  # so many walks through stacks of 10,000 funcs take 0.1 s
STEPS_PER_STACK: Final = 8  # walks of so many steps for each stack take about as long as indexing the stacks


class HiddenRun(NamedTuple):
    """Consecutive hidden samples of one long task: their µs, and the stacks before and after them, -1 for none."""

    us: int
    before: int
    after: int


class HiddenTime(NamedTuple):
    """The hidden samples of a trace's long tasks: their µs and count, and their runs."""

    us: int
    samples: int
    runs: list[HiddenRun]


def find_hidden(
    times: Sequence[int], weights: Sequence[int], stacks: Sequence[int], busy: Sequence[tuple[int, int]]
) -> HiddenTime:
    """Finds the hidden samples inside long tasks. Columns are in time order; a stack of -1 means none.

    A run ends with its task, or at the next sample with a stack. So its neighbours within the task have stacks.
    """
    us = samples = 0
    runs: list[HiddenRun] = []
    seen = [position for position, stack in enumerate(stacks) if stack >= 0]
    for start, end in busy:
        first, behind = bisect_left(times, start), bisect_left(times, end)
        inside = seen[bisect_left(seen, first) : bisect_left(seen, behind)]
        last = first - 1
        for position in [*inside, behind]:
            if position - last > 1:  # there are samples without a stack between two with one, or at the task's bounds
                samples += position - last - 1
                run_us = sum(weights[last + 1 : position])
                if run_us:
                    us += run_us
                    before = NO_STACK if last < first else stacks[last]
                    after = NO_STACK if position == behind else stacks[position]
                    runs.append(HiddenRun(run_us, before, after))
            last = position
    return HiddenTime(us, samples, runs)


def attribute_runs(
    runs: Sequence[HiddenRun], prefix: Sequence[int], func: Sequence[int], profiler_stacks: Sequence[bool]
) -> list[int]:
    """Returns the hidden µs of each stack. Runs that belong to nobody are left out."""
    hidden_us = [0] * len(prefix)
    find = RunFinder(prefix, func, profiler_stacks, run_count=len(runs))
    for run in runs:
        node = find.stack_of(run)
        if node >= 0:
            hidden_us[node] += run.us
    return hidden_us


class RunFinder:
    """Finds the stacks that the hidden runs of one trace belong to, in O((stacks + runs) log stacks) for all of them.

    The stacks of most traces are a few dozen funcs deep, and walking from both ends to where they meet is quickest. A
    trace may also be made of two stacks that are 10,000 funcs deep, and a run between them at every sample. Where many
    walks could take far more steps than there are stacks, the paths are indexed instead.
    """

    def __init__(
        self, prefix: Sequence[int], func: Sequence[int], profiler_stacks: Sequence[bool], *, run_count: int
    ) -> None:
        self.prefix = prefix
        self.func = func
        self.profiler_stacks = profiler_stacks
        is_dear = run_count > FEW_RUNS and run_count * find_depth(prefix) > STEPS_PER_STACK * len(prefix)
        self.index = PathIndex(prefix, func) if is_dear else None

    def stack_of(self, run: HiddenRun) -> int:
        """Returns the stack that a run belongs to, -1 for nobody.

        A stack that ends in the profiler's own built-in stands for its caller: the built-in is our own cost.
        """
        _, before, after = run
        prefix = self.prefix
        if before >= 0 and self.profiler_stacks[before]:
            before = prefix[before]
        if after >= 0 and self.profiler_stacks[after]:
            after = prefix[after]
        if before >= 0 and after >= 0:
            if self.index is not None:
                return self.index.common_prefix(before, after)
            return walk_to_common_prefix(before, after, prefix, self.func)
        node = max(before, after)
        if self.index is not None and node >= 0:
            return self.index.root_of(node)
        while node >= 0 and prefix[node] >= 0:
            node = prefix[node]
        return node


def find_depth(prefix: Sequence[int]) -> int:
    """Returns how many calls the deepest stack has. Callers come before callees."""
    depths: list[int] = []
    for parent in prefix:
        depths.append(1 if parent < 0 else depths[parent] + 1)
    return max(depths, default=0)


def walk_to_common_prefix(one: int, other: int, prefix: Sequence[int], func: Sequence[int]) -> int:
    """Returns the deepest stack that both paths of funcs begin with, -1 if their roots differ.

    Callers come before callees, so the later of two stacks is never the other's caller.
    """
    last_one = last_other = NO_STACK
    a, b = one, other
    while a != b:
        if a > b:
            last_one, a = a, prefix[a]
        else:
            last_other, b = b, prefix[b]
    # Browsers write some stacks twice (89 in the corpus): below the meeting point the funcs may still be equal.
    if last_one >= 0 and last_other >= 0 and func[last_one] == func[last_other]:
        return _common_prefix_by_path(one, other, prefix, func)
    return a


def _common_prefix_by_path(one: int, other: int, prefix: Sequence[int], func: Sequence[int]) -> int:
    found = NO_STACK
    for a, b in zip(_path(one, prefix), _path(other, prefix), strict=False):  # they may differ in depth
        if func[a] != func[b]:
            break
        found = a
    return found


def _path(stack: int, prefix: Sequence[int]) -> list[int]:
    path = []
    while stack >= 0:
        path.append(stack)
        stack = prefix[stack]
    path.reverse()
    return path


class PathIndex:
    """Common prefixes of the paths of a trace in O(log stacks) each, after O(stacks): a heavy path decomposition.

    Stacks with the same path of funcs are one node, the first of them. Each node has a heavy child, the one with most
    nodes below it; a chain of heavy children is a heavy path. A way to the root changes paths at most log₂(nodes)
    times, since each change at least doubles the nodes below. Source: Sleator and Tarjan, "A data structure for
    dynamic trees", 1983.
    """

    def __init__(self, prefix: Sequence[int], func: Sequence[int]) -> None:
        first: dict[tuple[int, int], int] = {}
        node_of: list[int] = []
        parents: list[int] = []
        for stack, (parent, index) in enumerate(zip(prefix, func, strict=True)):
            caller = node_of[parent] if parent >= 0 else NO_STACK
            node_of.append(first.setdefault((caller, index), stack))
            parents.append(caller)
        below = [1] * len(parents)
        heavy = [NO_STACK] * len(parents)
        for stack in range(len(parents) - 1, -1, -1):
            parent = parents[stack]
            if node_of[stack] == stack and parent >= 0:
                below[parent] += below[stack]
                if heavy[parent] < 0 or below[stack] > below[heavy[parent]]:
                    heavy[parent] = stack
        heads: list[int] = []
        for stack, parent in enumerate(parents):
            heads.append(heads[parent] if parent >= 0 and heavy[parent] == stack else stack)
        self.node_of = node_of
        self.parents = parents
        self.heads = heads

    def common_prefix(self, one: int, other: int) -> int:
        """Returns the deepest stack that both paths of funcs begin with, -1 if their roots differ."""
        a, b = self.node_of[one], self.node_of[other]
        parents, heads = self.parents, self.heads
        while heads[a] != heads[b]:
            # Callers come before callees: the later head is no caller of the other's path.
            if heads[a] > heads[b]:
                a = parents[heads[a]]
            else:
                b = parents[heads[b]]
            if a < 0 or b < 0:
                return NO_STACK
        return min(a, b)

    def root_of(self, stack: int) -> int:
        """Returns the root of a stack."""
        node = self.node_of[stack]
        while (parent := self.parents[head := self.heads[node]]) >= 0:
            node = parent
        return head
