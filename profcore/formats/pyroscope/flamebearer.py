"""Charts as Pyroscope's flame graphs: names, and levels of bars whose places are relative to the bar before."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from profcore.formats.chart.model import Chart, ChartFunc
from profcore.formats.chart.slices import ANONYMOUS
from profcore.sums.calltree import CallTree, total_us

ROOT_NAME: Final = "total"
NS_PER_US: Final = 1_000
FILE: Final = re.compile(r"^[^?#]*/([^/?#]+)/*(?:[?#].*)?$", re.DOTALL)  # the last part of an address's path


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
    frames = name_funcs(chart.funcs)
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


def name_funcs(funcs: Sequence[ChartFunc]) -> list[str]:
    """Returns the name of each func with the place of its definition: Grafana's table adds up what has one name.

    The place is `file:line:column`, with the whole address of the file if it would be that of several funcs.
    """
    short = [_name(func, FILE.sub(r"\1", func.place.uri) if func.place else "") for func in funcs]
    times = Counter(short)
    return [
        _name(func, func.place.uri) if func.place and times[name] > 1 else name
        for func, name in zip(funcs, short, strict=True)
    ]


def _name(func: ChartFunc, file: str) -> str:
    if func.place is None:
        return func.label
    label = ANONYMOUS if func.label.startswith(ANONYMOUS) else func.label  # the label of such a func has its place
    numbers = [str(number) for number in func.place[1:] if number is not None]
    return f"{label} {':'.join((file, *numbers))}"
