"""The speed of a complete Fieldflame on this machine: one trace per post, until every trace is folded."""

import gzip
import http.client
import json
import os
import statistics
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any
from uuid import UUID, uuid5

from bench.corpus import NAMESPACE
from bench.processor_time import processor_s
from config.up.running import RunningStack, run_stack

PROJECT = "bench"


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


def bench_end_to_end(recorded: Sequence[dict[str, Any]], traces: int, senders: int) -> EndToEndResult:
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
        peak = worker_peak_mb(stack)
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


def make_bodies(recorded: Sequence[dict[str, Any]], traces: int, first: int = 0) -> list[bytes]:
    """Returns gzip bodies of the envelopes, repeated as new views each time; those from `first` on are others."""
    bodies = []
    for number in range(first, first + traces):
        envelope = dict(recorded[number % len(recorded)])
        view = uuid5(NAMESPACE, f"{envelope['viewId']}:{number}")
        envelope.update(viewId=str(view), traceId=str(UUID(int=view.int ^ 1)))
        bodies.append(gzip.compress(json.dumps(envelope, separators=(",", ":")).encode(), 6))
    return bodies


def post_all(port: int, bodies: Sequence[bytes], senders: int, keys: Sequence[str] = ()) -> list[float]:
    """Posts every body once over keep-alive connections; returns the seconds each answer took. Raises on a refusal.

    `keys` has the ingest key of each body, if they are not all of one project.
    """
    numbers = count()
    latencies: list[float] = []
    faults: list[str] = []

    def send() -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        while (number := next(numbers)) < len(bodies) and not faults:
            began = time.perf_counter()
            key = keys[number] if keys else PROJECT
            connection.request("POST", f"/ingest/v1/traces?key={key}", bodies[number])
            answer = connection.getresponse()
            text = answer.read()
            latencies.append(time.perf_counter() - began)
            if answer.status != 202:
                faults.append(f"{answer.status} {text[:200]!r}")
        connection.close()

    threads = [threading.Thread(target=send) for _ in range(senders)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if faults:
        raise RuntimeError(f"the door refused: {faults[0]}")
    return latencies


def worker_peak_mb(stack: RunningStack) -> float:
    """Returns the peak resident memory of the largest Celery process of a stack, MB."""
    peaks = [0.0]
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            command = (entry / "cmdline").read_bytes()
            environ = (entry / "environ").read_bytes()
            status = (entry / "status").read_text()
        except OSError:
            continue  # gone, or not ours
        is_worker = b"celery" in command and b"\0worker\0" in command
        if is_worker and os.fsencode(stack.folder.path) in environ:
            line = next((line for line in status.splitlines() if line.startswith("VmHWM")), "VmHWM: 0 kB")
            peaks.append(int(line.split()[1]) / 1000)
    return max(peaks)


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
