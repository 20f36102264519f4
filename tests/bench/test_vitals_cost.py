"""`bench vitals`: some recorded views are folded, and read for their windows; and views of each kind are asked for."""

import pytest
from django.contrib.auth.models import User

from bench.vitals.kinds import KINDS, make_views
from bench.vitals.requests import describe_request, fill, measure_request
from bench.vitals.run import bench_vitals, describe_vitals, read_views
from profcore.trace.wire import Limits, decode_envelope


def test_both_ways_are_measured() -> None:
    views = read_views()
    assert len(views) > 900
    cost = bench_vitals(views[:3])
    assert (cost.views, cost.traces) == (3, sum(map(len, views[:3])))
    assert min(cost.contribution_bytes, cost.window_bytes, cost.fold_ms, cost.windows_ms) > 0
    assert "3 views of" in describe_vitals(cost)


@pytest.mark.django_db
@pytest.mark.parametrize("kind", ["recorded", "heavy", "traces", "one_id"])
def test_a_request_over_views_of_a_kind_is_measured(kind: str) -> None:
    User.objects.create_superuser("root")
    fill(kind, views=2)
    cost = measure_request(kind)
    assert (cost.status, cost.views, cost.read_views) == (200, 2, 2)
    assert cost.expanded_bytes > 0 < cost.processor_s
    assert describe_request(cost).startswith(f"  {kind} ")


def test_views_of_every_kind_are_within_the_limits_of_the_door() -> None:
    for kind in KINDS:
        (view,) = make_views(kind, views=1)
        for body in view[:2]:
            decode_envelope(body, Limits())
