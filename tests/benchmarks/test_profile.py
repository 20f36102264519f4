"""`benchmarks profile` samples the processes that work, and sums what PostgreSQL did by statement."""

import json
import stat
import sys
import threading
from pathlib import Path
from typing import Any, Final

import pytest

from benchmarks.profile import profile as run
from benchmarks.profile.functions import FunctionCost, describe_costs, read_costs
from benchmarks.profile.profile import bench_profile, describe, find_busiest, flame_graph_address
from benchmarks.profile.sampling import find_py_spy, sample_processes, tidy
from benchmarks.profile.statements import CHECK, sum_durations, unify
from benchmarks.shared.load import PROJECT, read_envelopes
from ops.supervisor.running import run_stack
from ops.supervisor.services import BASE_DIR
from tests.profcore.formats.importers.reading import sample_json

# Stands for py-spy, which the tests do not install: says that it samples, and writes a file when interrupted.
# A shell would not do: one that was started with interrupts ignored cannot catch them.
FAKE: Final = """\
import os, signal, sys

def write(*_):
    file = sys.argv[sys.argv.index("--output") + 1]
    text = open("{sample}").read().replace("main", os.path.basename(file))
    open(file, "w").write(text)
    sys.exit()

signal.signal(signal.SIGINT, write)
print("py-spy> Sampling process 200 times a second. Press Control-C to exit.", flush=True)
while True:
    signal.pause()
"""
LOG: Final = """\
@duration@ LOG:  duration: 0.500 ms  parse <unnamed>: SELECT a
\tFROM t WHERE id = $1 AND name = 'x' LIMIT 10
@duration@ LOG:  duration: 0.250 ms  bind <unnamed>: SELECT a
\tFROM t WHERE id = $1 AND name = 'x' LIMIT 10
@duration@ LOG:  duration: 1.000 ms  execute <unnamed>: SELECT a
\tFROM t WHERE id = $1 AND name = 'x' LIMIT 10
@duration@ LOG:  duration: 2.000 ms  execute p1/C_2: SELECT a FROM t WHERE id = $2 AND name = 'it''s' LIMIT 20
@duration@ LOG:  duration: 0.125 ms  statement:\x20
@duration@ LOG:  checkpoint starting: time
"""


def make_fake(folder: Path, text: str) -> str:
    path = folder / "py-spy"
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def test_calls_of_a_statement_are_summed_whatever_their_values() -> None:
    costs = sum_durations(LOG.splitlines(keepends=True))
    assert [(cost.text, cost.calls, cost.parses) for cost in costs] == [
        ("SELECT a FROM t WHERE id = ? AND name = '…' LIMIT n", 2, 1),
        (CHECK, 1, 0),
    ]
    assert costs[0].ms == {"parse": 0.5, "bind": 0.25, "execute": 3.0}


def test_lists_of_values_are_one_statement_whatever_their_length() -> None:
    assert unify("IN ($1, $2, $3)") == unify("IN ($1, $2)") == "IN (?…)"


def make_profile(frames: list[tuple[str, str | None]], threads: list[list[list[int]]]) -> bytes:
    """Returns a file as py-spy writes it: each sample weighs 4 ms."""
    shared = {"frames": [{"name": name, "file": file, "line": 3, "col": None} for name, file in frames]}
    weights = [[0.004] * len(samples) for samples in threads]
    profiles = [
        {"startValue": 0.0, "endValue": 9.0, "samples": samples, "weights": thread_weights}
        for samples, thread_weights in zip(threads, weights, strict=True)
    ]
    return json.dumps({"shared": shared, "profiles": profiles}).encode()


def test_files_are_named_as_modules_are() -> None:
    paths = [
        f"{BASE_DIR}/profcore/times.py",
        "/x/lib/python3.11/site-packages/django/http.py",
        json.__file__,
        "<x>",
        None,
    ]
    tidied = json.loads(tidy(make_profile([("f", path) for path in paths], [])))
    files = [frame["file"] for frame in tidied["shared"]["frames"]]
    assert files == ["profcore/times.py", "django/http.py", "json/__init__.py", "<x>", ""]


