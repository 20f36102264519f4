"""py-spy beside running processes: which Python functions hold the interpreter, as files in speedscope's format.

Only threads that hold the GIL are sampled. Which others are at work can hardly be told from outside: a waiting thread
that a sampler has just stopped looks busy for a moment, and a web process has 64 of them.
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

from config.up.parts import BASE_DIR

RATE_HZ: Final = 200  # py-spy keeps up with a web process's threads on a busy machine, and falls behind at 500
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
        running = {part: _start(program, pid, folder / part) for part, pid in pids.items()}
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
            files[part] = shorten_paths(file.read_bytes())


def shorten_paths(body: bytes) -> bytes:
    """Returns a profile with files as modules have them, so that profiles of two working trees have equal functions."""
    document = json.loads(body)
    for frame in document["shared"]["frames"]:
        frame["file"] = shorten_path(frame.get("file") or "")
    return json.dumps(document, separators=(",", ":")).encode()


def shorten_path(path: str) -> str:
    """Returns a file's path below what it was imported from."""
    _, found, rest = path.rpartition("/site-packages/")
    if found:
        return rest
    for folder in (f"{BASE_DIR}/", f"{sysconfig.get_path('stdlib')}/"):
        if path.startswith(folder):
            return path.removeprefix(folder)
    return path


def _start(program: str, pid: int, base: Path) -> "subprocess.Popen[bytes]":
    words = [program, "record", "--pid", str(pid), "--gil", "--rate", str(RATE_HZ)]
    words += ["--format", "speedscope", "--output", str(_file_of(base))]
    with base.with_suffix(".log").open("wb") as log:
        return subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log)


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
