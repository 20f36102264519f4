"""The options of `bench soak`, and what it prints."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

from django.core.management.base import CommandError, CommandParser

from bench.soak.report import describe_soak
from bench.soak.run import SoakPlan, bench_soak

# Everything goes on at its own pace, or faster in a short soak: each thing happens some twenty times.
TURNS: Final = 20
LOOKS: Final = 200
UPKEEP_S: Final = (3.0, 30.0)
LOOK_S: Final = (1.0, 10.0)


def add_soak_arguments(parser: CommandParser) -> None:
    """Adds the options that only a soak has."""
    group = parser.add_argument_group("soak")
    group.add_argument("--minutes", type=float, default=30.0, help="at the steady rate (default: %(default)s)")
    group.add_argument("--share", type=float, default=0.8, help="the steady rate, of the capacity (%(default)s)")
    group.add_argument("--overload", type=float, default=2.0, help="the overload, of the capacity (%(default)s)")
    group.add_argument("--overload-minutes", type=float, default=5.0, help="how long (default: %(default)s)")
    group.add_argument("--capacity-seconds", type=float, default=30.0, help="to measure it (default: %(default)s)")
    group.add_argument("--restart-seconds", type=float, default=15.0, help="before and after each (%(default)s)")
    group.add_argument(
        "--max-pending", type=int, default=20_000, help="FIELDFLAME_MAX_PENDING, low enough to meet (%(default)s)"
    )
    group.add_argument("--chunked", action="store_true", help="send views in chunks, as the snippet does")


def make_plan(options: dict[str, Any]) -> SoakPlan:
    """Returns the plan that the options ask for."""
    steady_s = options["minutes"] * 60
    return SoakPlan(
        steady_s=steady_s,
        share=options["share"],
        overload=options["overload"],
        overload_s=options["overload_minutes"] * 60,
        capacity_s=options["capacity_seconds"],
        around_restart_s=options["restart_seconds"],
        max_pending=options["max_pending"],
        history_traces=options["traces"],
        upkeep_every_s=between(UPKEEP_S, steady_s / TURNS),
        look_every_s=between(LOOK_S, steady_s / LOOKS),
        is_chunked=options["chunked"],
    )


def between(bounds: tuple[float, float], value: float) -> float:
    return min(max(value, bounds[0]), bounds[1])


def show_soak(
    recorded: Iterable[dict[str, Any]], corpus: Path, options: dict[str, Any], write: Callable[[str], object]
) -> None:
    """Soaks, and prints the tables. Raises `CommandError` if anything accepted was lost, changed, or counted twice."""
    result = bench_soak(list(recorded), corpus, make_plan(options), write, options["save"])
    write("\n" + describe_soak(result))
    if result.differences:
        raise CommandError("What was accepted is not what is kept.")
