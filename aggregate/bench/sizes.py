"""How many bytes the database keeps for a folded trace, its raw body apart, by how many views share a cell."""

import gzip
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid5

import psycopg

from aggregate.bench.corpus import NAMESPACE, read_corpus
from aggregate.bench.end_to_end import PROJECT, post_all
from config.up.running import run_stack

TABLES = (
    "ingest_receipt",
    "ingest_group",
    "aggregate_func",
    "aggregate_cell",
    "aggregate_hotspot",
    "aggregate_calltreepiece",
    "aggregate_view",
)
TRACES = 3_000  # at least so many a measurement, so that half-filled pages weigh little


@dataclass(frozen=True, slots=True)
class SizeResult:
    """Bytes a trace by table (indexes and out-of-line parts included), beside the mean gzip of its envelope."""

    views_a_cell: int
    traces: int
    gzip_bytes: float
    table_bytes: dict[str, float]

    @property
    def bytes_a_trace(self) -> float:
        """All tables together."""
        return sum(self.table_bytes.values())


def bench_sizes(corpus: Path, views_a_cell: Sequence[int]) -> list[SizeResult]:
    """Measures each number of views a cell in a fresh stack."""
    return [measure_sizes(corpus, views) for views in views_a_cell]


def measure_sizes(corpus: Path, views: int) -> SizeResult:
    """Posts recorded traces as new views, so many to a cell, and measures the tables once they are folded."""
    recorded = [envelope for _, envelope in read_corpus(corpus)]
    bodies = []
    cells = max(TRACES // views, 1)
    for cell in range(cells):
        # A cell's views are those of one page, as in the field; its release makes it a cell of its own.
        page = recorded[cell * 28 % len(recorded)]["page"]
        same_page = [envelope for envelope in recorded if envelope["page"] == page]
        for view in range(views):
            envelope = dict(same_page[view % len(same_page)])
            name = f"sizes:{cell}:{view}"
            envelope.update(viewId=str(uuid5(NAMESPACE, name)), release=f"r{cell}", device={"mobile": False})
            bodies.append(gzip.compress(json.dumps(envelope, separators=(",", ":")).encode(), 6))
    with run_stack() as stack:
        token = stack.create_project(PROJECT)
        post_all(stack.port, bodies, 8)
        stack.wait_until_folded({PROJECT: token}, limit_s=600)
        with psycopg.connect(stack.store_environment["DATABASE_URL"], autocommit=True) as connection:
            sizes = {}
            for table in TABLES:
                connection.execute(f"VACUUM FULL {table}".encode())
                row = connection.execute("SELECT pg_total_relation_size(%s::regclass)", [table]).fetchone()
                assert row is not None
                sizes[table] = row[0] / len(bodies)
    return SizeResult(views, len(bodies), sum(map(len, bodies)) / len(bodies), sizes)
