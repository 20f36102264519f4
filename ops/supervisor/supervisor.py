"""The supervisor: starts children, each when the one before is ready, keeps them running, stops them in reverse."""

import os
import secrets
import signal
import time
from collections.abc import Callable, Mapping
from types import FrameType

from ops.supervisor.children import Child, describe_end
from ops.supervisor.deadline import Deadline
from ops.supervisor.environment import remove_environment, write_environment
from ops.supervisor.folder import DataFolder, FolderLock, cut_log, read_lock_holder
from ops.supervisor.messages import StartError, complain, read_log_end, say
from ops.supervisor.proc import read_used_s
from ops.supervisor.stale_processes import MARK_NAME, clear_leftovers, remove_record, write_record
from ops.supervisor.stores.postgres import (
    Postgres,
    check_postgres_url,
    make_postgres_child,
    set_up_postgres,
    wait_for_postgres,
)
from ops.supervisor.stores.valkey import Valkey, check_valkey_url, make_valkey_child, set_up_valkey, wait_for_valkey

TICK_S = 0.1
COMMAND_LOCK_LIMIT_S = 60.0  # how long `up` waits for a command that has servers of its own in the folder
LOGS_EVERY_S = 10.0  # how often a log's size is looked at


class StopRequested(BaseException):
    """Raised during a wait when a signal asks to stop. No error handler should catch it."""


