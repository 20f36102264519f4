"""Messages to the person at the console: short lines, and one sentence if something prevents the start."""

import sys
from pathlib import Path


class StartError(Exception):
    """Fieldflame cannot start; the text is one clear sentence, shown instead of a traceback."""


def say(text: str) -> None:
    print(text, flush=True)


def complain(text: str) -> None:
    print(f"Fieldflame: {text}", file=sys.stderr, flush=True)


def read_log_end(log: Path, line_count: int = 12) -> str:
    """Returns the last lines of a log, indented, for a message; an empty text if there is no log."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - 16_384))
            lines = file.read().decode("utf-8", "replace").splitlines()
    except OSError:
        return ""
    return "".join(f"\n    {line}" for line in lines[-line_count:] if line.strip())
