"""Checks of PostgreSQL: what a commit is worth, how full it is, and what copies of it lag behind."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db import connection

from aggregate.doctor.findings import Finding, ok, problem, warning

# A 202 means durable: with one of these off, an accepted trace can be lost, or the whole database.
DURABLE: Final = ("fsync", "full_page_writes", "synchronous_commit")
MANY_CONNECTIONS: Final = 0.8  # of max_connections: the next burst may be refused
ALL_CONNECTIONS: Final = 0.95
LONG_TRANSACTION_S: Final = 3_600  # a backup of about 100 GB takes an hour
# Of 2.1 billion, after which PostgreSQL refuses to write. Its own vacuum begins at 0.2.
OLD_TRANSACTIONS: Final = 1_000_000_000
LAG_WARNING_S: Final = 60.0
# What a slot or a standby holds back of the log. The default of max_wal_size in `./run` is 2 GB.
HELD_WARNING_BYTES: Final = 4 * 2**30
HELD_PROBLEM_BYTES: Final = 32 * 2**30

SETTINGS: Final = """SELECT name, setting FROM pg_settings WHERE name IN (
    'fsync', 'full_page_writes', 'synchronous_commit', 'autovacuum', 'jit', 'data_checksums')"""
LOAD: Final = """
SELECT (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'),
       current_setting('max_connections')::int,
       (SELECT coalesce(extract(epoch FROM now() - min(xact_start)), 0)::float8 FROM pg_stat_activity
        WHERE backend_type = 'client backend'),
       (SELECT max(age(datfrozenxid)) FROM pg_database)
"""
# In a standby, there is no current position to compare with.
STANDBYS: Final = """
SELECT coalesce(nullif(application_name, ''), 'a standby'), coalesce(extract(epoch FROM replay_lag), 0)::float8,
       coalesce(pg_wal_lsn_diff(pg_current_wal_lsn(), replay_lsn), 0)::bigint
FROM pg_stat_replication WHERE NOT pg_is_in_recovery() ORDER BY 1
"""
SLOTS: Final = """
SELECT slot_name, active, coalesce(pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn), 0)::bigint,
       coalesce(wal_status, '')
