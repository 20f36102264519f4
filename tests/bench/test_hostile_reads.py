"""`bench hostile` posts each shape, folds it and reads it, and every read is answered."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from bench.hostile.reads import READS, describe, read_shape
from bench.hostile.shapes import SHAPES, make_largest
from profcore.trace.wire import Limits


@pytest.fixture
def reader(db: None) -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    return client


def test_the_first_reads_of_a_shape_are_measured(reader: Client) -> None:
    limits = Limits(samples=100, depth=20, marks=50, frames=50)
    costs = [
        cost
        for shape in SHAPES[:2]
        for cost in read_shape(reader, shape, make_largest(shape, limits), slug=shape.__name__.replace("_", "-"))
    ]
    assert [(cost.read, cost.status) for cost in costs[: len(READS)]] == [(name, 200) for name, _ in READS]
    assert all(cost.elapsed_ms > 0 and cost.answer_bytes > 0 and cost.sent_bytes > 0 for cost in costs)
    assert len(describe(costs).splitlines()) == 1 + len(READS)
