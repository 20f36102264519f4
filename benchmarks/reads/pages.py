"""Measures the dashboard's pages, their parts and the read API, from the request to the last byte, in one process."""

import math
import time
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.test import Client

from benchmarks.shared.fill import fill_project
from benchmarks.shared.here import add_here, run_here
from benchmarks.shared.reads import log_in, make_addresses
from ops.supervisor.running import run_stack
from projects.models import Project


@dataclass(frozen=True, slots=True, kw_only=True)
class PageResult:
    """One address: its times in ms over the rounds, the first one separately, and statements and bytes of the last."""

    address: str
    p50_ms: float
    p95_ms: float
    first_ms: float
    statements: int
    sent_bytes: int


def bench_pages(project: Project, rounds: int) -> list[PageResult]:
    """Returns every read of a project, the slowest first. Raises RuntimeError if one is not answered."""
    client = log_in()
    results = [measure(client, address, rounds) for address in make_addresses(project)]
    return sorted(results, key=lambda result: -result.p95_ms)


def measure(client: Client, address: str, rounds: int) -> PageResult:
    """Returns the result of one address."""
    times: list[float] = []
    statements = sent_bytes = 0

    def count(execute: Callable[..., Any], *arguments: Any) -> Any:  # Any: as the wrapper is called
        nonlocal statements
        statements += 1
        return execute(*arguments)

    for _ in range(rounds):
        statements = 0
        with connection.execute_wrapper(count):
            began = time.perf_counter()
            response = client.get(address)
            sent_bytes = len(response.getvalue())
            times.append((time.perf_counter() - began) * 1000)
        if response.status_code != 200:
            raise RuntimeError(f"{address} was answered {response.status_code}")
    first_ms, ordered = times[0], sorted(times)
    return PageResult(
        address=address,
        p50_ms=ordered[len(ordered) // 2],
        p95_ms=ordered[math.ceil(len(ordered) * 0.95) - 1],
        first_ms=first_ms,
        statements=statements,
        sent_bytes=sent_bytes,
    )


def describe(results: list[PageResult]) -> Iterator[str]:
    """Yields a line for each result."""
    for result in results:
        yield (
            f"  p50 {result.p50_ms:7.1f} ms  p95 {result.p95_ms:7.1f} ms  first {result.first_ms:7.1f} ms  "
            f"{result.statements:3} statements  {result.sent_bytes / 1000:7.1f} kB  {result.address}"
        )


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--views", type=int, default=10_000, help="page views of the project (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="of each page (default: %(default)s)")
    add_here(parser)
    options = parser.parse_args()
    if options.here:
        project, views = fill_project("pages", options.views)
        print(f"{views:,} views, medians of {options.rounds}")
        print("\n".join(describe(bench_pages(project, options.rounds))))
        return
    with run_stack() as stack:
        arguments = ("--views", str(options.views), "--rounds", str(options.rounds))
        print(run_here(stack.store_environment, "pages", *arguments))
