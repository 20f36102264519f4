"""The processes of a running stack, for tests that kill them."""

import contextlib
import os
import signal
from pathlib import Path

from ops.supervisor.running import RunningStack


def find_processes(stack: RunningStack, *arguments: bytes) -> list[int]:
    """Returns the processes of a stack whose command line holds all words."""
    pids = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError):
            command = (entry / "cmdline").read_bytes()
            environ = (entry / "environ").read_bytes()
            is_ours = os.fsencode(stack.folder.path) in environ or os.fsencode(stack.folder.path) in command
            if is_ours and all(word in command for word in arguments):
                pids.append(int(entry.name))
    return pids


def parent_of(pid: int) -> int:
    """Returns a process's parent, 0 when it is gone."""
    with contextlib.suppress(OSError):
        return int((Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()[1])
    return 0


def kill(pids: list[int]) -> int:
    """Kills processes with SIGKILL; returns how many there were."""
    killed = 0
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
            killed += 1
    return killed
