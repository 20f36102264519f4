"""Splits the time of samples without a stack in long tasks, and attributes what is hidden to call nodes.

The rules are in docs/weights.md. Without long animation frames, all of it is hidden. With them, a run between two
stacks of a task stays hidden, and any other sample is hidden only within a script's range; outside it is the engine's.

A run between two stacks belongs to their deepest common prefix at least: both were on the main thread in one
uninterrupted task. Each of its samples is the nearer stack's, up to `CALLS_BELOW` calls below that prefix. A run with a
stack on one side only is attributed within a script; without long animation frames it is uncertain.
"""

from bisect import bisect_left
from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import Final, NamedTuple

import msgspec

NO_STACK: Final = -1
OWN_SCRIPT: Final = -2  # in place of a stack: a script of the snippet, which hides nothing and is nobody's side
FEW_RUNS: Final = 64  # this many walks through stacks of 10,000 funcs take 0.1 s
STEPS_PER_STACK: Final = 8  # walks of this many steps for each stack take about as long as indexing the stacks
# How far below what two stacks share a hidden sample is booked. Measured: docs/weights.md
CALLS_BELOW: Final = 2

Range = tuple[int, int]


class HiddenRun(msgspec.Struct, frozen=True, gc=False):
    """Consecutive hidden samples `[first, end)` of one long task, and the stacks before and after them, -1 for none.

    Their µs are those nearer to `before`, of the sample in the middle, and those nearer to `after`. `inside` has the
    distinct stacks within the script of a long animation frame that they lie in; it is None if nothing says whose they
    are but the two sides. `is_next` says whether the side's stack lies in that script too.
    """

    first: int
    end: int
    before_us: int
    middle_us: int
    after_us: int
    before: int
    after: int
    inside: Sequence[int] | None = None
    is_next: bool = True

    @property
    def us(self) -> int:
        """All its time."""
        return self.before_us + self.middle_us + self.after_us

    @property
    def middle(self) -> tuple[int, int]:
        """The samples `[first, end)` that are as near to one side as to the other: one of an odd number, or none."""
        count = self.end - self.first
        return self.first + count // 2, self.first + (count + 1) // 2

    @property
    def is_between(self) -> bool:
        """Whether it has a stack on both sides."""
        return self.before >= 0 and self.after >= 0


class HiddenTime(NamedTuple):
    """The samples without a stack in a trace's long tasks: µs and count of the hidden ones and the engine's."""

    us: int
    samples: int
    engine_us: int
    engine_samples: int
    runs: list[HiddenRun]


class Attribution(NamedTuple):
    """Hidden µs by stack: what is attributed, and what may as well be the engine's. The rest belongs to no stack."""

    hidden_us: list[int]
    uncertain_us: list[int]


def find_hidden(
    times: Sequence[int],
    weights: Sequence[int],
    stacks: Sequence[int],
    busy: Sequence[Range],
    scripts: Sequence[Range] | None = None,
) -> HiddenTime:
    """Finds the samples without a stack inside long tasks. Columns are in time order; a stack of -1 means none.

    `busy` and `scripts` are disjoint and in order; `scripts` is None for a trace without long animation frames. A run
    ends with its task, or at the next sample with a stack or of the snippet (`OWN_SCRIPT`, which is no side).
    """
    runs: list[HiddenRun] = []
    seen = [position for position, stack in enumerate(stacks) if stack != NO_STACK]
    for start, end in busy:
        first, behind = bisect_left(times, start), bisect_left(times, end)
        inside = seen[bisect_left(seen, first) : bisect_left(seen, behind)]
        for last, position in pairwise([first - 1, *inside, behind]):
            if position - last > 1:  # there are samples without a stack between two with one, or at the task's bounds
                before = NO_STACK if last < first else max(stacks[last], NO_STACK)
                after = NO_STACK if position == behind else max(stacks[position], NO_STACK)
                runs.append(make_run(weights, last + 1, position, before, after))
    us, samples = _sum_runs(runs)
    if scripts is None:
        return HiddenTime(us, samples, 0, 0, runs)
    cut = _ScriptRanges(times, stacks, seen, scripts).cut
    runs = [part for run in runs for part in ([run] if run.is_between else cut(run, weights))]
    hidden_us, hidden_samples = _sum_runs(runs)
    return HiddenTime(hidden_us, hidden_samples, us - hidden_us, samples - hidden_samples, runs)


def _sum_runs(runs: Sequence[HiddenRun]) -> tuple[int, int]:
    """Returns the µs and samples of some runs."""
    return sum([run.us for run in runs]), sum([run.end - run.first for run in runs])


def make_run(weights: Sequence[int], first: int, end: int, before: int, after: int) -> HiddenRun:
    """Returns the run of the samples `[first, end)`."""
    if end - first == 1:  # most are
        return HiddenRun(first, end, 0, weights[first], 0, before, after)
    run = HiddenRun(first, end, 0, 0, 0, before, after)
    middle, rest = run.middle
    sums = sum(weights[first:middle]), sum(weights[middle:rest]), sum(weights[rest:end])
    return HiddenRun(first, end, *sums, before, after)