def test_what_only_waits_is_left_out() -> None:
    frames: list[tuple[str, str | None]] = [("Condition.wait", threading.__file__), ("fold", "<x>")]
    (thread,) = json.loads(tidy(make_profile(frames, [[[1], [1, 0], [0, 1], []], [[0], [1, 0]]])))["profiles"]
    assert thread["samples"] == [[1], [0, 1]]
    assert (thread["weights"], thread["endValue"]) == ([0.004, 0.004], 0.008)


def test_functions_get_their_share_of_the_processor_time() -> None:
    functions = [
        {"name": "fold", "uri": "/profcore/sums/fold.py", "self_ms": 30.0, "total_ms": 90.0},
        {"name": "dump", "uri": "/psycopg/array.py", "self_ms": 60.0, "total_ms": 60.0},
        {"name": "poll", "uri": None, "self_ms": 10.0, "total_ms": 10.0},
        {"name": "launch", "uri": "/ops/supervisor/supervisor.py", "self_ms": 0.0, "total_ms": 100.0},
    ]
    costs = read_costs({"time_ms": {"js": 100.0}, "functions": functions}, processor_ms=2.0)
    assert costs[0] == FunctionCost(name="fold", file="profcore/sums/fold.py", self_ms=0.6, total_ms=1.8)
    shown = describe_costs("worker", costs, 2.0, most=2).splitlines()
    assert shown[0] == "worker: 2.00 ms a trace, by package: psycopg 1.20, profcore 0.60, (none) 0.20, ops 0.00"
    assert [line.split()[-2:] for line in (shown[2], shown[3], shown[5])] == [
        ["dump", "psycopg/array.py"],
        ["fold", "profcore/sums/fold.py"],
        ["fold", "profcore/sums/fold.py"],
    ]
    assert len(shown) == 6, "neither a library's function nor the supervisor's is one of Fieldflame's"


def test_the_process_that_worked_most_lately_is_sampled() -> None:
    assert find_busiest({1: 9.0, 2: 1.0}, {1: 9.5, 2: 3.0, 3: 1.0}) == 2


def test_without_py_spy_it_is_said_how_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(LookupError, match="pip install py-spy"):
        find_py_spy(str(tmp_path / "py-spy"))


def test_a_process_that_may_not_be_read_is_an_error_with_the_reason(tmp_path: Path) -> None:
    fake = make_fake(tmp_path, "#!/bin/sh\necho 'Error: Permission denied'\nexit 1\n")
    with (
        pytest.raises(RuntimeError, match=r"process 7: Error: Permission denied\n.*ptrace_scope"),
        sample_processes(fake, {"web": 7}),
    ):
        pytest.fail("nothing is sampled")


@pytest.mark.nightly
@pytest.mark.slow(60)
@pytest.mark.stack
def test_a_whole_fieldflame_is_profiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "WARM_TRACES", 20)
    monkeypatch.setattr(run, "PAUSE_S", 0.1)
    file: dict[str, Any] = sample_json("speedscope.json")
    file["profiles"] = file["profiles"][:1]  # samples, as py-spy's; the other one has events
    (tmp_path / "sample.json").write_text(json.dumps(file))
    fake = make_fake(tmp_path, f"#!{sys.executable}\n" + FAKE.replace("{sample}", str(tmp_path / "sample.json")))
    recorded = read_envelopes()[:40]
    with run_stack(run.PATIENT) as stack:
        result = bench_profile(stack, recorded, traces=40, senders=2, py_spy=fake)
        assert "page=%2Fweb" in flame_graph_address(stack, "web")
        assert stack.read(PROJECT, stack.create_token(PROJECT), "status")["folded"] == 140
    assert set(result.files) == set(result.functions) == {"web", "worker"}
    for part, costs in result.functions.items():
        assert sum(cost.self_ms for cost in costs) == pytest.approx(result.processor_ms[part])
    posts = [cost for cost in result.statements if "INSERT INTO ingest_rawtrace" in cost.text]
    assert [1 <= cost.calls <= 40 for cost in posts] == [True]  # posts that wait for a connection share a statement
    lines: list[str] = []
    describe(result, lines.append)
    assert "PostgreSQL by statement" in lines[-1]
