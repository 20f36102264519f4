"""`./run fuzz`: new hostile inputs for so many minutes, or one kept input again. Skipped unless that asks for it."""

import os
import secrets
import time
from pathlib import Path
from typing import Final

import pytest

from tests.hostile.cases import FAILURES, PART_NAMES, read_case
from tests.hostile.fuzzing import HarmfulInput, check_case, fuzz, say_progress
from tests.hostile.lab import Lab

MINUTES_NAME: Final = "FIELDFLAME_FUZZ_MINUTES"
SEED_NAME: Final = "FIELDFLAME_FUZZ_SEED"
PARTS_NAME: Final = "FIELDFLAME_FUZZ_PARTS"
REPEAT_NAME: Final = "FIELDFLAME_FUZZ_REPEAT"
ROUND: Final = 200  # examples of a part before the next part's turn
MAX_FAILURES: Final = 20  # nobody reads more


@pytest.mark.skipif(MINUTES_NAME not in os.environ, reason="only by ./run fuzz")
def test_new_hostile_inputs_do_no_harm(lab: Lab) -> None:
    seed = int(os.environ.get(SEED_NAME) or secrets.randbelow(2**32))
    parts = (os.environ.get(PARTS_NAME) or " ".join(PART_NAMES)).split()
    deadline_s = time.monotonic() + 60 * float(os.environ[MINUTES_NAME])
    failures: list[HarmfulInput] = []
    rounds = 0
    while time.monotonic() < deadline_s and len(failures) < MAX_FAILURES:
        part = parts[rounds % len(parts)]
        say_progress(f"seed {seed}, round {rounds}, {part}: {ROUND} inputs")
        try:
            fuzz(part, lab, seed=seed + rounds, examples=ROUND, folder=FAILURES, keeps_running=True)
        except HarmfulInput as error:
            say_progress(str(error))
            failures.append(error)
        rounds += 1
    say_progress(f"{rounds * ROUND} inputs, {len(failures)} failures")
    assert not failures, "\n\n".join(str(one) for one in failures)


@pytest.mark.skipif(REPEAT_NAME not in os.environ, reason="only by ./run fuzz --repeat")
def test_a_kept_input_does_no_harm(lab: Lab) -> None:
    check_case(*_with_lab(lab, Path(os.environ[REPEAT_NAME])))


def _with_lab(lab: Lab, path: Path) -> tuple[str, Lab, object]:
    part, case = read_case(path)
    return part, lab, case
