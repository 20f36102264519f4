"""The upgrade of the data folder to another major version of PostgreSQL, by its own pg_upgrade.

pg_upgrade copies the files into a new data folder and leaves the old one as it is. Both are then read in full and
compared. Only a copy with the same rows takes the place of the old data, which is kept. Until then, an interruption
changes nothing (`config/up/stores/exchange.py`).
"""

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import psycopg

from config.up.children import Child
from config.up.folder import write_private
from config.up.messages import StartError, read_log_end
from config.up.stores.access import ServerPlace, choose_place
from config.up.stores.binaries import PostgresBinaries, find_postgres, read_data_major
from config.up.stores.contents import Table, TableSum, describe_difference, read_contents, read_databases
from config.up.stores.exchange import VERIFIED, copy_of, end_servers, exchange, finish_exchange, old_of, remove_copy
from config.up.stores.logins import is_ours, read_lines
from config.up.stores.postgres import (
    USER,
    Postgres,
    make_data_folder,
    make_postgres_child,
    set_up_postgres,
)
from config.up.supervisor import Supervisor

NEW_PROGRAMS: Final = (
    *("postgres", "initdb", "pg_ctl", "pg_upgrade", "pg_controldata", "pg_resetwal"),
    *("pg_dump", "pg_dumpall", "pg_restore", "psql", "vacuumdb"),
)
OLD_PROGRAMS: Final = ("postgres", "pg_ctl", "pg_controldata", "pg_resetwal")
SPARE_BYTES: Final = 512 * 2**20  # what initdb and the new server's first log take, and some
CHECKSUMS_BY_DEFAULT: Final = 18  # initdb makes page checksums from this version on, and both sides must agree
PLAIN: Final = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"}


@dataclass(frozen=True, slots=True, kw_only=True)
class UpgradeResult:
    """An upgrade that is done. `old` is None if there was nothing to do."""

    major: int
    old_major: int
    old: Path | None = None
    old_bytes: int = 0
    tables: int = 0
    rows: int = 0
    took_s: float = 0.0


def upgrade(supervisor: Supervisor, *, to: int | None = None, say: Callable[[str], None]) -> UpgradeResult:
    """Takes the data folder to the newest version that is installed, or to `to`. Raises StartError or StopRequested.

    The folder's lock must be held, and nothing may run in it.
    """
    began_s = time.monotonic()
    folder = supervisor.folder
    finish_exchange(folder.postgres)
    if not folder.postgres.exists():
        raise StartError(f"There is no PostgreSQL data in {folder.path}; `./run` makes it, of the newest version.")
    old, new = choose_versions(folder.postgres, find_postgres(), to)
    if new.major == old.major:
        return UpgradeResult(major=new.major, old_major=old.major)
    servers = set_up_both(supervisor, old, new)
    data = servers.old.place.data
    size = measure_folder(data)
    check_space(data, size)
    try:
        say(f"Reading all rows of PostgreSQL {old.major} ({size / 1e6:,.0f} MB in {data}).")
        before = servers.read_all(servers.old)
        say(f"Copying them to PostgreSQL {new.major}, by pg_upgrade.")
        servers.make_copy()
        say("Reading all rows of the copy.")
        after = servers.read_all(servers.new, analyze=True)
        if difference := describe_difference(before, after):
            raise StartError(f"The copy is not the same, so the data stays as it was: {difference}")
        (servers.new.place.data / VERIFIED).touch()
        kept = exchange(data, old.major)
    finally:
        servers.clear()
    return UpgradeResult(
        major=new.major,
        old_major=old.major,
        old=kept,
        old_bytes=size,
        tables=len(after),
        rows=sum(one.rows for one in after.values()),
        took_s=time.monotonic() - began_s,
    )


