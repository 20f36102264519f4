"""A chart of dots with whiskers, as SVG attributes: a number and its 95 % interval for each release or day.

Positions are in per cent of the drawing, so that it fills any width and its text keeps its size.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, floor, log10
from typing import Final

from profcore.numbers import write_scale

LEFT, RIGHT = 7.0, 99.0  # the scale's text is to the left
TOP, BOTTOM = 9.0, 84.0  # below are the labels
LABEL_CHARS: Final = 12
MOST_LABELS: Final = 12  # on a wide screen; on a narrow one the first and the last are shown
NARROW_LABELS: Final = 3  # as many also have room on a narrow one
SCALE_STEPS: Final = 3
STEPS: Final = (1.0, 2.0, 2.5, 5.0, 10.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A number to draw (None: not known), its bounds, and its text for the tooltip.

    `is_weak`: it has no interval, for example with too few views. `is_marked`: it is part of the slice of the page.
    """

    label: str
    value: float | None
    low: float | None
    high: float | None
    text: str
    is_weak: bool = False
    is_marked: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Dot:
    """A point and its position. `low_y` and `high_y` are "" without an interval, `y` is "" without a number."""

    point: Point
    x: str
    y: str
    low_y: str
    high_y: str
    label: str
    is_minor: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line of the scale with its text, or one between two dots."""

    x1: str
    y1: str
    x2: str
    y2: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class DotChart:
    """Dots in the order of their points, lines between neighbours, and the lines of the scale from 0 upwards."""

    dots: Sequence[Dot]
    links: Sequence[Line]
    scale: Sequence[Line]


def draw_dots(points: Sequence[Point]) -> DotChart:
    """Returns the chart of some points, from left to right, on a scale from 0 to a round number above all of them."""
    highest = max((max(point.value or 0.0, point.high or 0.0) for point in points), default=0.0)
    step = _round_step(highest / SCALE_STEPS)
    top = step * max(ceil(highest / step), 1)
    width = (RIGHT - LEFT) / max(len(points), 1)
    every = ceil(len(points) / MOST_LABELS)

    def place(value: float | None) -> str:
        return "" if value is None else _percent(BOTTOM - (BOTTOM - TOP) * value / top)

    dots = [
        Dot(
            point=point,
            x=_percent(LEFT + width * (at + 0.5)),
            y=place(point.value),
            low_y=place(point.low),
            high_y=place(point.high),
            label=_cut(point.label) if at % every == (len(points) - 1) % every else "",
            is_minor=len(points) > NARROW_LABELS and 0 < at < len(points) - 1,
        )
        for at, point in enumerate(points)
    ]
    drawn = [dot for dot in dots if dot.y]
    links = [Line(x1=start.x, y1=start.y, x2=end.x, y2=end.y) for start, end in pairwise(drawn)]
    marks = [step * n for n in range(round(top / step) + 1)]
    scale = [
        Line(x1="0%", y1=place(value), x2="100%", y2=place(value), text=text)
        for value, text in zip(marks, write_scale(marks), strict=True)
    ]
    return DotChart(dots, links, scale)


def _round_step(least: float) -> float:
    """Returns the smallest of 1, 2, 2.5, 5 times a power of ten that is not below."""
    if least <= 0:
        return 1.0
    power = 10.0 ** floor(log10(least))
    return next(step * power for step in STEPS if step * power >= least * (1 - 1e-9))


def _percent(place: float) -> str:
    return f"{place:.2f}%"


def _cut(label: str) -> str:
    return label if len(label) <= LABEL_CHARS else label[: LABEL_CHARS - 1] + "…"
