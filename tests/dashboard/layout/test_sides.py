"""The sides of a comparison: as an address names them, without a word, and what they are called."""

from datetime import UTC, datetime

import pytest
from django.http import QueryDict

from aggregate.selectors.project.pages import ReleaseRow
from aggregate.selectors.slice.slices import Slice, SliceError
from dashboard.layout.sides import Sides, find_default_sides, name_side, read_side_queries, settle_sides

CART = Slice(project_id=1, pages=("/cart",))
NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


def make_row(name: str, views: int) -> ReleaseRow:
    return ReleaseRow(release=name, first_seen_at=NOON, views=views, truncated_views=0)


def releases(*names: str, empty: str = "") -> list[ReleaseRow]:
    return [make_row(name, 0 if name == empty else 5) for name in names]


def in_cart(release: str) -> Slice:
    return Slice(project_id=1, releases=(release,), pages=("/cart",))


def settle(slice_: Slice, query: str) -> Sides:
    return settle_sides(slice_, read_side_queries(QueryDict(query)))


def default(slice_: Slice, rows: list[ReleaseRow]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    sides = find_default_sides(slice_, (), rows)
    assert sides is not None
    return sides.base.releases, sides.head.releases


def test_the_last_release_is_compared_with_the_one_before_over_the_rest_of_the_slice() -> None:
    sides = find_default_sides(CART, (), releases("3", "2", "1"))
    assert sides == Sides(CART, in_cart("2"), in_cart("3"))
    assert sides.params() == [("page", "/cart"), ("base_release", "2"), ("head_release", "3")]


def test_a_release_without_views_is_not_compared_unasked() -> None:
    assert default(Slice(project_id=1), releases("3", "2", "1", empty="3")) == (("1",), ("2",))


def test_a_release_that_too_few_have_met_is_passed_over_unasked_if_two_others_are_left() -> None:
    rows = [make_row(name, views) for name, views in (("4", 1), ("3", 40), ("2", 3), ("1", 40))]
    assert default(Slice(project_id=1), rows) == (("1",), ("3",))
    assert default(Slice(project_id=1), rows[:3]) == (("3",), ("4",))
    assert default(Slice(project_id=1, releases=("4",)), rows) == (("3",), ("4",))


def test_a_slice_of_one_release_has_it_as_head_and_the_first_one_as_base() -> None:
    rows = releases("3", "2", "1")
    assert default(Slice(project_id=1, releases=("2",)), rows) == (("1",), ("2",))
    assert default(Slice(project_id=1, releases=("1",)), rows) == (("1",), ("2",))


def test_a_slice_is_asked_for_its_own_last_releases() -> None:
    rows = releases("3", "2", "1")
    sides = find_default_sides(CART, rows[1:], rows)
    assert sides == Sides(CART, in_cart("1"), in_cart("2"))  # nobody has met the last one on this page
    sides = find_default_sides(CART, rows[:1], rows)
    assert sides == Sides(CART, in_cart("2"), in_cart("3"))


def test_what_lacks_a_name_is_no_release() -> None:
    assert default(Slice(project_id=1), releases("(other)", "2", "1")) == (("1",), ("2",))


def test_a_slice_of_two_releases_compares_these() -> None:
    assert default(Slice(project_id=1, releases=("1", "3")), releases("3", "2", "1")) == (("1",), ("3",))


def test_one_release_alone_has_nothing_beside_it() -> None:
    assert find_default_sides(Slice(project_id=1), (), releases("1")) is None


def test_what_a_side_names_is_no_longer_shared() -> None:
    sides = settle(in_cart("9"), "base_release=1&head_release=2")
    assert sides == Sides(CART, in_cart("1"), in_cart("2"))
    assert sides.side_fields == {"release"}


def test_the_other_side_keeps_what_the_slice_has_for_both() -> None:
    sides = settle(CART, "head_page=/list&base_page=")
    assert (sides.base.pages, sides.head.pages, sides.common.pages) == (("/cart",), ("/list",), ())


@pytest.mark.django_db
def test_spans_of_time_are_sides_and_are_not_shared() -> None:
    shared = Slice(project_id=1, ranges=((NOON, None),))
    sides = settle(shared, "base_to=2026-11-20T12:00Z")
    assert (sides.base.ranges, sides.head.ranges, sides.common.ranges) == (((None, NOON),), ((NOON, None),), ())
    assert sides.side_fields == {"from"}
    assert name_side(sides, sides.base).has_time


def test_what_only_one_side_has_is_refused_in_words() -> None:
    with pytest.raises(SliceError, match=r"Choose a device for the “after” side too, or for neither side\.") as caught:
        settle(CART, "base_device=mobile")
    assert caught.value.field == "head_device"


def test_sides_are_called_by_what_they_have_of_their_own() -> None:
    by_release = settle(CART, "base_release=1&head_release=2")
    assert (name_side(by_release, by_release.head).names, name_side(by_release, by_release.head).is_release) == (
        ["2"],
        True,
    )
    devices = "&".join(f"head_device={word}" for word in ("mobile", "mobile-low", "mobile-high"))
    by_device = settle(CART, f"base_device=desktop&{devices}")
    assert name_side(by_device, by_device.base).names == ["desktop"]
    assert name_side(by_device, by_device.head).names == ["phones"]


def test_the_same_slice_twice_is_noticed() -> None:
    assert settle(CART, "base_release=1&head_release=1").are_equal
