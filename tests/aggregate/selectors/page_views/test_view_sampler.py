"""The sampler keeps the first views of the uniform order, as many as fit."""

from datetime import UTC, datetime
from uuid import UUID

import pytest

from aggregate.selectors.page_views.contributions import NO_CONTRIBUTION, SliceView
from aggregate.selectors.page_views.samples import ViewSampler
from profcore.stats.sampling import sample_key
from profcore.sums.blobs import Contribution
from profcore.trace.dimensions import DIMENSIONS
from profcore.trace.weights import TimeParts

COUNT = 40


def make_view(view_id: UUID) -> SliceView:
    return SliceView(
        view_id=view_id,
        group_id=1,
        cell_id=1,
        release="1",
        page="/",
        codes=(0,) * len(DIMENSIONS),
        starts_at=datetime(2026, 11, 23, tzinfo=UTC),
        grain=0,
        traces=1,
        is_truncated=False,
        sample_rate=1.0,
        traits=0,
        time=TimeParts(),
        contribution=NO_CONTRIBUTION,
    )


def sample_of(sampler: ViewSampler, order: list[int]) -> list[int]:
    """Adds views that each run three funcs, and returns the numbers of those that are kept, in the uniform order."""
    for number in order:
        column = [1, 1, 1]
        contribution = Contribution([1, 2, 3], column, column, column, column, column, column, column)
        sampler.add(make_view(UUID(int=number)), TimeParts(js_us=number), contribution)
    return [int(us) for us in sampler.sample().columns.js_us]


@pytest.mark.parametrize("order", [list(range(COUNT)), list(range(COUNT))[::-1]], ids=["upwards", "downwards"])
def test_funcs_bound_a_sample_whatever_the_order_of_views(order: list[int]) -> None:
    first = sorted(range(COUNT), key=lambda number: sample_key(UUID(int=number)))
    assert sample_of(ViewSampler(10), order) == first[:10]
    assert sample_of(ViewSampler(10, most_funcs=3 * 4), order) == first[:4]
    assert sample_of(ViewSampler(10, most_funcs=3 * 4 + 2), order) == first[:4]
    assert sample_of(ViewSampler(10, most_funcs=1), order) == first[:1]
