"""FIELDFLAME_KERNEL: one of three words; "compiled" stops the start where no kernel is installed."""

import os
import subprocess
import sys

import pytest

from profcore.kernel import find_kernel
from tests.deploy.files import ROOT


def read_kernel(choice: str) -> subprocess.CompletedProcess[str]:
    code = "from django.conf import settings; print(settings.KERNEL)"
    environment = {**os.environ, "FIELDFLAME_KERNEL": choice, "DJANGO_SETTINGS_MODULE": "config.settings"}
    return subprocess.run(
        [sys.executable, "-c", code], env=environment, cwd=ROOT, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("choice", ["auto", "pure"])
def test_the_pure_twin_never_stops_the_start(choice: str) -> None:
    done = read_kernel(choice)
    assert (done.returncode, done.stdout) == (0, f"{choice}\n"), done.stderr


def test_another_word_stops_the_start() -> None:
    done = read_kernel("rust")
    assert done.returncode != 0
    assert "FIELDFLAME_KERNEL must be one of auto, compiled, pure, not 'rust'." in done.stderr


def test_an_absent_kernel_that_was_chosen_stops_the_start() -> None:
    done = read_kernel("compiled")
    if find_kernel().module is not None:
        assert (done.returncode, done.stdout) == (0, "compiled\n"), done.stderr
    else:
        assert f"FIELDFLAME_KERNEL is compiled, but {find_kernel().why_pure}." in done.stderr
