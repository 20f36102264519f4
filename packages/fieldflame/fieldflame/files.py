"""The files that commands write."""

from collections.abc import Mapping
from pathlib import Path

from fieldflame.clean import clean
from fieldflame.exits import UsageError


def write_file(name: str, text: str, environment: Mapping[str, str]) -> None:
    """Writes a file, or adds to the summary of a job of GitHub. Raises `UsageError`."""
    try:
        with Path(name).open(
            "a" if name == environment.get("GITHUB_STEP_SUMMARY") else "w", encoding="utf-8", errors="replace"
        ) as file:
            file.write(text)
    except OSError as error:
        raise UsageError(f"{clean(name)} cannot be written: {error.strerror}.") from None
