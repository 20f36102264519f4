"""Runs a part of the fuzzer: so many examples of one seed, and the smallest input that fails."""

import sys
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as with_seed

from tests.hostile.cases import Case, keep_case
from tests.hostile.lab import Lab
from tests.hostile.measuring import end_hangs
from tests.hostile.parts import PARTS


class HarmfulInput(AssertionError):
    """An input did harm; says which file has it."""


def check_case(part: str, lab: Lab, case: Any) -> None:  # Any: the case of the part
    """Raises whatever a case of a part does wrong."""
    with end_hangs():
        PARTS[part].check(lab, case)


def fuzz(part: str, lab: Lab, *, seed: int, examples: int, folder: Path, keeps_running: bool = False) -> None:
    """Tries inputs of a part, always the same for a seed. Raises `HarmfulInput` and keeps the input in a file.

    With `keeps_running`, the input that is being tried has a file too: if the process dies, it is what killed it.
    """
    failing: list[tuple[Case, Exception]] = []
    running = folder / f"running-{part}.json"

    @settings(
        max_examples=examples,
        database=None,
        deadline=None,
        report_multiple_bugs=False,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    @with_seed(seed)
    @given(PARTS[part].cases)
    def try_one(case: Any) -> None:  # Any: as above
        if keeps_running:
            keep_case(folder, part, case, "was being tried").replace(running)
        try:
            check_case(part, lab, case)
        except Exception as error:
            failing.append((case, error))
            raise

    try:
        try_one()
    except Exception as error:
        if not failing:
            raise
        case, problem = failing[-1]  # the smallest one: Hypothesis tries it last
        path = keep_case(folder, part, case, f"{type(problem).__name__}: {problem}"[:1_000])
        message = f"{type(problem).__name__}: {problem}\nThe input is in {path}\nRepeat it: ./run fuzz --repeat {path}"
        raise HarmfulInput(message) from error
    finally:
        running.unlink(missing_ok=True)


def say_progress(message: str) -> None:
    """Prints a line of the long run."""
    sys.stderr.write(f"{message}\n")
