"""Tables of simulations, computed by two processes at most."""

from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any, Final

PROCESSES: Final = 2  # the machine may be shared


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulation:
    """One row of a table: its first cells, and what computes the others in a process of its own."""

    setting: Sequence[str]
    run: Callable[..., Sequence[str]]
    args: Sequence[Any]  # Any: whatever `run` takes


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table of simulations."""

    title: str
    head: Sequence[str]
    rows: Sequence[Simulation]


def percent(count: float, of: float) -> str:
    """Returns a share in percent, "–" of nothing."""
    return f"{100 * count / of:.1f}" if of else "–"


def run_table(table: Table) -> str:
    """Returns a table with its results, as Markdown."""
    with ProcessPoolExecutor(PROCESSES) as pool:
        futures = [pool.submit(row.run, *row.args) for row in table.rows]
        rows = [[*row.setting, *future.result()] for row, future in zip(table.rows, futures, strict=True)]
    lines = [table.head, ["---"] * len(table.head), *rows]
    return "\n".join([f"{table.title}\n", *(f"| {' | '.join(line)} |" for line in lines), ""])
