"""When a function's change is mostly forced layout: for certain, and by half of the change."""

import pytest

from aggregate.selectors.vitals.forced_change import ForcedChange
from profcore.stats.estimates import Figure, Interval

NONE = Figure(0.0, Interval(0.0, 0.0))
CALM = Figure(5.0, Interval(3.0, 7.0))


@pytest.mark.parametrize(
    ("base", "head", "delta_ms", "is_mostly"),
    [
        (NONE, Figure(20.0, Interval(15.0, 25.0)), 40.0, True),
        (NONE, Figure(20.0, Interval(15.0, 25.0)), 41.0, False),  # less than half
        (NONE, Figure(20.0, Interval(0.0, 45.0)), 30.0, False),  # not certain
        (NONE, Figure(20.0, None), 30.0, False),
        (CALM, Figure(20.0, Interval(15.0, 25.0)), 30.0, True),
        (CALM, Figure(20.0, Interval(6.0, 34.0)), 30.0, False),
        (Figure(5.0, None), Figure(20.0, Interval(15.0, 25.0)), 30.0, False),
        (CALM, CALM, 30.0, False),
    ],
)
def test_it_rose_for_certain_and_by_half_of_the_change(
    base: Figure, head: Figure, delta_ms: float, is_mostly: bool
) -> None:
    assert ForcedChange(base=base, head=head, delta_ms=delta_ms).is_mostly is is_mostly
