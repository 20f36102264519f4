"""The lines of files that a change touches, from a unified diff."""

import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from fieldflame.exits import UsageError
from fieldflame.paths import clean_path

MAX_DIFF_BYTES: Final = 20_000_000
GIT_S: Final = 120
HUNK: Final = re.compile(r"@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
# Spans of lines of a diff's new side, first and last, from 0. Lines that are gone are the span of those around them.
Span = tuple[int, int]
Touched = Mapping[str, frozenset[Span]]


def load_diff(name: str | None, against: str) -> str:
    """Returns a diff: from a file, from standard input (`-`), or of the checkout's commits. Raises `UsageError`."""
    if name is None:
        return _ask_git(against)
    try:
        data = sys.stdin.buffer.read(MAX_DIFF_BYTES + 1) if name == "-" else _read(Path(name))
    except OSError as error:
        raise UsageError(f"--diff cannot be read: {error.strerror}.") from None
    if len(data) > MAX_DIFF_BYTES:
        raise UsageError(f"--diff has more than {MAX_DIFF_BYTES:,} bytes.")
    return data.decode("utf-8", "replace")


def _read(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(MAX_DIFF_BYTES + 1)


def _ask_git(against: str) -> str:
    if against.startswith("-"):
        raise UsageError("--against must be a commit or a branch, such as origin/main.")
    options = ("-c", "core.quotePath=false", "diff", "--no-color", "--no-ext-diff", "--relative", "--unified=0")
    try:
        done = subprocess.run(
            ["git", *options, f"{against}...HEAD", "--"], capture_output=True, check=False, timeout=GIT_S
        )
    except FileNotFoundError:
        raise UsageError("There is no git: name a diff with --diff.") from None
    except subprocess.TimeoutExpired:
        raise UsageError(f"git diff took more than {GIT_S} s: name a diff with --diff.") from None
    if done.returncode:
        why = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise UsageError(f"git diff {against}...HEAD failed: {why[0][:200] if why else 'it does not say why'}.")
    if len(done.stdout) > MAX_DIFF_BYTES:
        raise UsageError(f"The change has more than {MAX_DIFF_BYTES:,} bytes.")
    return done.stdout.decode("utf-8", "replace")


def read_diff(text: str) -> Touched:
    """Returns the touched spans of each file that is there after the change. Raises `UsageError`."""
    touched: dict[str, set[Span]] = {}
    path, has_hunk = "", False
    lines = iter(text.split("\n"))
    for line in lines:
        if line.startswith("+++ "):
            path = _read_path(line[4:])
        elif (hunk := HUNK.match(line)) is not None:
            has_hunk = True
            # A hunk is as long as it says: a line in it may look like the head of another file.
            old, new = (1 if count is None else int(count) for count in (hunk[1], hunk[3]))
            start = int(hunk[2]) - (1 if new else 0)
            spans = set(_walk_hunk(lines, start, old, new))
            if path:
                touched.setdefault(path, set()).update(spans)
    if text.strip() and not has_hunk and "diff --git" not in text:
        raise UsageError("--diff is no unified diff, as git diff prints it.")
    return {path: frozenset(spans) for path, spans in touched.items()}


def _walk_hunk(lines: Iterator[str], at: int, old: int, new: int) -> Iterator[Span]:
    while old > 0 or new > 0:
        line = next(lines, None)
        if line is None:
            return
        if line.startswith("+"):
            yield at, at
            at, new = at + 1, new - 1
        elif line.startswith("-"):
            yield at - 1, at
            old -= 1
        elif not line.startswith("\\"):  # no newline at the end of the file
            at, old, new = at + 1, old - 1, new - 1


def _read_path(text: str) -> str:
    name = text.partition("\t")[0].rstrip("\r").strip('"')
    return "" if name == "/dev/null" else clean_path(name.removeprefix("b/"))
