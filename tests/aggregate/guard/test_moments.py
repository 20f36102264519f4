"""A watch judges by the moment of its evaluation, whatever the clock says."""

import pytest

from aggregate.models import VerdictLook
from tests.aggregate.guard.rolled_back import at, look, make_shop, receive

pytestmark = [pytest.mark.django_db, pytest.mark.slow(10)]


@pytest.mark.parametrize(("hour", "reached"), [(50, 0.1), (50 + 7 * 24, 0.5), (50 + 14 * 24, 1.0)])
def test_how_much_of_the_plan_is_over_is_that_of_the_evaluation(hour: int, reached: float) -> None:
    project = make_shop()
    receive(project, "1.1", range(48, 50), views=48)
    look(project, hour)
    found = VerdictLook.objects.get()
    assert (found.reached, found.looked_at) == (pytest.approx(reached), at(hour))
