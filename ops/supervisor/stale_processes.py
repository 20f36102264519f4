"""Processes of a former run that was killed: found by its records, and ended only if they are verifiably ours.

A process id alone proves nothing, since ids are used again. A process is ours if it is exactly the recorded one (same
boot, id and start time), or belongs to a recorded session and has that run's mark in its environment.
"""

import json
import signal
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ops.supervisor.children import Child
from ops.supervisor.folder import DataFolder, write_private
from ops.supervisor.proc import Process, end_processes, has_mark, list_processes, read_boot_id

MARK_NAME = "FIELDFLAME_UP_MARK"
GENTLE_LIMIT_S = 5.0  # SIGINT is an orderly stop for each of them; with SIGTERM, PostgreSQL would wait for its clients


@dataclass(frozen=True, slots=True)
class Record:
    """The processes of one run: (pid, started_ticks) of each child, and the mark in their environment."""

    boot_id: str
    mark: str
    children: frozenset[tuple[int, int]]


def write_record(folder: DataFolder, mark: str, children: Iterable[Child]) -> None:
    known = [[child.identity.pid, child.identity.started_ticks] for child in children if child.identity is not None]
    record = {"boot_id": read_boot_id(), "mark": mark, "children": known}
    write_private(folder.processes, json.dumps(record) + "\n")


def read_record(folder: DataFolder) -> Record | None:
    """Returns the former run's record, or None if there is no readable one."""
    try:
        document = json.loads(folder.processes.read_text(encoding="utf-8"))
        children = frozenset((int(pid), int(ticks)) for pid, ticks in document["children"])
        return Record(boot_id=str(document["boot_id"]), mark=str(document["mark"]), children=children)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def find_leftovers(record: Record) -> Iterator[Process]:
    if record.boot_id != read_boot_id():
        return
    sessions = {pid for pid, _ in record.children}
    for process in list_processes():
        is_recorded = (process.pid, process.started_ticks) in record.children
        if is_recorded or (process.session in sessions and has_mark(process.pid, f"{MARK_NAME}={record.mark}")):
            yield process


def clear_leftovers(folder: DataFolder) -> int:
    """Ends the processes that are left of the former run in this folder; returns their number."""
    record = read_record(folder)
    if record is None:
        return 0
    count = sum(1 for _ in find_leftovers(record))
    if count:
        end_processes(lambda: find_leftovers(record), gentle=signal.SIGINT, gentle_limit_s=GENTLE_LIMIT_S)
    remove_record(folder)
    return count


def remove_record(folder: DataFolder) -> None:
    folder.processes.unlink(missing_ok=True)