def choose_versions(
    data: Path, found: list[PostgresBinaries], to: int | None
) -> tuple[PostgresBinaries, PostgresBinaries]:
    """Returns the programs of the data's version and of the target. Raises StartError with what to install."""
    major = read_data_major(data)
    if not found:
        raise StartError("No PostgreSQL is installed, as a wheel or on the machine.")
    new = next((one for one in found if to in (None, one.major)), None)
    if new is None:
        here = ", ".join(str(one) for one in sorted({one.major for one in found}, reverse=True))
        raise StartError(f"PostgreSQL {to} is not installed, only {here}.")
    if new.major < major:
        raise StartError(
            f"The data in {data} is of PostgreSQL {major}, and an upgrade to {new.major} would go back. "
            "Only a backup of the older version goes back."
        )
    if new.major == major:
        return new, new
    missing = [name for name in NEW_PROGRAMS if not (new.bin_folder / name).exists()]
    if missing:
        raise StartError(f"{new.bin_folder} has no {missing[0]}, which an upgrade needs.")
    olds = [one for one in found if one.major == major]
    for old in olds:
        if all((old.bin_folder / name).exists() for name in OLD_PROGRAMS):
            return old, new
    lack = f"its programs in {olds[0].bin_folder} are not complete" if olds else "its programs are not installed"
    raise StartError(
        f"The data in {data} is of PostgreSQL {major}, and {lack}. An upgrade reads the data by them: install "
        f"PostgreSQL {major} (on Debian, the package postgresql-{major}) beside PostgreSQL {new.major}."
    )


def set_up_both(supervisor: Supervisor, old: PostgresBinaries, new: PostgresBinaries) -> "BothServers":
    """Returns both servers, run as the same user, who can reach the programs of both."""
    is_root = os.geteuid() == 0
    postgres = set_up_postgres(supervisor.folder, is_root=is_root, also=[new.bin_folder / "pg_upgrade"])
    target = choose_place(
        bin_folder=new.bin_folder,
        data=supervisor.folder.postgres,
        digest=supervisor.folder.digest,
        is_root=is_root,
        also=[old.bin_folder / "pg_ctl"],
    )
    place = ServerPlace(postgres.place.run_as, target.bin_folder, copy_of(postgres.place.data))
    if old_of(postgres.place.data, old.major).exists():
        raise StartError(
            f"{old_of(postgres.place.data, old.major)} is there already, kept by an earlier upgrade. Remove it first: "
            "./run upgrade_postgres --remove-old"
        )
    return BothServers(supervisor, postgres, replace(postgres, place=place, major=new.major))


