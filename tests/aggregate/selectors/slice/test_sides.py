"""Two slices are compared by whatever differs between them; what contradicts itself is refused by its field."""

from datetime import UTC, datetime
from typing import Any

import pytest

from aggregate.selectors.exports.requests import ExportQuery, resolve_export
from aggregate.selectors.slice.sides import resolve_sides, unite
from aggregate.selectors.slice.slices import Slice, SliceError, SliceQuery, resolve_slice
from profcore.formats.registry import EXPORTERS

COMMON = Slice(project_id=1, pages=("/cart",), tags=(("k", "v"),))


def test_each_side_has_its_own_fields_and_shares_the_rest() -> None:
    base, head = resolve_sides(
        COMMON, SliceQuery(release=["1"], device=["mobile"]), SliceQuery(release=["2"], device=["desktop"])
    )
    assert base == COMMON.with_values("release", "1").with_values("device", "mobile")
    assert head == COMMON.with_values("release", "2").with_values("device", "desktop")


@pytest.mark.django_db
def test_sides_may_be_spans_of_time_open_at_an_end() -> None:
    noon = datetime(2026, 11, 20, 12, tzinfo=UTC)
    base, head = resolve_sides(Slice(project_id=1), {"to": ["2026-11-20T12:00Z"]}, {"from": ["2026-11-20T12:00Z"]})
    assert (base.ranges, head.ranges) == (((None, noon),), ((noon, None),))
    assert unite(base, head).ranges == ((None, noon), (noon, None))


@pytest.mark.parametrize(
    ("base", "head", "field"),
    [
        ({}, {}, "base_release"),
        ({"device": ["mobile"]}, {}, "head_device"),
        ({}, {"browser": ["edge"]}, "base_browser"),
        ({"page": ["/a"]}, {"page": ["/b"]}, "page"),  # which COMMON has
        ({"device": ["mobile"]}, {"device": ["toaster"]}, "head_device"),
        ({"release": ["1"] * 101}, {"release": ["2"]}, "base_release"),
    ],
)
def test_what_contradicts_itself_is_refused_by_its_field(
    base: dict[str, Any], head: dict[str, Any], field: str
) -> None:
    with pytest.raises(SliceError) as refused:
        resolve_sides(COMMON, SliceQuery(**base), SliceQuery(**head))
    assert refused.value.field == field
    assert refused.value.detail.startswith((field, "A comparison"))


def test_a_differences_query_leads_to_the_same_sides_and_its_page_to_both() -> None:
    base, head = SliceQuery(page=["/a"], release=["1"]), SliceQuery(page=["/b", "/c"], release=["2"])
    request = resolve_export(
        Slice(project_id=1).with_values("browser", "edge"), EXPORTERS["firefox"], ExportQuery(base=base, head=head)
    )
    assert request.query == "base_release=1&base_page=/a&head_release=2&head_page=/b&head_page=/c&browser=edge"
    both = Slice(project_id=1, releases=("1", "2"), pages=("/a", "/b", "/c"), dimensions=(("browser", "edge"),))
    assert request.compared_slice == both
    assert resolve_slice(1, SliceQuery()) == unite(Slice(project_id=1, pages=("/a",)), Slice(project_id=1))
