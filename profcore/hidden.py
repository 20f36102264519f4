"""Hidden time, attributed: which call node was most likely at work while the browser gave no stack.

The rule: a run of hidden samples belongs to the deepest common prefix of the stacks just before and just after it
within the same long task. Where only one side has a stack, it belongs to that stack's root-most func; where neither
has, or the two share no root, to nobody. Both stacks were on the main thread in one uninterrupted task, so what they
share is what stayed on the stack in between, unless it returned and was called again.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

NO_STACK: Final = -1


class HiddenRun(NamedTuple):
    """Consecutive hidden samples of one long task: their µs, and the stacks next to them in it, -1 for none."""

    us: int
    before: int
    after: int


def find_runs(
    starts: Sequence[tuple[int, int]],
    times: Sequence[int],
    weights: Sequence[int],
    stacks: Sequence[int | None],
    busy: Sequence[tuple[int, int]],
) -> list[HiddenRun]:
    """Returns the runs that begin at `starts`: (position, index into `busy`) of each one's first sample.

    The other columns are by position, in time order. A run lasts as long as its task and its samples have no stack. So
    a sample next to it and within the task has one.
    """
    runs: list[HiddenRun] = []
    count = len(times)
    for first, task in starts:
        start, end = busy[task]
        after = first + 1
        while after < count and stacks[after] is None and times[after] < end:
            after += 1
        us = sum(weights[first:after])
        if us:
            before = stacks[first - 1] if first > 0 and times[first - 1] >= start else None
            behind = stacks[after] if after < count and times[after] < end else None
            runs.append(HiddenRun(us, NO_STACK if before is None else before, NO_STACK if behind is None else behind))
    return runs


def attribute_runs(
    runs: Sequence[HiddenRun], prefix: Sequence[int], func: Sequence[int], profiler_stacks: Sequence[bool]
) -> list[int]:
    """Returns the hidden µs of each stack; what no run could be given to is in none."""
    hidden_us = [0] * len(prefix)
    for run in runs:
        node = stack_of_run(run, prefix, func, profiler_stacks)
        if node >= 0:
            hidden_us[node] += run.us
    return hidden_us


def stack_of_run(run: HiddenRun, prefix: Sequence[int], func: Sequence[int], profiler_stacks: Sequence[bool]) -> int:
    """Returns the stack that a run is given to, -1 for nobody's.

    A stack that ends in the profiler's own built-in stands for its caller: that one was at work, the built-in is ours.
    """
    before, after = run.before, run.after
    if before >= 0 and profiler_stacks[before]:
        before = prefix[before]
    if after >= 0 and profiler_stacks[after]:
        after = prefix[after]
    if before >= 0 and after >= 0:
        return common_prefix(before, after, prefix, func)
    node = max(before, after)
    while node >= 0 and prefix[node] >= 0:
        node = prefix[node]
    return node


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
