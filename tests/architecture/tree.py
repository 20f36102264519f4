"""The tree as its tests read it: tracked files, modules, and what each module imports."""

import ast
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
PRODUCT: Final = (
    "aggregate",
    "alerts",
    "config",
    "dashboard",
    "ingest",
    "ops",
    "profcore",
    "projects",
)  # what is installed
PACKAGES: Final = (*PRODUCT, "benchmarks", "tools")


@cache
def list_files(*suffixes: str) -> tuple[str, ...]:
    """Returns the project's files with these suffixes, as git knows them: tracked, or new and not ignored."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    names = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0")
    return tuple(sorted(name for name in set(names) if name.endswith(suffixes) and (ROOT / name).is_file()))


def module_of(path: str) -> str:
    """Returns the dotted name of a Python file."""
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


@cache
def list_modules() -> dict[str, str]:
    """Returns the path of each module, tests included, by its dotted name."""
    return {module_of(path): path for path in list_files(".py")}


@cache
def parse_module(name: str) -> ast.Module:
    """Returns the syntax tree of a module."""
    return ast.parse((ROOT / list_modules()[name]).read_text(encoding="utf-8"))


def find_module(name: str) -> str:
    """Returns the longest beginning of a dotted name that is a module; empty if there is none."""
    while name and name not in list_modules():
        name = name.rpartition(".")[0]
    return name


@cache
def imports_of(name: str) -> tuple[str, ...]:
    """Returns the project's modules that a module imports, wherever in its text it does."""
    return tuple(_find_imports(name))


def _find_imports(name: str) -> Iterator[str]:
    for node in ast.walk(parse_module(name)):
        if isinstance(node, ast.Import):
            modules = [find_module(alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            modules = [find_module(f"{node.module}.{alias.name}") for alias in node.names]
        else:
            continue
        yield from (module for module in modules if module and module != name)


@cache
def find_outside_imports(name: str) -> set[str]:
    """Returns the packages outside of the project that a module imports, wherever in its text it does."""
    packages = set()
    for node in ast.walk(parse_module(name)):
        if isinstance(node, ast.Import):
            packages |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            packages.add(node.module.partition(".")[0])
    return packages - {module.partition(".")[0] for module in list_modules()}


@cache
def names_in(name: str) -> set[str]:
    """Returns the names that a module defines or imports at its top, and those of its classes as `Class.name`."""
    names = set()
    for node in ast.walk(parse_module(name)):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            names.add(node.attr)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names |= {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
    return names
