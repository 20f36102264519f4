"""The part `guard` of `bench`: six sets of tables, or one of them."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from django.core.management.base import CommandParser

from bench.guard.accepted import describe_accepted
from bench.guard.bases import describe_bases
from bench.guard.budgets import describe_budgets
from bench.guard.month import describe_guard
from bench.guard.recorded import describe_recorded
from bench.guard.usage import describe_usage
from bench.statistics.tables import PROCESSES

TRUTH: Final = "truth.jsonl.gz"  # beside the corpus
TABLES: Final = ("multiplied", "recorded", "budgets", "accepted", "rollbacks", "bases")


def add_guard_arguments(parser: CommandParser) -> None:
    """Adds the options."""
    parser.add_argument("--table", choices=TABLES, help="guard: only this one")
    parser.add_argument("--calm", type=int, default=0, help="guard: projects without a change, if more than --rounds")


def show_guard(corpus: Path, options: Mapping[str, Any], write: Callable[[str], object]) -> None:  # Any: of argparse
    """Writes the tables. `rounds` of the options is the number of projects."""
    projects = options["rounds"]
    tables: dict[str, Callable[[], Iterable[str]]] = {
        "multiplied": lambda: describe_guard(corpus, projects, options["calm"], PROCESSES),
        "recorded": lambda: describe_recorded(corpus, corpus.parent / TRUTH, projects, options["calm"], PROCESSES),
        "budgets": lambda: describe_budgets(corpus, projects, PROCESSES),
        "accepted": lambda: describe_accepted(corpus, projects, PROCESSES),
        "rollbacks": lambda: describe_usage(projects),
        "bases": lambda: describe_bases(projects),
    }
    for name in [options["table"]] if options["table"] else TABLES:
        for line in tables[name]():
            write(line)
