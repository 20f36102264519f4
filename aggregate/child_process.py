"""Work in a process of its own: a crash, a hang or too much memory ends only that process."""

import subprocess
import sys
import time
from typing import Final

from django.conf import settings

from aggregate.stopping import check_stop

LOOK_S: Final = 0.5  # between two looks whether the worker was told to stop


class CrashedAlone(Exception):
    """The process did not survive its task, or did not answer in time. The text is the end of a sentence."""


def run_alone(module: str, task: bytes, *, timeout_s: int) -> bytes:
    """Returns the stdout of `python -m MODULE` with a task on stdin. Raises `CrashedAlone` or `Stopping`."""
    with subprocess.Popen(
        [sys.executable, "-m", module],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=settings.BASE_DIR,
    ) as process:
        try:
            answer = _communicate(process, task, time.monotonic() + timeout_s)
        except TimeoutError:
            raise CrashedAlone(f"no answer within {timeout_s} s") from None
        finally:
            process.kill()  # does nothing if it has ended
    if process.returncode != 0:
        raise CrashedAlone(f"exit status {process.returncode}")
    return answer


def _communicate(process: "subprocess.Popen[bytes]", task: bytes, deadline_s: float) -> bytes:
    """Returns what a process answers. Raises `TimeoutError` or `Stopping`."""
    to_send: bytes | None = task
    while True:
        check_stop()
        left_s = deadline_s - time.monotonic()
        if left_s <= 0:
            raise TimeoutError
        try:
            return process.communicate(to_send, timeout=min(LOOK_S, left_s))[0]
        except subprocess.TimeoutExpired:
            to_send = None  # the rest of it is still being sent
