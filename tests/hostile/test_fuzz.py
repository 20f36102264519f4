"""Hostile inputs of every part do no harm: the same in every run. `./run fuzz` tries others, for as long as asked."""

from pathlib import Path

import pytest

from tests.hostile.cases import PART_NAMES
from tests.hostile.fuzzing import fuzz
from tests.hostile.lab import Lab
from tests.hostile.parts import PARTS

pytestmark = pytest.mark.slow(20)


@pytest.mark.parametrize("part", PART_NAMES)
def test_hostile_inputs_do_no_harm(lab: Lab, part: str, tmp_path: Path) -> None:
    fuzz(part, lab, seed=0, examples=PARTS[part].examples, folder=tmp_path)
