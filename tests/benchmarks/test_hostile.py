"""`benchmarks hostile` measures each shape within the limits."""

from benchmarks.ingest.hostile import bench_hostile, describe
from profcore.trace.wire import Limits
from tests.hostile.shapes import SHAPES


def test_each_shape_is_measured_within_the_limits() -> None:
    costs = bench_hostile(Limits(samples=400, depth=50, marks=100, frames=100))
    assert {cost.shape for cost in costs} == {shape.__name__ for shape in SHAPES}
    assert all(cost.fold_s > 0 and 0 < cost.sent_bytes < cost.expanded_bytes for cost in costs)
    assert describe(costs[0]).startswith(costs[0].shape)
