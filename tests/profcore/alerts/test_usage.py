"""Whether a release is in use: by its own past, whole days, and enough page views of those who replaced it."""

import pytest

from profcore.alerts.usage import BestDay, DayViews, bound_share, find_best, is_back, is_gone

FULL = find_best([DayViews(own=300, older=700), DayViews(own=980, older=20)])


def test_the_best_day_is_by_what_is_certain() -> None:
    assert FULL.share == pytest.approx(0.969, abs=0.001)
    assert FULL.views == 980
    assert find_best([DayViews(own=1)]).share < 0.3  # one view makes no best day
    assert find_best([]) == BestDay()


@pytest.mark.parametrize(
    ("now", "is_over"),
    [
        (DayViews(own=0, older=1_000), True),
        (DayViews(own=50, older=1_000), True),  # tabs that stayed open
        (DayViews(own=100, older=1_000), False),
        (DayViews(own=20, older=170), False),  # so few that it may be more
        (DayViews(own=0, older=190), False),  # a fifth of its views has to be back
        (DayViews(own=0, older=200), True),
        (DayViews(own=10, older=400, newer=600), False),  # replaced, and not rolled back
        (DayViews(own=10, older=600, newer=400), True),
        (DayViews(), False),
    ],
)
def test_a_release_is_gone_if_users_have_older_ones_again(now: DayViews, is_over: bool) -> None:
    assert is_gone(now, FULL) is is_over


def test_a_canary_is_not_gone_for_being_small() -> None:
    canary = find_best([DayViews(own=500, older=9_500)] * 5)
    assert not is_gone(DayViews(own=500, older=9_500), canary)
    assert not is_gone(DayViews(own=100, older=9_900), canary)
    assert not is_gone(DayViews(own=0, older=700), canary)  # not certain yet
    assert is_gone(DayViews(own=0, older=9_900), canary)


def test_a_release_is_back_with_a_good_part_of_what_it_had() -> None:
    assert not is_back(DayViews(own=50, older=950), FULL)
    assert not is_back(DayViews(own=300, older=700), FULL)
    assert is_back(DayViews(own=400, older=600), FULL)
    assert not is_back(DayViews(own=4, older=6), FULL)
    assert not is_back(DayViews(own=19), BestDay())
    assert not is_back(DayViews(own=400, older=100, newer=4_000), FULL)


def test_nothing_is_known_without_page_views() -> None:
    assert bound_share(0, 0) == (0.0, 1.0)
