"""Measures how costs grow with the page views of a project: the same work in projects of several sizes.

Each project is in databases of its own, in which nothing else works.
"""

import json
import math
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Final

from benchmarks.curves.costs import Cost, measure_costs
from benchmarks.shared.here import add_here, run_here
from ops.supervisor.running import open_temporary_stores

MOST_ROWS: Final = 1_000_000  # views with rows of their own take more than a kilobyte each


@dataclass(frozen=True, slots=True)
class Point:
    """The costs in a project of so many views, of which so many have rows of their own."""

    views: int
    rows: int
    costs: Sequence[Cost]


def measure_point(views: int) -> Point:
    """Returns the costs in a project of one size: in stores of its own, without web, worker and beat."""
    with open_temporary_stores("curves") as stores:
        return read_point(run_here(stores.environment, "curves", "--views", str(views)))


def read_point(text: str) -> Point:
    """Returns a point from its JSON."""
    values = json.loads(text)
    return Point(values["views"], values["rows"], [Cost(**cost) for cost in values["costs"]])


def find_exponent(sizes: Sequence[float], costs: Sequence[float]) -> float:
    """Returns the slope of the costs over the sizes, both as logarithms, by least squares."""
    xs, ys = [math.log(size) for size in sizes], [math.log(cost) for cost in costs]
    mean_x, mean_y = math.fsum(xs) / len(xs), math.fsum(ys) / len(ys)
    spread = math.fsum((x - mean_x) ** 2 for x in xs)
    return math.fsum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys, strict=True)) / spread


def describe(points: Sequence[Point]) -> Iterator[str]:
    """Yields the lines of a table: a row for each work, with the exponent of its curve if there are two sizes."""
    points = sorted(points, key=lambda point: point.views)
    sizes = [point.views for point in points]
    heads = "".join(f"{size:>14,}" for size in sizes)
    yield f"  {'processor ms at views':44}{heads}{'   exponent' if len(sizes) > 1 else ''}"
    for row in zip(*(point.costs for point in points), strict=True):
        ms = [cost.ms for cost in row]
        exponent = f"{find_exponent(sizes, ms):11.2f}" if len(sizes) > 1 else ""
        yield f"  {row[0].work:44}{''.join(f'{value:14,.1f}' for value in ms)}{exponent}"


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--views", type=int, nargs="+", default=[10_000, 100_000], help="sizes (default: %(default)s)")
    add_here(parser)
    options = parser.parse_args()
    if options.here:
        (views,) = options.views
        rows, costs = measure_costs(views, MOST_ROWS)
        print(json.dumps(asdict(Point(views, rows, costs))))
        return
    points = []
    for views in options.views:
        points.append(measure_point(views))
        print(f"{views:,} views, {points[-1].rows:,} of them with rows of their own", flush=True)
    print("\n".join(describe(points)))
