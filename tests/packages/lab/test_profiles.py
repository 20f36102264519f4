"""CPU profiles as a lab: own time, built-ins and foreign scripts, several files, and files of a real Node."""

import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from fieldflame.exits import UsageError
from fieldflame.lab.costs import FuncName, LabChange
from fieldflame.lab.profiles import compare_profiles, read_profile

from tools.recording.programs import ProgramError, find_node

PAGE = "https://a/x.js"
SCRIPT = """
const rounds = process.argv[2] === 'new' ? 1500 : 100;
function renderCart(rows) {
  let sum = 0;
  for (let round = 0; round < rounds; round += 1) for (const row of rows) sum = (sum * 31 + row) % 1000003;
  return sum;
}
function listNames(rows) {
  let names = [];
  for (let round = 0; round < 20; round += 1) names = JSON.parse(JSON.stringify(rows)).map(String).sort();
  return names.length;
}
const rows = Array.from({ length: 20000 }, (_, at) => (at * 7919) % 1000);
console.log(renderCart(rows) + listNames(rows));
"""


def name(label: str) -> FuncName:
    return FuncName(label, "")


def node(number: int, label: str, url: str = "", children: Sequence[int] = ()) -> dict[str, Any]:
    return {"id": number, "callFrame": {"functionName": label, "url": url}, "children": list(children)}


def write(path: Path, nodes: Sequence[Mapping[str, Any]], ms: Mapping[int, float]) -> str:
    """Writes a `.cpuprofile` in which each node is on top for so many ms; returns its path."""
    deltas = [0, *(int(1_000 * time_ms) for time_ms in ms.values())]
    path.write_text(json.dumps({"nodes": nodes, "samples": list(ms), "timeDeltas": deltas}), encoding="utf-8")
    return str(path)


def profile(folder: Path, label: str, ms: float, number: int = 0) -> str:
    """Writes a file in which a function of the page runs for some ms, between idle time."""
    nodes = [node(1, "(root)", "", (2, 3)), node(2, "(idle)"), node(3, label, PAGE)]
    return write(folder / f"{label}-{ms}-{number}.cpuprofile", nodes, {2: 1, 3: ms})


def test_cpu_profiles_are_read_as_own_time(tmp_path: Path) -> None:
    assert read_profile(profile(tmp_path, "renderCart", 12)) == {name("renderCart"): 12.0}
    base = [profile(tmp_path, "renderCart", ms) for ms in (10, 14)]
    comparison = compare_profiles(base, [profile(tmp_path, "renderCart", 31)])
    assert comparison.changes == (LabChange(name("renderCart"), 12.0, 31.0),)
    assert compare_profiles(base, [profile(tmp_path, "renderCart", 13)]).changes == ()  # a tenth may be chance


def test_built_ins_and_scripts_of_the_tool_count_for_their_caller(tmp_path: Path) -> None:
    nodes = [
        node(7, "stringify"),  # before its caller in the file
        node(1, "(root)", "", (2, 5, 8)),
        node(2, "renderCart", PAGE, (3, 7)),
        node(3, "consoleCall", "node:internal/console", (4,)),
        node(4, "write"),
        node(5, "requireBuiltin", "node:internal/bootstrap", (6,)),
        node(6, "compile"),
        node(8, "", PAGE),
    ]
    ms = {2: 10, 3: 2, 4: 3, 5: 100, 6: 100, 7: 4, 8: 50}
    assert read_profile(write(tmp_path / "x.cpuprofile", nodes, ms)) == {name("renderCart"): 19.0}


def test_callers_in_a_circle_end(tmp_path: Path) -> None:
    nodes = [node(1, "f", "", (2,)), node(2, "g", "", (1,)), node(3, "renderCart", PAGE, (3,))]
    assert read_profile(write(tmp_path / "x.cpuprofile", nodes, {1: 5, 2: 5, 3: 7})) == {name("renderCart"): 7.0}


@pytest.mark.parametrize(
    ("base", "head", "is_change"),
    [
        ((10, 11, 12), (20, 21, 22), True),
        ((10, 11, 25), (20, 21, 22), False),  # one slow run before: three files are too few to say
        ((10, 11, 12, 10, 25), (20, 21, 22, 28, 23), False),
        ((10, 11, 12, 10, 21), (20, 22, 22, 28, 23), True),
        ((10, 25), (20, 30), True),  # two files say nothing about chance
    ],
)
def test_several_files_must_differ_nearly_all(
    tmp_path: Path, base: Sequence[float], head: Sequence[float], is_change: bool
) -> None:
    sides = [
        [profile(tmp_path, "renderCart", ms, 100 * side + at) for at, ms in enumerate(files)]
        for side, files in enumerate((base, head))
    ]
    assert bool(compare_profiles(*sides).changes) is is_change


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"nodes": 7}'])
def test_a_file_that_is_not_a_cpu_profile_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.cpuprofile"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match="cpuprofile"):
        read_profile(str(path))
    with pytest.raises(UsageError, match="cannot be read"):
        read_profile(str(tmp_path / "none"))


def test_files_of_a_real_node_have_the_script_and_nothing_of_node(tmp_path: Path) -> None:
    try:
        program = find_node()
    except ProgramError as error:
        pytest.skip(str(error))
    (tmp_path / "cart.mjs").write_text(SCRIPT, encoding="utf-8")
    files = []
    for version in ("old", "new"):
        flags = ["--cpu-prof", f"--cpu-prof-name={version}.cpuprofile"]
        subprocess.run([program, *flags, "cart.mjs", version], cwd=tmp_path, check=True, capture_output=True)
        files.append(str(tmp_path / f"{version}.cpuprofile"))
    comparison = compare_profiles(files[:1], files[1:])
    assert {change.name.label for change in comparison.all} <= {"renderCart", "listNames"}
    changes = {change.name.label: change for change in comparison.changes}
    assert "renderCart" in changes, comparison.all
    assert changes["renderCart"].head_ms > changes["renderCart"].base_ms > 0
