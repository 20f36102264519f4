"""Work in a process of its own: what crashes, hangs or eats memory takes only that process with it."""

import subprocess
import sys

from django.conf import settings


class CrashedAlone(Exception):
    """The process did not survive its task, or gave no answer in time: a sentence's end."""


def run_alone(module: str, task: bytes, *, timeout_s: int) -> bytes:
    """Runs `python -m MODULE` with a task on stdin and returns its stdout. Raises `CrashedAlone`."""
    try:
        done = subprocess.run(
            [sys.executable, "-m", module],
            input=task,
            capture_output=True,
            cwd=settings.BASE_DIR,
            timeout=timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise CrashedAlone(f"no answer within {timeout_s} s") from None
    if done.returncode != 0:
        raise CrashedAlone(f"exit status {done.returncode}")
    return done.stdout
