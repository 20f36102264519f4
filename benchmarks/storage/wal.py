"""Measures what a trace writes to PostgreSQL's log, by part of the program and by table, and what it costs the server.

One process stores traces as the ingest endpoint does, one by one, and folds them in batches of a given size. So the
number of bytes does not depend on the load of the machine. The server's processor time is that of its sessions.
"""

import json
import re
import subprocess
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.db import connection

from aggregate.fold.pending import BatchOutcome, fold_pending_batch
from benchmarks.shared.here import add_here, run_here
from benchmarks.shared.load import PROJECT, add_kind, make_bodies, read_envelopes
from benchmarks.shared.posting import post_here
from ops.supervisor.running import open_temporary_stores
from ops.supervisor.stores.binaries import find_postgres
from projects.creation import create_project

WARM_TRACES: Final = 120  # funcs, groups and cells are known after them
RECORD: Final = re.compile(r"len \(rec/tot\):\s*\d+/\s*(\d+),.*? lsn: ([0-9A-F]+/[0-9A-F]+)")
RELATION: Final = re.compile(r"rel \d+/(\d+)/(\d+)")
RELATIONS: Final = """
SELECT c.relfilenode, coalesce(own.relname, parent.relname, c.relname) AS name
FROM pg_class c
LEFT JOIN pg_index i ON i.indexrelid = c.oid
LEFT JOIN pg_class parent ON parent.oid = i.indrelid
LEFT JOIN pg_class own ON own.reltoastrelid = coalesce(parent.oid, c.oid)
WHERE c.relfilenode <> 0
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What the measuring process did: its phases, the server's processor time by part, and who is who in the log."""

    traces: int
    body_bytes: float
    phases: list[tuple[str, int, int]]
    processor_s: dict[str, float]
    relations: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class WalResult:
    """Bytes of the log per trace, by part and table;"""

    traces: int
    batch: int
    body_bytes: float
    wal_bytes: dict[tuple[str, str], float]
    processor_ms: dict[str, float]


def bench_wal(kind: str, *, traces: int, batch: int) -> WalResult:
    """Measures in a server of its own."""
    with open_temporary_stores("wal") as stores:
        arguments = ("--kind", kind, "--traces", str(traces), "--batch", str(batch))
        run = Run(**json.loads(run_here(stores.environment, "wal", *arguments)))
        return _read_log(stores.folder.postgres, run, batch)


def measure_here(kind: str, *, traces: int, batch: int) -> Run:
    """Posts and folds in this process, against the database of the environment."""
    bodies = make_bodies(read_envelopes(kind), WARM_TRACES + traces)
    create_project(slug=PROJECT, key=PROJECT, origins=["*"])
    settings.FOLD_BATCH_TRACES = batch
    _post(bodies[:WARM_TRACES])
    _fold_all()
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")
        cursor.execute("CHECKPOINT")
    phases: list[tuple[str, int, int]] = []
    processor_s = {"endpoint": 0.0, "fold": 0.0}
    for start in range(WARM_TRACES, len(bodies), batch):
        waiting = bodies[start : start + batch]
        for part, work in (("endpoint", partial(_post, waiting)), ("fold", _fold_all)):
            before, at = read_processor_s(), read_lsn()
            work()
            phases.append((part, at, read_lsn()))
            processor_s[part] += read_processor_s() - before
    with connection.cursor() as cursor:
        cursor.execute(RELATIONS)
        relations = {str(node): name for node, name in cursor}
    return Run(
        traces=traces,
        body_bytes=sum(map(len, bodies[WARM_TRACES:])) / traces,
        phases=phases,
        processor_s=processor_s,
        relations=relations,
    )


def _post(bodies: Sequence[bytes]) -> None:
    for body in bodies:
        post_here(PROJECT, body)


def _fold_all() -> None:
    while fold_pending_batch() is not BatchOutcome.NOTHING_PENDING:
        pass


def _one(statement: str) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return cursor.fetchone()[0]


def read_lsn() -> int:
    """Returns the place in the log up to which records are made, in bytes."""
    return int(_one("SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn"))


def read_processor_s() -> float:
    """Returns the seconds of a processor that the server's sessions have used.

    The clock ticks of `stat` miss short statements.
    """
    pids = _one("SELECT array_agg(pid) FROM pg_stat_activity WHERE datname = current_database()")
    return sum(int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) for pid in pids) / 1e9


def _read_log(data: Path, run: Run, batch: int) -> WalResult:
    start, end = run.phases[0][1], run.phases[-1][2]
    program = find_postgres()[0].bin_folder / "pg_waldump"
    done = subprocess.run(
        [program, "--path", data / "pg_wal", "--start", _text(start), "--end", _text(end)],
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    sizes: Counter[tuple[str, str]] = Counter()
    phases = iter(run.phases)
    part, _, phase_end = next(phases)
    for line in done.stdout.splitlines():
        match = RECORD.search(line)
        if match is None:
            continue
        total, lsn = int(match[1]), _number(match[2])
        while lsn >= phase_end:
            part, _, phase_end = next(phases)
        relation = RELATION.search(line)
        name = re.sub(r"_\d{8}$", "", run.relations.get(relation[2], "other") if relation else "other")
        sizes[part, name] += total
    return WalResult(
        traces=run.traces,
        batch=batch,
        body_bytes=run.body_bytes,
        wal_bytes={key: size / run.traces for key, size in sizes.items()},
        processor_ms={name: 1000 * s / run.traces for name, s in run.processor_s.items()},
    )


def _number(lsn: str) -> int:
    high, low = lsn.split("/")
    return (int(high, 16) << 32) + int(low, 16)


def _text(lsn: int) -> str:
    return f"{lsn >> 32:X}/{lsn & 0xFFFF_FFFF:X}"


def describe_wal(result: WalResult) -> str:
    """Returns the result as text."""
    whole = sum(result.wal_bytes.values())
    lines = [
        f"{result.traces} traces, folded {result.batch} at once, {result.body_bytes:,.0f} bytes of body per trace",
        f"  {whole:,.0f} bytes of the log per trace",
    ]
    lines += [
        f"  {part:5} {table:28} {size:9,.0f}"
        for (part, table), size in sorted(result.wal_bytes.items(), key=lambda row: -row[1])
        if size >= 1
    ]
    lines += [f"  {part}: {ms:.2f} ms of the server's processor per trace" for part, ms in result.processor_ms.items()]
    return "\n".join(lines)


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    add_kind(parser)
    parser.add_argument("--traces", type=int, default=1230, help="the number of posts (default: %(default)s)")
    parser.add_argument("--batch", type=int, default=41, help="traces folded at once (default: %(default)s)")
    add_here(parser)
    options = parser.parse_args()
    load = {"traces": options.traces, "batch": options.batch}
    if options.here:
        print(json.dumps(asdict(measure_here(options.kind, **load))))
    else:
        print(describe_wal(bench_wal(options.kind, **load)))
