"""pprof's own command and a published package open our pprof profiles and get the same counts."""

import re
from pathlib import Path

import pytest

from profcore.formats.pprof.writer import write_difference, write_segments, write_slice
from profcore.formats.slice import SliceExport
from tests.acceptance.exports import hostile_export
from tests.acceptance.recorded import Group, export_group, groups
from tests.format_judges import read_by_pprof_format, run_go_pprof
from tests.profcore.formats.builders import BY_RELEASE, DIFFERENCE, export_of, export_tree
from tests.profcore.formats.readers import READERS, format_sums

pytestmark = pytest.mark.slow(5)

GROUPS = groups()[:: max(len(groups()) // 5, 1)]
ALL = ("-nodefraction=0", "-edgefraction=0", "-nodecount=1000000", "-unit=us", "-lines", "-showcolumns")
ROW = re.compile(r" *(-?\d+)(?:us)? +\S+% +\S+% +(-?\d+)(?:us)? +\S+%  (.*)")


def save(export: SliceExport, folder: Path) -> Path:
    path = folder / "profile.pb.gz"
    path.write_bytes(b"".join(write_slice(export)))
    return path


@pytest.mark.parametrize("group", GROUPS, ids=" ".join)
def test_the_command_counts_a_recorded_slice_as_we_do(group: Group, tmp_path: Path) -> None:
    export = export_group(group)
    sums = format_sums(export, READERS["pprof"])
    expected = {}
    for (label, uri, line, column), us in sums.total_us.items():
        place = "" if uri is None else f" {uri.replace('//', '/')}:{line}:{column}"
        expected[label + place] = (sums.self_us.get((label, uri, line, column), 0), us)  # type: ignore[call-overload]

    rows = [ROW.fullmatch(line) for line in run_go_pprof(save(export, tmp_path), "-top", *ALL).splitlines()]

    assert {row[3]: (int(row[1]), int(row[2])) for row in rows if row} == expected


@pytest.mark.parametrize("group", GROUPS, ids=" ".join)
def test_the_package_counts_a_recorded_slice_as_we_do(group: Group, tmp_path: Path) -> None:
    export = export_group(group)

    assert read_by_pprof_format(save(export, tmp_path)) == format_sums(export, READERS["pprof"])


def test_the_package_reads_hostile_names_as_they_are(tmp_path: Path) -> None:
    export = hostile_export()

    assert read_by_pprof_format(save(export, tmp_path)) == format_sums(export, READERS["pprof"])


def test_the_command_shows_time_by_default_and_what_the_profile_is(tmp_path: Path) -> None:
    path = save(export_of({"main": 3_000}, idle_us=1_000), tmp_path)

    shown = run_go_pprof(path, "-raw")

    assert "samples/count time/microseconds[dflt]" in shown
    assert "Period: 10000" in shown
    assert "Duration: 4" in shown
    assert "1: 0x0 M=1 main https://shop.example/assets/app.js:1:1 s=1(https://shop.example/assets/app.js:1:1)" in shown
    assert "project: shop" in run_go_pprof(path, "-comments")


def test_the_command_opens_hostile_names_deep_stacks_and_an_empty_slice(tmp_path: Path) -> None:
    hostile, deep = hostile_export(), export_tree(list(range(-1, 999)), 100)
    for export in (hostile, deep, export_of({})):
        total_us = export.time.js_us + export.time.hidden_us
        assert f"of {total_us}{'us' if total_us else ''} total" in run_go_pprof(
            save(export, tmp_path), "-top", "-unit=us"
        )


def test_the_command_shows_a_difference_as_one_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "difference.pb.gz"
    path.write_bytes(b"".join(write_difference(DIFFERENCE)))

    shown = run_go_pprof(path, "-top", "-unit=us", "-nodefraction=0", "-nodecount=100")

    rows = {row[3]: (int(row[1]), int(row[2])) for row in map(ROW.fullmatch, shown.splitlines()) if row}
    assert rows == {"render": (2_000, 2_000), "main": (-500, 1_300), "gone": (-200, -200), "(hidden)": (100, 100)}
    assert "of 1200us total" in shown, "percentages are of the base"


def test_the_command_takes_one_segment_by_its_label(tmp_path: Path) -> None:
    path = tmp_path / "segments.pb.gz"
    path.write_bytes(b"".join(write_segments(BY_RELEASE)))

    shown = run_go_pprof(path, "-top", "-unit=us", "-tagfocus=release=2.0.0")

    assert "accounting for 5500us, 55.00% of 10000us total" in shown
