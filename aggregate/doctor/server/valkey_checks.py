"""Checks of Valkey, and of the clocks of both stores."""

import time
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Final

import redis
from django.conf import settings
from django.db import Error, connection

from aggregate.doctor.findings import Finding, ok, problem, warning

LIMIT_S: Final = 2
FULL_SHARE: Final = 0.9  # of maxmemory
# Leases and heartbeats are compared with PostgreSQL's own clock, so a difference is no fault of a fold. It moves the
# hour that a view belongs to, and the ends of sessions.
CLOCK_WARNING_S: Final = 2.0
CLOCK_PROBLEM_S: Final = 60.0

Info = Mapping[str, object]


def open_valkey() -> redis.Redis:
    return redis.Redis.from_url(settings.REDIS_URL, socket_timeout=LIMIT_S, socket_connect_timeout=LIMIT_S)


def check_valkey(_: datetime) -> Iterator[Finding]:
    """Yields whether Valkey keeps what it has: persistence, eviction, memory."""
    with open_valkey() as client:
        info: Info = client.info("everything")
        try:
            saves = str(client.config_get("save").get("save", ""))
        except redis.RedisError:  # hosted ones hide their configuration
            saves = "?"
    faults = list(judge_valkey(info, saves))
    yield from faults
    if not faults:
        kept = "each write is logged" if info.get("aof_enabled") else f"it is saved by the rule “{saves}”"
        yield ok("valkey", f"Valkey evicts nothing, and {kept}.")


def judge_valkey(info: Info, saves: str) -> Iterator[Finding]:
    if (policy := info.get("maxmemory_policy", "noeviction")) != "noeviction":
        yield warning(
            "valkey-eviction",
            f"Valkey's maxmemory-policy is {policy}: when full, it drops notifications and counts of wrong passwords.",
            line="maxmemory-policy noeviction",
        )
    if not info.get("aof_enabled") and not saves:
        yield warning(
            "valkey-persistence",
            "Valkey keeps nothing over a restart: counts of wrong passwords begin anew, and pending traces wait for "
            "the sweep.",
            line="appendonly yes",
        )
    for name, what in (("aof_last_write_status", "its log of writes"), ("rdb_last_bgsave_status", "its snapshot")):
        if info.get(name, "ok") != "ok":
            yield problem("valkey-persistence", f"Valkey could not write {what}; it may refuse all writes.")
    used, most = int(str(info.get("used_memory", 0))), int(str(info.get("maxmemory", 0)))
    if most and used > FULL_SHARE * most:
        yield problem("valkey-memory", f"Valkey uses {used / most:.0%} of its maxmemory; when full, it refuses writes.")


def check_clocks(_: datetime) -> Iterator[Finding]:
    """Yields how far the clocks of both stores are from this machine's."""
    with open_valkey() as client:
        before = time.time()
        seconds, micros = client.time()
        after = time.time()
    differences = {"Valkey": seconds + micros / 1e6 - (before + after) / 2}
    try:
        with connection.cursor() as cursor:
            before = time.time()
            cursor.execute("SELECT extract(epoch FROM clock_timestamp())::float8")
            row = cursor.fetchone()
            after = time.time()
        assert row is not None
        differences["PostgreSQL"] = row[0] - (before + after) / 2
    except Error:
        pass  # said elsewhere
    yield from judge_clocks(differences)


def judge_clocks(differences: Mapping[str, float]) -> Iterator[Finding]:
    for name, difference_s in differences.items():
        if abs(difference_s) >= CLOCK_WARNING_S:
            word = "ahead of" if difference_s > 0 else "behind"
            sentence = (
                f"The clock of {name} is {abs(difference_s):.0f} s {word} this machine's: views get a wrong time."
            )
            make = problem if abs(difference_s) >= CLOCK_PROBLEM_S else warning
            yield make("clocks", sentence, line="timedatectl set-ntp true")
    if all(abs(difference_s) < CLOCK_WARNING_S for difference_s in differences.values()):
        names = " and ".join(sorted(differences))
        yield ok("clocks", f"The clocks of {names} and this machine agree.")