class _ScriptRanges:
    """The scripts of a trace's long animation frames, and the stacks seen in each."""

    def __init__(
        self, times: Sequence[int], stacks: Sequence[int], seen: Sequence[int], scripts: Sequence[Range]
    ) -> None:
        self._bounds = [(bisect_left(times, start), bisect_left(times, end)) for start, end in scripts]
        self._ends = [end for _, end in self._bounds]
        self._stacks, self._seen = stacks, seen
        self._inside: dict[int, list[int]] = {}

    def cut(self, run: HiddenRun, weights: Sequence[int]) -> list[HiddenRun]:
        """Returns the parts of a run that lie within scripts."""
        parts = []
        script = bisect_left(self._ends, run.first + 1)
        while script < len(self._bounds) and self._bounds[script][0] < run.end:
            start, end = self._bounds[script]
            first, behind = max(start, run.first), min(end, run.end)
            if first < behind:
                # A stack before the run is the sample before its first, one after it the sample behind its last.
                is_next = start < run.first if run.before >= 0 else end > run.end
                part = make_run(weights, first, behind, run.before, run.after)
                parts.append(msgspec.structs.replace(part, inside=self._stacks_of(script), is_next=is_next))
            script += 1
        return parts

    def _stacks_of(self, script: int) -> list[int]:
        if script not in self._inside:
            start, end = self._bounds[script]
            seen = self._seen[bisect_left(self._seen, start) : bisect_left(self._seen, end)]
            self._inside[script] = sorted({stack for position in seen if (stack := self._stacks[position]) >= 0})
        return self._inside[script]


def attribute_runs(
    runs: Sequence[HiddenRun],
    prefix: Sequence[int],
    func: Sequence[int],
    profiler_stacks: Sequence[bool],
    *,
    has_frames: bool = False,
) -> Attribution:
    """Returns the attribution of hidden runs. `has_frames` says whether the trace has long animation frames."""
    hidden_us, uncertain_us = [0] * len(prefix), [0] * len(prefix)
    find = RunFinder(prefix, func, profiler_stacks, runs=runs)
    for run in runs:
        into = hidden_us if has_frames or run.is_between else uncertain_us
        for stack, us in zip(find.stacks_of(run), (run.before_us, run.middle_us, run.after_us), strict=True):
            if stack >= 0:
                into[stack] += us
    return Attribution(hidden_us, uncertain_us)


def find_visible(prefix: Sequence[int], profiler_stacks: Sequence[bool]) -> Sequence[int]:
    """Returns of each stack itself or its nearest caller that is not the profiler's own work; -1 if there is none."""
    if not any(profiler_stacks):
        return range(len(prefix))
    visible: list[int] = []
    for stack, parent in enumerate(prefix):
        visible.append(stack if not profiler_stacks[stack] else visible[parent] if parent >= 0 else NO_STACK)
    return visible


def skip_profiler(prefix: Sequence[int], profiler_stacks: Sequence[bool]) -> Sequence[int]:
    """Returns the callers of stacks, past the profiler's own work: what that called is its caller's."""
    if not any(profiler_stacks):
        return prefix
    visible = find_visible(prefix, profiler_stacks)
    return [visible[parent] if parent >= 0 else NO_STACK for parent in prefix]


