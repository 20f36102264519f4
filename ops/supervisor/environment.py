"""The environment file, by which commands find the servers of a running `./run`."""

import os
from collections.abc import Mapping

from ops.supervisor.folder import DataFolder, write_private

SHARED_NAMES = ("DATABASE_URL", "REDIS_URL", "FIELDFLAME_URL")


def write_environment(folder: DataFolder, values: Mapping[str, str]) -> None:
    """Writes `NAME=value` lines, readable only by the owner: a given DATABASE_URL may have a password."""
    lines = [f"{name}={values[name]}\n" for name in SHARED_NAMES if name in values]
    write_private(folder.environment, "".join(lines))


def read_environment(folder: DataFolder) -> dict[str, str]:
    """Returns the values that `write_environment` wrote, none if there is no file or it is not ours."""
    try:
        text = folder.environment.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return {}
    pairs = (line.partition("=") for line in text.splitlines())
    return {name: value for name, _, value in pairs if name in SHARED_NAMES and value}


def remove_environment(folder: DataFolder) -> None:
    folder.environment.unlink(missing_ok=True)


def apply_environment(values: Mapping[str, str]) -> None:
    """Puts the values into this process's environment; values that the caller has set are kept."""
    for name, value in values.items():
        os.environ.setdefault(name, value)
