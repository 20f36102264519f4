"""Work in a process of its own: a crash, a hang or too much memory ends only that process."""

import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from typing import Final

from django.conf import settings

from aggregate.stopping import check_stop

LOOK_S: Final = 0.5  # between two looks whether the worker was told to stop


class CrashedAlone(Exception):
    """The process did not survive its task, or did not answer in time. The text is the end of a sentence."""


def run_alone(module: str, task: bytes, *, timeout_s: int) -> bytes:
    """Returns the stdout of `python -m MODULE` with a task on stdin. Raises `CrashedAlone` or `Stopping`."""
    with tempfile.TemporaryFile() as stdin:  # no pipe: `communicate` sends no more of its input after a timeout
        stdin.write(task)
        stdin.seek(0)
        process = subprocess.Popen(
            [sys.executable, "-m", module],
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=settings.BASE_DIR,
        )
    with process:
        try:
            answer = _communicate(process, time.monotonic() + timeout_s)
        except TimeoutError:
            raise CrashedAlone(f"no answer within {timeout_s} s") from None
        finally:
            process.kill()  # does nothing if it has ended
    if process.returncode != 0:
        raise CrashedAlone(f"exit status {process.returncode}")
    return answer


def _communicate(process: "subprocess.Popen[bytes]", deadline_s: float) -> bytes:
    """Returns what a process answers. Raises `TimeoutError` or `Stopping`."""
    while True:
        check_stop()
        left_s = deadline_s - time.monotonic()
        if left_s <= 0:
            raise TimeoutError
        with suppress(subprocess.TimeoutExpired):
            return process.communicate(timeout=min(LOOK_S, left_s))[0]
