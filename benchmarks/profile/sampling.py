"""py-spy beside running processes: which Python functions work, as files in speedscope's format.

Whether a thread works can hardly be told from outside: a waiting thread that the sampler has just stopped looks busy
for a moment. Of a process with many threads only the one that holds the GIL is sampled, so what runs without the GIL is
not seen. Of others all threads are, and samples of functions that only wait are left out.
"""

import json
import shutil
import signal
import subprocess
import sysconfig
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from ops.supervisor.services import BASE_DIR

RATE_HZ: Final = 200  # py-spy keeps up with a web process's threads on a busy machine, and falls behind at 500
MANY_THREADS: Final = ("web",)  # the parts of which only the thread that holds the GIL is sampled
# Functions that do nothing but wait, by file and name.
WAITS: Final = (
    ("threading.py", "Condition.wait"),
    ("selectors.py", "EpollSelector.select"),
    ("billiard/connection.py", "Connection._recv"),
    ("kombu/utils/eventio.py", "_epoll.poll"),
)
START_LIMIT_S: Final = 60.0
STOP_LIMIT_S: Final = 120.0  # it writes its file
MISSING: Final = (
    "There is no program {name}. It is not part of Fieldflame: install it with `pipx install py-spy` or "
    "`pip install py-spy`, or name it by --py-spy."
)
DENIED: Final = (
    "py-spy could not read the process {pid}: {reason}\n"
    "It needs the right to trace other processes: be root, or allow it to your user until the next start by "
    "`sudo sysctl kernel.yama.ptrace_scope=0`. A container needs `--cap-add SYS_PTRACE`."
)


def find_py_spy(name: str) -> str:
    """Returns the path of py-spy. Raises `LookupError` with what to do."""
    path = shutil.which(name)
    if path is None:
        raise LookupError(MISSING.format(name=name))
    return path


@contextmanager
def sample_processes(program: str, pids: Mapping[str, int]) -> Iterator[dict[str, bytes]]:
    """Samples each process, named by its part, while the block runs; the dictionary has the files after the block.

    Raises `RuntimeError` if py-spy may not read a process.
    """
    files: dict[str, bytes] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        running = {
            part: _start(program, pid, folder / part, is_gil_only=part in MANY_THREADS) for part, pid in pids.items()
        }
        try:
            for part, process in running.items():
                _wait_until_started(process, folder / part, pids[part])
            yield files
        finally:
            for process in running.values():
                process.send_signal(signal.SIGINT)  # it then writes its file
            for process in running.values():
                process.wait(STOP_LIMIT_S)
        for part, pid in pids.items():
            file = _file_of(folder / part)
            if not file.exists():
                raise RuntimeError(DENIED.format(pid=pid, reason=_last_words(folder / part)))
            files[part] = tidy(file.read_bytes())


def tidy(body: bytes) -> bytes:
    """Returns a profile without waits, and with files as modules have them: they are the same in any working tree."""
    document = json.loads(body)
    frames = document["shared"]["frames"]
    for frame in frames:
        frame["file"] = shorten_path(frame.get("file") or "")
    waits = {index for index, frame in enumerate(frames) if (frame["file"], frame["name"]) in WAITS}
    for thread in document["profiles"]:
        pairs = zip(thread["samples"], thread["weights"], strict=True)
        kept = [(sample, weight) for sample, weight in pairs if sample and sample[-1] not in waits]
        thread["samples"], thread["weights"] = [list(column) for column in zip(*kept, strict=True)] or [[], []]
        thread["endValue"] = thread["startValue"] + sum(thread["weights"])
    document["profiles"] = [thread for thread in document["profiles"] if thread["samples"]]
    return json.dumps(document, separators=(",", ":")).encode()


def shorten_path(path: str) -> str:
    """Returns a file's path below what it was imported from."""
    _, separator, rest = path.rpartition("/site-packages/")
    if separator:
        return rest
    for folder in (f"{BASE_DIR}/", f"{sysconfig.get_path('stdlib')}/"):
        if path.startswith(folder):
            return path.removeprefix(folder)
    return path


def _start(program: str, pid: int, base: Path, *, is_gil_only: bool) -> "subprocess.Popen[bytes]":
    command = [program, "record", "--pid", str(pid), "--rate", str(RATE_HZ), *(["--gil"] if is_gil_only else [])]
    command += ["--format", "speedscope", "--output", str(_file_of(base))]
    with base.with_suffix(".log").open("wb") as log:
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)


def _wait_until_started(process: "subprocess.Popen[bytes]", base: Path, pid: int) -> None:
    deadline = time.monotonic() + START_LIMIT_S
    while "Sampling process" not in _read_log(base):
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(DENIED.format(pid=pid, reason=_last_words(base)))
        time.sleep(0.05)


def _file_of(base: Path) -> Path:
    return base.with_suffix(".speedscope.json")


def _read_log(base: Path) -> str:
    return base.with_suffix(".log").read_text(encoding="utf-8", errors="replace")


def _last_words(base: Path) -> str:
    lines = _read_log(base).strip().splitlines()
    return lines[-1].strip() if lines else "it said nothing"
