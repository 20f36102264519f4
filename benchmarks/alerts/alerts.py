"""Simulates months of alerts: how often alarms are false, and how many page views a real slowdown takes."""

from argparse import ArgumentParser
from collections.abc import Callable, Iterable

from benchmarks.alerts.accepted import describe_accepted
from benchmarks.alerts.budgets import describe_budgets
from benchmarks.alerts.month import describe_alerts
from benchmarks.alerts.recorded import describe_recorded


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--projects", type=int, default=200, help="simulated ones (default: %(default)s)")
    parser.add_argument("--calm", type=int, default=0, help="projects without a change, if more than --projects")
    parser.add_argument("--table", choices=("multiplied", "recorded", "budgets", "accepted"), help="only this one")
    options = parser.parse_args()
    tables: dict[str, Callable[[], Iterable[str]]] = {
        "multiplied": lambda: describe_alerts(options.projects, options.calm),
        "recorded": lambda: describe_recorded(options.projects, options.calm),
        "budgets": lambda: describe_budgets(options.projects),
        "accepted": lambda: describe_accepted(options.projects),
    }
    for name in [options.table] if options.table else tables:
        for line in tables[name]():
            print(line, flush=True)
