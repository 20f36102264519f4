"""After a kill of everything: what is ours is ended, and nothing else ever is."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ops.supervisor.folder import DataFolder
from ops.supervisor.proc import Process, read_boot_id, read_process
from ops.supervisor.stale_processes import MARK_NAME, clear_leftovers

pytestmark = [pytest.mark.skipif(sys.platform != "linux", reason="reads /proc"), pytest.mark.slow(4)]
Start = Callable[..., Process]


@pytest.fixture
def start() -> Iterator[Start]:
    started: list[subprocess.Popen[bytes]] = []

    def start_sleeper(*, mark: str = "", new_session: bool = True) -> Process:
        environment = {**os.environ, MARK_NAME: mark}
        command = [sys.executable, "-c", "print(flush=True)\nimport time\ntime.sleep(60)"]
        process = subprocess.Popen(
            command, env=environment, start_new_session=new_session, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        started.append(process)
        assert process.stdout is not None
        process.stdout.readline()  # it runs, so its environment is its own
        sleeper = read_process(process.pid)
        assert sleeper is not None
        return sleeper

    yield start_sleeper
    for process in started:
        process.kill()
        process.communicate()


def record(folder: DataFolder, *children: tuple[int, int], mark: str = "m", boot_id: str | None = None) -> None:
    document = {"boot_id": boot_id or read_boot_id(), "mark": mark, "children": children}
    folder.processes.write_text(json.dumps(document))


def is_alive(process: Process) -> bool:
    return read_process(process.pid) == process


def test_a_recorded_process_is_ended(tmp_path: Path, start: Start) -> None:
    process = start()
    record(DataFolder(tmp_path), (process.pid, process.started_ticks))
    assert clear_leftovers(DataFolder(tmp_path)) == 1
    assert not is_alive(process)
    assert not DataFolder(tmp_path).processes.exists()


def test_a_process_that_got_a_recorded_id_later_is_left_alone(tmp_path: Path, start: Start) -> None:
    process = start()
    record(DataFolder(tmp_path), (process.pid, process.started_ticks - 1))
    assert clear_leftovers(DataFolder(tmp_path)) == 0
    assert is_alive(process)


def test_a_process_of_a_recorded_session_is_ended_only_if_it_bears_the_mark(tmp_path: Path, start: Start) -> None:
    ours, foreign = start(mark="ours"), start(mark="theirs")
    # Their leaders' start times differ from the record's, as if the leaders had died and left these.
    record(DataFolder(tmp_path), (ours.pid, 1), (foreign.pid, 1), mark="ours")
    assert clear_leftovers(DataFolder(tmp_path)) == 1
    assert not is_alive(ours)
    assert is_alive(foreign)


def test_a_record_from_before_a_reboot_ends_nobody(tmp_path: Path, start: Start) -> None:
    process = start()
    record(DataFolder(tmp_path), (process.pid, process.started_ticks), boot_id="another")
    assert clear_leftovers(DataFolder(tmp_path)) == 0
    assert is_alive(process)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"boot_id": 1}', '{"boot_id": "", "mark": "", "children": [1]}'])
def test_a_record_that_cannot_be_read_ends_nobody(tmp_path: Path, text: str) -> None:
    DataFolder(tmp_path).processes.write_text(text)
    assert clear_leftovers(DataFolder(tmp_path)) == 0
