"""Children: a dead one comes back soon and alone, a stopped one leaves nothing behind, an orphan does not live on.

A fork of a process that has loaded the code behaves as a program of its own. A child is waited for as long as it moves.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ops.supervisor.children import BACK_OFF_MAX_S, STEADY_AFTER_S, Child, describe_end, next_back_off_s
from ops.supervisor.deadline import QUIET_LIMIT_S, TELL_EVERY_S, WHOLE_LIMIT_S, Deadline
from ops.supervisor.folder import DataFolder, FolderLock
from ops.supervisor.forking import has_code
from ops.supervisor.messages import StartError
from ops.supervisor.proc import read_process, read_used_s
from tests.runner.waiting import wait_until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
SLEEPER = "import time\ntime.sleep(60)"
WITH_GRANDCHILD = (
    f"import subprocess, sys\nprint(subprocess.Popen([sys.executable, '-c', {SLEEPER!r}]).pid, flush=True)\n"
)
PROGRAM = """
import json, os, sys
from pathlib import Path
print("to the log", flush=True)
fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
shown = Path("/proc/self/cmdline").read_bytes().decode().split("\\0")
Path("seen.json").write_text(json.dumps({
    "argv": sys.argv, "cwd": os.getcwd(), "environment": dict(os.environ), "session": int(fields[3]),
    "pid": os.getpid(), "shown": shown, "heap": "prepared" in sys.modules,
}))
sys.exit(3)
"""
PARENT = """
import os, sys, types
from pathlib import Path
from ops.supervisor import forking
from ops.supervisor.children import Child
forking._process.has_code = True
sys.modules["prepared"] = types.ModuleType("prepared")
path = Path(sys.argv[1])
child = Child(name="one", title="One", command=[sys.executable, str(path / "one.py"), "--word", "beat"],
              environment={"ONLY": "this", "PATH": os.environ["PATH"]}, log=path / "one.log", cwd=path, is_python=True)
child.start()
print(child.process.wait())
"""
DEAF = "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint('deaf', flush=True)\n"


def is_alive(pid: int) -> bool:
    return read_process(pid) is not None


@pytest.fixture
def make_child(tmp_path: Path) -> Iterator[Callable[[str], Child]]:
    made: list[Child] = []

    def make(code: str) -> Child:
        child = Child(
            name="one",
            title="One",
            command=[sys.executable, "-c", code],
            environment=dict(os.environ),
            log=tmp_path / "one.log",
            cwd=tmp_path,
        )
        made.append(child)
        return child

    yield make
    for child in made:
        child.stop(lambda: True)


def revive_until_running(child: Child, limit_s: float = 60.0) -> list[str]:
    lines: list[str] = []

    def is_running() -> bool:
        line = child.revive(time.monotonic())
        if line is not None:
            lines.append(line)
        return child.is_running()

    wait_until(is_running, limit_s=limit_s)
    return lines


def test_the_back_off_doubles_and_never_passes_two_seconds() -> None:
    delays = [0.1]
    for _ in range(8):
        delays.append(next_back_off_s(delays[-1], lived_s=0.5))
    assert delays[:4] == [0.1, 0.2, 0.4, 0.8]
    assert max(delays) == BACK_OFF_MAX_S == 2.0
    assert next_back_off_s(2.0, lived_s=STEADY_AFTER_S) == 0.1


def test_a_killed_child_is_started_again_and_its_death_is_reported_once(make_child: Callable[[str], Child]) -> None:
    child = make_child(SLEEPER)
    child.start()
    assert child.identity is not None
    first = child.identity.pid
    os.kill(first, signal.SIGKILL)
    wait_until(lambda: not child.is_running())
    assert revive_until_running(child) == ["One was ended by SIGKILL; starting it again."]
    assert child.identity.pid != first


def test_what_a_dead_child_left_is_ended_before_it_starts_again(make_child: Callable[[str], Child]) -> None:
    child = make_child(WITH_GRANDCHILD + SLEEPER)
    child.start()
    wait_until(lambda: child.log.read_text() != "")
    grandchild = int(child.log.read_text())
    assert is_alive(grandchild)
    assert child.identity is not None
    os.kill(child.identity.pid, signal.SIGKILL)
    wait_until(lambda: not child.is_running())
    child.revive(time.monotonic())
    assert not is_alive(grandchild)
    assert not child.is_running()  # it comes back only when the back-off is over


def test_a_child_that_does_not_hear_is_ended_after_its_limit(make_child: Callable[[str], Child]) -> None:
    child = make_child(DEAF + SLEEPER)
    child.stop_limit_s = 0.3
    child.start()
    wait_until(lambda: "deaf" in child.log.read_text())
    assert child.stop(lambda: False) is False
    assert not child.is_running()


def test_a_child_that_hears_is_not_waited_for_longer_than_it_takes(make_child: Callable[[str], Child]) -> None:
    child = make_child(SLEEPER)
    child.stop_limit_s = 600.0
    child.start()
    began = time.monotonic()
    assert child.stop(lambda: False) is True
    assert time.monotonic() - began < 300  # busy as the machine may be


def test_a_program_that_is_missing_is_tried_again_and_stops_nobody(make_child: Callable[[str], Child]) -> None:
    child = make_child("")
    child.start()
    wait_until(lambda: not child.is_running())
    child.command = ["/nowhere/program"]
    child.revive(time.monotonic())
    line = child.revive(time.monotonic() + 10)
    assert line is not None
    assert line.startswith("One cannot start yet:")


def test_children_end_when_their_supervisor_is_killed(tmp_path: Path) -> None:
    code = f"""
import os, sys, time
from pathlib import Path
from ops.supervisor.children import Child
child = Child(name="one", title="One", command=[sys.executable, "-c", {SLEEPER!r}], environment=dict(os.environ),
              log=Path({str(tmp_path / "one.log")!r}), cwd=Path("/"))
