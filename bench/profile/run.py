"""Where the time of a trace goes: a whole Fieldflame under load, looked at with Fieldflame.

The same load is posted three times. First undisturbed, for the processor time of each part; then with py-spy beside a
web process and a process of the worker; then with PostgreSQL's log of statements. What py-spy recorded is imported into
the Fieldflame that was recorded.
"""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

import psycopg
from django.conf import settings

from bench.end_to_end import PROJECT, make_bodies, post_all
from bench.processor_time import processor_s, read_processes
from bench.profile.functions import FunctionCost, describe_costs, read_costs
from bench.profile.sampling import sample_processes
from bench.profile.statements import StatementCost, logged_statements
from bench.profile.writes import KINDS, TableWrites, counted_writes
from config.up.running import RunningStack
from profcore.kernel import find_kernel

PARTS: Final = ("web", "worker")
OWN_PROJECT: Final = "fieldflame"  # the profiles of the parts are its pages
WARM_TRACES: Final = 200
FOLD_LIMIT_S: Final = 1200.0
PAUSE_S: Final = 2.0  # between questions whether all is folded: each costs the web process as much as ten posts
# For the stack: on a busy machine the first posts wait longer for the database than a browser should.
PATIENT: Final = {"FIELDFLAME_DATABASE_WAIT_MS": "60000"}
LISTED_FUNCTIONS: Final = 20
LISTED_STATEMENTS: Final = 12
LISTED_TABLES: Final = 12
SHOWN_TEXT: Final = 90  # characters of a statement


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileResult:
    """What was found, by part, with `traces` traces a load and one twin of the kernel; `files` are py-spy's."""

    traces: int
    twin: str
    processor_ms: Mapping[str, float]
    functions: Mapping[str, Sequence[FunctionCost]]
    statements: Sequence[StatementCost]
    writes: Sequence[TableWrites]
    files: Mapping[str, bytes]


def bench_profile(
    stack: RunningStack, recorded: Sequence[dict[str, Any]], *, traces: int, senders: int, py_spy: str
) -> ProfileResult:
    """Loads a running stack three times with so many traces, and returns what it did with its time."""
    load = _Load(stack, recorded, senders)
    load.send(WARM_TRACES)
    before, busy_before = processor_s(load.supervisor), read_processes(load.supervisor)
    load.send(traces)
    after, busy_after = processor_s(load.supervisor), read_processes(load.supervisor)
    processor_ms = {part: (used - before.get(part, 0.0)) * 1000 / traces for part, used in after.items()}
    busiest = {part: find_busiest(busy_before[part], busy_after[part]) for part in PARTS}
    with sample_processes(py_spy, busiest) as files:
        load.send(traces)
    with (
        psycopg.connect(stack.store_environment["DATABASE_URL"], autocommit=True) as connection,
        counted_writes(connection) as writes,
        logged_statements(connection, stack.folder.logs / "postgres.log") as statements,
    ):
        load.send(traces)
    answers = import_profiles(stack, files)
    return ProfileResult(
        traces=traces,
        twin=find_kernel(settings.KERNEL).name,
        processor_ms=processor_ms,
        functions={part: read_costs(answer, processor_ms[part]) for part, answer in answers.items()},
        statements=statements,
        writes=writes,
        files=files,
    )


class _Load:
    """The posts of one bench: each sends new views of the recorded traces, and waits until all are folded."""

    def __init__(self, stack: RunningStack, recorded: Sequence[dict[str, Any]], senders: int) -> None:
        self.stack = stack
        self.recorded = recorded
        self.senders = senders
        self.sent = 0
        self.token = stack.create_project(PROJECT)

    def send(self, traces: int) -> None:
        bodies = make_bodies(self.recorded, traces, self.sent)
        self.sent += traces
        post_all(self.stack.port, bodies, self.senders)
        self.stack.wait_until_folded({PROJECT: self.token}, limit_s=FOLD_LIMIT_S, pause_s=PAUSE_S)

    @property
    def supervisor(self) -> int:
        assert self.stack.process is not None
        return self.stack.process.pid


def find_busiest(before: Mapping[int, float], after: Mapping[int, float]) -> int:
    """Returns the process that used most processor time between two readings."""
    return max(after, key=lambda pid: after[pid] - before.get(pid, 0.0))


def import_profiles(stack: RunningStack, files: Mapping[str, bytes]) -> dict[str, dict[str, Any]]:
    """Imports a profile of each part, as a user would; returns what `functions` answers about it."""
    token = stack.create_project(OWN_PROJECT)
    with tempfile.TemporaryDirectory() as folder:
        for part, body in files.items():
            path = Path(folder) / f"{part}.speedscope.json"
            path.write_bytes(body)
            words = ["--project", OWN_PROJECT, "--release", "here", "--page", f"/{part}"]
            stack.manage("import_traces", str(path), *words)
    stack.wait_until_folded({OWN_PROJECT: token}, limit_s=FOLD_LIMIT_S)
    return {part: stack.read(OWN_PROJECT, token, f"functions?{urlencode({'page': f'/{part}'})}") for part in files}


def flame_graph_address(stack: RunningStack, part: str) -> str:
    """Returns where the flame graph of a part is shown."""
    return f"{stack.url}/projects/{OWN_PROJECT}/tree/?{urlencode({'page': f'/{part}'})}"


def describe(result: ProfileResult, tell: Callable[[str], object]) -> None:
    """Tells the result as tables."""
    tell(f"{result.twin} twin of the kernel, {result.traces} traces a load")
    parts = sorted(result.processor_ms.items(), key=lambda row: -row[1])
    tell(f"processor time per trace: {', '.join(f'{part} {ms:.2f}' for part, ms in parts)} ms\n")
    for part, costs in result.functions.items():
        tell(describe_costs(part, costs, result.processor_ms[part], LISTED_FUNCTIONS) + "\n")
    tell(_describe_statements(result.statements, result.traces) + "\n")
    tell(_describe_writes(result.writes, result.traces))


def _describe_statements(statements: Sequence[StatementCost], traces: int) -> str:
    lines = [
        f"PostgreSQL by statement, elapsed: {sum(cost.total_ms for cost in statements) / traces:.2f} ms a trace",
        "   ms a trace  parsing  planning  running    calls   parsed",
    ]
    for cost in statements[:LISTED_STATEMENTS]:
        steps = "".join(f"{cost.ms[step] / traces:9.3f}" for step in ("parse", "bind", "execute"))
        counts = f"{cost.calls / traces:9.3f}{cost.parses / traces:9.3f}"
        lines.append(f"  {cost.total_ms / traces:11.3f}{steps}{counts}   {cost.text[:SHOWN_TEXT]}")
    return "\n".join(lines)


def _describe_writes(writes: Sequence[TableWrites], traces: int) -> str:
    kinds = list(dict.fromkeys(KINDS.values()))
    lines = [
        f"PostgreSQL by table: {sum(each.total_bytes for each in writes) / traces:,.0f} bytes of its log a trace",
        f"  {'bytes of rows':>13} {'indexes':>9} {'long values':>12}" + "".join(f"{kind:>18}" for kind in kinds),
    ]
    for each in writes[:LISTED_TABLES]:
        rows, indexes, long_values = (size / traces for size in each.wal_bytes.values())
        counts = "".join(f"{each.rows[kind] / traces:18.3f}" for kind in kinds)
        lines.append(f"  {rows:13,.0f} {indexes:9,.0f} {long_values:12,.0f}{counts}   {each.table}")
    return "\n".join(lines)
