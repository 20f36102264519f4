"""Which pages a verdict compares, if there are more than it can."""

import pytest

from aggregate.selectors.verdict.page_changes import MAX_COMPARED_PAGES, MAX_FOLLOWED_PAGES, pick_shared
from profcore.stats.standardised import ClassSums

REAL = {f"/{number}": ClassSums(1_000, 1_000_000 - number) for number in range(10)}
FAKES = {f"/fake/{number}": ClassSums(20, 9_000_000) for number in range(90)}


def test_the_pages_with_the_most_time_are_compared_in_that_order() -> None:
    pages = {f"/{number}": ClassSums(100, number) for number in range(50)}
    assert pick_shared(pages, {**pages, "/new": ClassSums(100, 900)}) == tuple(f"/{n}" for n in range(49, 9, -1))


def test_long_views_that_somebody_made_up_push_no_page_out() -> None:
    pages = pick_shared(REAL | FAKES, REAL | FAKES)
    assert len(pages) == MAX_COMPARED_PAGES
    assert pages[-10:] == tuple(REAL)


def test_a_rare_page_of_one_side_is_rare() -> None:
    side = REAL | FAKES
    assert "/0" not in pick_shared(side, {**side, "/0": ClassSums(90, 1)})


def test_what_is_followed_is_compared_too_as_long_as_both_sides_have_it() -> None:
    side = REAL | FAKES
    dropped = [page for page in FAKES if page not in pick_shared(side, side)]
    pages = pick_shared(side, side, ["/gone", "/0", *dropped])
    assert len(pages) == MAX_COMPARED_PAGES + MAX_FOLLOWED_PAGES
    assert set(dropped[:MAX_FOLLOWED_PAGES]) < set(pages)


@pytest.mark.parametrize("sides", [({}, REAL), (REAL, {}), ({}, {})])
def test_sides_without_a_page_in_common_share_none(sides: tuple[dict[str, ClassSums], dict[str, ClassSums]]) -> None:
    assert pick_shared(*sides) == ()
