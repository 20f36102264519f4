"""Hidden time, attributed: which call node was most likely at work while the browser gave no stack.

The rule: a run of hidden samples belongs to the deepest common prefix of the stacks just before and just after it
within the same long task. Where only one side has a stack, it belongs to that stack's root-most func; where neither
has, or the two share no root, to nobody. Both stacks were on the main thread in one uninterrupted task, so what they
share is what stayed on the stack in between, unless it returned and was called again.
"""

from bisect import bisect_left
from collections.abc import Sequence
from typing import Final, NamedTuple

NO_STACK: Final = -1


class HiddenRun(NamedTuple):
    """Consecutive hidden samples of one long task: their µs, and the stacks next to them in it, -1 for none."""

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
    """Finds the hidden samples inside long tasks. The columns are by position, in time order; a stack of -1 is none.

    A run lasts as long as its task and its samples have no stack. So a sample next to it and within the task has one.
    """
    us = samples = 0
    runs: list[HiddenRun] = []
    seen = [position for position, stack in enumerate(stacks) if stack >= 0]
    for start, end in busy:
        first, behind = bisect_left(times, start), bisect_left(times, end)
        inside = seen[bisect_left(seen, first) : bisect_left(seen, behind)]
        last = first - 1
        for position in [*inside, behind]:
            if position - last > 1:  # between two samples with a stack, or the task's bounds, are some without
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
    """Returns the hidden µs of each stack; what no run could be given to is in none.

    A stack that ends in the profiler's own built-in stands for its caller: that one was at work, the built-in is ours.
    """
    hidden_us = [0] * len(prefix)
    for run in runs:
        before, after = run.before, run.after
        if before >= 0 and profiler_stacks[before]:
            before = prefix[before]
        if after >= 0 and profiler_stacks[after]:
            after = prefix[after]
        if before >= 0 and after >= 0:
            node = common_prefix(before, after, prefix, func)
        else:
            node = max(before, after)
            while node >= 0 and prefix[node] >= 0:
                node = prefix[node]
        if node >= 0:
            hidden_us[node] += run.us
    return hidden_us


def common_prefix(one: int, other: int, prefix: Sequence[int], func: Sequence[int]) -> int:
    """Returns the deepest stack whose path of funcs both begin with, -1 where their roots differ.

    Callers come before callees, so that the later of two stacks is never the other's caller.
    """
    last_one = last_other = NO_STACK
    a, b = one, other
    while a != b:
        if a > b:
            last_one, a = a, prefix[a]
        else:
            last_other, b = b, prefix[b]
    # Browsers write some stacks twice (89 of the corpus): equal funcs below the meeting point may go on together.
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
