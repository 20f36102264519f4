"""Shows where the time of a trace goes, by function and by SQL statement: a Fieldflame under load, in a Fieldflame.

The same load is posted three times. First undisturbed, for the processor time of each part; then with py-spy beside a
web process and a process of the worker; then with PostgreSQL's log of statements. What py-spy recorded is imported into
the Fieldflame that was recorded.
"""

import tempfile
from argparse import ArgumentParser
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

import psycopg
from django.conf import settings

from benchmarks.profile.functions import FunctionCost, describe_costs, read_costs
from benchmarks.profile.sampling import find_py_spy, sample_processes
from benchmarks.profile.statements import StatementCost, logged_statements
from benchmarks.shared.load import PROJECT, add_kind, make_bodies, post_all, read_envelopes
from benchmarks.shared.processes import processor_s, read_processes
from ops.supervisor.running import RunningStack, run_stack
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
SHOWN_TEXT: Final = 90  # characters of a statement


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileResult:
    """What was found, by part, with `traces` traces a load and one twin of the kernel; `files` are py-spy's."""

    traces: int
    twin: str
    processor_ms: Mapping[str, float]
    functions: Mapping[str, Sequence[FunctionCost]]
    statements: Sequence[StatementCost]
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
            arguments = ["--project", OWN_PROJECT, "--release", "here", "--page", f"/{part}"]
            stack.manage("import_traces", str(path), *arguments)
    stack.wait_until_folded({OWN_PROJECT: token}, limit_s=FOLD_LIMIT_S)
    return {part: stack.read(OWN_PROJECT, token, f"functions?{urlencode({'page': f'/{part}'})}") for part in files}


def flame_graph_address(stack: RunningStack, part: str) -> str:
    """Returns where the flame graph of a part is shown."""
    return f"{stack.url}/projects/{OWN_PROJECT}/flame-graph/?{urlencode({'page': f'/{part}'})}"


def describe(result: ProfileResult, tell: Callable[[str], object]) -> None:
    """Tells the result as tables."""
    tell(f"{result.twin} twin of the kernel, {result.traces} traces a load")
    parts = sorted(result.processor_ms.items(), key=lambda row: -row[1])
    tell(f"processor time per trace: {', '.join(f'{part} {ms:.2f}' for part, ms in parts)} ms\n")
    for part, costs in result.functions.items():
        tell(describe_costs(part, costs, result.processor_ms[part], LISTED_FUNCTIONS) + "\n")
    tell(_describe_statements(result.statements, result.traces))


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


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    add_kind(parser)
    parser.add_argument("--traces", type=int, default=3000, help="of a load (default: %(default)s)")
    parser.add_argument("--senders", type=int, default=8, help="connections (default: %(default)s)")
    parser.add_argument("--py-spy", default="py-spy", help="the sampler (default: %(default)s)")
    parser.add_argument("--save", type=Path, help="a folder for what the sampler wrote")
    parser.add_argument("--stay", action="store_true", help="run on, to look at the flame graphs")
    options = parser.parse_args()
    try:
        py_spy = find_py_spy(options.py_spy)
    except LookupError as error:
        raise SystemExit(str(error)) from error
    load = {"traces": options.traces, "senders": options.senders}
    with run_stack(PATIENT) as stack:
        try:
            result = bench_profile(stack, read_envelopes(options.kind), **load, py_spy=py_spy)
        except RuntimeError as error:
            raise SystemExit(str(error)) from error
        describe(result, print)
        if options.save is not None:
            options.save.mkdir(parents=True, exist_ok=True)
            for part, body in result.files.items():
                (options.save / f"{part}.speedscope.json").write_bytes(body)
        if options.stay:
            for part in result.files:
                print(f"{part}: {flame_graph_address(stack, part)}")
            input("Log in as {} with {}. Press Enter to end it.".format(*stack.login))
