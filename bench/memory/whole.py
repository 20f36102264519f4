"""The memory of all processes of a `./run`, by part: after its start, heavy traces, reads, and the heaviest traces.

Each process counts with its proportional share (PSS): a page that several processes share counts once in their sum.
Linux only, as the servers that `./run` starts.
"""

import gzip
import http.client
import json
import re
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from bench.end_to_end import PROJECT, make_bodies, post_all
from bench.heavy import make_heavy_envelope
from bench.hostile.reads import read_memory
from bench.hostile.shapes import SHAPES, make_largest
from config.up.running import RunningStack, run_stack
from profcore.trace.wire import Limits

MEGABYTE: Final = 1e6
HEAVY_ENVELOPES: Final = 60
SETTLE_S: Final = 12.0  # what is about to be freed is freed, and given back
# A machine that others keep busy is late, and that is not what is measured.
PATIENT: Final = {"FIELDFLAME_DATABASE_WAIT_MS": "60000", "FIELDFLAME_READ_WAIT_S": "300"}
POLL_S: Final = 0.02
FOLD_LIMIT_S: Final = 900.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """A process's memory in MB: its proportional share, what is its own alone, all it sees, and the peak of that."""

    part: str
    pid: int
    title: str
    pss_mb: float
    own_mb: float
    rss_mb: float
    peak_mb: float
    shared_mb: float  # of the proportional share: memory that is shared on purpose, as PostgreSQL's buffers


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """All processes at a moment."""

    when: str
    shares: Sequence[Share]


def bench_whole(traces: int, reads: int, limits: Limits) -> Iterator[Moment | str]:
    """Yields the memory of a whole stack after its start, after heavy traces, a round of reads, and `reads` of them."""
    bodies = make_bodies([make_heavy_envelope(number, "heavy") for number in range(HEAVY_ENVELOPES)], traces)
    with run_stack(PATIENT) as stack:
        token = stack.create_project(PROJECT)
        yield take(stack, "ready")
        post_all(stack.port, bodies, 8)
        stack.wait_until_folded({PROJECT: token}, limit_s=FOLD_LIMIT_S)
        yield take(stack, f"after {traces} heavy traces")
        found = json.loads(stack.manage("bench", "addresses-here", "--project", PROJECT))
        cookie, addresses = str(found["cookie"]), [str(each) for each in found["addresses"]]
        statuses = read_each(stack, cookie, addresses)
        yield take(stack, f"after a round of {len(addresses)} reads ({describe_statuses(statuses)})")
        rest = [addresses[number % len(addresses)] for number in range(len(addresses), reads)]
        statuses += read_each(stack, cookie, rest)
        yield take(stack, f"after {reads} reads ({describe_statuses(statuses)})")
        yield fold_heaviest(stack, token, limits)


def read_each(stack: RunningStack, cookie: str, addresses: Sequence[str]) -> Counter[int]:
    """Reads addresses one after the other; returns how often each status was answered."""
    statuses: Counter[int] = Counter()
    for address in addresses:
        connection = http.client.HTTPConnection("127.0.0.1", stack.port, timeout=600)
        connection.request("GET", address, headers={"Cookie": cookie, "Accept-Encoding": "gzip"})
        answer = connection.getresponse()
        answer.read()
        connection.close()
        statuses[answer.status] += 1
    return statuses


def describe_statuses(statuses: Counter[int]) -> str:
    return ", ".join(f"{count} × {status}" for status, count in sorted(statuses.items()))


