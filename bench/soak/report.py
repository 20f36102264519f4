"""The tables and the verdicts of a soak, as text."""

import statistics
from collections import Counter
from collections.abc import Sequence
from typing import Final

from bench.soak.memory import MOMENTS, make_rows
from bench.soak.restarting import Restart
from bench.soak.run import SoakResult
from bench.soak.sending import NO_ANSWER, Sent
from bench.soak.watching import Look

P99_LIMIT_S: Final = 0.25
TENTHS: Final = 10
MILLION: Final = 1_000_000
MEGABYTE: Final = 1_000_000
LARGE_TABLES: Final = 8
LARGE_READS: Final = 5
BUSY: Final = frozenset({"429", "503"})


def describe_soak(result: SoakResult) -> str:
    """Returns all tables, and at the end what was promised and whether it was kept."""
    steady = _between(result, result.steady)
    parts = [
        f"capacity {result.capacity:.0f} traces/s, with everything beside it",
        describe_time(result.steady, steady),
        describe_memory(steady),
        describe_costs(result),
        describe_beside(result),
        describe_time(result.overload, _between(result, result.overload)),
        f"pending traces of the overload were folded {result.drained_s:.0f} s after its end",
        "\n".join(map(describe_restart, result.restarts)),
        describe_account(result),
        "\n".join(f"{'kept  ' if is_kept else 'MISSED'}  {promise}" for promise, is_kept in list_promises(result)),
    ]
    return "\n\n".join(parts)


def _between(result: SoakResult, sent: Sent) -> list[Look]:
    return [look for look in result.looks if sent.began_s <= look.at_s <= sent.ended_s]


def list_promises(result: SoakResult) -> list[tuple[str, bool]]:
    """Returns what a soak is to show, and whether it did."""
    steady = _between(result, result.steady)
    rows = make_rows(steady)
    growing = [row.name for row in rows if not row.is_flat]
    p99_s = quantile(result.steady.took_s, 0.99)
    phases = [result.steady, result.overload]
    silent = Counter(
        {key: number for sent in phases for key, number in sent.other.items() if key[0] not in BUSY or not key[2]}
    )
    errors = Counter[tuple[str, str, bool]]()
    for restart in result.restarts:
        errors += Counter({key: n for key, n in restart.sent.other.items() if key[0] not in {*BUSY, NO_ANSWER}})
    return [
        ("memory of every process is flat" + (f": not of {', '.join(growing)}" if growing else ""), not growing),
        ("pending traces are flat", is_pending_flat(steady, result.steady.rate)),
        (f"accept p99 is below {P99_LIMIT_S * 1000:.0f} ms: {p99_s * 1000:.0f} ms", p99_s < P99_LIMIT_S),
        ("nothing is refused at the steady rate", not result.steady.other),
        ("whatever is refused in the overload is answered 429 or 503 with Retry-After", not silent),
        ("in restarts, nothing is answered but 202, 429 and 503", not errors),
        ("no read fails, except by 503 with Retry-After", not result.done.failed),
        ("nothing accepted is lost, changed, or counted twice", not result.differences),
    ]


def is_pending_flat(looks: Sequence[Look], rate: float) -> bool:
    """Tells whether no more traces are pending in the last third than in the first, give or take two seconds' posts."""
    pending = [look.pending for look in looks if look.pending is not None]
    third = len(pending) // 3
    if not third:
        return False
    return statistics.median(pending[-third:]) <= statistics.median(pending[:third]) + 2 * rate