class Supervisor:
    """The children of one data folder, in the order they were started."""

    def __init__(self, folder: DataFolder, holder: str) -> None:
        self.folder = folder
        self.lock = FolderLock(folder, holder)
        # In the environment of this process, that of forks is the same for others.
        self.mark = os.environ.get(MARK_NAME) or secrets.token_hex(16)
        self.children: list[Child] = []
        self.starting: list[Child] = []  # not ready yet, so not started again
        self.stop_signals = 0
        self.is_quiet = False  # for commands, whose own output comes alone

    def say(self, text: str) -> None:
        if not self.is_quiet:
            say(text)

    # --- signals ---

    def catch_signals(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self.note_signal)

    def note_signal(self, number: int, frame: FrameType | None) -> None:
        self.stop_signals += 1

    def tick(self) -> None:
        """Does one turn of supervision; every wait calls it. Raises StopRequested."""
        if self.stop_signals:
            raise StopRequested
        for child in self.children:
            before = child.identity
            line = child.revive(time.monotonic())
            if line is not None:
                self.say(line)
            if child.identity is not before:
                write_record(self.folder, self.mark, self.children)

    # --- the folder ---

    def take_folder(self) -> None:
        """Locks the folder for this process, and cleans it up. Raises StartError if another process has it."""
        deadline = time.monotonic() + COMMAND_LOCK_LIMIT_S
        while not self.lock.try_acquire():
            holder, pid = read_lock_holder(self.folder)
            if holder == "up" or time.monotonic() > deadline:
                raise StartError(f"Fieldflame already runs in {self.folder.path} (process {pid}).")
            self.tick()
            time.sleep(TICK_S)
        self.clear_folder()

    def clear_folder(self) -> None:
        """Ends the processes of a killed run. The lock must be held."""
        remove_environment(self.folder)
        count = clear_leftovers(self.folder)
        if count:
            self.say(f"Ended {count} processes that a killed run had left.")

    # --- starting ---

    def launch(self, child: Child) -> None:
        child.environment = {**child.environment, MARK_NAME: self.mark}
        child.start()
        write_record(self.folder, self.mark, [*self.children, *self.starting])

    def add(self, *starts: tuple[Child, Callable[[Child], None]], meanwhile: Callable[[], None] = lambda: None) -> None:
        """Starts children at once, and waits for one after the other; from then on it keeps them running.

        Raises StartError. `meanwhile` is done while they start.
        """
        self.starting = [child for child, _ in starts]
        try:
            for child, _ in starts:
                self.launch(child)
            meanwhile()
            for child, wait in starts:
                wait(child)
        except BaseException:
            for child, _ in reversed(starts):
                self.stop_child(child)
            self.starting = []
            raise
        self.children += self.starting
        self.starting = []

    def have_deadline(self, what: str) -> Deadline:
        """Returns the deadline of one wait: its progress is what all children do."""
        return Deadline(what, lambda: read_used_s(os.getpid()), self.say)

    def run_to_end(self, child: Child, what: str) -> int:
        """Runs a program to its end under supervision; returns its exit code. Raises StartError if it is stuck."""
        self.starting = [child]
        self.launch(child)
        deadline = self.have_deadline(what)
        try:
            while (code := child.poll()) is None:
                deadline.check()
                self.tick()
                deadline.pause()
            return code
        finally:
            self.stop_child(child)
            self.starting = []

    def wait_for(self, child: Child, what: str, is_ready: Callable[[], bool]) -> None:
        """Waits until `is_ready`. Raises StartError if the child ends before, or nothing moves for too long."""
        deadline = self.have_deadline(what)
        while not is_ready():
            code = child.poll()
            if code is not None:
                end = read_log_end(child.log)
                raise StartError(f"{child.title} {describe_end(code)} before {what}; the end of {child.log}:{end}")
            deadline.check()
            self.tick()
            deadline.pause()

    def start_stores(
        self,
        environment: dict[str, str],
        *,
        is_throw_away: bool = False,
        meanwhile: Callable[[Mapping[str, str]], None] = lambda _: None,
    ) -> dict[str, str]:
        """Starts PostgreSQL and Valkey unless DATABASE_URL and REDIS_URL name others; returns the two addresses.

        `meanwhile` gets the addresses while they start.
        """
        is_root = os.geteuid() == 0
        starts: list[tuple[Child, Callable[[Child], None]]] = []
        database_url, redis_url = environment.get("DATABASE_URL"), environment.get("REDIS_URL")
        if database_url:
            self.say(f"PostgreSQL {check_postgres_url(database_url)} is given by DATABASE_URL.")
        else:
            postgres = set_up_postgres(self.folder, is_root=is_root, is_throw_away=is_throw_away)
            server = make_postgres_child(postgres, environment, is_throw_away=is_throw_away)
            starts.append((server, lambda child: self.wait_for_postgres(postgres, child)))
            database_url = postgres.url
        if redis_url:
            check_valkey_url(redis_url)
            self.say("Valkey is given by REDIS_URL.")
        else:
            valkey = set_up_valkey(self.folder, os.geteuid(), os.getegid())
            starts.append((make_valkey_child(valkey, environment), lambda child: self.wait_for_valkey(valkey, child)))
            redis_url = valkey.url
        addresses = {"DATABASE_URL": database_url, "REDIS_URL": redis_url}
        self.add(*starts, meanwhile=lambda: meanwhile(addresses))
        return addresses

    def wait_for_postgres(self, postgres: Postgres, child: Child) -> None:
        deadline = self.have_deadline(f"PostgreSQL answers (its log is {postgres.log})")
        wait_for_postgres(postgres, child, lambda: self.tick_in(deadline), deadline.note_progress)
        self.say(f"PostgreSQL {postgres.major} is ready.")

    def wait_for_valkey(self, valkey: Valkey, child: Child) -> None:
        deadline = self.have_deadline(f"Valkey answers (its log is {valkey.log})")
        wait_for_valkey(valkey, child, lambda: self.tick_in(deadline))
        self.say("Valkey is ready.")

    def tick_in(self, deadline: Deadline) -> None:
        deadline.check()
        self.tick()

    def publish(self, values: dict[str, str]) -> None:
        """Publishes the servers' addresses for commands."""
        write_environment(self.folder, values)

    # --- running and stopping ---

    def watch(self) -> None:
        """Keeps the children running and their logs short, until a signal asks to stop."""
        look_at_s = 0.0
        try:
            while True:
                self.tick()
                if time.monotonic() >= look_at_s:
                    for log in self.folder.logs.glob("*.log"):
                        cut_log(log)
                    look_at_s = time.monotonic() + LOGS_EVERY_S
                time.sleep(TICK_S)
        except StopRequested:
            return

    def stop_child(self, child: Child) -> None:
        # A first signal asks for an orderly stop; another one means that no one wants to wait.
        if not child.stop(is_hurried=lambda: self.stop_signals > 1):
            complain(f"{child.title} did not stop in time and was ended.")

    def stop(self) -> None:
        """Stops everything, the last started first, and releases the folder."""
        while self.children:
            self.stop_child(self.children.pop())
        if self.lock.file is not None:
            remove_environment(self.folder)
            remove_record(self.folder)
            self.folder.remove_outside_sockets()
        self.lock.release()
