"""`benchmarks vitals`: recorded views are folded, and read for their windows."""

from benchmarks.reads.vitals import fold_views, read_views, read_vitals
from profcore.kernel import find_kernel


def test_all_ways_are_measured() -> None:
    views = read_views()
    assert len(views) > 700
    some = views[:3]
    assert min(fold_views(some), read_vitals(some, None), read_vitals(some, find_kernel().module)) > 0
