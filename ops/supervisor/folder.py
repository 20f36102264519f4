"""The data folder: the places of its files, and the lock that prevents a second start."""

import fcntl
import hashlib
import os
import pwd
import secrets
import shutil
import stat
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from ops.supervisor.messages import StartError

# A Unix socket's path fits into 108 bytes with its closing zero; the longest name put into a folder here is
# "/.s.PGSQL.5432.lock".
SOCKET_PATH_MAX_BYTES = 107
LONGEST_SOCKET_NAME_BYTES = 20
LOG_MAX_BYTES: Final = 20 * 2**20  # of each part's log, and as much of the one before
SOCKET_FOLDER_NAMES = ("postgres", "valkey")


@dataclass(frozen=True, slots=True)
class DataFolder:
    """Everything that `./run` keeps. To start from nothing, delete the folder while nothing runs."""

    path: Path

    @property
    def lock(self) -> Path:
        return self.path / "lock"

    @property
    def environment(self) -> Path:
        return self.path / "environment"

    @property
    def processes(self) -> Path:
        return self.path / "processes.json"

    @property
    def logs(self) -> Path:
        return self.path / "logs"

    @property
    def postgres(self) -> Path:
        return self.path / "postgres"

    @property
    def valkey(self) -> Path:
        return self.path / "valkey"

    @property
    def beat_schedule(self) -> Path:
        return self.path / "beat-schedule"

    @property
    def worker_ready(self) -> Path:
        return self.path / "worker-ready"

    @property
    def secret_key(self) -> Path:
        return self.path / "secret_key"

    @property
    def admin_password(self) -> Path:
        return self.path / "admin_password"

    @property
    def demo_loaded(self) -> Path:
        return self.path / "demo_loaded"

    @property
    def digest(self) -> str:
        return hashlib.blake2s(os.fsencode(self.path), digest_size=6).hexdigest()

    def create(self) -> None:
        """Creates the folder, its logs folder and its secret key.

        Others may pass through it (PostgreSQL runs as another user if it can), but not list it.
        """
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            owner = self.path.stat().st_uid
            if owner != os.geteuid():
                raise StartError(
                    f"The data folder {self.path} belongs to {name_user(owner)}; "
                    "start as that user, or give another folder by --data."
                )
            self.path.chmod(0o711)
            self.logs.mkdir(exist_ok=True)
            self.logs.chmod(0o700)
            if not self.secret_key.exists():
                write_private(self.secret_key, secrets.token_urlsafe(50) + "\n")
        except FileExistsError:
            raise StartError(f"The data folder {self.path} is a file; give another one by --data.") from None
        except OSError as error:
            raise StartError(f"The data folder {self.path} cannot be written: {error.strerror}.") from None

    def socket_folder(self, name: str) -> Path:
        """Returns the folder for a server's socket: below the data folder, or below /tmp if that path is too long."""
        inside = self.path / "sockets" / name
        if len(os.fsencode(inside)) + LONGEST_SOCKET_NAME_BYTES <= SOCKET_PATH_MAX_BYTES:
            return inside
        return Path(tempfile.gettempdir()) / f"fieldflame-{self.digest}-{name}"

    def remove_outside_sockets(self) -> None:
        """Removes the socket folders below /tmp. The servers must have stopped."""
        for name in SOCKET_FOLDER_NAMES:
            path = self.socket_folder(name)
            if not path.is_relative_to(self.path):
                shutil.rmtree(path, ignore_errors=True)


def name_user(uid: int) -> str:
    try:
        return f"the user {pwd.getpwuid(uid).pw_name}"
    except KeyError:
        return f"the user with the id {uid}"


def write_private(path: Path, text: str) -> None:
    """Writes a file that only its owner may read, in one step: a reader sees the old text or the new one."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def open_log(path: Path) -> IO[bytes]:
    """Opens a log to append to, which only its owner may read: it names pages, addresses and users."""
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "ab")


def cut_log(path: Path) -> None:
    """Moves the text of a log that is too long to `NAME.1`, in place of the one before.

    Its writers append, so they go on. A line that is written at this very moment may be lost.
    """
    with suppress(FileNotFoundError):
        if path.stat().st_size > LOG_MAX_BYTES:
            shutil.copy(path, path.with_name(f"{path.name}.1"))
            os.truncate(path, 0)


def make_private_folder(path: Path, uid: int, gid: int) -> None:
    """Creates a folder that only `uid` (and root) may enter. Raises StartError if there is one of someone else."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        path.mkdir(mode=0o700)
    except FileExistsError:
        status = path.lstat()
        if not stat.S_ISDIR(status.st_mode) or status.st_uid not in (uid, os.geteuid()):
            raise StartError(f"{path} belongs to another user; remove it.") from None
    path.chmod(0o700)
    if os.geteuid() == 0:
        os.chown(path, uid, gid)


_held: Final[set[IO[str]]] = set()


def _close_locks() -> None:
    """Closes the locks in a forked process, which would hold them when the process that took them is dead."""
    for file in _held:
        file.close()
    _held.clear()


os.register_at_fork(after_in_child=_close_locks)


class FolderLock:
    """The lock of the one process that runs servers in a data folder. The kernel releases it when the process dies."""

    def __init__(self, folder: DataFolder, holder: str) -> None:
        self.folder = folder
        self.holder = holder
        self.file: IO[str] | None = None

    def try_acquire(self) -> bool:
        """Takes the lock and writes `holder pid` into it; returns False if another process holds it."""
        # For its owner alone: who may open it can lock it, and so keep a start from happening.
        file = os.fdopen(os.open(self.folder.lock, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600), "a+", encoding="utf-8")
        try:
            os.fchmod(file.fileno(), 0o600)
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            return False
        file.truncate(0)
        file.write(f"{self.holder} {os.getpid()}\n")
        file.flush()
        self.file = file
        _held.add(file)
        return True

    def release(self) -> None:
        if self.file is not None:
            _held.discard(self.file)
            self.file.close()
            self.file = None


def read_lock_holder(folder: DataFolder) -> tuple[str, str]:
    """Returns (holder, pid) as the lock's owner wrote them, empty texts if no one did."""
    try:
        holder, _, pid = folder.lock.read_text(encoding="utf-8").strip().partition(" ")
    except OSError:
        return "", ""
    return holder, pid
