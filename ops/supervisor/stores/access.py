"""The user that PostgreSQL runs as. It refuses to run as root, so root starts it in the first of three ways that works:

1. in a user namespace in which root appears as `nobody`. The server can still pass through folders that only root may
   enter (a clone below /root), and has none of root's capabilities. Nothing needs to be copied or opened. The server
   could change files of root, as can every other process of a `./run` started by root;
2. if the kernel or a container refuses namespaces, as the user `nobody`, if it can reach the binaries and the data
   folder. Then every other process of `nobody`, and many daemons are one, can change the data and the rules of who is
   let in, so the start says so;
3. as `nobody` with data and binaries in /var/lib/fieldflame-…: a folder that is durable and reachable. The data folder
   then has a link to it.

Opening the parent folders for `nobody` is no option: they are closed for a reason.
"""

import ctypes
import os
import pwd
import shutil
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from ops.supervisor.messages import StartError

CLONE_NEWUSER = 0x10000000  # linux/sched.h
LIBC = ctypes.CDLL(None, use_errno=True)
OUTSIDE_PARENT = Path("/var/lib")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunAs:
    """The way in which a child changes user between fork and exec, and the owner of its files, seen from outside.

    `seen_as` is the name by which the child knows this process's user.
    """

    uid: int
    gid: int
    enter: Callable[[], None] | None
    description: str
    seen_as: str


def run_as_self() -> RunAs:
    return RunAs(uid=os.geteuid(), gid=os.getegid(), enter=None, description="this user", seen_as=name_self())


def name_self() -> str:
    """Returns the name of this process's user. Raises StartError if it has none."""
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        raise StartError(f"PostgreSQL needs a user with a name, and {os.geteuid()} has none in /etc/passwd.") from None


def demote_to(user: pwd.struct_passwd) -> RunAs:
    def enter() -> None:
        os.setgroups([])
        os.setgid(user.pw_gid)
        os.setuid(user.pw_uid)

    return RunAs(
        uid=user.pw_uid, gid=user.pw_gid, enter=enter, description=f"the user {user.pw_name}", seen_as=name_self()
    )


def appear_as(user: pwd.struct_passwd) -> RunAs:
    def enter() -> None:
        if LIBC.unshare(CLONE_NEWUSER) != 0:
            raise OSError(ctypes.get_errno(), "unshare")
        Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
        Path("/proc/self/uid_map").write_text(f"{user.pw_uid} 0 1", encoding="ascii")
        Path("/proc/self/gid_map").write_text(f"{user.pw_gid} 0 1", encoding="ascii")

    return RunAs(
        uid=0,
        gid=0,
        enter=enter,
        description=f"root seen as {user.pw_name}, in a user namespace",
        seen_as=user.pw_name,
    )


def can_reach(run_as: RunAs, programs: Iterable[Path], folders: Iterable[Path]) -> bool:
    """Returns whether a child that has changed user can execute the programs and pass through the folders."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            if run_as.enter is not None:
                run_as.enter()
            if all(os.access(program, os.R_OK | os.X_OK) for program in programs) and all(
                os.access(folder, os.X_OK) for folder in folders
            ):
                code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


@dataclass(frozen=True, slots=True)
class ServerPlace:
    """The places of a server's binaries and files, and the user that it runs as."""

    run_as: RunAs
    bin_folder: Path
    data: Path


def choose_place(*, bin_folder: Path, data: Path, digest: str, is_root: bool) -> ServerPlace:
    """Returns the first of the three ways that works here; `data`'s parent exists. Raises StartError if none does."""
    if not is_root:
        return ServerPlace(run_as_self(), bin_folder, data)
    try:
        nobody = pwd.getpwnam("nobody")
    except KeyError:
        raise StartError(
            "PostgreSQL does not run as root, and there is no user nobody; start as another user."
        ) from None
    programs = [bin_folder / "postgres", bin_folder / "initdb"]
    outside = OUTSIDE_PARENT / f"fieldflame-{digest}"
    if not data.is_symlink():
        candidates = ([appear_as(nobody)] if sys.platform == "linux" else []) + [demote_to(nobody)]
        for run_as in candidates:
            if can_reach(run_as, programs, [data.parent, data.parent.resolve()]):
                return ServerPlace(run_as, bin_folder, data)
    return move_outside(demote_to(nobody), bin_folder, data, outside)


def move_outside(run_as: RunAs, bin_folder: Path, data: Path, outside: Path) -> ServerPlace:
    """Copies the binaries to `outside` and links `data` to a folder there, which `run_as` can reach."""
    target = outside / "postgres"
    try:
        outside.mkdir(mode=0o711, exist_ok=True)
        copied = copy_binaries(bin_folder, outside)
        if data.exists() and not data.is_symlink():
            shutil.move(str(data), str(target))
        if not data.is_symlink():
            data.symlink_to(target)
    except OSError as error:
        raise StartError(
            f"PostgreSQL does not run as root; {run_as.description} can reach neither {data.parent} nor {outside} "
            f"({error.strerror}). Give a data folder that others may pass through, by --data."
        ) from None
    if not can_reach(run_as, [copied / "postgres", copied / "initdb"], [outside]):
        raise StartError(
            f"PostgreSQL does not run as root, and {run_as.description} cannot reach {outside}; "
            "give a data folder that others may pass through, by --data."
        )
    return ServerPlace(run_as, copied, Path(os.readlink(data)))


def copy_binaries(bin_folder: Path, outside: Path) -> Path:
    """Copies an installation (bin, lib, share, and a wheel's sibling `.libs`) once; returns the copy's bin folder."""
    installation = bin_folder.parent
    package = installation.parent
    copy = outside / "programs" / package.name / installation.name
    if not (copy / "complete").exists():
        shutil.rmtree(copy, ignore_errors=True)
        for part in ("bin", "lib", "share"):
            if (installation / part).is_dir():
                shutil.copytree(installation / part, copy / part, symlinks=True)
        libraries = package.with_name(f"{package.name}.libs")
        if libraries.is_dir():
            shutil.copytree(libraries, copy.parent.with_name(libraries.name), symlinks=True, dirs_exist_ok=True)
        open_for_reading(outside / "programs")
        (copy / "complete").touch()
    return copy / "bin"


def open_for_reading(folder: Path) -> None:
    for path in [folder, *folder.rglob("*")]:
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or (os.access(path, os.X_OK) and path.stat().st_mode & 0o100) else 0o644)


def chown_tree(folder: Path, run_as: RunAs) -> None:
    """Makes the server's user the owner of a folder, if root starts the server in another way than last time."""
    if os.geteuid() != 0 or folder.stat().st_uid == run_as.uid:
        return
    for path in [*folder.rglob("*"), folder]:  # the folder last, since its owner shows that all is done
        os.chown(path, run_as.uid, run_as.gid, follow_symlinks=False)
