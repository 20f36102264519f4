"""Readers that count the samples of Chrome's formats instead of their time get the right shares too.

Mozilla's own reader is one of them. It takes the samples at steps of 0.5 ms.
"""

import json
from collections import Counter
from pathlib import Path

import pytest

from profcore.formats.chrome.cpuprofile import write_slice
from profcore.formats.registry import EXPORTERS
from profcore.formats.slice import SliceExport
from tests.acceptance.recorded import Group, export_group, groups
from tests.profcore.formats.builders import export_of
from tests.profile_reader import read_functions

pytestmark = pytest.mark.slow(10)


def shares_of_time(export: SliceExport) -> dict[str, float]:
    """Returns the share of each name in the self time of all that runs, hidden and engine time included."""
    self_us = Counter[str]()
    for func, us in zip(export.tree.func, export.tree.self_us, strict=True):
        self_us[export.funcs[func].label or "(anonymous)"] += us
    self_us += Counter({"(hidden)": export.time.hidden_us, "(engine)": export.time.engine_us})
    return shares(self_us)


def shares(counts: Counter[str]) -> dict[str, float]:
    return {name: count / counts.total() for name, count in counts.items() if count}


def assert_alike(times: dict[str, float], expected: dict[str, float]) -> None:
    for name in times.keys() | expected.keys():
        assert times.get(name, 0) == pytest.approx(expected.get(name, 0), abs=0.02), name


@pytest.mark.parametrize("group", groups()[::4], ids=" ".join)
def test_counted_samples_are_the_shares_of_time(group: Group) -> None:
    export = export_group(group)
    profile = json.loads(b"".join(write_slice(export)))
    names = {node["id"]: node["callFrame"]["functionName"] for node in profile["nodes"]}
    counts = Counter(names[node] for node in profile["samples"])
    del counts["(root)"], counts["(idle)"]

    assert_alike(shares(counts), shares_of_time(export))


def read_by_mozilla(export: SliceExport, name: str, folder: Path) -> Counter[str]:
    """Returns how many samples Mozilla's reader counts of each name."""
    path = folder / f"file{EXPORTERS[name].suffix}"
    path.write_bytes(b"".join(EXPORTERS[name].write(export)))
    counts = Counter[str]()
    for func in read_functions(path):
        counts[func.name] += round(func.self_ms)
    del counts["(root)"], counts["(idle)"]
    return counts


@pytest.mark.parametrize("name", ["cpuprofile", "trace-event"])
@pytest.mark.parametrize("group", groups()[::8], ids=" ".join)
def test_mozillas_reader_which_counts_finds_the_shares_of_time(group: Group, name: str, tmp_path: Path) -> None:
    export = export_group(group)

    assert_alike(shares(read_by_mozilla(export, name, tmp_path)), shares_of_time(export))


@pytest.mark.parametrize("name", ["cpuprofile", "trace-event"])
def test_mozillas_reader_does_not_lose_the_heaviest_path(name: str, tmp_path: Path) -> None:
    counts = read_by_mozilla(export_of({"main": 30_000, "main render": 100_000}, idle_us=50_000), name, tmp_path)

    assert counts["render"] == pytest.approx(10 / 3 * counts["main"])
