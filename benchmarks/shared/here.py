"""Running a benchmark with the database of a stack that another one has started: `--here`."""

import subprocess
import sys
from argparse import SUPPRESS, ArgumentParser
from collections.abc import Mapping

from ops.supervisor.services import BASE_DIR


def add_here(parser: ArgumentParser) -> None:
    """Adds the option by which a benchmark starts itself in another process."""
    parser.add_argument("--here", action="store_true", help=SUPPRESS)


def run_here(environment: Mapping[str, str], name: str, *arguments: str) -> str:
    """Returns what a benchmark prints in this environment. Raises RuntimeError if it fails."""
    command = [sys.executable, "-m", "benchmarks", name, "--here", *arguments]
    done = subprocess.run(command, cwd=BASE_DIR, env=dict(environment), stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{name} failed; the reason is above")
    return done.stdout
