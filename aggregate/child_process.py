"""Work in a process of its own: a crash, a hang or too much memory ends only that process."""

import subprocess
import sys

from django.conf import settings


class CrashedAlone(Exception):
    """The process did not survive its task, or did not answer in time. The text is the end of a sentence."""


def run_alone(module: str, task: bytes, *, timeout_s: int) -> bytes:
    """Returns the stdout of `python -m MODULE` with a task on stdin. Raises `CrashedAlone`."""
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
