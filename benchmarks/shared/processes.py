"""The processor time and the memory of a running stack, by part. Other load on the machine does not change them."""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ops.supervisor.running import RunningStack
from tests.stack_processes import MEGABYTE, find_parts, read_memory, read_stats

TICKS_A_SECOND: Final = os.sysconf("SC_CLK_TCK")


def processor_s(supervisor: int) -> dict[str, float]:
    """Returns the seconds, user and system, that each part below a supervisor has used so far.

    A part is a child of the supervisor with all its descendants; those that have ended count with their parents.
    """
    return {part: sum(seconds.values()) for part, seconds in read_processes(supervisor).items()}


def read_processes(supervisor: int) -> dict[str, dict[int, float]]:
    """Returns the ids of the running processes of each part below a supervisor, with the seconds of each so far."""
    stats = read_stats()
    parts: dict[str, dict[int, float]] = {}
    for pid, part in find_parts(supervisor).items():
        if pid in stats and pid != supervisor:
            parts.setdefault(part, {})[pid] = stats[pid][1] / TICKS_A_SECOND
    return parts


def tree_s(root: int) -> float:
    """Returns the seconds of a process and of all its descendants, also those that have ended."""
    stats = read_stats()

    def is_below(pid: int) -> bool:
        while pid != root and pid in stats:
            pid = stats[pid][0]
        return pid == root

    return sum(ticks for pid, (_, ticks) in stats.items() if is_below(pid)) / TICKS_A_SECOND


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """A process's memory in MB: its proportional share, what is its own alone, all it sees, and the peak of that."""

    part: str
    pid: int
    pss_mb: float
    own_mb: float
    rss_mb: float
    peak_mb: float
    shared_mb: float  # of the proportional share: memory that is shared on purpose, as PostgreSQL's buffers


def take_shares(stack: RunningStack) -> list[Share]:
    """Returns the memory of each process below the supervisor and of itself."""
    assert stack.process is not None
    shares = []
    for pid, part in find_parts(stack.process.pid).items():
        try:
            shares.append(read_share(pid, part))
        except OSError:
            continue  # gone
    return sorted(shares, key=lambda share: (share.part, share.pid))


def read_share(pid: int, part: str) -> Share:
    """Returns the memory of a process. Raises OSError if it is gone."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    sizes = {name: int(size) * 1.024e-3 for name, size in re.findall(r"^(\w+):\s+(\d+) kB$", text, re.MULTILINE)}
    return Share(
        part=part,
        pid=pid,
        pss_mb=sizes.get("Pss", 0.0),
        own_mb=sizes.get("Private_Clean", 0.0) + sizes.get("Private_Dirty", 0.0),
        rss_mb=sizes.get("Rss", 0.0),
        peak_mb=read_memory("VmHWM", pid) / MEGABYTE,
        shared_mb=sizes.get("Pss_Shmem", 0.0),
    )


def find_largest_worker(stack: RunningStack) -> float:
    """Returns the peak of resident memory of the largest worker process of a stack, MB."""
    return max((share.peak_mb for share in take_shares(stack) if share.part == "worker"), default=0.0)


def describe_memory(shares: Sequence[Share]) -> str:
    """Returns a table: a line for each process of ours, one for all of each store."""
    lines = ["  part         processes     PSS     own     RSS    peak"]
    for part in dict.fromkeys(share.part for share in shares):
        part_shares = [share for share in shares if share.part == part]
        for group in [part_shares] if part in ("postgres", "valkey") else [[share] for share in part_shares]:
            sums = [sum(getattr(share, name) for share in group) for name in ("pss_mb", "own_mb")]
            tops = [max(getattr(share, name) for share in group) for name in ("rss_mb", "peak_mb")]
            lines.append(f"  {part:12s} {len(group):9d}{''.join(f'{value:8.1f}' for value in (*sums, *tops))}")
    return "\n".join(lines)
