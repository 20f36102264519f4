"""A histogram as SVG attributes: bins of a logarithmic or even scale, with percentiles marked."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, floor, log10
from typing import Final, Literal

import numpy as np

from profcore.numbers import write_scale

Scale = Literal["log", "linear"]
SCALES: Final = ("log", "linear")
PER_DECADE: Final = 8  # bins: each a third wider than the one before
EVEN_BINS: Final = 40
LEAST_US: Final = 1_000  # of a logarithmic scale: less than a millisecond is below one sample of any interval
STEPS: Final = (1, 2, 5)
HEIGHT: Final = 140  # px, of the highest bar
WORD_PERCENT: Final = 10.0  # of the width: the room of a word such as "p95" on a narrow screen


@dataclass(frozen=True, slots=True, kw_only=True)
class HistogramBar:
    """One bin `[low_us, high_us)`: its views and its place. `x` and `width` are in per cent, `y` and `height` in px."""

    low_us: int
    high_us: int
    count: int
    share: float
    x: str
    width: str
    y: str
    height: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """A value of the axis as text, or a percentile with its name."""

    us: int
    x: str
    word: str
    is_late: bool  # so far right that the text goes to its left
    is_high: bool = False  # a line higher: the one before it has its place


@dataclass(frozen=True, slots=True)
class Histogram:
    """The bars with views, from left to right; the ticks of the axis, and the percentiles that are known."""

    bars: Sequence[HistogramBar]
    ticks: Sequence[Tick]
    marks: Sequence[Tick]


def build_histogram(values_us: Sequence[int], scale: Scale, marks: Sequence[tuple[str, int]]) -> Histogram | None:
    """Returns the histogram of some values, ascending, with `marks` (word, value) on its axis; None without values."""
    if not values_us:
        return None
    edges = _log_edges(values_us[0], values_us[-1]) if scale == "log" else _even_edges(values_us[-1])
    counts, _ = np.histogram(np.array(values_us, dtype=np.int64), bins=np.array([*edges[:-1], edges[-1] + 1]))
    highest = int(counts.max()) or 1
    last = len(edges) - 1

    def place(us: int) -> float:
        at = min(max(int(np.searchsorted(edges, us, side="right")) - 1, 0), last - 1)
        part = (us - edges[at]) / (edges[at + 1] - edges[at])
        return 100 * min(at + part, last) / last

    bars = []
    for at, count in enumerate(counts.tolist()):
        height = max(HEIGHT * count / highest, 1.0)
        if count:
            high = edges[at + 1] + (at == last - 1)
            x, width = f"{100 * at / last + 0.1:.2f}%", f"{100 / last - 0.2:.2f}%"
            share = count / len(values_us)
            bar = HistogramBar(
                low_us=edges[at],
                high_us=high,
                count=count,
                share=share,
                x=x,
                width=width,
                y=f"{HEIGHT - height:.1f}",
                height=f"{height:.1f}",
            )
            bars.append(bar)

    def place_tick(us: int, word: str) -> Tick:
        return Tick(us=us, x=f"{place(us):.2f}%", word=word, is_late=place(us) > 90)

    ticks = _ticks(edges, scale)
    ticks_placed = [place_tick(us, word) for us, word in zip(ticks, _write_ticks(ticks, scale), strict=True)]
    return Histogram(bars, ticks_placed, _raise_labels([place_tick(us, word) for word, us in marks]))


def _raise_labels(marks: Sequence[Tick]) -> list[Tick]:
    """Puts the word of a mark a line higher where it would print over the one before it."""
    raised: list[Tick] = []
    for mark in marks:
        before = raised[-1] if raised else None
        is_near = before is not None and float(mark.x[:-1]) - float(before.x[:-1]) < WORD_PERCENT
        raised.append(replace(mark, is_high=before is not None and is_near and not before.is_high))
    return raised


def _log_edges(least: int, most: int) -> list[int]:
    """Returns the bounds of bins, eight for each factor of ten, from that of the least value on.

    What is below a millisecond has one bin, from 0.
    """
    first = floor(log10(max(least, LEAST_US)))
    count = max(ceil(PER_DECADE * (log10(max(most + 1, 2 * LEAST_US)) - first)), 1)
    edges = [round(10 ** (first + at / PER_DECADE)) for at in range(count + 1)]
    return edges if least >= LEAST_US else [0, *edges]


def _even_edges(most: int) -> list[int]:
    step = max(ceil((most + 1) / EVEN_BINS), 1)
    return [at * step for at in range(EVEN_BINS + 1)]


def _write_ticks(ticks_us: Sequence[int], scale: Scale) -> list[str]:
    """Returns the ticks as text: of an even scale in one unit, of a logarithmic one each in its own."""
    marks = [us / 1_000 for us in ticks_us]
    return write_scale(marks) if scale == "linear" else [write_scale([ms])[0] for ms in marks]


def _ticks(edges: Sequence[int], scale: Scale) -> list[int]:
    most = edges[-1]
    if scale == "log":
        first = floor(log10(max(edges[0], LEAST_US)))
        return [10**decade for decade in range(first, floor(log10(max(most, LEAST_US))) + 1)]
    power = 10 ** floor(log10(max(most, 1)))
    step = next((s * power // 10 for s in (*STEPS, 10, 20, 50) if most / (s * power / 10) <= 6), power)
    return list(range(0, most + 1, max(step, 1)))
