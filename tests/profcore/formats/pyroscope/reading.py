"""Reads flame graphs as Grafana's data source does: each bar belongs to the bar above that contains it."""

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass
class Bar:
    """A bar in ns, and the bars below it."""

    name: str
    start: int
    total: int
    own: int
    callees: "list[Bar]" = field(default_factory=list)


def read_levels(names: Sequence[str], levels: Sequence[Sequence[int]]) -> Bar:
    """Returns the root of a flame graph; every bar must lie within one bar of the level above."""
    (_, total, own, name) = levels[0]
    root = Bar(names[name], 0, total, own)
    above = [root]
    for numbers in levels[1:]:
        bars, end, place = [], 0, 0
        for at in range(0, len(numbers), 4):
            gap, total, own, name = numbers[at : at + 4]
            bar = Bar(names[name], end + gap, total, own)
            end = bar.start + total
            while end > above[place].start + above[place].total:
                place += 1
            assert above[place].start <= bar.start
            above[place].callees.append(bar)
            bars.append(bar)
        above = bars
    return root


def picture(names: Sequence[str], levels: Sequence[Sequence[int]]) -> list[str]:
    """Returns a line for each bar: its name, total and self, two spaces a level."""
    lines: list[str] = []
    pending = [(read_levels(names, levels), 0)]
    while pending:
        bar, depth = pending.pop()
        lines.append(f"{'  ' * depth}{bar.name} {bar.total} {bar.own}")
        pending += [(callee, depth + 1) for callee in reversed(bar.callees)]
    return lines


def sum_paths(names: Sequence[str], levels: Sequence[Sequence[int]]) -> dict[tuple[str, ...], tuple[int, int]]:
    """Returns the self and total of each path of names below the root, in ns."""
    sums: dict[tuple[str, ...], tuple[int, int]] = {}
    pending: list[tuple[tuple[str, ...], Bar]]
    pending = [((callee.name,), callee) for callee in read_levels(names, levels).callees]
    while pending:
        path, bar = pending.pop()
        own, total = sums.get(path, (0, 0))
        sums[path] = own + bar.own, total + bar.total
        pending += [((*path, callee.name), callee) for callee in bar.callees]
    return sums
