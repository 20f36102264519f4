"""Restarting the stores of a running stack: in order, and by a kill."""

import os
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

import psycopg
import redis

from bench.memory.whole import find_parts
from bench.soak.sending import Sender, Sent
from bench.soak.watching import open_database
from config.up.running import RunningStack

BACK_LIMIT_S: Final = 300.0
# The signals end PostgreSQL by its "fast" shutdown and Valkey in order; a kill leaves both to recover from their logs.
RESTARTS: Final = (
    ("postgres", signal.SIGINT),
    ("valkey", signal.SIGTERM),
    ("postgres", signal.SIGKILL),
    ("valkey", signal.SIGKILL),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Restart:
    """A restart under load: when the store answered again, and the longest time without an accepted post."""

    store: str
    signal: str
    back_s: float
    silent_s: float
    sent: Sent


def restart_under_load(stack: RunningStack, sender: Sender, *, rate: float, seconds: float) -> list[Restart]:
    """Restarts each store under load, twice. Each time has as long before the restart as after the store is back."""
    return [_restart(stack, sender, each, rate=rate, seconds=seconds) for each in RESTARTS]


def _restart(
    stack: RunningStack, sender: Sender, restart: tuple[str, signal.Signals], *, rate: float, seconds: float
) -> Restart:
    store, number = restart
    with sender.sending(f"{store}, {number.name}", rate) as sent:
        time.sleep(seconds)
        (server,) = find_servers(stack, store)
        ended_s = time.monotonic()
        os.kill(server, number)
        wait_for_another(stack, store, server)
        back_s = time.monotonic() - ended_s
        time.sleep(seconds)
    return Restart(
        store=store,
        signal=number.name,
        back_s=back_s,
        silent_s=find_longest_pause([sent.began_s, *sorted(sent.at_s), sent.ended_s]),
        sent=sent,
    )


def find_longest_pause(moments_s: Sequence[float]) -> float:
    """Returns the longest time between one moment and the next."""
    return max(after - before for before, after in pairwise(moments_s))


def find_servers(stack: RunningStack, part: str) -> list[int]:
    """Returns the children of the supervisor that are a part."""
    assert stack.process is not None
    supervisor = stack.process.pid
    return [pid for pid, name in find_parts(supervisor).items() if name == part and _parent_of(pid) == supervisor]


def _parent_of(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0  # gone


def wait_for_another(stack: RunningStack, store: str, old: int) -> None:
    """Waits until another server of a store answers. Raises `TimeoutError`."""
    answers: dict[str, Callable[[RunningStack], bool]] = {"postgres": _postgres_answers, "valkey": _valkey_answers}
    deadline_s = time.monotonic() + BACK_LIMIT_S
    while find_servers(stack, store) in ([], [old]) or not answers[store](stack):
        if time.monotonic() > deadline_s:
            raise TimeoutError(f"{store} did not answer again within {BACK_LIMIT_S} s")
        time.sleep(0.05)


def _postgres_answers(stack: RunningStack) -> bool:
    try:
        with open_database(stack) as connection:
            connection.execute("SELECT 1")
    except psycopg.Error:
        return False
    return True


def _valkey_answers(stack: RunningStack) -> bool:
    try:
        with redis.Redis.from_url(stack.store_environment["REDIS_URL"]) as client:
            return bool(client.ping())
    except (redis.RedisError, OSError):
        return False
