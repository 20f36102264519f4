"""The processor time of a running stack, by part. Other load on the machine does not change it."""

import os
from pathlib import Path
from typing import Final

TICKS_A_SECOND: Final = os.sysconf("SC_CLK_TCK")
PARTS: Final = (("postgres", b"/postgres\0"), ("valkey", b"valkey"), ("worker", b"\0worker\0"), ("beat", b"\0beat\0"))


def processor_s(root_pid: int) -> dict[str, float]:
    """Returns the seconds, user and system, that each part below a supervisor has used so far.

    A part is a child of the supervisor with all its descendants; those that have ended count with their parents.
    """
    return {part: sum(seconds.values()) for part, seconds in read_processes(root_pid).items()}


def read_processes(root_pid: int) -> dict[str, dict[int, float]]:
    """Returns the ids of the running processes of each part below a supervisor, with the seconds of each so far."""
    parents, seconds = _read_all()
    parts: dict[str, dict[int, float]] = {}
    for pid, own in seconds.items():
        child = pid
        while child in parents and parents[child] != root_pid:
            child = parents[child]
        if child in parents:
            parts.setdefault(_name_of(child), {})[pid] = own
    return parts


def tree_s(root_pid: int) -> float:
    """Returns the seconds of a process and of all its descendants, also those that have ended."""
    parents, seconds = _read_all()

    def is_below(pid: int) -> bool:
        while pid != root_pid and pid in parents:
            pid = parents[pid]
        return pid == root_pid

    return sum(own for pid, own in seconds.items() if is_below(pid))


def _read_all() -> tuple[dict[int, int], dict[int, float]]:
    """Returns the parent and the seconds, user and system, of every running process."""
    parents: dict[int, int] = {}
    seconds: dict[int, float] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue  # gone
        parents[int(entry.name)] = int(fields[1])
        seconds[int(entry.name)] = sum(map(int, fields[11:15])) / TICKS_A_SECOND
    return parents, seconds


def _name_of(pid: int) -> str:
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return "gone"
    return next((name for name, word in PARTS if word in command), "web")
