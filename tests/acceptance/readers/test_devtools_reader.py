"""Chrome DevTools' own code opens our CPU profiles and traces, and gets the same counts."""

from pathlib import Path

import pytest

from profcore.formats.registry import EXPORTERS
from profcore.formats.slice import ExportFunc, SliceExport
from tests.acceptance.exports import hostile_export
from tests.acceptance.recorded import Group, export_group, groups
from tests.format_judges import read_by_devtools
from tests.profcore.formats.builders import export_of, export_tree
from tests.profcore.formats.readers import READERS, Key, Sums, format_sums

pytestmark = pytest.mark.slow(6)

# A group of each app: the engine takes a second to start.
GROUPS = groups()[:: max(len(groups()) // 5, 1)]


def save(export: SliceExport, name: str, folder: Path) -> Path:
    path = folder / f"file{EXPORTERS[name].suffix}"
    path.write_bytes(b"".join(EXPORTERS[name].write(export)))
    return path


@pytest.mark.parametrize("group", GROUPS, ids=" ".join)
def test_devtools_counts_a_recorded_slice_as_we_do(group: Group, tmp_path: Path) -> None:
    export = export_group(group)
    expected = format_sums(export, READERS["cpuprofile"])

    (sums,) = read_by_devtools("cpuprofile", save(export, "cpuprofile", tmp_path)).values()

    assert sums == expected


@pytest.mark.parametrize("group", GROUPS, ids=" ".join)
def test_devtools_draws_both_threads_of_a_trace(group: Group, tmp_path: Path) -> None:
    export = export_group(group)
    expected = format_sums(export, READERS["trace-event stacks"])

    threads = read_by_devtools("trace", save(export, "trace-event", tmp_path))

    assert set(threads) == {"Stacks", "Call paths"}
    assert threads["Stacks"].self_us == expected.self_us
    assert threads["Stacks"].total_us == expected.total_us
    assert sum(threads["Call paths"].self_us.values()) == sum(expected.self_us.values())


@pytest.mark.parametrize("kind", ["cpuprofile", "trace"])
def test_devtools_keeps_hostile_names_apart_from_its_own(kind: str, tmp_path: Path) -> None:
    export = hostile_export()
    name = {"cpuprofile": "cpuprofile", "trace": "trace-event"}[kind]

    threads = read_by_devtools(kind, save(export, name, tmp_path))

    expected = format_sums(export, READERS["cpuprofile"])
    sums = threads["" if kind == "cpuprofile" else "Stacks"]
    assert (sums.self_us, sums.total_us) == (expected.self_us, expected.total_us)


def test_devtools_is_not_ended_by_functions_called_as_its_events_are(tmp_path: Path) -> None:
    names = "Layout RunTask TracingStartedInBrowser CpuProfile Profile EventDispatch largestContentfulPaint::Candidate"
    funcs = [ExportFunc(label=name, name=name) for name in names.split()]
    export = export_of(dict.fromkeys(names.split(), 1000), funcs=funcs)

    threads = read_by_devtools("trace", save(export, "trace-event", tmp_path))

    assert threads["Stacks"].self_us == {Key(name): 1_000 for name in names.split()}
    assert threads["Call paths"].self_us == {Key(f"{name} [built-in]"): 1_000 for name in names.split()}


@pytest.mark.parametrize("kind", ["cpuprofile", "trace"])
def test_devtools_opens_a_stack_a_thousand_deep_and_an_empty_slice(kind: str, tmp_path: Path) -> None:
    name = {"cpuprofile": "cpuprofile", "trace": "trace-event"}[kind]
    deep = export_tree(list(range(-1, 999)), 100)

    threads = read_by_devtools(kind, save(deep, name, tmp_path))

    assert sum(threads["" if kind == "cpuprofile" else "Stacks"].self_us.values()) == deep.time.js_us
    for sums in read_by_devtools(kind, save(export_of({}), name, tmp_path)).values():
        assert sums == Sums()