@dataclass(frozen=True, slots=True)
class BothServers:
    """The server of the old data and the one of the copy. They use one folder for sockets, one after the other."""

    supervisor: Supervisor
    old: Postgres
    new: Postgres

    @contextmanager
    def run(self, postgres: Postgres) -> Iterator[None]:
        """Runs one of the two servers."""
        child = make_postgres_child(postgres, PLAIN)
        self.supervisor.add((child, lambda started: self.supervisor.wait_for_postgres(postgres, started)))
        try:
            yield
        finally:
            self.supervisor.children.remove(child)
            self.supervisor.stop_child(child)

    def read_all(self, postgres: Postgres, *, analyze: bool = False) -> dict[Table, TableSum]:
        """Returns what a server holds. `analyze` first gives the planner its statistics, of which a copy lacks some."""
        contents: dict[Table, TableSum] = {}
        with self.run(postgres):
            for database in read_databases(postgres.connection_text("postgres")):
                with psycopg.connect(postgres.connection_text(database), autocommit=True) as connection:
                    if analyze:
                        connection.execute("ANALYZE")
                    contents |= read_contents(connection, database)
                self.supervisor.tick()
        return contents

    def make_copy(self) -> None:
        """Makes the new data folder and lets pg_upgrade fill it. Raises StartError with pg_upgrade's own words."""
        make_data_folder(self.new, is_throw_away=False, more=self.checksum_words())
        with self.open_logins():
            child = self.make_upgrade_child()
            if self.run_to_end(child) != 0:
                logs = self.keep_logs()
                raise StartError(
                    f"pg_upgrade failed, so the data stays as it was. All it said is in {child.log} and {logs}; "
                    f"its end:{read_log_end(child.log, 20)}"
                )
        self.carry_settings()

    def checksum_words(self) -> list[str]:
        """Returns the words for initdb: page checksums as the old data has them."""
        control = subprocess.run(
            [self.old.place.bin_folder / "pg_controldata", self.old.place.data],
            env=PLAIN,
            preexec_fn=self.old.place.run_as.enter,  # the supervisor has one thread
            capture_output=True,
            text=True,
            check=False,
        ).stdout
        has_checksums = any(
            line.startswith("Data page checksum version:") and not line.endswith(" 0") for line in control.splitlines()
        )
        if has_checksums:
            return ["--data-checksums"]
        return ["--no-data-checksums"] if self.new.major >= CHECKSUMS_BY_DEFAULT else []

    @contextmanager
    def open_logins(self) -> Iterator[None]:
        """Lets the user that pg_upgrade runs as log in, by files of their own, while it lasts."""
        folder, run_as = self.old.sockets, self.old.place.run_as
        write_private(folder / "hba", "local all all peer map=upgrade\n")
        names = {run_as.seen_as, *({"root", "nobody"} if os.geteuid() == 0 else ())}
        write_private(folder / "ident", "".join(f'upgrade "{name}" {USER}\n' for name in sorted(names)))
        try:
            for name in ("hba", "ident"):
                if os.geteuid() == 0:
                    os.chown(folder / name, run_as.uid, run_as.gid)
            yield
        finally:
            for name in ("hba", "ident", "delete_old_cluster.sh"):
                (folder / name).unlink(missing_ok=True)

    def make_upgrade_child(self) -> Child:
        old, new = self.old, self.new
        rules = f"-c hba_file='{old.sockets}/hba' -c ident_file='{old.sockets}/ident'"
        command = [str(new.place.bin_folder / "pg_upgrade"), "--username", USER, "--socketdir", str(old.sockets)]
        command += ["--old-bindir", str(old.place.bin_folder), "--new-bindir", str(new.place.bin_folder)]
        command += ["--old-datadir", str(old.place.data), "--new-datadir", str(new.place.data)]
        command += ["--old-options", rules, "--new-options", rules]
        command += ["--copy", "--jobs", str(os.cpu_count() or 1)]
        return Child(
            name="pg_upgrade",
            title="pg_upgrade",
            command=command,
            environment=PLAIN,
            log=self.supervisor.folder.logs / "upgrade_postgres.log",
            cwd=old.sockets,  # it writes there
            enter=old.place.run_as.enter,
            clear_others=self.end_both,
        )

    def run_to_end(self, child: Child) -> int:
        """Runs a program as long as it takes; returns its exit code. Raises StopRequested."""
        self.supervisor.starting = [child]
        self.supervisor.launch(child)
        try:
            while (code := child.poll()) is None:
                self.supervisor.tick()
                time.sleep(0.1)
            return code
        finally:
            self.supervisor.stop_child(child)
            self.supervisor.starting = []

    def carry_settings(self) -> None:
        """Takes over what an operator has set: ALTER SYSTEM, lines of postgresql.conf, and own rules for logins."""
        old, new = self.old.place.data, self.new.place.data
        shutil.copyfile(old / "postgresql.auto.conf", new / "postgresql.auto.conf")
        here = set(read_lines(new / "postgresql.conf"))
        added = [line for line in read_lines(old / "postgresql.conf") if line not in here]
        with (new / "postgresql.conf").open("a", encoding="utf-8") as file:
            file.write(f"\n# From PostgreSQL {self.old.major}:\n" if added else "")
            file.writelines(f"{' '.join(line)}\n" for line in added)
        if not is_ours(old / "pg_hba.conf"):
            for name in ("pg_hba.conf", "pg_ident.conf"):
                shutil.copyfile(old / name, new / name)

    def keep_logs(self) -> Path:
        """Keeps what pg_upgrade wrote into the copy, which is removed; returns the place."""
        kept = self.supervisor.folder.logs / "pg_upgrade"
        written = self.new.place.data / "pg_upgrade_output.d"
        if written.exists():
            shutil.rmtree(kept, ignore_errors=True)
            shutil.copytree(written, kept)
        return kept

    def end_both(self) -> None:
        """Ends the servers that pg_upgrade started and left."""
        end_servers(self.old.place.data)
        end_servers(self.new.place.data)

    def clear(self) -> None:
        """Removes what is left of an upgrade that did not end."""
        if self.old.place.data.exists():
            remove_copy(self.old.place.data)


def measure_folder(folder: Path) -> int:
    """Returns the bytes of all files in a folder."""
    return sum(path.lstat().st_size for path in folder.rglob("*"))


def check_space(data: Path, size: int) -> None:
    """Raises StartError if there is no room for a second copy of the data."""
    free = shutil.disk_usage(data.parent).free
    if free < size + SPARE_BYTES:
        raise StartError(
            f"The copy needs {(size + SPARE_BYTES) / 1e6:,.0f} MB, but {data.parent} has only {free / 1e6:,.0f} MB "
            "free. Make room, or restore a backup into a new data folder on another disk."
        )
