"""The result of a soak, its tables, and what it was to show."""

import statistics
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from benchmarks.soak.beside import BesideCounts
from benchmarks.soak.sending import Sent
from benchmarks.soak.watching import Look, Used, find_growth, is_flat, sum_parts

P99_LIMIT_S: Final = 0.25
MILLION: Final = 1_000_000
LARGE_TABLES: Final = 8
BUSY: Final = frozenset({"429", "503"})


@dataclass(slots=True, kw_only=True)
class SoakResult:
    """What a soak gave. `differences` are what was lost, counted twice, or changed: there must be none."""

    capacity: float
    steady: Sent
    overload: Sent
    drained_s: float
    done: BesideCounts
    used: tuple[Used, Used]
    looks: Sequence[Look]
    accepted: int
    refused: int
    repeated: int
    status: dict[str, Any]
    differences: Sequence[str]

    @property
    def steady_looks(self) -> list[Look]:
        """The looks of the time at the steady rate."""
        return [look for look in self.looks if self.steady.began_s <= look.at_s <= self.steady.ended_s]


def describe_soak(result: SoakResult) -> str:
    """Returns all tables, and at the end what was promised and whether it was kept."""
    status, done = result.status, result.done
    reads = ", ".join(f"{number} × {status}" for status, number in sorted(done.statuses.items()))
    parts = [
        f"capacity {result.capacity:.0f} traces/s, with everything next to it",
        describe_sent(result.steady),
        "\n".join(describe_memory(result.steady_looks)),
        describe_costs(result),
        f"reads next to it: {reads}, p50 {quantile(done.took_s, 0.5) * 1000:.0f} ms, "
        f"p99 {quantile(done.took_s, 0.99) * 1000:.0f} ms; {done.tasks} rounds of maintenance\n"
        + "\n".join(f"    failed: {number} × {what}" for what, number in done.failed.most_common(LARGE_TABLES)),
        f"{describe_sent(result.overload)}\n  folded {result.drained_s:.0f} s after its end",
        f"account: {result.accepted} accepted, {result.repeated} of them posted again; {result.refused} refused; "
        f"stored {status['received']}, folded {status['folded']}, rejected {status['rejected']}\n"
        + "\n".join(f"  {difference}" for difference in result.differences),
        "\n".join(f"{'kept  ' if is_kept else 'MISSED'}  {promise}" for promise, is_kept in list_promises(result)),
    ]
    return "\n\n".join(parts)


def list_promises(result: SoakResult) -> list[tuple[str, bool]]:
    """Returns what a soak is to show, and whether it did."""
    growing = [name for name, column in sum_parts(result.steady_looks).items() if not is_flat(column)]
    growing = [name for name in growing if name != "postgres, its buffers"]
    p99_s = quantile(result.steady.took_s, 0.99)
    silent = [key for sent in (result.steady, result.overload) for key in sent.other if not (key[0] in BUSY and key[2])]
    return [
        ("memory of every part is flat" + (f": not of {', '.join(growing)}" if growing else ""), not growing),
        ("pending traces are flat", is_pending_flat(result.steady_looks, result.steady.rate)),
        (f"accept p99 is below {P99_LIMIT_S * 1000:.0f} ms: {p99_s * 1000:.0f} ms", p99_s < P99_LIMIT_S),
        ("nothing is refused at the steady rate", not result.steady.other),
        ("whatever is refused in the overload is answered 429 or 503 with Retry-After", not silent),
        ("no read fails, except by 503 with Retry-After", not result.done.failed),
        ("nothing accepted is lost, changed, or counted twice", not result.differences),
    ]


def is_pending_flat(looks: Sequence[Look], rate: float) -> bool:
    """Returns whether no more traces are pending in the last third than in the first, except two seconds' posts."""
    pending = [look.pending for look in looks]
    third = len(pending) // 3
    if not third:
        return False
    return statistics.median(pending[-third:]) <= statistics.median(pending[:third]) + 2 * rate


def quantile(values: Sequence[float], share: float) -> float:
    """Returns a quantile; 0 of nothing."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


def describe_sent(sent: Sent) -> str:
    """Returns a line, and one for each kind of refusal."""
    late = f", sent at most {quantile(sent.late_s, 0.99) * 1000:.0f} ms late (p99)" if sent.rate else ""
    offered = len(sent.at_s) + sent.other.total()
    p50_ms, p99_ms, longest_ms = (quantile(sent.took_s, share) * 1000 for share in (0.5, 0.99, 1))
    lines = [
        f"{sent.name}: {offered / sent.elapsed_s:.0f} posts/s of {sent.rate:.0f} planned for {sent.elapsed_s:.0f} s, "
        f"{len(sent.at_s)} accepted ({sent.accepted_per_s:.0f}/s); "
        f"answer p50 {p50_ms:.1f} ms, p99 {p99_ms:.0f} ms, longest {longest_ms:.0f} ms{late}"
    ]
    lines += [
        f"    {number} × {status} {reason}{' with Retry-After' if has_retry else ''}"
        for (status, reason, has_retry), number in sorted(sent.other.items())
    ]
    return "\n".join(lines)


def describe_memory(looks: Sequence[Look]) -> Iterator[str]:
    """Yields the lines of a table: a line for each part, MB (PSS) at the start, the end and most, and its growth."""
    yield "memory at the steady rate, MB (PSS)        start     end    most  growth of the last half"
    for name, column in sorted(sum_parts(looks).items()):
        numbers = "".join(f"{mb:8.1f}" for mb in (column[0], column[-1], max(column), find_growth(column)))
        yield f"  {name:36} {numbers}{'' if is_flat(column) else '  grows'}"


def describe_costs(result: SoakResult) -> str:
    """Returns what a trace costs, with everything next to it, and what that is for a million."""
    before, after = result.used
    traces = max(len(result.steady.at_s), 1)
    processor = {
        part: (seconds - before.processor_s.get(part, 0.0)) * 1000 / traces
        for part, seconds in after.processor_s.items()
    }
    sender = processor.pop("sender", 0.0)
    tables = Counter(
        {name: (size - before.table_bytes.get(name, 0)) / traces for name, size in after.table_bytes.items()}
    )
    disk = sum(tables.values())
    log = (after.log_bytes - before.log_bytes) / traces
    whole = sum(processor.values())
    largest = ", ".join(f"{name} {size:,.0f}" for name, size in tables.most_common(LARGE_TABLES))
    return (
        "per accepted trace at the steady rate, with everything next to it\n"
        f"  processor time: {', '.join(f'{part} {ms:.2f}' for part, ms in sorted(processor.items()))} ms; "
        f"in all {whole:.2f} ms, and the sender {sender:.2f} ms\n"
        f"  log (WAL): {log:,.0f} bytes; disk: {disk:,.0f} bytes: {largest}\n"
        f"per million: {whole * MILLION / 3_600_000:.2f} hours of a processor, "
        f"{log * MILLION / 1e9:.1f} GB of log, {disk * MILLION / 1e9:.1f} GB of disk"
    )
