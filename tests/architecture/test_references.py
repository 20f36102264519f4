"""What comments, docstrings and documents name exists: paths of files, and dotted names of modules."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from typing import Final

import pytest

from config.celery import app
from tests.architecture.tree import PACKAGES, ROOT, find_module, list_files, list_modules, names_in, parse_module

TOP: Final = "|".join((*PACKAGES, "tests", "docs", "deploy"))
PATH: Final = re.compile(rf"(?<![\w./@-])(?:{TOP})/[\w./-]*\w\.(?:py|md|html|css|js|ts|mjs|json|gz|sh|conf|toml)\b")
FOLDER: Final = re.compile(rf"`((?:{TOP})/[\w/-]+/?)`")
# `tools` is also the name of a variable of scripts.
NAMED: Final = "|".join(({*PACKAGES} - {"tools"}) | {"tests"})
DOTTED: Final = re.compile(rf"(?<![\w./@-])(?:{NAMED})(?:\.[A-Za-z_]\w*)+(?![\w/@-]|\.\w)")
IMPORT: Final = re.compile(rf"from ((?:{'|'.join((*PACKAGES, 'tests'))})[\w.]*) import ([\w, ]+)")
# Words that look like a name of ours and are none: a file's ending, or somebody's host.
OTHERS: Final = re.compile(r"\.(?:example|js|json|css|html|py|ts|log|sock|md)$")
# Decisions and the changelog use the names of their day; two tests make names up.
EXEMPT: Final = ("docs/adr/", "CHANGELOG.md", "tests/architecture/test_references.py", "tests/runner/outcome/")
# Where Django looks for what templates name.
ROOTS: Final = (ROOT, ROOT / "dashboard" / "templates", ROOT / "dashboard" / "static")
# Made where it runs: an operator's certificates.
MADE: Final = ("deploy/tls/",)


def list_texts(path: str) -> Iterator[tuple[int, str]]:
    """Yields what people read in a file, each with its line: a whole document, or the comments and strings of code."""
    text = (ROOT / path).read_text(encoding="utf-8")
    if not path.endswith(".py"):
        yield from enumerate(text.splitlines(), start=1)
        return
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in (tokenize.COMMENT, tokenize.STRING):
            yield token.start[0], token.string


def find_missing(path: str) -> list[str]:
    """Returns what the texts of a file name and the tree does not have."""
    missing = []
    for line, text in list_texts(path):
        for mentioned in PATH.findall(text):
            if not any((root / mentioned).exists() for root in ROOTS) and "NAME" not in mentioned:
                missing.append(f"{path}:{line}: {mentioned}")
        for mentioned in FOLDER.findall(text):
            if mentioned not in MADE and not (ROOT / mentioned).exists():
                missing.append(f"{path}:{line}: {mentioned}")
        for match in DOTTED.finditer(text):
            if not OTHERS.search(match.group()) and not exists(match.group()):
                missing.append(f"{path}:{line}: {match.group()}")
    return missing


@cache
def list_tasks() -> set[str]:
    """Returns the names of the Celery tasks, which look like names of modules."""
    app.loader.import_default_modules()
    return set(app.tasks)


def exists(name: str) -> bool:
    """Tells whether a dotted name is a task, a module, or a name in one."""
    if name in list_tasks():
        return True
    module = find_module(name)
    rest = name.removeprefix(module).strip(".").split(".")
    return bool(module) and (rest == [""] or rest[0] in names_in(module))


@pytest.mark.parametrize("suffix", [".py", ".md", ".html", ".js", ".css", ".ts"])
def test_every_path_and_name_that_is_mentioned_exists(suffix: str) -> None:
    paths = [path for path in list_files(suffix) if not path.startswith(EXEMPT) and "/migrations/" not in path]
    assert [missing for path in paths for missing in find_missing(path)] == []


def list_imports_in_strings(module: str) -> Iterator[str]:
    """Yields the names, as `module.name`, that code in a module's strings imports from the project."""
    for node in ast.walk(parse_module(module)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            for source, names in IMPORT.findall(node.value):
                yield from (f"{source}.{name.strip()}" for name in names.split(",") if name.strip())


@pytest.mark.slow(12)
def test_code_in_strings_imports_what_exists() -> None:
    imports = {(module, name) for module in list_modules() for name in list_imports_in_strings(module)}
    assert imports
    assert {(module, name) for module, name in imports if not exists(name)} == set()


def test_a_name_that_is_gone_is_found() -> None:
    assert exists("profcore.trace.wire.Envelope")
    assert not exists("profcore.trace.wire.Envelop")
    assert not exists("profcore.wirre")
    assert PATH.findall("see aggregate/gone.py, or `docs/none.md`") == ["aggregate/gone.py", "docs/none.md"]
