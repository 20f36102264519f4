"""What of an export contradicts itself is refused by its field, before anything is looked up."""

from typing import Any
from uuid import UUID

import pytest

from aggregate.selectors.exports.requests import ExportQuery, resolve_export
from aggregate.selectors.slice.slices import Slice, SliceError, SliceQuery
from profcore.formats.registry import EXPORTERS

VIEW = UUID("6f1d9d0e-6a43-5b53-9f5e-0d3b6c1c2a10")


def resolve(slice_: Slice, **fields: Any) -> None:
    resolve_export(slice_, EXPORTERS["firefox"], ExportQuery(**fields))


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"segment": "colour"}, "segment"),
        ({"axis": "x"}, "axis"),
        ({"axis": "time"}, "axis"),
        ({"axis": "time", "segment": "page"}, "axis"),
        ({"engine": "steam"}, "engine"),
        ({"engine": "leaves"}, "engine"),
        ({"base": SliceQuery(release=["1"])}, "head_release"),
        ({"head": SliceQuery(release=["1"])}, "base_release"),
        ({"base": SliceQuery(release=["1"]), "head": SliceQuery(release=["2"]), "segment": "page"}, "segment"),
        ({"base": SliceQuery(release=["1"]), "head": SliceQuery(release=["2"]), "axis": "time"}, "axis"),
        ({"base": SliceQuery(release=["1"]), "head": SliceQuery(release=["\0"])}, "head_release"),
        ({"base": SliceQuery(release=["1"] * 101), "head": SliceQuery(release=["2"])}, "base_release"),
    ],
)
def test_what_contradicts_itself_is_refused_by_its_field(fields: dict[str, Any], field: str) -> None:
    with pytest.raises(SliceError) as refused:
        resolve(Slice(project_id=1), **fields)
    assert refused.value.field == field


def test_a_difference_takes_no_release_beside_its_own() -> None:
    with pytest.raises(SliceError) as refused:
        resolve(
            Slice(project_id=1, releases=("1.0.0",)), base=SliceQuery(release=["1"]), head=SliceQuery(release=["2"])
        )
    assert refused.value.field == "release"


def test_a_clock_takes_no_filter_within_traces() -> None:
    for slice_ in (
        Slice(project_id=1, traces=(VIEW,), tags=(("k", "v"),)),
        Slice(project_id=1, views=(VIEW,), func_over=((1, 5),)),
    ):
        with pytest.raises(SliceError, match="neither tag nor func_over"):
            resolve(slice_, axis="time")
