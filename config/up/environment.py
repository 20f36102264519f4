"""The environment file: how commands find the servers that `./run` has running."""

import os
from collections.abc import Mapping

from config.up.folder import DataFolder, write_private

SHARED_NAMES = ("DATABASE_URL", "REDIS_URL", "FIELDFLAME_URL")


def write_environment(folder: DataFolder, values: Mapping[str, str]) -> None:
    """Writes `NAME=value` lines, readable by the owner alone: a given DATABASE_URL may carry a password."""
    lines = [f"{name}={values[name]}\n" for name in SHARED_NAMES if name in values]
    write_private(folder.environment, "".join(lines))


def read_environment(folder: DataFolder) -> dict[str, str]:
    """Returns what `write_environment` wrote; an empty dict where there is no file or it is not ours."""
    try:
        text = folder.environment.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return {}
    pairs = (line.partition("=") for line in text.splitlines())
    return {name: value for name, _, value in pairs if name in SHARED_NAMES and value}


def remove_environment(folder: DataFolder) -> None:
    folder.environment.unlink(missing_ok=True)


def apply_environment(values: Mapping[str, str]) -> None:
    """Puts the values into this process's environment; what the caller has set goes first."""
    for name, value in values.items():
        os.environ.setdefault(name, value)