def quantile(values: Sequence[float], share: float) -> float:
    """Returns a quantile; 0 of nothing."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


def describe_time(sent: Sent, looks: Sequence[Look]) -> str:
    """Returns a table over time: posts, their answers, pending traces, and the memory of everything."""
    lines = [describe_sent(sent), "  minute  accepted/s  p50 ms  p99 ms  pending  oldest s  all processes MB"]
    step_s = sent.elapsed_s / TENTHS
    for tenth in range(TENTHS):
        begin_s = sent.began_s + tenth * step_s
        took_s = [took for at, took in zip(sent.at_s, sent.took_s, strict=False) if begin_s <= at < begin_s + step_s]
        own = [look for look in looks if begin_s <= look.at_s < begin_s + step_s]
        pending = [look.pending for look in own if look.pending is not None]
        oldest_s = [look.oldest_s for look in own if look.oldest_s is not None]
        mb = [sum(share.pss_mb for share in look.shares) for look in own]
        lines.append(
            f"  {(begin_s - sent.began_s) / 60:6.1f}  {len(took_s) / step_s:10.0f}"
            f"  {quantile(took_s, 0.5) * 1000:6.1f}  {quantile(took_s, 0.99) * 1000:6.0f}"
            f"  {_median(pending):7.0f}  {max(oldest_s, default=0):8.1f}  {_median(mb):16.0f}"
        )
    return "\n".join(lines)


def _median(values: Sequence[float]) -> float:
    return statistics.median(values) if values else 0.0


def describe_sent(sent: Sent) -> str:
    """Returns a line, and one for each kind of refusal."""
    late = f", sent at most {quantile(sent.late_s, 0.99) * 1000:.0f} ms late (p99)" if sent.rate else ""
    offered = len(sent.at_s) + sent.other.total()
    p50_ms, p99_ms, longest_ms = (quantile(sent.took_s, share) * 1000 for share in (0.5, 0.99, 1))
    head = (
        f"{sent.name}: {offered / sent.elapsed_s:.0f} posts/s of {sent.rate:.0f} planned for {sent.elapsed_s:.0f} s, "
        f"{len(sent.at_s)} accepted ({sent.accepted_per_s:.0f}/s); "
        f"answer p50 {p50_ms:.1f} ms, p99 {p99_ms:.0f} ms, longest {longest_ms:.0f} ms{late}"
    )
    lines = [
        f"    {number} × {status} {reason}{' with Retry-After' if has_retry else ''}"
        for (status, reason, has_retry), number in sorted(sent.other.items())
    ]
    if sent.other_s:
        p99_ms = quantile(sent.other_s, 0.99) * 1000
        lines.append(f"    refusals: p50 {quantile(sent.other_s, 0.5) * 1000:.1f} ms, p99 {p99_ms:.0f} ms")
    return "\n".join([head, *lines])


def describe_memory(looks: Sequence[Look]) -> str:
    """Returns a table: a line for each process, MB of proportional memory."""
    heads = "".join(f"{f'{100 * place // (MOMENTS - 1)} %':>8}" for place in range(MOMENTS))
    lines = [
        "memory at the steady rate, MB (PSS), over its time",
        f"  {'process':22} {'':4}{heads}{'peak':>8}{'MB per h':>10}",
    ]
    for row in make_rows(looks):
        cells = "".join("       –" if mb is None else f"{mb:8.1f}" for mb in row.at_mb)
        slope = "–" if row.slope_mb_per_h is None else f"{row.slope_mb_per_h:+.1f}"
        count = f"{row.processes:4}" if row.processes > 1 else "    "
        lines.append(f"  {row.name:22} {count}{cells}{row.peak_mb:8.1f}{slope:>10}{'' if row.is_flat else '  grows'}")
    return "\n".join(lines)


def describe_costs(result: SoakResult) -> str:
    """Returns what a trace costs, with everything beside it, and what that is for a million."""
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
    return "\n".join(
        [
            "per accepted trace at the steady rate, with everything beside it",
            f"  processor time: {', '.join(f'{part} {ms:.2f}' for part, ms in sorted(processor.items()))} ms; "
            f"in all {whole:.2f} ms, and the sender {sender:.2f} ms",
            f"  log (WAL): {log:,.0f} bytes",
            f"  disk: {disk:,.0f} bytes: "
            + ", ".join(f"{name} {size:,.0f}" for name, size in tables.most_common(LARGE_TABLES)),
            f"per million: {whole * MILLION / 3_600_000:.2f} hours of a processor, "
            f"{log * MILLION / 1e9:.1f} GB of log, {disk * MILLION / 1e9:.1f} GB of disk",
        ]
    )


def describe_beside(result: SoakResult) -> str:
    """Returns what went on beside the posts."""
    done, (before, after) = result.done, result.census
    statuses = ", ".join(f"{number} × {status}" for status, number in sorted(done.statuses.items()))
    lines = [
        f"beside it: {done.statuses.total()} reads ({statuses}), p50 {quantile(done.took_s, 0.5) * 1000:.0f} ms, "
        f"p99 {quantile(done.took_s, 0.99) * 1000:.0f} ms; "
        + ", ".join(f"{number} {what}" for what, number in sorted(done.times.items())),
        *(f"    failed: {number} × {what}" for what, number in (done.failed + done.faults).most_common(LARGE_TABLES)),
        "  " + ", ".join(f"{name} {before[name]} → {after[name]}" for name in before),
        "  a web process rose most while these were read:",
        *(
            f"    {rise / MEGABYTE:4.0f} MB  {address}"
            for address, rise in sorted(done.rises.items(), key=lambda item: -item[1])[:LARGE_READS]
        ),
    ]
    return "\n".join(lines)


def describe_restart(restart: Restart) -> str:
    """Returns what a restart gave."""
    head = f"restart of {restart.store} by {restart.signal}: back after {restart.back_s:.1f} s, "
    return f"{head}longest time without an accepted post {restart.silent_s:.1f} s\n  {describe_sent(restart.sent)}"


def describe_account(result: SoakResult) -> str:
    """Returns the account: what was accepted, and what is there."""
    status = result.status
    lines = [
        f"account: {result.accepted} accepted, of which {result.repeated} were posted again, as they "
        f"had no clear answer before; {result.refused} refused; stored {status['received']}, "
        f"folded {status['folded']}, rejected {status['rejected']}, pending {status['pending']}",
        *(f"  {difference}" for difference in result.differences),
    ]
    return "\n".join(lines)
