"""The wall around the core: it imports no framework, database or broker, and reads no clock and no environment."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]
BLOCKED: Final = (
    "django",
    "rest_framework",
    "celery",
    "kombu",
    "psycopg",
    "redis",
    "config",
    "ingest",
    "aggregate",
    "dashboard",
    "settings",
    "tests",
)
# Clock, environment, chance, network, processes: with any of them a result would not follow from the values given.
IMPURE_MODULES: Final = frozenset(
    {"time", "os", "random", "secrets", "socket", "subprocess", "platform", "locale", "logging", "threading", "asyncio"}
)
IMPURE_ATTRIBUTES: Final = frozenset(
    {"now", "utcnow", "today", "time_ns", "monotonic", "perf_counter", "environ", "getenv", "uuid1", "uuid4"}
)
IMPORT_ALL: Final = """
import importlib, pkgutil, sys

class Wall:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in BLOCKED:
            raise ImportError(f"{name} lies beyond the wall")

BLOCKED = set(sys.argv[2].split(","))
sys.meta_path.insert(0, Wall())
package = importlib.import_module(sys.argv[1])
for found in pkgutil.walk_packages(package.__path__, package.__name__ + ".", onerror=lambda name: None):
    try:
        importlib.import_module(found.name)
    except ImportError as error:
        print(found.name, error, sep=": ")
    else:
        print(found.name)
"""


def import_behind_wall(package: str, root: Path) -> list[str]:
    """Imports every module of a package in a separate process where the blocked names cannot be imported.

    Returns a line a module: its name, and after a colon what kept it from being imported.
    """
    done = subprocess.run(
        [sys.executable, "-P", "-c", IMPORT_ALL, package, ",".join(BLOCKED)],
        env={"PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return done.stdout.splitlines()


def impurities(source: str) -> Iterator[str]:
    """Yields what a module's source uses that is not from its arguments."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.split(".")[0] in IMPURE_MODULES)
        elif isinstance(node, ast.ImportFrom):
            if (node.module or "").split(".")[0] in IMPURE_MODULES:
                yield node.module or ""
            yield from (alias.name for alias in node.names if alias.name in IMPURE_ATTRIBUTES)
        elif isinstance(node, ast.Attribute) and node.attr in IMPURE_ATTRIBUTES:
            yield ast.unparse(node)


def test_every_module_of_the_core_imports_behind_the_wall() -> None:
    modules = [path.relative_to(ROOT).with_suffix("").parts for path in (ROOT / "profcore").rglob("*.py")]
    names = {".".join(parts[:-1] if parts[-1] == "__init__" else parts) for parts in modules} - {"profcore"}
    assert set(import_behind_wall("profcore", ROOT)) == names


def test_the_wall_stops_an_import_deep_inside_a_package(tmp_path: Path) -> None:
    (tmp_path / "leaky" / "inner").mkdir(parents=True)
    (tmp_path / "leaky" / "__init__.py").touch()
    (tmp_path / "leaky" / "inner" / "__init__.py").touch()
    for name in BLOCKED:
        (tmp_path / "leaky" / "inner" / f"hole_{name}.py").write_text(f"import {name}.anything\n")
    leaks = [line for line in import_behind_wall("leaky", tmp_path) if ".hole_" in line]
    assert sorted(leaks) == sorted(f"leaky.inner.hole_{name}: {name} lies beyond the wall" for name in BLOCKED)


@pytest.mark.parametrize(
    "path", sorted((ROOT / "profcore").rglob("*.py")), ids=lambda path: str(path.relative_to(ROOT))
)
def test_a_module_of_the_core_takes_all_it_knows_from_its_arguments(path: Path) -> None:
    assert list(impurities(path.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize(
    "source",
    [
        "import time",
        "import os.path",
        "from os import environ",
        "from datetime import datetime\nbegun = datetime.now()",
        "import datetime\nbegun = datetime.datetime.utcnow()",
        "from datetime import date\nday = date.today()",
        "from uuid import uuid4",
        "from time import monotonic",
    ],
)
def test_an_impure_module_is_noticed(source: str) -> None:
    assert list(impurities(source)) != []
