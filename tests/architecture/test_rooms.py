"""The rooms of packages: no folder is crowded, and rooms depend on each other one way only."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Final

import pytest

from tests.architecture.tree import PACKAGES, PRODUCT, ROOT, imports_of, list_files, list_modules

MAX_MODULES: Final = 16  # a folder in which somebody finds a module at a glance
# Folders whose modules are a list by nature: one module per step in time.
LISTS: Final = ("migrations",)
# What may import what: each layer, those below it.
LAYERS: Final = ("profcore", "projects", "ingest", "aggregate", "alerts", "dashboard")
# Packages and rooms whose children are rooms of their own.
PARENTS: Final = (
    "profcore",
    "projects",
    "ingest",
    "aggregate",
    "aggregate.selectors",
    "alerts",
    "ops",
    "dashboard",
    "dashboard.api",
    "dashboard.pages",
)


def room_of(module: str, package: str) -> str | None:
    """Returns the child of a package that a module is in; None if it is not in the package."""
    if not module.startswith(f"{package}."):
        return None
    return module.removeprefix(f"{package}.").partition(".")[0]


def draw_arrows(package: str) -> dict[str, set[str]]:
    """Returns for each room of a package the rooms that it imports."""
    arrows: dict[str, set[str]] = defaultdict(set)
    for module in list_modules():
        here = room_of(module, package)
        for target in imports_of(module) if here else ():
            there = room_of(target, package)
            if here and there and there != here:
                arrows[here].add(there)
    return dict(arrows)


def find_circle(arrows: dict[str, set[str]]) -> list[str]:
    """Returns rooms of which each imports the next, and the last the first; empty if there is no such circle."""
    done: set[str] = set()

    def walk(room: str, path: list[str]) -> list[str]:
        if room in path:
            return path[path.index(room) :]
        if room in done:
            return []
        for other in sorted(arrows.get(room, ())):
            if circle := walk(other, [*path, room]):
                return circle
        done.add(room)
        return []

    return next((circle for room in sorted(arrows) if (circle := walk(room, []))), [])


def test_no_folder_is_crowded() -> None:
    counts = Counter(path.rpartition("/")[0] for path in list_files(".py") if not path.endswith("__init__.py"))
    crowded = {
        folder: count
        for folder, count in counts.items()
        if count > MAX_MODULES and folder.rpartition("/")[2] not in LISTS
    }
    assert crowded == {}


@pytest.mark.parametrize("package", PARENTS)
def test_rooms_import_each_other_one_way_only(package: str) -> None:
    assert find_circle(draw_arrows(package)) == []


def test_a_circle_is_found() -> None:
    assert find_circle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c"]
    assert find_circle({"a": {"b", "c"}, "b": {"c"}}) == []


@pytest.mark.parametrize("layer", LAYERS)
def test_a_layer_imports_only_the_layers_below_it(layer: str) -> None:
    above = set(LAYERS[LAYERS.index(layer) + 1 :]) | {"config", "ops"}
    imports = {
        (module, target)
        for module in list_modules()
        if module.partition(".")[0] == layer
        for target in imports_of(module)
        if target.partition(".")[0] in above
    }
    assert imports == set()


def list_imports_of(importers: Iterable[str], targets: set[str]) -> set[tuple[str, str]]:
    """Returns the imports (module, target) of modules of some packages from other packages among the targets."""
    return {
        (module, target)
        for module in list_modules()
        if (top := module.partition(".")[0]) in importers
        for target in imports_of(module)
        if target.partition(".")[0] in targets - {top}
    }


def test_nobody_imports_the_dashboard() -> None:
    assert list_imports_of(PACKAGES, {"dashboard"}) == set()


def test_the_product_imports_no_benchmarks_tools_or_tests() -> None:
    assert list_imports_of(PRODUCT, {"benchmarks", "tools", "tests"}) == set()
    assert list_imports_of(("tests",), {"tools"}) != set()


def test_only_the_process_that_labels_parses_sources() -> None:
    """It has limits of memory and time; a web process or a worker that parses has none."""
    parsers = re.compile(r"\b(read_scopes|ScopeTree|parse_source|label_positions)\b")
    readers = [
        str(path.relative_to(ROOT))
        for room in ("aggregate", "alerts", "dashboard", "ingest", "projects", "ops")
        for path in (ROOT / room).rglob("*.py")
        if parsers.search(path.read_text(encoding="utf-8"))
    ]
    assert readers == ["aggregate/sourcemaps/map_reader.py"]


def test_what_pages_and_the_api_share_imports_neither() -> None:
    arrows = draw_arrows("dashboard")
    assert arrows.get("web", set()) == set()
    assert "pages" not in arrows["api"]


def test_helpers_live_in_modules_of_their_own() -> None:
    borrowed = {
        (module, target)
        for module in list_modules()
        for target in imports_of(module)
        if target.rpartition(".")[2].startswith("test_")
    }
    assert borrowed == set()
