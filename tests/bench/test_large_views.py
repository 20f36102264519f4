"""`bench large-views`: hostile views of each kind are within the door's limits, and reads of one are measured."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from bench.large_views.kinds import KINDS, VIEW, make_view, write
from bench.large_views.run import READS, LargeViewCost, address_of, describe, fill, measure_read
from ingest.models import Project
from profcore.trace.wire import Limits, decode_envelope


@pytest.mark.parametrize("kind", KINDS)
def test_views_of_every_kind_are_within_the_limits_of_the_door(kind: str) -> None:
    (envelope,) = make_view(kind, 1)
    assert decode_envelope(write(envelope), Limits()).viewId == VIEW


def test_a_view_has_as_many_traces_as_fit() -> None:
    sizes = [len(write(envelope)) for envelope in make_view("heavy", 600_000)]
    assert len(sizes) == 2
    assert sum(sizes) < 600_000


@pytest.mark.django_db
def test_a_read_of_a_view_is_measured() -> None:
    User.objects.create_superuser("root")
    fill("heavy-4", most_bytes=1)
    project = Project.objects.get()
    client = Client()
    client.force_login(User.objects.get())
    for read in READS:
        cost = LargeViewCost(
            kind="heavy-4", read=read, expanded_bytes=1, **measure_read(client, address_of(project, read, str(VIEW)))
        )
        assert cost.status == 200, read
        assert cost.processor_s > 0 < cost.answer_bytes
        assert describe(cost).startswith("heavy-4 ")
