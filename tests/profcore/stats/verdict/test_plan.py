"""The plan of looks: what counts as a look, and what is left for the newest."""

import pytest

from profcore.stats.verdict.plan import MAX_ERROR, MAX_LOOKS, LookPoint, bound_of_newest, is_another_look


def test_the_only_look_at_the_end_of_the_plan_has_five_per_cent() -> None:
    assert bound_of_newest([LookPoint(1.0, 14.0)]) == pytest.approx(0.05)


def test_an_early_look_has_little_and_leaves_much() -> None:
    early, late = LookPoint(0.1, 36.0), LookPoint(1.0, 200.0)
    assert bound_of_newest([early]) == pytest.approx(0.05 * 0.1**3)
    assert 0.049 < bound_of_newest([early, late]) < 0.05


def test_what_comes_after_the_plan_never_spends_more_than_the_rest() -> None:
    looks = [LookPoint(1.0, 100.0)]
    bounds = []
    for step in range(1, 40):
        looks.append(LookPoint(1.0, 100.0 * 1.04**step))
        bounds.append(bound_of_newest(looks))
    assert all(0 < bound < MAX_ERROR for bound in bounds)
    assert bounds[-1] < bounds[0] < 0.05


def test_looks_of_the_same_data_are_one() -> None:
    first = LookPoint(0.5, 100.0)
    assert bound_of_newest([first, LookPoint(0.5, 100.0)]) == pytest.approx(bound_of_newest([first]))


@pytest.mark.parametrize(
    ("last", "now", "is_another"),
    [
        ((0.2, 100.0), (0.2, 124.0), False),
        ((0.2, 100.0), (0.2, 125.0), True),
        ((0.2, 100.0), (0.31, 101.0), True),
        ((0.95, 100.0), (1.0, 101.0), True),
        ((1.0, 100.0), (1.0, 103.0), False),
        ((1.0, 100.0), (1.0, 104.0), True),
    ],
)
def test_only_clearly_more_data_is_another_look(
    last: tuple[float, float], now: tuple[float, float], is_another: bool
) -> None:
    assert is_another_look([LookPoint(*last)], LookPoint(*now)) is is_another
    assert is_another_look([], LookPoint(*now))
    assert not is_another_look([LookPoint(*last)] * MAX_LOOKS, LookPoint(*now))
