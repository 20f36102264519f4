"""Simulates alerts: how often and how soon slower releases are told, and how often unchanged ones are."""

from argparse import ArgumentParser
from collections.abc import Callable, Iterable
from functools import partial
from itertools import chain

from benchmarks.alerts.accepted import describe_accepted
from benchmarks.alerts.budgets import describe_budgets
from benchmarks.alerts.releases import TABLES, describe, describe_sentences


def main() -> None:
    tables: dict[str, Callable[[int], Iterable[str]]] = {
        **{name: partial(describe, name) for name in TABLES},
        "sentences": describe_sentences,
        "budgets": describe_budgets,
        "accepted": describe_accepted,
    }
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--releases", type=int, default=24, help="of each row, or budgets (default: %(default)s)")
    parser.add_argument("--table", choices=tables, help="only this one")
    options = parser.parse_args()
    for name in [options.table] if options.table else tables:
        for line in chain(tables[name](options.releases), [""]):
            print(line, flush=True)