child.start()
print(child.identity.pid, flush=True)
time.sleep(60)
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as supervisor:
        assert supervisor.stdout is not None
        pid = int(supervisor.stdout.readline())
        assert is_alive(pid)
        supervisor.kill()
    wait_until(lambda: not is_alive(pid))


def test_an_end_is_described_by_its_signals_name_or_its_exit_code() -> None:
    assert describe_end(-9) == "was ended by SIGKILL"
    assert describe_end(3) == "ended with exit code 3"


@pytest.fixture
def seen(tmp_path: Path) -> dict[str, object]:
    """What a forked program saw of itself, with its exit code."""
    (tmp_path / "one.py").write_text(PROGRAM)
    room = "x" * 200  # a command line as long as that of a start
    done = subprocess.run(
        [sys.executable, "-c", PARENT, str(tmp_path), room], capture_output=True, text=True, check=True
    )
    record: dict[str, object] = json.loads((tmp_path / "seen.json").read_text())
    assert (tmp_path / "one.log").read_text() == "to the log\n"
    return {**record, "code": int(done.stdout), "path": str(tmp_path)}


def test_a_fork_runs_its_program_with_what_its_parent_has_loaded(seen: dict[str, object]) -> None:
    assert seen["heap"] is True
    assert seen["argv"] == [f"{seen['path']}/one.py", "--word", "beat"]
    assert seen["code"] == 3


def test_a_fork_has_only_its_own_environment_folder_and_session(seen: dict[str, object]) -> None:
    environment = seen["environment"]
    assert isinstance(environment, dict)
    assert set(environment) - {"LC_CTYPE"} == {"ONLY", "PATH"}
    assert seen["cwd"] == seen["path"]
    assert seen["session"] == seen["pid"]


def test_a_fork_is_shown_by_its_own_command_line(seen: dict[str, object]) -> None:
    shown = seen["shown"]
    assert isinstance(shown, list)
    assert shown[:3] == ["one.py", "--word", "beat"]


def test_a_process_that_has_not_loaded_the_code_forks_nothing() -> None:
    assert not has_code()


def test_a_fork_does_not_hold_the_lock_of_its_parent(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path / "data")
    folder.create()
    lock, again = FolderLock(folder, "up"), FolderLock(folder, "up")
    assert lock.try_acquire()
    (reading, writing), (signal_read, telling) = os.pipe(), os.pipe()
    if (pid := os.fork()) == 0:
        os.close(writing)
        os.write(telling, b".")  # it has begun
        os.read(reading, 1)  # lives until its parent has seen
        os._exit(0)
    os.close(reading)
    try:
        assert os.read(signal_read, 1) == b"."
        lock.release()
        assert again.try_acquire()
    finally:
        again.release()
        for end in (writing, signal_read, telling):
            os.close(end)
        os.waitpid(pid, 0)


class Machine:
    """A clock, and a part that gets so much processor time a second."""

    def __init__(self, share: float) -> None:
        self.now_s, self.used_s, self.share = 1_000.0, 5.0, share
        self.said: list[str] = []
        self.deadline = Deadline("the web server answers", lambda: self.used_s, self.said.append, lambda: self.now_s)

    def wait(self, seconds: float) -> None:
        """Lets time pass in steps of a second, each with a look."""
        for _ in range(int(seconds)):
            self.now_s += 1
            self.used_s += self.share
            self.deadline.check()


def test_a_part_that_is_slow_but_moves_is_waited_for() -> None:
    machine = Machine(share=0.01)  # a hundred others want the same core
    machine.wait(3_000)
    assert machine.said[0].startswith("Still waiting, for 30 s (0.3 s of processor time): the web server answers")
    assert len(machine.said) == 3_000 / TELL_EVERY_S


def test_a_part_that_is_stuck_is_given_up_with_what_was_waited_for() -> None:
    machine = Machine(share=0.0)
    machine.wait(QUIET_LIMIT_S)
    with pytest.raises(StartError, match=r"^Waited 121 s for this, in vain: the web server answers\.") as raised:
        machine.wait(1)
    assert str(raised.value).endswith("Nothing has moved for 120 s.")


def test_a_part_that_only_idles_is_given_up() -> None:
    machine = Machine(share=0.001)
    with pytest.raises(StartError, match="Nothing has moved"):
        machine.wait(QUIET_LIMIT_S * 2)


def test_a_part_that_stops_moving_has_its_whole_time_again() -> None:
    machine = Machine(share=0.05)
    machine.wait(300)
    machine.share = 0.0
    machine.wait(QUIET_LIMIT_S)
    with pytest.raises(StartError, match="Nothing has moved"):
        machine.wait(TELL_EVERY_S + 1)


def test_an_answer_is_progress() -> None:
    machine = Machine(share=0.0)
    for _ in range(10):
        machine.wait(QUIET_LIMIT_S - 1)
        machine.deadline.note_progress()


def test_a_part_that_computes_for_ever_is_given_up_at_last() -> None:
    machine = Machine(share=1.0)
    machine.wait(WHOLE_LIMIT_S)
    with pytest.raises(StartError, match="Waited 3601 s"):
        machine.wait(1)


def test_the_processor_time_of_children_and_of_their_children_counts() -> None:
    burn = "x = 0\nwhile True: x += 1"
    code = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {burn!r}])"
    before = read_used_s(os.getpid())
    with subprocess.Popen([sys.executable, "-c", code], start_new_session=True) as parent:
        deadline = time.monotonic() + 300
        while read_used_s(os.getpid()) < before + 0.5:
            assert time.monotonic() < deadline, "no processor time was seen"
            time.sleep(0.05)
        os.killpg(parent.pid, 9)
