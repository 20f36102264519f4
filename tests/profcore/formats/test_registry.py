"""Exporters are found by their names in the read API, and tell what they can write."""

from dataclasses import replace

import pytest

from profcore.formats.registry import EXPORTERS, UnsupportedKind
from profcore.formats.slice import DifferenceExport, SegmentedExport, TimelineExport
from tests.profcore.formats.builders import export_of
from tests.profcore.formats.firefox.lint import load_good


def test_the_firefox_exporter_writes_a_good_profile() -> None:
    load_good(b"".join(EXPORTERS["firefox"].write(export_of({"main": 1}))))


def test_every_exporter_goes_by_its_own_name() -> None:
    assert {name: exporter.name for name, exporter in EXPORTERS.items()} == {name: name for name in EXPORTERS}


def test_an_exporter_refuses_at_once_what_it_has_no_way_to_say() -> None:
    only_slices = replace(EXPORTERS["firefox"], write_segments=None, write_timeline=None, write_difference=None)
    whole = export_of({"main": 1})
    assert only_slices.kinds == ("slice",)
    for export in (
        SegmentedExport("page", whole, ()),
        TimelineExport(project="shop", query="", funcs=(), views=()),
        DifferenceExport(project="shop", query="", base=whole, head=whole),
    ):
        with pytest.raises(UnsupportedKind, match="no way to write"):
            only_slices.write(export)
