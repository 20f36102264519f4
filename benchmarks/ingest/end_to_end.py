"""Measures a complete Fieldflame on this machine: one trace per post, until every trace is folded."""

import statistics
import time
from argparse import ArgumentParser
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.shared.load import PROJECT, add_kind, make_bodies, post_all, read_envelopes
from benchmarks.shared.processes import find_largest_worker, processor_s
from ops.supervisor.running import run_stack
from tests.corpus import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class EndToEndResult:
    """The numbers of sent, folded and rejected traces, times in seconds, and memory in MB (the largest worker's peak).

    `processor_ms` is user and system time per trace, by part of the stack; the sender is one part.
    """

    senders: int
    sent: int
    folded: int
    rejected: int
    post_s: float
    total_s: float
    accept_p50_ms: float
    accept_p99_ms: float
    worker_peak_mb: float
    processor_ms: dict[str, float]

    @property
    def lost(self) -> int:
        """The number of accepted traces that came to no end."""
        return self.sent - self.folded - self.rejected


def bench_end_to_end(recorded: Sequence[Json], traces: int, senders: int) -> EndToEndResult:
    """Starts a stack in a fresh folder, posts `traces` traces from `senders` connections, and waits for the last."""
    bodies = make_bodies(recorded, traces)
    with run_stack() as stack:
        token = stack.create_project(PROJECT)
        assert stack.process is not None
        before = {**processor_s(stack.process.pid), "sender": time.process_time()}
        began = time.perf_counter()
        latencies = post_all(stack.port, bodies, senders)
        posted = time.perf_counter()
        stack.wait_until_folded({PROJECT: token}, limit_s=600)
        done = time.perf_counter()
        after = {**processor_s(stack.process.pid), "sender": time.process_time()}
        status = stack.read(PROJECT, token, "status")
        peak = find_largest_worker(stack)
    return EndToEndResult(
        senders=senders,
        sent=len(bodies),
        folded=status["folded"],
        rejected=status["rejected"],
        post_s=posted - began,
        total_s=done - began,
        accept_p50_ms=statistics.median(latencies) * 1000,
        accept_p99_ms=statistics.quantiles(latencies, n=100)[98] * 1000,
        worker_peak_mb=peak,
        processor_ms={part: (used - before.get(part, 0.0)) * 1000 / len(bodies) for part, used in after.items()},
    )


def describe(result: EndToEndResult) -> str:
    """Returns the result as text. All posts are from this machine."""
    parts = sorted(result.processor_ms.items(), key=lambda row: -row[1])
    return (
        f"{result.sent} posts of one trace from {result.senders} connections on this machine\n"
        f"  folded {result.folded}, rejected {result.rejected}, lost {result.lost}\n"
        f"  accepted  {result.sent / result.post_s:7.0f} traces/s, answer p50 {result.accept_p50_ms:.1f} ms, "
        f"p99 {result.accept_p99_ms:.1f} ms\n"
        f"  folded    {result.sent / result.total_s:7.0f} traces/s, from the first post to the last fold\n"
        f"  the largest worker process peaked at {result.worker_peak_mb:.0f} MB\n"
        f"  processor time per trace: {', '.join(f'{part} {ms:.2f}' for part, ms in parts)} ms, "
        f"in all {sum(result.processor_ms.values()):.2f} ms"
    )


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    add_kind(parser)
    parser.add_argument("--traces", type=int, default=3000, help="the number of posts (default: %(default)s)")
    parser.add_argument("--senders", type=int, default=8, help="connections (default: %(default)s)")
    options = parser.parse_args()
    result = bench_end_to_end(read_envelopes(options.kind), options.traces, options.senders)
    print(describe(result))
    if result.lost:
        raise SystemExit("Traces were lost.")
