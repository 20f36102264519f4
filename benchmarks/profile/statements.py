"""What PostgreSQL does by statement: its own log of durations, summed up.

The server's programs come without pg_stat_statements. A duration is elapsed time, with what the statement waited for.
"""

import re
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import psycopg
from psycopg import sql

RELOAD_LIMIT_S: Final = 60.0
LOGGED: Final = "log_min_duration_statement"
MARK: Final = "@duration@ "  # begins each entry of the log, and no line of one
SETTINGS: Final[Mapping[str, str]] = {
    LOGGED: "0",
    "log_parameter_max_length": "0",
    "log_line_prefix": MARK,
}
ENTRY: Final = re.compile(r"LOG:  duration: ([\d.]+) ms  (statement|parse|bind|execute)(?: [^:]*)?:(.*)", re.DOTALL)
# What differs between calls of one statement, and what it becomes.
VARYING: Final = (
    (re.compile(r"\s+"), " "),
    (re.compile(r"'(?:[^']|'')*'"), "'…'"),
    (re.compile(r"\$\d+"), "?"),
    (re.compile(r"\b\d+\b"), "n"),
    (re.compile(r"\?(?:, ?\?)+"), "?…"),
)
CHECK: Final = "(no statement: is the connection alive?)"


@dataclass(slots=True)
class StatementCost:
    """A statement's calls, and its elapsed ms by step; `parses` of its calls were not prepared before."""

    text: str
    calls: int = 0
    parses: int = 0
    ms: dict[str, float] = field(default_factory=lambda: dict.fromkeys(("parse", "bind", "execute"), 0.0))

    @property
    def total_ms(self) -> float:
        return sum(self.ms.values())


@contextmanager
def logged_statements(connection: psycopg.Connection, log: Path) -> Iterator[list[StatementCost]]:
    """Logs other connections' statements while the block runs; after it, the list has their costs, dearest first."""
    costs: list[StatementCost] = []
    connection.execute("SET log_min_duration_statement = -1")  # not those of this connection
    begin = log.stat().st_size
    _configure(connection, SETTINGS)
    try:
        yield costs
    finally:
        _configure(connection, dict.fromkeys(SETTINGS))
    with log.open(encoding="utf-8", errors="replace") as lines:
        lines.seek(begin)
        costs += sum_durations(lines)


def sum_durations(lines: Iterable[str]) -> list[StatementCost]:
    """Returns the statements of a log with their costs, the dearest first."""
    costs: dict[str, StatementCost] = {}
    for entry in _split_entries(lines):
        match = ENTRY.match(entry)
        if match is None:
            continue
        step = "execute" if match[2] == "statement" else match[2]
        text = unify(match[3])
        cost = costs.setdefault(text, StatementCost(text))
        cost.ms[step] += float(match[1])
        cost.calls += step == "execute"
        cost.parses += step == "parse"
    return sorted(costs.values(), key=lambda cost: -cost.total_ms)


def unify(text: str) -> str:
    """Returns a statement without what differs between its calls."""
    for pattern, word in VARYING:
        text = pattern.sub(word, text)
    return text.strip() or CHECK


def _split_entries(lines: Iterable[str]) -> Iterator[str]:
    entry: list[str] = []
    for line in lines:
        if line.startswith(MARK):
            yield "".join(entry)
            entry = [line.removeprefix(MARK)]
        else:
            entry.append(line)
    yield "".join(entry)


def _configure(connection: psycopg.Connection, values: Mapping[str, str | None]) -> None:
    for name, value in values.items():
        wanted = sql.SQL("DEFAULT") if value is None else sql.Literal(value)
        connection.execute(sql.SQL("ALTER SYSTEM SET {} = {}").format(sql.Identifier(name), wanted))
    connection.execute("SELECT pg_reload_conf()")
    deadline = time.monotonic() + RELOAD_LIMIT_S
    while _is_logging(connection) != (values[LOGGED] is not None):
        if time.monotonic() > deadline:
            raise TimeoutError(f"PostgreSQL did not take its new settings within {RELOAD_LIMIT_S} s")
        time.sleep(0.05)


def _is_logging(connection: psycopg.Connection) -> bool:
    row = connection.execute("SELECT reset_val FROM pg_settings WHERE name = %s", [LOGGED]).fetchone()
    return row is not None and row[0] == SETTINGS[LOGGED]
