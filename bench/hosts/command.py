"""The options of `bench hosts`, and what it prints."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from bench.hosts.network import NoHosts, require_hosts
from bench.hosts.run import HostsPlan, HostsResult, bench_hosts
from bench.hosts.trouble import Trouble


def add_hosts_arguments(parser: CommandParser) -> None:
    """Adds the options that only hosts have."""
    group = parser.add_argument_group("hosts")
    group.add_argument("--rate", type=float, default=30.0, help="posts per second (default: %(default)s)")
    group.add_argument(
        "--cut-seconds", type=float, default=60.0, help="how long a host is cut off; 0 cuts none off (%(default)s)"
    )
    group.add_argument(
        "--skew-minutes", type=float, default=10.0, help="by how much clocks differ, at most (%(default)s)"
    )
    group.add_argument("--no-rolling", action="store_true", help="without the rolling restart")


def show_hosts(
    recorded: Iterable[dict[str, Any]], corpus: Path, options: dict[str, Any], write: Callable[[str], object]
) -> None:
    """Runs hosts, and prints the result. Raises `CommandError` if anything accepted was lost or changed."""
    plan = HostsPlan(
        rate=options["rate"],
        cut_s=options["cut_seconds"],
        skew_s=options["skew_minutes"] * 60,
        is_rolled=not options["no_rolling"],
    )
    try:
        require_hosts()
        result = bench_hosts(list(recorded), corpus, plan, write, options["save"])
    except NoHosts as error:
        raise CommandError(f"bench hosts: {error}.") from None
    write(describe_hosts(result))
    if result.differences:
        raise CommandError("What was accepted is not what is kept.")


def describe_hosts(result: HostsResult) -> str:
    """Returns the result as text."""
    lines = [
        f"{result.corpus_traces} traces of the corpus, folded {result.corpus_s:.1f} s after the first post",
        f"clocks up to {result.plan.skew_s / 60:g} minutes apart",
        *(describe_trouble(each) for each in result.troubles),
        f"{result.accepted:,} posts accepted, {result.repeated} of them after they were posted again",
        *result.differences,
        "All sums are as they must be." if not result.differences else "Sums differ.",
    ]
    return "\n".join(lines)


def describe_trouble(trouble: Trouble) -> str:
    """Returns a trouble as a line."""
    took = sorted(trouble.sent.took_s)
    middle, slowest = (took[len(took) // 2], took[-1]) if took else (0.0, 0.0)
    others = ", ".join(
        f"{count} × {status} {reason}".strip() for (status, reason, _), count in trouble.sent.other.items()
    )
    steps = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in trouble.seconds.items())
    reads = ", ".join(f"{count} {by}" for by, count in sorted(trouble.reader.counts.items()))
    return (
        f"{trouble.name}: {len(took):,} posts accepted, p50 {middle * 1000:.0f} ms, slowest {slowest:.2f} s; "
        f"other answers: {others or 'none'}; "
        f"reads: {reads}, slowest {trouble.reader.slowest_s:.1f} s, lag {trouble.reader.most_lag_s:.1f} s at most; "
        f"{steps}"
    )
