"""The supervisor: starts children, each when the one before is ready, keeps them running, stops them in reverse."""

import os
import secrets
import signal
import time
from collections.abc import Callable
from types import FrameType

from config.up.children import Child, describe_end
from config.up.environment import remove_environment, write_environment
from config.up.folder import DataFolder, FolderLock, read_lock_holder
from config.up.leftovers import MARK_NAME, clear_leftovers, remove_record, write_record
from config.up.messages import StartError, complain, read_log_end, say
from config.up.stores.postgres import check_given_postgres, make_postgres_child, set_up_postgres, wait_for_postgres
from config.up.stores.valkey import check_given_valkey, make_valkey_child, set_up_valkey, wait_for_valkey

TICK_S = 0.1
COMMAND_LOCK_LIMIT_S = 60.0  # how long `up` waits for a command that has servers of its own in the folder
PART_LIMIT_S = 120.0
LOGS_KEPT_BYTES = 5 * 2**20


class StopRequested(BaseException):
    """Raised during a wait when a signal asks to stop. No error handler should catch it."""


class Supervisor:
    """The children of one data folder, in the order they were started."""

    def __init__(self, folder: DataFolder, holder: str) -> None:
        self.folder = folder
        self.lock = FolderLock(folder, holder)
        self.mark = secrets.token_hex(16)
        self.children: list[Child] = []
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
        """Ends the processes of a killed run, and moves large logs away. The lock must be held."""
        remove_environment(self.folder)
        count = clear_leftovers(self.folder)
        if count:
            self.say(f"Ended {count} processes that a killed run had left.")
        for log in self.folder.logs.glob("*.log"):
            if log.stat().st_size > LOGS_KEPT_BYTES:
                log.replace(log.with_name(log.name + ".1"))

    # --- starting ---

    def launch(self, child: Child) -> None:
        child.environment = {**child.environment, MARK_NAME: self.mark}
        child.start()
        write_record(self.folder, self.mark, [*self.children, child])

    def add(self, child: Child, wait: Callable[[Child], None]) -> None:
        """Starts a child, waits until it is ready, and from then on keeps it running. Raises StartError."""
        self.launch(child)
        try:
            wait(child)
        except BaseException:
            self.stop_child(child)
            raise
        self.children.append(child)

    def run_to_end(self, child: Child, limit_s: float) -> int:
        """Runs a program to its end under supervision; returns its exit code. Raises StartError after the limit."""
        self.launch(child)
        deadline = time.monotonic() + limit_s
        try:
            while (code := child.poll()) is None:
                if time.monotonic() > deadline:
                    raise StartError(f"{child.title} did not finish within {limit_s:.0f} s; see {child.log}.")
                self.tick()
                time.sleep(0.02)
            return code
        finally:
            self.stop_child(child)

    def wait_for(self, child: Child, what: str, is_ready: Callable[[], bool]) -> None:
        """Waits until `is_ready`. Raises StartError if the child ends before, or after PART_LIMIT_S."""
        deadline = time.monotonic() + PART_LIMIT_S
        while not is_ready():
            code = child.poll()
            if code is not None:
                end = read_log_end(child.log)
                raise StartError(f"{child.title} {describe_end(code)} before {what}; the end of {child.log}:{end}")
            if time.monotonic() > deadline:
                raise StartError(f"Waited {PART_LIMIT_S:.0f} s for this, in vain: {what}. See {child.log}.")
            self.tick()
            time.sleep(0.05)

    def start_stores(self, environment: dict[str, str], *, is_throw_away: bool = False) -> dict[str, str]:
        """Starts PostgreSQL and Valkey unless DATABASE_URL and REDIS_URL name others; returns the two addresses."""
        is_root = os.geteuid() == 0
        database_url, redis_url = environment.get("DATABASE_URL"), environment.get("REDIS_URL")
        if database_url:
            self.say(f"PostgreSQL {check_given_postgres(database_url)} is given by DATABASE_URL.")
        else:
            postgres = set_up_postgres(self.folder, is_root=is_root, is_throw_away=is_throw_away)
            self.add(
                make_postgres_child(postgres, environment, is_throw_away=is_throw_away),
                lambda child: wait_for_postgres(postgres, child, self.tick),
            )
            database_url = postgres.url
            self.say(f"PostgreSQL {postgres.major} is ready.")
        if redis_url:
            check_given_valkey(redis_url)
            self.say("Valkey is given by REDIS_URL.")
        else:
            valkey = set_up_valkey(self.folder, os.geteuid(), os.getegid())
            self.add(make_valkey_child(valkey, environment), lambda child: wait_for_valkey(valkey, child, self.tick))
            redis_url = valkey.url
            self.say("Valkey is ready.")
        return {"DATABASE_URL": database_url, "REDIS_URL": redis_url}

    def publish(self, values: dict[str, str]) -> None:
        """Publishes the servers' addresses for commands."""
        write_environment(self.folder, values)

    # --- running and stopping ---

    def watch(self) -> None:
        """Keeps the children running until a signal asks to stop."""
        try:
            while True:
                self.tick()
                time.sleep(TICK_S)
        except StopRequested:
            return

    def stop_child(self, child: Child) -> None:
        # A first signal asks for an orderly stop; another one means that nobody wants to wait.
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
