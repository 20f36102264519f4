"""A data folder of an older major version of PostgreSQL, as an earlier Fieldflame would have left it."""

import os
from pathlib import Path
from typing import Final

import pytest

from config.up.folder import DataFolder
from config.up.stores.access import choose_place
from config.up.stores.binaries import PostgresBinaries, find_postgres
from config.up.stores.postgres import Postgres, make_data_folder
from config.up.stores.upgrading import OLD_PROGRAMS

OLDER: Final = 16  # the wheel has two majors: this one and the newest


def find_major(major: int) -> PostgresBinaries:
    """Returns the programs of a major version, with those that an upgrade needs. Skips the test if there are none."""
    for one in find_postgres():
        if one.major == major and all((one.bin_folder / name).exists() for name in OLD_PROGRAMS):
            return one
    pytest.skip(f"no complete PostgreSQL {major} is installed, as a wheel, on the PATH or in /usr/lib/postgresql")


def make_older_data(path: Path, major: int = OLDER) -> DataFolder:
    """Makes a data folder with an empty PostgreSQL of an older version; the next command fills it."""
    binaries = find_major(major)
    folder = DataFolder(path)
    folder.create()
    place = choose_place(
        bin_folder=binaries.bin_folder, data=folder.postgres, digest=folder.digest, is_root=os.geteuid() == 0
    )
    sockets = folder.socket_folder("postgres")
    postgres = Postgres(place=place, major=major, sockets=sockets, log=folder.logs / "postgres.log", newest_major=major)
    make_data_folder(postgres, is_throw_away=True)
    return folder
