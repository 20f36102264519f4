"""Looks at every statement that the project's code sends in tests: whether Citus would take it, on one shard.

A statement that breaks a rule of `tests.citus.statements` fails the test at its end. Statements that tests send
themselves are not looked at, nor those of migrations.
"""

import re
import sys
from collections.abc import Iterable
from pathlib import Path
from types import FrameType
from typing import Any, Final

import psycopg
import pytest
from psycopg import ClientCursor, RawCursor
from psycopg.sql import Composable

from tests.citus.all_shards import EXCEPTED
from tests.citus.statements import find_broken_rules

ROOT: Final = Path(__file__).resolve().parents[2]
OURS: Final = tuple(
    f"{ROOT / name}/" for name in ("aggregate", "alerts", "config", "dashboard", "ingest", "ops", "projects")
)
TESTS: Final = f"{ROOT / 'tests'}/"
# They pass statements on: who calls them sends them.
PASSING: Final = ("aggregate/sql.py",)
# What changes the schema, or looks at servers: it runs on the coordinator, and Citus knows what to do.
APART: Final = ("ops/database/", "ops/backup/", "ops/supervisor/", "ops/management/", "/migrations/")

_good: Final[set[str]] = set()
_broken: Final[list[str]] = []


def watch_statements(patch: pytest.MonkeyPatch) -> None:
    """Looks at the statements of this process from now on."""
    for name in ("execute", "executemany"):
        patch.setattr(psycopg.Cursor, name, _watched(getattr(psycopg.Cursor, name), is_many=name == "executemany"))


def take_broken() -> list[str]:
    """Returns sentences on the statements that broke a rule since the last call."""
    broken = list(dict.fromkeys(_broken))
    _broken.clear()
    return broken


def _watched(send: Any, *, is_many: bool) -> Any:  # Any: a method of psycopg
    def sent(cursor: psycopg.Cursor[Any], query: Any, params: Any = None, *arguments: Any, **named: Any) -> Any:
        if isinstance(query, Composable):
            query = query.as_string(cursor.connection)
        if isinstance(query, str) and query not in _good:
            first = next(iter(params), None) if is_many and isinstance(params, list) else params
            _look(cursor, query, None if is_many and first is params else first)
        return send(cursor, query, params, *arguments, **named)

    return sent


def _look(cursor: psycopg.Cursor[Any], query: str, params: Any) -> None:
    place = find_sender(sys._getframe(2))
    if place is None:
        return
    if isinstance(cursor, RawCursor):
        query, params = re.sub(r"\$(\d+)", r"%(p\1)s", query), {f"p{n}": value for n, value in enumerate(params, 1)}
    text = query if params is None else ClientCursor(cursor.connection).mogrify(query, params)
    rules = [finding for finding in find_broken_rules(text) if (finding.rule, place) not in EXCEPTED]
    if rules:
        said = "; ".join(map(str, rules))
        _broken.append(
            f"{place} sends what Citus would refuse, or ask of every shard. {said}\n{' '.join(text.split())[:600]}"
        )
    else:
        _good.add(query)


def find_sender(frame: FrameType | None) -> str | None:
    """Returns the module and function of the project that sends a statement; None if a test or a migration does."""
    sender = None
    while frame is not None:
        path = frame.f_code.co_filename
        if path.startswith(OURS):
            name = path.removeprefix(f"{ROOT}/")
            if any(part in name for part in APART):
                return None
            if sender is None and name not in PASSING:
                sender = f"{name}:{_function_of(frame)}"
        elif sender is None and path.startswith(TESTS) and path != __file__:
            return None
        frame = frame.f_back
    return sender


def _function_of(frame: FrameType) -> str:
    """Returns the name of a frame's function; for a comprehension, that of the function around it."""
    while frame.f_code.co_name.startswith("<") and frame.f_back is not None:
        frame = frame.f_back
    return frame.f_code.co_name


def list_functions(paths: Iterable[str]) -> set[str]:
    """Returns `module:function` of all functions of some modules."""
    import ast

    names = set()
    for path in set(paths):
        tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
        names |= {f"{path}:{node.name}" for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    return names
