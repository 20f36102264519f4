"""Every format has the same slice: self and total of every func, read back by our own readers."""

import pytest

from profcore.formats.registry import EXPORTERS
from tests.acceptance.exports import find_differences, hostile_export
from tests.acceptance.recorded import Group, export_group, groups
from tests.profcore.formats.builders import export_of
from tests.profcore.formats.readers import READERS, format_sums


@pytest.mark.slow(8)
@pytest.mark.parametrize("format_name", READERS)
@pytest.mark.parametrize("group", groups(), ids=" ".join)
def test_recorded_slices_are_the_same_in_every_format(group: Group, format_name: str) -> None:
    assert find_differences(export_group(group), format_name) == []


@pytest.mark.parametrize("format_name", READERS)
def test_hostile_names_are_the_same_in_every_format(format_name: str) -> None:
    export = hostile_export()
    assert find_differences(export, format_name) == []


@pytest.mark.parametrize("format_name", READERS)
def test_recursion_counts_once_in_every_format(format_name: str) -> None:
    export = export_of({"walk walk walk": 5_000, "walk": 1_000, "main walk": 2_000}, hidden_us=500, idle_us=1)
    assert find_differences(export, format_name) == []


@pytest.mark.parametrize("format_name", READERS)
def test_an_empty_slice_is_a_file_in_every_format(format_name: str) -> None:
    assert find_differences(export_of({}), format_name) == []


@pytest.mark.parametrize("format_name", READERS)
def test_a_file_with_a_sample_moved_is_noticed(format_name: str) -> None:
    # The comparison itself: the same slice with a µs at another func must differ.
    reader = READERS[format_name]
    moved = reader.read(b"".join(EXPORTERS[reader.exporter].write(export_of({"main render": 4, "main": 2}))))
    assert moved.self_us != format_sums(export_of({"main render": 3, "main": 3}), reader).self_us
