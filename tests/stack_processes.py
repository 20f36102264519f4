"""The processes of a running stack, by part: for tests that look at them, and for benchmarks."""

import re
from pathlib import Path
from typing import Final

# What a part's command line has; the web server's has none of these.
PARTS: Final = (("postgres", b"/postgres\0"), ("valkey", b"valkey"), ("worker", b"\0worker\0"), ("beat", b"\0beat\0"))
MEGABYTE: Final = 1e6


def read_stats() -> dict[int, tuple[int, int]]:
    """Returns the parent of every running process, and its processor time, user and system, in clock ticks."""
    stats = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue  # gone
            stats[int(entry.name)] = int(fields[1]), sum(map(int, fields[11:15]))
    return stats


def find_parts(supervisor: int) -> dict[int, str]:
    """Returns the part of each process of a stack, which is the supervisor's child that it descends from."""
    parents = {pid: parent for pid, (parent, _) in read_stats().items()}
    parts = {supervisor: "supervisor"}
    names: dict[int, str] = {}
    for pid in parents:
        child = pid
        while child in parents and parents[child] != supervisor:
            child = parents[child]
        if child in parents:
            parts[pid] = names.setdefault(child, name_part(child))
    return parts


def name_part(pid: int) -> str:
    """Returns the name of a child of the supervisor."""
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return "gone"
    return next((name for name, word in PARTS if word in command), "web")


def find_web_processes(supervisor: int) -> list[int]:
    """Returns the processes that answer requests: those below the web server's own."""
    stats, parts = read_stats(), find_parts(supervisor)
    web = [pid for pid, part in parts.items() if part == "web" and pid in stats]
    return sorted(pid for pid in web if stats[pid][0] != supervisor and _has_code(pid))


def _has_code(pid: int) -> bool:
    """Returns whether a process is large enough for a web process, and not a resource tracker."""
    try:
        return read_memory("VmRSS", pid) > 50 * MEGABYTE
    except (FileNotFoundError, ProcessLookupError):  # it has ended since it was listed
        return False


def read_memory(name: str, process: int | str = "self") -> int:
    """Returns a field of a process's memory in bytes: VmRSS is what it has, VmHWM the peak of that."""
    match = re.search(rf"{name}:\s+(\d+) kB", Path(f"/proc/{process}/status").read_text())
    return int(match[1]) * 1024 if match else 0
