"""Mozilla's own reader opens what we write for Chrome's tools.

It takes Chrome's formats as samples at 0.5 ms: what is shorter it passes over, and it counts samples, not time.
"""

from collections import Counter
from pathlib import Path

import pytest

from profcore.formats.registry import EXPORTERS
from profcore.formats.slice import SliceExport
from tests.profcore.formats.builders import export_of
from tests.profile_reader import open_profile
from tests.proof.recorded import Group, export_group, groups

pytestmark = pytest.mark.slow(6)

# Of two apps: each reader takes a second to start.
GROUPS = groups()[:: max(len(groups()) // 2, 1)]


def save(export: SliceExport, name: str, folder: Path) -> Path:
    path = folder / f"file{EXPORTERS[name].suffix}"
    path.write_bytes(b"".join(EXPORTERS[name].write(export)))
    return path


def sampled_names(path: Path) -> Counter[str]:
    """Returns the names of the functions that have samples on top, with how many."""
    with open_profile(path) as reader:
        return Counter({func.name: round(func.self_ms) for func in reader.read_functions() if func.self_ms})


def test_a_trace_of_a_few_calls_opens_with_all_of_them(tmp_path: Path) -> None:
    export = export_of({"main": 1_000, "main render": 3_000, "tick": 2_000}, hidden_us=9_000, idle_us=5_000)

    assert {"main", "render", "tick", "(hidden)"} <= set(sampled_names(save(export, "trace-event", tmp_path)))


@pytest.mark.parametrize("group", GROUPS, ids=" ".join)
def test_a_trace_of_a_recorded_slice_opens_with_its_functions(group: Group, tmp_path: Path) -> None:
    export = export_group(group)
    labels = [func.label or "(anonymous)" for func in export.funcs]
    long_us = Counter[str]()
    for node, func in enumerate(export.tree.func):
        long_us[labels[func]] += export.tree.self_us[node]
    expected = {label for label, us in long_us.items() if us >= 20_000}

    assert expected
    assert expected - set(sampled_names(save(export, "trace-event", tmp_path))) == set()
