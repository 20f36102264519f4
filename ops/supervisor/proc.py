"""Running processes, as `/proc` shows them. Without `/proc` (not Linux), none are found."""

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
KILL_LIMIT_S = 5.0
TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Process:
    """A running process; `pid` and `started_ticks` (since boot) together identify it uniquely."""

    pid: int
    group: int
    session: int
    started_ticks: int


def read_process(pid: int) -> Process | None:
    """Returns the process, or None if it has ended (a zombie has ended)."""
    try:
        text = (PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # The name, in parentheses, may contain anything, so the fields are counted after the last parenthesis.
    fields = text.rpartition(")")[2].split()
    if fields[0] in "ZX":
        return None
    return Process(pid=pid, group=int(fields[2]), session=int(fields[3]), started_ticks=int(fields[19]))


def read_used_s(root: int) -> float:
    """Returns the processor time that all processes below `root` have used so far, with those that have ended."""
    parents: dict[int, int] = {}
    used_s: dict[int, float] = {}
    for name in os.listdir(PROC) if PROC.exists() else ():
        if name.isdigit():
            try:
                text = (PROC / name / "stat").read_text(encoding="utf-8", errors="replace")
            except OSError:
                continue  # gone
            fields = text.rpartition(")")[2].split()
            parents[int(name)] = int(fields[1])
            used_s[int(name)] = sum(map(int, fields[11:15])) / TICKS_A_SECOND
    tree = {root}
    size = 0
    while size < len(tree):
        size = len(tree)
        tree |= {pid for pid, parent in parents.items() if parent in tree}
    return sum(used_s.get(pid, 0.0) for pid in tree - {root})


def list_processes() -> Iterator[Process]:
    try:
        names = os.listdir(PROC)
    except OSError:
        return
    for name in names:
        if name.isdigit():
            process = read_process(int(name))
            if process is not None:
                yield process


def read_boot_id() -> str:
    try:
        return (PROC / "sys/kernel/random/boot_id").read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def has_mark(pid: int, mark: str) -> bool:
    """Returns whether the process was started with `mark` (a `NAME=value` text) in its environment."""
    try:
        return os.fsencode(mark) in (PROC / str(pid) / "environ").read_bytes().split(b"\0")
    except OSError:
        return False


def works_in(pid: int, folder: Path) -> bool:
    """Returns whether a process has `folder` as its working folder, as PostgreSQL's processes have the data folder."""
    try:
        return os.readlink(PROC / str(pid) / "cwd") == str(folder.resolve())
    except OSError:
        return False


def is_running(process: Process) -> bool:
    current = read_process(process.pid)
    return current is not None and current.started_ticks == process.started_ticks


def send_signal(process: Process, signal_number: int) -> None:
    """Sends a signal to the process if it is still the same one."""
    if is_running(process):
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, signal_number)


def end_processes(find: Callable[[], Iterable[Process]], gentle: int | None, gentle_limit_s: float) -> bool:
    """Ends the processes that `find` yields: by `gentle`, if given, and then by SIGKILL. Returns whether all ended."""
    seen = set(find())
    if gentle is not None:
        for process in seen:
            send_signal(process, gentle)
    if gentle_limit_s and wait_until_gone(find, seen, gentle_limit_s):
        return True
    for process in seen:
        send_signal(process, signal.SIGKILL)
    return wait_until_gone(find, seen, KILL_LIMIT_S)


def wait_until_gone(find: Callable[[], Iterable[Process]], seen: set[Process], limit_s: float) -> bool:
    """Waits until all of `seen`, and those that `find` adds, have ended; returns False after `limit_s` seconds.

    It waits by identity for processes that were seen once. A process that is ending has lost its environment and its
    working folder, so that `find` misses it, and may still hold a port.
    """
    deadline = time.monotonic() + limit_s
    while True:
        seen.update(find())
        if not any(is_running(process) for process in seen):
            return True
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