def fold_heaviest(stack: RunningStack, token: str, limits: Limits) -> str:
    """Posts the largest trace of each hostile shape, one by one; returns the peak of all worker processes meanwhile."""
    lines = []
    for shape in SHAPES:
        body = gzip.compress(msgspec.json.encode(make_largest(shape, limits)), 6)
        for share in take_shares(stack, {"worker"}):
            forget_peak(share.pid)
        post_all(stack.port, [body], 1)
        peaks: dict[int, float] = {}
        deadline_s = time.monotonic() + FOLD_LIMIT_S
        while stack.read(PROJECT, token, "status")["pending"]:
            for share in take_shares(stack, {"worker"}):  # one that folds a trace alone lives only for that
                peaks[share.pid] = max(peaks.get(share.pid, 0.0), share.peak_mb)
            if time.monotonic() > deadline_s:
                raise TimeoutError(f"{shape.__name__} was not folded within {FOLD_LIMIT_S} s")
            time.sleep(POLL_S)
        for share in take_shares(stack, {"worker"}):
            peaks[share.pid] = max(peaks.get(share.pid, 0.0), share.peak_mb)
        lines.append(f"  {shape.__name__:24s} {max(peaks.values()):6.0f} MB")
    return "\n".join(["the largest worker process's peak (RSS), by the largest trace of each shape", *lines])


def forget_peak(pid: int) -> None:
    """Makes a process's peak of memory its memory now."""
    Path(f"/proc/{pid}/clear_refs").write_text("5")


def take(stack: RunningStack, when: str) -> Moment:
    """Returns the memory of all processes, after a while in which nothing is asked of them."""
    time.sleep(SETTLE_S)
    return Moment(when=when, shares=take_shares(stack))


def take_shares(stack: RunningStack, parts: set[str] | None = None) -> list[Share]:
    """Returns the memory of each process below the supervisor and of itself, or of some parts only."""
    assert stack.process is not None
    found = []
    for pid, part in find_parts(stack.process.pid).items():
        if parts is None or part in parts:
            try:
                found.append(read_share(pid, part))
            except OSError:
                continue  # gone
    return sorted(found, key=lambda share: (share.part, share.pid))


def read_share(pid: int, part: str) -> Share:
    """Returns the memory of a process. Raises OSError if it is gone."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    sizes = {name: int(size) * 1.024e-3 for name, size in re.findall(r"^(\w+):\s+(\d+) kB$", text, re.MULTILINE)}
    title = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    return Share(
        part=part,
        pid=pid,
        title=title,
        pss_mb=sizes.get("Pss", 0.0),
        own_mb=sizes.get("Private_Clean", 0.0) + sizes.get("Private_Dirty", 0.0),
        rss_mb=sizes.get("Rss", 0.0),
        peak_mb=read_memory("VmHWM", pid) / MEGABYTE,
        shared_mb=sizes.get("Pss_Shmem", 0.0),
    )


def find_parts(supervisor: int) -> dict[int, str]:
    """Returns the part of each process of a stack, which is the supervisor's child that it descends from."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue  # gone
    found = {supervisor: "supervisor"}
    for pid in parents:
        child = pid
        while child in parents and parents[child] != supervisor:
            child = parents[child]
        if child in parents:
            found[pid] = name_part(child)
    return found


def name_part(pid: int) -> str:
    """Returns the name of a child of the supervisor."""
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return "gone"
    words = {"postgres": b"/postgres\0", "valkey": b"valkey", "worker": b"\0worker\0", "beat": b"\0beat\0"}
    return next((name for name, word in words.items() if word in command), "web")


def describe_moment(moment: Moment) -> str:
    """Returns a table: a line for each process of ours, one for all of each store, and the sum."""
    lines = [f"{moment.when}: {sum(share.pss_mb for share in moment.shares):.0f} MB (PSS)"]
    lines.append("  part         processes     PSS     own     RSS    peak")
    for part in dict.fromkeys(share.part for share in moment.shares):
        shares = [share for share in moment.shares if share.part == part]
        groups = [shares] if part in ("postgres", "valkey") else [[share] for share in shares]
        for group in groups:
            sums = [sum(getattr(each, name) for each in group) for name in ("pss_mb", "own_mb")]
            tops = [max(getattr(each, name) for each in group) for name in ("rss_mb", "peak_mb")]
            numbers = "".join(f"{value:8.1f}" for value in (*sums, *tops))
            lines.append(f"  {part:12s} {len(group):9d}{numbers}")
    return "\n".join(lines)
