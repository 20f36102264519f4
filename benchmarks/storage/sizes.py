"""Measures the bytes that the database keeps for a folded trace, without its body, by the number of views per cell."""

import gzip
import json
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid5

import psycopg

from benchmarks.shared.load import PROJECT, post_all, read_envelopes
from ops.supervisor.running import run_stack
from profcore.times import start_of_hour
from tests.corpus import NAMESPACE

TABLES = (
    *("ingest_tracereceipt", "ingest_receiptcount", "ingest_group", "aggregate_func"),
    *("aggregate_cell", "aggregate_hotspotpiece", "aggregate_dayhotspot", "aggregate_daytreepiece"),
    *("aggregate_pageday", "aggregate_calltreepiece", "aggregate_pageview"),
)
VIEWS_A_CELL = (10, 100, 1_000)
TRACES = 3_000  # at least so many per measurement, and so many cells, so that half-filled pages count little
CELLS = 20
ROLL_UP = """
from datetime import UTC, datetime
from aggregate.fold.rollups import roll_up_hours
while roll_up_hours(datetime.now(UTC)):
    pass
"""


@dataclass(frozen=True, slots=True)
class SizeResult:
    """Bytes per trace by table (with indexes and out-of-line parts), and the mean gzip size of an envelope."""

    views_a_cell: int
    traces: int
    gzip_bytes: float
    table_bytes: dict[str, float]

    @property
    def bytes_a_trace(self) -> float:
        """The bytes of all tables together."""
        return sum(self.table_bytes.values())


def measure_sizes(views: int) -> SizeResult:
    """Posts recorded traces as new views, so many per cell, and returns the sizes after fold and roll-up."""
    bodies = [
        gzip.compress(json.dumps(envelope, separators=(",", ":")).encode(), 6)
        for envelope in _spread(read_envelopes(), views)
    ]
    with run_stack() as stack:
        token = stack.create_project(PROJECT)
        post_all(stack.port, bodies, 8)
        stack.wait_until_folded({PROJECT: token}, limit_s=600)
        # Beat rolls hours up every five minutes: too late for this.
        stack.manage("shell", "-c", ROLL_UP)
        with psycopg.connect(stack.store_environment["DATABASE_URL"], autocommit=True) as connection:
            sizes = {}
            for table in TABLES:
                connection.execute(f"VACUUM FULL {table}".encode())
                row = connection.execute(
                    """SELECT pg_total_relation_size(%(table)s::regclass)
                              + coalesce(sum(pg_total_relation_size(inhrelid)), 0)
                       FROM pg_inherits WHERE inhparent = %(table)s::regclass""",
                    {"table": table},
                ).fetchone()
                assert row is not None
                sizes[table] = float(row[0]) / len(bodies)
    return SizeResult(views, len(bodies), sum(map(len, bodies)) / len(bodies), sizes)


def _spread(recorded: Sequence[dict[str, Any]], views: int) -> Iterator[dict[str, Any]]:
    """Yields envelopes of new views, so many per cell: cells differ by page, then by device and hour."""
    hour = start_of_hour(datetime.now(UTC))
    pages = list(dict.fromkeys(envelope["page"] for envelope in recorded))
    for cell in range(max(TRACES // views, CELLS)):
        turn, page = divmod(cell, len(pages))
        same_page = [envelope for envelope in recorded if envelope["page"] == pages[page]]
        for view in range(views):
            yield {
                **same_page[view % len(same_page)],
                "viewId": str(uuid5(NAMESPACE, f"sizes:{cell}:{view}")),
                "release": "1.0.0",
                "viewStart": (hour - timedelta(hours=3 + turn // 2)).timestamp() * 1000,
                "device": {"mobile": bool(turn % 2)},
            }


def describe(result: SizeResult) -> str:
    """Returns the sizes as text, the largest table first."""
    share = result.bytes_a_trace / result.gzip_bytes
    lines = [
        f"{result.views_a_cell} views a cell, {result.traces} traces",
        f"  {result.bytes_a_trace:.0f} bytes a trace, {share:.0%} of its gzip ({result.gzip_bytes:.0f})",
    ]
    tables = sorted(result.table_bytes.items(), key=lambda row: -row[1])
    return "\n".join([*lines, *(f"  {table:26} {size:8.1f}" for table, size in tables)])


def main() -> None:
    ArgumentParser(description=__doc__).parse_args()
    for views in VIEWS_A_CELL:
        print(describe(measure_sizes(views)), flush=True)
