"""Which functions only surround a change: one that was seen lies below them in the call tree."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final

# A seen increase lies below a caller if that is on the stack for this much of its self time.
MIN_SHARE_BELOW: Final = 0.5

# Returns those of some funcs (the first) below which one of other funcs (the second) lies in the call tree. None if
# there is no tree.
FindCallers = Callable[[Collection[int], Collection[int]], Collection[int] | None]


def find_callers(
    prefix: Sequence[int],
    func: Sequence[int],
    self_us: Sequence[int],
    numbers_of: Mapping[int, Collection[int]],
    *,
    hidden: Collection[int],
    seen: Collection[int],
) -> set[int]:
    """Returns those of the `hidden` funcs that are on the stack for most of the self time of another, `seen` func.

    The call tree has callers before callees; the prefix of a root is -1. `numbers_of` has the numbers by which
    `hidden` and `seen` name a func of the tree; funcs without one are passed over.
    """
    bit_of = {number: 1 << place for place, number in enumerate(hidden)}
    wanted = frozenset(seen)
    on_stack: list[int] = []  # for each node, the hidden funcs on its stack, as bits
    all_us: Counter[int] = Counter()
    below_us: Counter[tuple[int, int]] = Counter()
    for caller, node_func, us in zip(prefix, func, self_us, strict=True):
        bits = above = on_stack[caller] if caller >= 0 else 0
        for number in numbers_of.get(node_func, ()):
            bits |= bit_of.get(number, 0)
            if number in wanted:
                all_us[number] += us
                below_us[number, above] += us
        on_stack.append(bits)
    of_caller: Counter[tuple[int, int]] = Counter()  # µs of a seen func below a hidden one
    for (number, above), us in below_us.items():
        for caller, bit in bit_of.items():
            if above & bit:
                of_caller[caller, number] += us
    return {
        caller
        for (caller, number), us in of_caller.items()
        if number != caller and us >= MIN_SHARE_BELOW * all_us[number] > 0
    }
