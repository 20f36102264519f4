"""`benchmarks vitals`: recorded views are folded, and read for their windows."""

from benchmarks.reads.vitals import bench_vitals, read_views


def test_both_ways_are_measured() -> None:
    views = read_views()
    assert len(views) > 700
    cost = bench_vitals(views[:3])
    assert cost.views == 3
    assert min(cost.fold_ms, cost.windows_ms) > 0
