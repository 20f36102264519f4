"""A child process of the supervisor: started in a session of its own, watched, cleaned up, stopped.

If the supervisor is killed, the kernel sends each child its stop signal. The next start finds processes that survive
even this by their records (`ops.supervisor.stale_processes`).
"""

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ops.supervisor.folder import open_log
from ops.supervisor.forking import Forked, fork, has_code
from ops.supervisor.messages import StartError
from ops.supervisor.proc import Process, end_processes, list_processes, read_process

PR_SET_PDEATHSIG = 1  # linux/prctl.h
LIBC = ctypes.CDLL(None, use_errno=True)

BACK_OFF_FIRST_S = 0.1
BACK_OFF_MAX_S = 2.0
STEADY_AFTER_S = 10.0  # a child that ran for this long starts again without delay


def die_with(parent: int, signal_number: int) -> None:
    """Asks the kernel for a signal when the parent dies, between fork and exec. Exits if it is dead already."""
    if sys.platform == "linux":
        LIBC.prctl(PR_SET_PDEATHSIG, int(signal_number), 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)


def next_back_off_s(previous_s: float, lived_s: float) -> float:
    """Returns how long to wait before a dead child starts again: doubling, and never more than BACK_OFF_MAX_S."""
    if lived_s >= STEADY_AFTER_S or previous_s == 0:
        return BACK_OFF_FIRST_S
    return min(previous_s * 2, BACK_OFF_MAX_S)


def describe_end(code: int) -> str:
    if code >= 0:
        return f"ended with exit code {code}"
    try:
        return f"was ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"was ended by signal {-code}"


@dataclass(slots=True, kw_only=True)
class Child:
    """One server or program. `enter` runs in the child between fork and exec, for example to change the user.

    One of our own programs is a fork of this process if that has loaded the code (`ops.supervisor.forking`).
    """

    name: str
    title: str
    command: Sequence[str]
    environment: Mapping[str, str]
    log: Path
    cwd: Path
    stop_signal: int = signal.SIGTERM
    stop_limit_s: float = 10.0
    enter: Callable[[], None] | None = None
    before_start: Callable[[], None] | None = None
    clear_strays: Callable[[], None] | None = None  # ends processes that a dead leader left outside its session
    foreground: bool = False  # shares the console instead of a log
    is_python: bool = False  # a Python program of ours
    process: subprocess.Popen[bytes] | Forked | None = field(default=None, init=False)
    identity: Process | None = field(default=None, init=False)
    started_at_s: float = field(default=0.0, init=False)  # monotonic
    back_off_s: float = field(default=0.0, init=False)
    start_again_at_s: float | None = field(default=None, init=False)

    def start(self) -> None:
        if self.before_start is not None:
            self.before_start()
        parent, enter, death_signal = os.getpid(), self.enter, self.stop_signal

        def before_exec() -> None:
            if enter is not None:
                enter()
            die_with(parent, death_signal)  # after `enter`: a change of user clears it

        if self.is_python and has_code():
            log_file = None if self.foreground else self.log
            self.process = fork(
                self.command, enter=before_exec, environment=self.environment, cwd=self.cwd, log=log_file
            )
        else:
            self.process = self.open(before_exec)
        self.identity = read_process(self.process.pid)
        self.started_at_s = time.monotonic()
        self.start_again_at_s = None

    def open(self, before_exec: Callable[[], None]) -> subprocess.Popen[bytes]:
        """Starts the program in a process of its own."""
        with open_log(self.log) as log:
            return subprocess.Popen(
                self.command,
                env=dict(self.environment),
                cwd=self.cwd,
                stdin=subprocess.DEVNULL,
                stdout=None if self.foreground else log,
                stderr=None if self.foreground else subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=before_exec,  # noqa: PLW1509  # the supervisor has one thread
            )

    def poll(self) -> int | None:
        return None if self.process is None else self.process.poll()

    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def find_session(self) -> Iterator[Process]:
        """Yields the processes of this child's session. While they exist, the session's id is not used again."""
        if self.process is not None:
            pid = self.process.pid
            yield from (process for process in list_processes() if process.session == pid)

    def clear_session(self) -> None:
        """Ends the processes that a dead leader left, so that none holds its port or repeats its work."""
        end_processes(self.find_session, gentle=None, gentle_limit_s=0)
        if self.clear_strays is not None:
            self.clear_strays()

    def revive(self, now_s: float) -> str | None:
        """Starts a dead child again after its back-off. Returns a message when the death is first seen, else None."""
        code = self.poll()
        if self.process is None or code is None:
            return None
        if self.start_again_at_s is None:
            self.clear_session()
            self.back_off_s = next_back_off_s(self.back_off_s, now_s - self.started_at_s)
            self.start_again_at_s = now_s + self.back_off_s
            return f"{self.title} {describe_end(code)}; starting it again."
        if now_s >= self.start_again_at_s:
            try:
                self.start()
            except (StartError, OSError, subprocess.SubprocessError) as error:
                self.start_again_at_s = now_s + BACK_OFF_MAX_S
                return f"{self.title} cannot start yet: {error}"
        return None

    def stop(self, is_hurried: Callable[[], bool]) -> bool:
        """Stops the child by its own signal, or by SIGKILL after its limit or if hurried. Returns if it obeyed."""
        if self.process is None:
            return True
        obeyed = True
        if self.is_running():
            self.process.send_signal(self.stop_signal)
            deadline = time.monotonic() + self.stop_limit_s
            while self.is_running() and time.monotonic() < deadline and not is_hurried():
                time.sleep(0.05)
            if self.is_running():
                obeyed = False
                self.process.kill()
                self.process.wait()
        self.clear_session()
        return obeyed
