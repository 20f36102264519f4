"""What an interrupted run has started is ended by its mark."""

import os
import subprocess
import sys

from tests.__main__ import end_leftovers


def test_only_processes_with_the_runs_mark_are_ended() -> None:
    command = [sys.executable, "-c", "print(flush=True); import time; time.sleep(600)"]
    with (
        subprocess.Popen(command, env={**os.environ, "OF_A_TEST": "1"}, stdout=subprocess.PIPE) as ours,
        subprocess.Popen(command, env={**os.environ, "OF_A_TEST": "11"}, stdout=subprocess.PIPE) as others,
    ):
        for process in (ours, others):
            assert process.stdout is not None
            process.stdout.readline()
        try:
            end_leftovers("OF_A_TEST=1")
            assert ours.wait(timeout=60) < 0
            assert others.poll() is None
        finally:
            ours.kill()
            others.kill()
