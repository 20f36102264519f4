"""Children as forks of this process: it loads the code of all parts once, so memory holds it once, and they start soon.

A fork shares the pages of its parent until one of both writes to them. Python writes counts of references into objects,
so some of the pages part with time. Linux only: elsewhere, libraries do not survive a fork, and each part is a program
of its own that loads its code by itself.
"""

import ctypes
import gc
import importlib
import multiprocessing
import os
import runpy
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Final

from ops.supervisor.folder import open_log
from ops.supervisor.messages import StartError

CAN_FORK: Final = sys.platform == "linux"
# What the parts load before they work, and Django does not load by itself.
PARTS: Final = (
    *("granian.cli", "granian.server.mp", "celery.apps.worker", "celery.apps.beat", "ops.worker_processes"),
    *("celery.concurrency.prefork", "celery.worker.components", "celery.fixups.django", "kombu.transport.redis"),
)
M_MMAP_THRESHOLD, M_ARENA_MAX = -3, -8  # malloc.h


@dataclass(frozen=True, slots=True)
class Forked:
    """A forked process, with the names that a `subprocess.Popen` has for the same."""

    process: BaseProcess

    @property
    def pid(self) -> int:
        assert self.process.pid is not None
        return self.process.pid

    def poll(self) -> int | None:
        return self.process.exitcode

    def wait(self) -> int | None:
        self.process.join()
        return self.process.exitcode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def fork(
    command: Sequence[str],
    *,
    enter: Callable[[], None],
    environment: Mapping[str, str],
    cwd: Path,
    log: Path | None,
) -> Forked:
    """Runs `python -m MODULE …` or `python FILE …` in a fork, with a log instead of the console if there is one."""

    def run() -> None:
        os.setsid()
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        enter()
        if log is not None:
            with open_log(log) as file:
                os.dup2(file.fileno(), 1)
                os.dup2(file.fileno(), 2)
        os.environ.clear()
        os.environ.update(environment)
        os.chdir(cwd)
        run_program(command)

    process = multiprocessing.get_context("fork").Process(target=run)
    process.start()
    return Forked(process)


def run_program(command: Sequence[str]) -> None:
    """Runs a Python program's command line in this process."""
    if command[1] == "-m":
        show_command([command[2], *command[3:]])
        sys.argv = [command[2], *command[3:]]
        runpy.run_module(command[2], run_name="__main__", alter_sys=True)
    else:
        show_command([Path(command[1]).name, *command[2:]])
        sys.argv = list(command[1:])
        runpy.run_path(command[1], run_name="__main__")


def show_command(arguments: Sequence[str]) -> None:
    """Lets `ps` show these words for this process, as many as there is room for."""
    fields = Path("/proc/self/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    begin, end = int(fields[45]), int(fields[46])  # proc(5): arg_start is the 48th field
    room = end - begin - 1
    if begin and room > 0:
        text = b"".join(os.fsencode(argument) + b"\0" for argument in arguments)[:room]
        ctypes.memmove(begin, text.ljust(end - begin, b"\0"), end - begin)


@dataclass(slots=True)
class _Process:
    """Whether this process has loaded the code."""

    has_code: bool = False


_process: Final = _Process()


def has_code() -> bool:
    """Returns whether forks of this process would have the code of all parts."""
    return _process.has_code


def load_code(environment: Mapping[str, str], allocator: Mapping[int, int]) -> None:
    """Loads the code of all parts into this process. Raises StartError if the settings cannot be read.

    It opens no connection and starts no thread: neither would survive a fork.
    """
    os.environ.update(environment)
    set_allocator(allocator)
    gc.disable()  # what it frees now would be holes in pages that are shared later
    try:
        for name in PARTS:
            importlib.import_module(name)
        importlib.import_module("ops.preload").load_all()
    except Exception as error:
        raise StartError(f"The code cannot be loaded: {type(error).__name__}: {error}") from error
    finally:
        gc.enable()
    gc.collect()
    gc.freeze()  # a collection would write into every object
    _process.has_code = True


def set_allocator(values: Mapping[int, int]) -> None:
    """Sets parameters of the C library's allocator, as its variables do for a new program. Without glibc, nothing."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        for parameter, value in values.items():
            mallopt(parameter, value)