FROM pg_replication_slots WHERE NOT pg_is_in_recovery() ORDER BY 1
"""
ARCHIVE: Final = """
SELECT current_setting('archive_mode') <> 'off', last_archived_time, last_failed_time FROM pg_stat_archiver
"""


@dataclass(frozen=True, slots=True)
class Standby:
    """A server that copies this one: how late it is, and how much of the log it lacks."""

    name: str
    lag_s: float
    lag_bytes: int


@dataclass(frozen=True, slots=True)
class ReplicationSlot:
    """A promise to keep the log for a reader, and how much is kept for it."""

    name: str
    is_active: bool
    held_bytes: int
    status: str


@dataclass(frozen=True, slots=True)
class Archive:
    """The archive of the log, and when it last worked and last failed."""

    is_on: bool
    worked_at: datetime | None
    failed_at: datetime | None


def read_rows(query: str) -> list[tuple[Any, ...]]:  # Any: a row's values
    with connection.cursor() as cursor:
        cursor.execute(query)
        return list(cursor.fetchall())


def check_durability(_: datetime) -> Iterator[Finding]:
    """Yields settings of PostgreSQL by which accepted traces can be lost, or that cost speed."""
    yield from judge_durability(dict(read_rows(SETTINGS)))


def judge_durability(values: Mapping[str, str]) -> Iterator[Finding]:
    lossy = [name for name in DURABLE if values.get(name) == "off"]
    for name in lossy:
        yield problem(
            "durability",
            f"{name} is off in PostgreSQL: accepted traces are lost if the server or the machine dies.",
            line=f"ALTER SYSTEM SET {name} = on",
        )
    if not lossy:
        sums = "has page checksums" if values.get("data_checksums") == "on" else "has no page checksums"
        yield ok("durability", f"A commit is on the disk before it is answered. The data {sums}.")
    if values.get("autovacuum") == "off":
        yield problem(
            "autovacuum",
            "autovacuum is off: tables only grow, and statements get slower.",
            line="ALTER SYSTEM SET autovacuum = on",
        )
    if values.get("jit") == "on":
        yield warning(
            "jit",
            "PostgreSQL compiles statements, which has cost 0.6 s for some that take milliseconds.",
            line="ALTER ROLE fieldflame SET jit = off",
        )


def check_load(_: datetime) -> Iterator[Finding]:
    """Yields how many connections are open, and how old the oldest transaction is."""
    used, most, oldest_s, age = read_rows(LOAD)[0]
    yield from judge_load(used=used, most=most, oldest_s=oldest_s, age=age)


def judge_load(*, used: int, most: int, oldest_s: float, age: int) -> Iterator[Finding]:
    sentence = f"{used} of {most} connections to PostgreSQL are open."
    if used < MANY_CONNECTIONS * most:
        yield ok("connections", sentence)
    else:
        make = problem if used >= ALL_CONNECTIONS * most else warning
        yield make(
            "connections",
            f"{sentence} When all are, posts are answered 503. Lower FIELDFLAME_DB_POOL or "
            "FIELDFLAME_STORE_CONNECTIONS, or raise max_connections.",
        )
    if oldest_s >= LONG_TRANSACTION_S:
        yield warning(
            "transactions",
            f"A transaction has been open for {oldest_s / 3_600:.1f} hours. Dead rows cannot be removed meanwhile.",
            line="SELECT pid, usename, xact_start, query FROM pg_stat_activity ORDER BY xact_start",
        )
    if age >= OLD_TRANSACTIONS:
        yield problem(
            "transactions",
            f"The oldest transaction number is {age / 1e9:.1f} billion back; at 2.1, PostgreSQL refuses to write.",
            line="VACUUM FREEZE",
        )


def check_replication(_: datetime) -> Iterator[Finding]:
    """Yields how late standbys are, what slots hold back, and whether the archive of the log works."""
    standbys = [Standby(*row) for row in read_rows(STANDBYS)]
    slots = [ReplicationSlot(*row) for row in read_rows(SLOTS)]
    user, may_look = read_rows("SELECT current_user, pg_has_role(current_user, 'pg_monitor', 'USAGE')")[0]
    if standbys and not may_look:
        yield warning(
            "replication",
            "There are standbys, but this role may not see how late they are.",
            line=f"GRANT pg_monitor TO {user}",
        )
        standbys = []
    yield from judge_replication(standbys, slots, Archive(*read_rows(ARCHIVE)[0]))


def judge_replication(
    standbys: Sequence[Standby], slots: Sequence[ReplicationSlot], archive: Archive
) -> Iterator[Finding]:
    faults = [*judge_standbys(standbys), *judge_slots(slots), *judge_archive(archive)]
    yield from faults
    if not faults:
        copies = (
            f"{len(standbys)} standby{'' if len(standbys) == 1 else 's'} keep{'s' if len(standbys) == 1 else ''} up"
        )
        kept = "the log is archived" if archive.is_on else "the log is not archived"
        yield ok("replication", f"{copies if standbys else 'There is no standby'}, and {kept}.")


def judge_standbys(standbys: Sequence[Standby]) -> Iterator[Finding]:
    for standby in standbys:
        if standby.lag_s >= LAG_WARNING_S or standby.lag_bytes >= HELD_WARNING_BYTES:
            make = problem if standby.lag_bytes >= HELD_PROBLEM_BYTES else warning
            yield make(
                "replication",
                f"{standby.name} is {standby.lag_s:,.0f} s and {standby.lag_bytes / 1e6:,.0f} MB of the log behind.",
            )


def judge_slots(slots: Sequence[ReplicationSlot]) -> Iterator[Finding]:
    for slot in slots:
        if slot.status in ("lost", "unreserved"):
            yield problem(
                "replication-slots", f"The slot {slot.name} has lost its place in the log: make its standby anew."
            )
        elif slot.held_bytes >= HELD_WARNING_BYTES:
            make = problem if slot.held_bytes >= HELD_PROBLEM_BYTES else warning
            whose = "" if slot.is_active else ", and nothing reads it"
            yield make(
                "replication-slots",
                f"The slot {slot.name} keeps {slot.held_bytes / 1e9:,.0f} GB of the log{whose}: it fills the disk.",
                line=f"SELECT pg_drop_replication_slot('{slot.name}')",
            )


def judge_archive(archive: Archive) -> Iterator[Finding]:
    failed_at = archive.failed_at if archive.is_on else None
    if failed_at is not None and (archive.worked_at is None or failed_at > archive.worked_at):
        yield problem(
            "archive",
            f"The archive of the log has failed since {failed_at:%Y-%m-%d %H:%M} UTC: the log fills the disk, and no "
            "backup can go beyond that moment.",
            line="SHOW archive_command",
        )