class RunFinder:
    """Finds the stacks that the hidden runs of one trace belong to, in O((stacks + runs) log stacks) for all of them.

    The stacks of most traces are a few dozen funcs deep, and walking from both ends to where they meet is quickest. A
    trace may also be made of two stacks that are 10,000 funcs deep, and a run between them at every sample. Where many
    walks could take far more steps than there are stacks, the paths are indexed instead.
    """

    def __init__(
        self, prefix: Sequence[int], func: Sequence[int], profiler_stacks: Sequence[bool], *, runs: Sequence[HiddenRun]
    ) -> None:
        self.prefix = prefix
        self.func = func
        self.visible = find_visible(prefix, profiler_stacks) if runs else []
        lists = {id(run.inside): len(run.inside) for run in runs if run.inside}
        walks = len(runs) + sum(lists.values())
        is_dear = walks > FEW_RUNS and walks * max(self.depths, default=0) > STEPS_PER_STACK * len(prefix)
        self.index = PathIndex(prefix, func) if is_dear else None
        self._shared: dict[int, tuple[int, int]] = {}

    @cached_property
    def depths(self) -> list[int]:
        """Returns how many calls each stack has. Most traces do not need it."""
        return find_depths(self.prefix)

    def stacks_of(self, run: HiddenRun) -> tuple[int, int, int]:
        """Returns the stacks that the three parts of a run belong to, -1 for none.

        A stack that ends in the profiler's own work stands for what called that.
        """
        before, after = self._without_profiler(run.before), self._without_profiler(run.after)
        if before >= 0 and after >= 0:
            return self._between(before, after)
        side = max(before, after)
        if not run.inside:
            root = self.root_of(side)
            return root, root, root
        shared, count = self._shared_by(run.inside)
        if count < 2 or shared < 0:
            shared = self.root_of(side) if side >= 0 else self.root_of(shared)
        near = self._below(shared, side) if side >= 0 and run.is_next else shared
        return (near, shared, shared) if before >= 0 else (shared, shared, near)

    def _between(self, before: int, after: int) -> tuple[int, int, int]:
        """Returns the stacks that the parts of a run between two stacks belong to."""
        if self.index is not None:
            shared = self.index.common_prefix(before, after)
            near, far = (self._below(shared, stack) if shared >= 0 else NO_STACK for stack in (before, after))
            return near, near if self.depths[before] <= self.depths[after] else far, far
        shared, calls_before, calls_after = walk_to_shared(before, after, self.prefix, self.func)
        if shared < 0:
            return NO_STACK, NO_STACK, NO_STACK
        near = calls_before[-CALLS_BELOW] if len(calls_before) > CALLS_BELOW else before
        far = calls_after[-CALLS_BELOW] if len(calls_after) > CALLS_BELOW else after
        return near, near if len(calls_before) <= len(calls_after) else far, far

    def common_prefix(self, first: int, second: int) -> int:
        """Returns the deepest stack that both paths of funcs begin with, -1 if their roots differ."""
        if self.index is not None:
            return self.index.common_prefix(first, second)
        return walk_to_common_prefix(first, second, self.prefix, self.func)

    def root_of(self, stack: int) -> int:
        """Returns the root of a stack, -1 of none."""
        if self.index is not None and stack >= 0:
            return self.index.root_of(stack)
        while stack >= 0 and self.prefix[stack] >= 0:
            stack = self.prefix[stack]
        return stack

    def _without_profiler(self, stack: int) -> int:
        return self.visible[stack] if stack >= 0 else stack

    def _below(self, shared: int, stack: int) -> int:
        """Returns the caller of `stack`, or itself, that is `CALLS_BELOW` below a common prefix of its path."""
        depth = self.depths[shared] + CALLS_BELOW
        if self.depths[stack] <= depth:
            return stack
        if self.index is not None:
            return self.index.caller_at(stack, depth)
        while self.depths[stack] > depth:
            stack = self.prefix[stack]
        return stack

    def _shared_by(self, stacks: Sequence[int]) -> tuple[int, int]:
        """Returns the common prefix of some stacks, and how many of them count; -1 if their roots differ."""
        result = self._shared.get(id(stacks))
        if result is None:
            distinct = sorted({stripped for stack in stacks if (stripped := self._without_profiler(stack)) >= 0})
            shared = distinct[0] if distinct else NO_STACK
            for stack in distinct[1:]:
                if shared >= 0:
                    shared = self.common_prefix(shared, stack)
            result = self._shared[id(stacks)] = shared, len(distinct)
        return result


def find_depths(prefix: Sequence[int]) -> list[int]:
    """Returns how many calls each stack has. Callers come before callees."""
    depths = [0] * (len(prefix) + 1)  # the last slot is for the prefix of roots, -1
    for stack, parent in enumerate(prefix):
        depths[stack] = depths[parent] + 1
    depths.pop()
    return depths


def walk_to_common_prefix(first: int, second: int, prefix: Sequence[int], func: Sequence[int]) -> int:
    """Returns the deepest stack that both paths of funcs begin with, -1 if their roots differ."""
    return walk_to_shared(first, second, prefix, func)[0]


def walk_to_shared(
    first: int, second: int, prefix: Sequence[int], func: Sequence[int]
) -> tuple[int, list[int], list[int]]:
    """Returns the common prefix of two stacks, -1 without one, and the stacks below it on each path, leaf first.

    Callers come before callees, so the later of two stacks is never the other's caller.
    """
    below_first: list[int] = []
    below_second: list[int] = []
    while first != second:
        if first > second:
            below_first.append(first)
            first = prefix[first]
        else:
            below_second.append(second)
            second = prefix[second]
    # Browsers write some stacks twice (89 in the corpus): below the meeting point the funcs may still be equal.
    while below_first and below_second and func[below_first[-1]] == func[below_second[-1]]:
        first, _ = below_first.pop(), below_second.pop()
    return first, below_first, below_second


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
        self.depths = find_depths(parents)
        chains: dict[int, list[int]] = {}
        for stack, head in enumerate(heads):
            if node_of[stack] == stack:
                chains.setdefault(head, []).append(stack)
        self.chains = chains

    def common_prefix(self, first: int, second: int) -> int:
        """Returns the deepest stack that both paths of funcs begin with, -1 if their roots differ."""
        a, b = self.node_of[first], self.node_of[second]
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

    def caller_at(self, stack: int, depth: int) -> int:
        """Returns the caller of a stack, or itself, that has `depth` calls (1 to its own)."""
        node = self.node_of[stack]
        while self.depths[head := self.heads[node]] > depth:
            node = self.parents[head]
        return self.chains[head][depth - self.depths[head]]

    def root_of(self, stack: int) -> int:
        """Returns the root of a stack."""
        node = self.node_of[stack]
        while (parent := self.parents[head := self.heads[node]]) >= 0:
            node = parent
        return head
