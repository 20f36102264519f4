"""`bench vitals`: some recorded views are folded, and read for their windows."""

from bench.vitals.run import bench_vitals, describe_vitals, read_views


def test_both_ways_are_measured() -> None:
    views = read_views()
    assert len(views) > 900
    cost = bench_vitals(views[:3])
    assert (cost.views, cost.traces) == (3, sum(map(len, views[:3])))
    assert min(cost.contribution_bytes, cost.window_bytes, cost.fold_ms, cost.windows_ms) > 0
    assert "3 views of" in describe_vitals(cost)
