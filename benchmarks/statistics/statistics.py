"""Simulates the statistics: how often intervals are right, nothing is called a change, and a change is found."""

from argparse import ArgumentParser

from benchmarks.statistics.coverage import list_coverage
from benchmarks.statistics.discoveries import list_discoveries
from benchmarks.statistics.peeking import list_peeking
from benchmarks.statistics.tables import run_table


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=200, help="samples per row (default: %(default)s)")
    rounds = parser.parse_args().rounds
    for table in [*list_coverage(rounds), *list_discoveries(rounds), *list_peeking(rounds)]:
        print(run_table(table), flush=True)
