"""Hidden time by func, for contributions folded by rules that do not attribute it yet."""

from profcore.weights import GAP_CAP_TICKS, busy_ranges, to_us
from profcore.wire import Envelope


def hidden_by_func(envelope: Envelope, prefix: list[int], func: list[int]) -> dict[int, int]:
    """Attributes hidden runs to the deepest common stack before and after them within one long task.

    With a stack on one side only, to its root-most func; with none, to nobody.
    """
    busy = busy_ranges(envelope.marks)
    cap = GAP_CAP_TICKS * max(to_us(envelope.sampleInterval), 1)
    samples = sorted(
        ((to_us(sample.timestamp), sample.stackId) for sample in envelope.trace.samples), key=lambda s: s[0]
    )
    times = [time for time, _ in samples]
    ends = [*times[1:], times[-1] + max(to_us(envelope.sampleInterval), 1)] if times else []
    found: dict[int, int] = {}
    for start, end in busy:
        run, before = 0, None
        for (time, stack), until in zip(samples, ends, strict=True):
            if not start <= time < end:
                continue
            if stack is None:
                run += min(until - time, cap)
                continue
            _book(found, run, before, stack, prefix, func)
            run, before = 0, stack
        _book(found, run, before, None, prefix, func)
    return found


def _book(
    found: dict[int, int], run: int, before: int | None, after: int | None, prefix: list[int], func: list[int]
) -> None:
    paths = [_path(stack, prefix) for stack in (before, after) if stack is not None]
    if not run or not paths:
        return
    if len(paths) == 1:
        node = paths[0][0]
    else:
        common = [a for a, b in zip(*paths, strict=False) if a == b]
        if not common:
            return
        node = common[-1]
    found[func[node]] = found.get(func[node], 0) + run


def _path(stack: int, prefix: list[int]) -> list[int]:
    path = []
    while stack >= 0:
        path.append(stack)
        stack = prefix[stack]
    return path[::-1]
