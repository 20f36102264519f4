"""Charts as Pyroscope's flame graphs: names, and levels of bars whose places are relative to the bar before."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from profcore.formats.chart.model import Chart, ChartFunc
from profcore.formats.chart.slices import ANONYMOUS
from profcore.sums.calltree import CallTree, total_us

ROOT_NAME: Final = "total"
NS_PER_US: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Flamebearer:
    """A flame graph in ns. Each bar of a level is four numbers.

    They are its distance from the end of the bar before, its total, its self and the index of its name. The first level
    is the whole, whose name is the first.
    """

    names: Sequence[str]
    levels: Sequence[Sequence[int]]
    total: int
    max_self: int


def write_flamebearer(chart: Chart) -> Flamebearer:
    """Returns the flame graph of a chart, whose nodes are depth first. Nodes without time are left out."""
    self_us, _ = chart.sum_runs()
    totals = total_us(CallTree(list(chart.prefix), list(chart.func), self_us))
    frames = [name_func(func) for func in chart.funcs]
    index: dict[str, int] = {ROOT_NAME: 0}
    levels: list[list[int]] = [[]]
    ends: list[int] = [0]  # of the last bar of each level
    depths = [0] * len(totals)
    cursor = [0] * (
        len(totals) + 1
    )  # by node, where its next callee begins; the last one is for the prefix of roots, -1
    for node, prefix in enumerate(chart.prefix):
        if not totals[node]:
            continue
        cursor[node] = start = cursor[prefix]
        cursor[prefix] += totals[node]
        depths[node] = level = depths[prefix] + 1 if prefix >= 0 else 1
        if level == len(levels):
            levels.append([])
            ends.append(0)
        name = index.setdefault(frames[chart.func[node]], len(index))
        sums = (start - ends[level], totals[node], self_us[node])
        levels[level] += (*(us * NS_PER_US for us in sums), name)
        ends[level] = start + totals[node]
    total = cursor[-1] * NS_PER_US
    levels[0] = [0, total, 0, 0]
    return Flamebearer(names=list(index), levels=levels, total=total, max_self=max(self_us, default=0) * NS_PER_US)


def name_func(func: ChartFunc) -> str:
    """Returns the name and the place of a func: Grafana's table adds up what has one name, and so may tools."""
    place = func.place
    if place is None:
        return func.label
    label = ANONYMOUS if func.label.startswith(ANONYMOUS) else func.label  # the label of such a func has its place
    return " ".join((label, ":".join(str(part) for part in place if part is not None)))
