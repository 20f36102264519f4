"""A range selected in Mozilla's own profile logic is the part of the tree that is drawn there."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

import pytest

from profcore.formats.registry import EXPORTERS
from profcore.formats.slice import DifferenceExport, Export, SegmentedExport
from tests.acceptance.recorded import export_group, groups
from tests.profcore.formats.firefox.lint import load_good
from tests.profile_reader import Reader, open_profile

pytestmark = pytest.mark.slow(12)

FIREFOX = EXPORTERS["firefox"]
TENTHS = list(pairwise(tenth / 10 for tenth in range(11)))


def test_a_tenth_of_a_pages_slice_is_its_share_of_the_tree(tmp_path: Path) -> None:
    for group in groups()[::5]:
        profile = write(export_group(group), tmp_path)
        with open_profile(tmp_path / "profile.json") as reader:
            for part in TENTHS:
                assert_share(profile, reader, 0, part)


def test_a_range_of_a_segment_is_its_share_of_the_segments_tree(tmp_path: Path) -> None:
    whole, other = (export_group(group) for group in groups()[:2])
    profile = write(SegmentedExport("page", whole, [("/a", whole), ("/b", other)]), tmp_path)
    with open_profile(tmp_path / "profile.json") as reader:
        for thread in range(3):
            for part in TENTHS[::3]:
                assert_share(profile, reader, thread, part)


def test_a_range_of_a_difference_and_of_both_its_sides_is_its_share(tmp_path: Path) -> None:
    head, base = (
        replace(export_group(group), views=views) for group, views in zip(groups()[:2], (20, 30), strict=True)
    )
    profile = write(DifferenceExport(project="shop", query="", base=base, head=head), tmp_path)
    with open_profile(tmp_path / "profile.json") as reader:
        for thread in range(3):
            for part in TENTHS[::3]:
                assert_share(profile, reader, thread, part)


def test_a_path_of_nearly_all_time_has_no_empty_range(tmp_path: Path) -> None:
    export = export_group(groups()[0])
    export = replace(export, time=replace(export.time, hidden_us=50 * export.time.js_us))
    profile = write(export, tmp_path)
    with open_profile(tmp_path / "profile.json") as reader:
        for part in [(0.5, 0.6), (0.25, 0.5)]:
            assert_share(profile, reader, 0, part)


def write(export: Export, folder: Path) -> dict[str, Any]:  # a foreign file, as JSON gave it
    body = b"".join(FIREFOX.write(export))
    (folder / "profile.json").write_bytes(body)
    return load_good(body)


def assert_share(profile: dict[str, Any], reader: Reader, thread: int, part: tuple[float, float]) -> None:
    """Asserts that the reader's sums of a part of a track's axis are those of the tree there, to 1 % of the range."""
    runs = list(read_runs(profile, thread))
    end_ms = runs[-1][2]
    start_ms, stop_ms = (end_ms * share for share in part)
    expected: dict[int, float] = {}
    for path, start, stop, factor in runs:
        width = min(stop, stop_ms) - max(start, start_ms)
        for func in set(path) if width > 0 else ():
            expected[func] = expected.get(func, 0.0) + width * factor
    reader.command({"command": "thread", "subcommand": "select", "thread": f"t-{thread}"})
    reader.command({"command": "zoom", "subcommand": "push", "range": f"{start_ms!r}ms,{stop_ms!r}ms"})
    totals_ms = {func.index: func.total_ms for func in reader.read_functions()}
    reader.command({"command": "zoom", "subcommand": "pop"})
    for func in {**expected, **totals_ms}:
        assert totals_ms.get(func, 0) == pytest.approx(expected.get(func, 0), abs=(stop_ms - start_ms) / 100)


def read_runs(profile: dict[str, Any], thread: int) -> Iterator[tuple[list[int], float, float, int]]:
    """Yields the funcs of each call path of a track, its start and end on the axis, and the sign of its weight."""
    shared, samples = profile["shared"], profile["threads"][thread]["samples"]
    frames, offsets = shared["stackTable"]["frame"], shared["stackTable"]["prefixOffset"]
    now = 0.0
    for stack, rows in groupby(zip(samples["stack"], samples["weight"], strict=True), key=lambda row: row[0]):
        weight = sum(weight for _, weight in rows)
        path, at = [], stack
        while at is not None:
            path.append(shared["frameTable"]["func"][frames[at]])
            at = at - offsets[at] if offsets[at] else None
        if path:
            yield path, now, now + abs(weight), 1 if weight > 0 else -1
            now += abs(weight)
