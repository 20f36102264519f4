"""The options of `bench giant`, and what it prints."""

import statistics
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from django.core.management.base import CommandParser

from bench.giant.run import KINDS, Round, bench_giant

LISTED_WAITS: Final = 4
PARTS: Final = ("web", "worker", "postgres")


def add_giant_arguments(parser: CommandParser) -> None:
    """Adds the options that only `giant` has."""
    group = parser.add_argument_group("giant")
    group.add_argument("--projects", type=int, default=16, help="besides the one with all of it (default: %(default)s)")
    group.add_argument("--workers", type=int, default=4, help="processes that fold (default: %(default)s)")


def show_giant(recorded: Sequence[dict[str, Any]], options: dict[str, Any], write: Callable[[str], object]) -> None:
    """Runs the rounds, and prints each and the medians."""
    load = {name: options[name] for name in ("traces", "senders", "projects", "workers", "rounds")}
    done = []
    for each in bench_giant(recorded, **load):
        write(describe_round(each))
        done.append(each)
    write("")
    for line in describe_giant(done):
        write(line)


def describe_round(each: Round) -> str:
    """Returns a round in one line."""
    return (
        f"{each.kind:8} {name_side(each):13} folded {each.rate:6.0f} traces/s in {each.batches:3} batches, "
        f"waits for locks {each.waits.lock_s() * 1000 / max(each.batches, 1):6.1f} ms/batch"
    )


def name_side(each: Round) -> str:
    return "one project" if each.is_giant else "many projects"


def describe_giant(rounds: Sequence[Round]) -> Iterator[str]:
    """Yields the medians of each kind, the ratios of rounds that followed each other, and the waits by statement."""
    for kind in KINDS:
        sides = [
            [each for each in rounds if each.kind == kind and each.is_giant == is_giant] for is_giant in (False, True)
        ]
        if not all(sides):
            continue
        ratios = sorted(one.rate / many.rate for many, one in zip(*sides, strict=True))
        listed = ", ".join(f"{ratio:.2f}" for ratio in ratios)
        yield f"{kind}: one project folds {statistics.median(ratios):.2f} of what many do ({listed})"
        for side in sides:
            yield f"  {name_side(side[0]):13} {_describe_side(side)}"
            yield from (f"      {line}" for line in _describe_waits(side))


def _describe_side(side: Sequence[Round]) -> str:
    rate = statistics.median(each.rate for each in side)
    traces = statistics.median(each.traces / each.batches for each in side)
    waits_ms = statistics.median(each.waits.lock_s() * 1000 / each.batches for each in side)
    parts = {part: statistics.median(each.processor_ms[part] for each in side) for part in PARTS}
    return (
        f"{rate:6.0f} traces/s, {traces:.0f} in a batch, waits for locks {waits_ms:.1f} ms/batch; "
        f"processor ms a trace: {', '.join(f'{part} {ms:.2f}' for part, ms in parts.items())}"
    )


def _describe_waits(side: Sequence[Round]) -> Iterator[str]:
    """Yields the statements that waited most for locks."""
    batches = sum(each.batches for each in side)
    sums: defaultdict[tuple[str, str], float] = defaultdict(float)
    for each in side:
        for wait, seconds in each.waits.locks.items():
            sums[wait] += seconds
    for (name, event), seconds in sorted(sums.items(), key=lambda row: -row[1])[:LISTED_WAITS]:
        yield f"{seconds * 1000 / batches:6.1f} ms/batch {name} ({event})"
