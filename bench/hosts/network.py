"""Hosts made of namespaces: each has its own network, processes and name, and all are on one private network.

Nothing outside is touched: the process that makes the network leaves that of the machine first. All ends with it, also
if it is killed.
"""

import ctypes
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from config.up.children import LIBC, die_with

CLONE_NEWNET: Final = 0x40000000  # linux/sched.h
PROGRAMS: Final = ("ip", "unshare", "nsenter", "pgbouncer", "nginx", "cc")
UNSHARE: Final = ("unshare", "--net", "--pid", "--uts", "--mount", "--fork", "--mount-proc")
SWITCH: Final = "switch"
NETWORK: Final = "10.213.0"  # of a network that nobody else sees
OWN_ADDRESS: Final = f"{NETWORK}.1"
READY_LIMIT_S: Final = 60.0
NOBODY: Final = 65_534


class NoHosts(Exception):
    """This machine cannot make hosts, for the reason that the text says."""


def require_hosts() -> None:
    """Raises `NoHosts` if this process may not make namespaces, or if a program is missing."""
    if sys.platform != "linux":
        raise NoHosts("hosts are made of namespaces, which only Linux has")
    if os.geteuid() != 0:
        raise NoHosts("only root may make network namespaces")
    missing = [name for name in PROGRAMS if find_program(name) is None]
    if missing:
        raise NoHosts(f"these programs are missing: {', '.join(missing)}")
    tried = subprocess.run(
        [
            "unshare",
            "--net",
            "--pid",
            "--uts",
            "--mount",
            "--fork",
            "--mount-proc",
            "ip",
            "link",
            "add",
            "x",
            "type",
            "bridge",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    if tried.returncode != 0:
        raise NoHosts(f"this machine refuses namespaces: {tried.stderr.strip()}")


def find_program(name: str) -> str | None:
    """Returns where a program of the system is, None if it is missing."""
    return shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")


def run(*words: str) -> None:
    """Runs a command of the system. Raises `NoHosts` with what it said."""
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise NoHosts(f"{' '.join(words)}: {done.stderr.strip()}")


class Network:
    """A private network, and the hosts on it. This process is on it too, with the address `OWN_ADDRESS`."""

    def __init__(self, logs: Path) -> None:
        self.logs = logs
        self.hosts: dict[str, Host] = {}

    def make(self) -> None:
        """Takes this process out of the machine's network, into the new one. Call it before there is a thread."""
        if LIBC.unshare(CLONE_NEWNET) != 0:
            raise NoHosts(f"a network namespace was refused: {os.strerror(ctypes.get_errno())}")
        run("ip", "link", "set", "lo", "up")
        run("ip", "link", "add", SWITCH, "type", "bridge")
        run("ip", "address", "add", f"{OWN_ADDRESS}/24", "dev", SWITCH)
        run("ip", "link", "set", SWITCH, "up")

    def add(self, name: str) -> "Host":
        """Returns a new host."""
        host = Host(name, f"{NETWORK}.{10 + len(self.hosts)}", self.logs)
        host.start()
        self.hosts[name] = host
        return host

    def end(self) -> None:
        """Ends all hosts with all of their processes, as a power failure does."""
        for host in self.hosts.values():
            host.end()


class Host:
    """A host: a name, an address, and processes that see only each other."""

    def __init__(self, name: str, address: str, logs: Path) -> None:
        self.name = name
        self.address = address
        self.logs = logs
        self._cable = f"to-{name}"
        self._holder: subprocess.Popen[bytes] | None = None
        self._first = 0  # the host's first process, as this process sees it

    def start(self) -> None:
        """Starts a host without services, and plugs it in."""
        parent = os.getpid()
        self._holder = subprocess.Popen(
            [*UNSHARE, "--kill-child=KILL", "sh", "-c", f"hostname {self.name}; exec sleep infinity"],
            start_new_session=True,
            preexec_fn=lambda: die_with(parent, signal.SIGKILL),  # noqa: PLW1509  # there is no thread yet
        )
        deadline_s = time.monotonic() + READY_LIMIT_S
        while not self._find_first():
            if time.monotonic() > deadline_s or self._holder.poll() is not None:
                raise NoHosts(f"the host {self.name} did not start")
            time.sleep(0.01)
        first = str(self._first)
        run("ip", "link", "add", self._cable, "type", "veth", "peer", "name", "lan", "netns", first)
        run("ip", "link", "set", self._cable, "master", SWITCH)
        enter = ["nsenter", "--target", first, "--net", "--"]
        run(*enter, "ip", "link", "set", "lo", "up")
        run(*enter, "ip", "address", "add", f"{self.address}/24", "dev", "lan")
        run(*enter, "ip", "link", "set", "lan", "up")
        self.plug_in()

    @property
    def process_namespace(self) -> str:
        """The number by which processes of this host know each other."""
        return str(Path(f"/proc/{self._first}/ns/pid").stat().st_ino)

    def _find_first(self) -> bool:
        assert self._holder is not None
        children = list_children(self._holder.pid)
        self._first = children[0] if children else 0
        return bool(children) and read_name(self._first) == "sleep"

    def cut_off(self) -> None:
        """Pulls the cable: what the host sends and what is sent to it is lost, and nobody is told."""
        run("ip", "link", "set", self._cable, "down")

    def plug_in(self) -> None:
        run("ip", "link", "set", self._cable, "up")

    def open(
        self, name: str, command: Sequence[str], environment: Mapping[str, str], *, as_nobody: bool = False
    ) -> "Service":
        """Starts a program on this host. Its output goes to a log of its name."""
        words = ["nsenter", "--target", str(self._first), "--net", "--pid", "--uts", "--mount"]
        words += [f"--setuid={NOBODY}", f"--setgid={NOBODY}"] if as_nobody else []
        with (self.logs / f"{self.name}-{name}.log").open("ab") as log:
            process = subprocess.Popen(
                [*words, "--", *command],
                env=dict(environment),
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        return Service(process)

    def run(
        self, name: str, command: Sequence[str], environment: Mapping[str, str], *, as_nobody: bool = False
    ) -> None:
        """Runs a program on this host. Raises `RuntimeError` with the end of its log if it fails."""
        code = self.open(name, command, environment, as_nobody=as_nobody).wait()
        if code != 0:
            said = (self.logs / f"{self.name}-{name}.log").read_text(encoding="utf-8", errors="replace")
            raise RuntimeError(f"{name} failed on {self.name}: {said[-2_000:]}")

    def end(self) -> None:
        """Ends the host's first process, and so the kernel ends all others."""
        if self._holder is not None:
            self._holder.kill()
            self._holder.wait()


class Service:
    """A program on a host. `nsenter` waits outside for it, and ends as it does."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self._process = process

    def wait(self) -> int:
        """Waits for the end, and returns the exit code."""
        return self._process.wait()

    def is_running(self) -> bool:
        return self._process.poll() is None

    def stop(self, number: signal.Signals, limit_s: float) -> float:
        """Sends a signal, and returns the seconds until the program's end. Raises `TimeoutError`."""
        began_s = time.monotonic()
        for pid in list_children(self._process.pid):
            os.kill(pid, number)
        try:
            self._process.wait(limit_s)
        except subprocess.TimeoutExpired:
            raise TimeoutError(f"a program did not end within {limit_s} s after {number.name}") from None
        return time.monotonic() - began_s


def list_children(pid: int) -> list[int]:
    """Returns the children of a process's first thread, the oldest first."""
    try:
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()]
    except OSError:
        return []


def read_name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text(encoding="utf-8").strip()
    except OSError:
        return ""
