"""How costs grow with the number of views: the same work in projects of several sizes, each in databases of its own."""

import json
import math
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from bench.curves.costs import Cost
from config.up.parts import BASE_DIR, make_manage_command
from config.up.running import own_environment

MOST_ROWS: Final = 1_000_000  # views with rows of their own take more than a kilobyte each
BEYOND: Final = 10  # times as many views as the most that were measured


@dataclass(frozen=True, slots=True)
class Point:
    """The costs in a project of so many views, of which so many have rows of their own."""

    views: int
    rows: int
    costs: Sequence[Cost]


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """One piece of work's ms by size, the exponent over all sizes and over the last two, and what follows beyond."""

    work: str
    ms: Sequence[float]
    exponent: float
    last_exponent: float
    beyond_ms: float


def bench_curves(corpus: Path, sizes: Sequence[int], tell: Callable[[str], object]) -> list[Point]:
    """Returns the costs in a project of each size."""
    points = []
    for views in sizes:
        point = _measure(corpus, views)
        tell(f"{point.views:,} views, {point.rows:,} of them with rows of their own")
        points.append(point)
    return points


def _measure(corpus: Path, views: int) -> Point:
    """Returns the costs, measured in databases that a command starts for itself: no web, no worker, no beat."""
    with tempfile.TemporaryDirectory(prefix="fieldflame-curves-") as name:
        result = Path(name) / "point.json"
        words = ["bench", "curves-here", "--views", str(views), "--corpus", str(corpus), "--save", str(result)]
        code = f"from django.core.management import call_command\ncall_command(*{words!r})"
        command = make_manage_command("shell", "--no-imports", "--command", code)
        environment = own_environment({"FIELDFLAME_DATA": str(Path(name) / "var")})
        subprocess.run(command, cwd=BASE_DIR, env=environment, check=True)
        return read_point(result.read_text(encoding="utf-8"))


def as_json(point: Point) -> str:
    """Returns a point in the form that `read_point` reads."""
    return json.dumps(asdict(point))


def read_point(text: str) -> Point:
    """Returns what `as_json` wrote."""
    values = json.loads(text)
    return Point(values["views"], values["rows"], [Cost(**cost) for cost in values["costs"]])


def draw_curves(points: Sequence[Point]) -> list[Curve]:
    """Returns the curve of each work through at least two points, by ascending size."""
    sizes = [point.views for point in points]
    curves = []
    for row in zip(*(point.costs for point in points), strict=True):
        ms = [cost.ms for cost in row]
        last = find_exponent(sizes[-2:], ms[-2:])
        curves.append(
            Curve(
                work=row[0].work,
                ms=ms,
                exponent=find_exponent(sizes, ms),
                last_exponent=last,
                beyond_ms=ms[-1] * BEYOND**last,
            )
        )
    return curves


def find_exponent(sizes: Sequence[float], costs: Sequence[float]) -> float:
    """Returns the slope of the costs over the sizes, both as logarithms, by least squares."""
    xs, ys = [math.log(size) for size in sizes], [math.log(cost) for cost in costs]
    mean_x, mean_y = math.fsum(xs) / len(xs), math.fsum(ys) / len(ys)
    spread = math.fsum((x - mean_x) ** 2 for x in xs)
    return math.fsum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys, strict=True)) / spread


def describe(points: Sequence[Point]) -> str:
    """Returns the curves as a table."""
    return "\n".join(_describe(sorted(points, key=lambda point: point.views)))


def _describe(points: Sequence[Point]) -> Iterator[str]:
    sizes = "".join(f"{point.views:>14,}" for point in points)
    if len(points) < 2:
        yield f"  {'processor ms at views':44}{sizes}"
        yield from (f"  {cost.work:44}{cost.ms:14,.1f}" for cost in points[0].costs)
        return
    beyond = f"by it at {points[-1].views * BEYOND:,}"
    yield f"  {'processor ms at views':44}{sizes}   exponent   of the last two   {beyond}"
    for curve in draw_curves(points):
        ms = "".join(f"{value:14,.1f}" for value in curve.ms)
        yield f"  {curve.work:44}{ms}{curve.exponent:11.2f}{curve.last_exponent:18.2f}   {curve.beyond_ms:,.0f}"
