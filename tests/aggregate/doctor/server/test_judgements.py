"""Each finding about the server appears when its fault is there, and not otherwise."""

from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime, timedelta
from typing import Final

import pytest

from aggregate.doctor.findings import Finding, State
from aggregate.doctor.server.certificate_checks import judge_certificate
from aggregate.doctor.server.disk_checks import Room, judge_disk
from aggregate.doctor.server.postgres_checks import (
    Archive,
    ReplicationSlot,
    Standby,
    judge_durability,
    judge_load,
    judge_replication,
)
from aggregate.doctor.server.settings_checks import judge_versions
from aggregate.doctor.server.valkey_checks import judge_clocks, judge_valkey
from aggregate.doctor.server.work_checks import (
    judge_jobs,
    judge_migrations,
    judge_partitions,
    judge_pending,
    judge_retention,
    judge_workers,
)

OK, SKIPPED, WARNING, PROBLEM = State.OK, State.SKIPPED, State.WARNING, State.PROBLEM
NOW: Final = datetime(2026, 11, 23, 12, tzinfo=UTC)
DAY: Final = timedelta(days=1)
DURABLE: Final = {"fsync": "on", "full_page_writes": "on", "synchronous_commit": "on", "autovacuum": "on", "jit": "off"}
KEPT: Final = {"aof_enabled": 1, "maxmemory_policy": "noeviction", "used_memory": 10, "maxmemory": 0}
NO_ARCHIVE: Final = Archive(False, None, None)
GB: Final = 10**9
WEEK_AHEAD: Final = [date(2026, 11, 22) + timedelta(days=offset) for offset in range(9)]

Judge = Callable[[], Iterable[Finding]]


def grow(by: int, over: timedelta = 7 * DAY) -> list[tuple[datetime, int]]:
    return [(NOW - over, 10 * GB), (NOW, 10 * GB + by)]


CASES: Final[list[tuple[str, Judge, list[tuple[str, State]]]]] = [
    ("all durable", lambda: judge_durability(DURABLE), [("durability", OK)]),
    ("fsync off", lambda: judge_durability(DURABLE | {"fsync": "off"}), [("durability", PROBLEM)]),
    (
        "full_page_writes off",
        lambda: judge_durability(DURABLE | {"full_page_writes": "off"}),
        [("durability", PROBLEM)],
    ),
    (
        "synchronous_commit off",
        lambda: judge_durability(DURABLE | {"synchronous_commit": "off"}),
        [("durability", PROBLEM)],
    ),
    (
        "no autovacuum",
        lambda: judge_durability(DURABLE | {"autovacuum": "off"}),
        [("durability", OK), ("autovacuum", PROBLEM)],
    ),
    ("jit", lambda: judge_durability(DURABLE | {"jit": "on"}), [("durability", OK), ("jit", WARNING)]),
    ("few connections", lambda: judge_load(used=79, most=100, oldest_s=3_599, age=10**8), [("connections", OK)]),
    ("many connections", lambda: judge_load(used=80, most=100, oldest_s=0, age=0), [("connections", WARNING)]),
    ("all connections", lambda: judge_load(used=95, most=100, oldest_s=0, age=0), [("connections", PROBLEM)]),
    (
        "a long transaction",
        lambda: judge_load(used=1, most=100, oldest_s=3_600, age=0),
        [("connections", OK), ("transactions", WARNING)],
    ),
    (
        "old transaction numbers",
        lambda: judge_load(used=1, most=100, oldest_s=0, age=10**9),
        [("connections", OK), ("transactions", PROBLEM)],
    ),
    ("no copies", lambda: judge_replication([], [], NO_ARCHIVE), [("replication", OK)]),
    (
        "all keep up",
        lambda: judge_replication(
            [Standby("b", 59, 10**6)],
            [ReplicationSlot("b", True, 10**6, "reserved")],
            Archive(True, NOW, NOW - DAY),
        ),
        [("replication", OK)],
    ),
    ("a late standby", lambda: judge_replication([Standby("b", 60, 0)], [], NO_ARCHIVE), [("replication", WARNING)]),
    (
        "a standby far behind",
        lambda: judge_replication([Standby("b", 0, 2**35)], [], NO_ARCHIVE),
        [("replication", PROBLEM)],
    ),
    (
        "a forgotten slot",
        lambda: judge_replication([], [ReplicationSlot("b", False, 2**32, "extended")], NO_ARCHIVE),
        [("replication-slots", WARNING)],
    ),
    (
        "a slot that fills the disk",
        lambda: judge_replication([], [ReplicationSlot("b", False, 2**35, "extended")], NO_ARCHIVE),
        [("replication-slots", PROBLEM)],
    ),
    (
        "a lost slot",
        lambda: judge_replication([], [ReplicationSlot("b", False, 0, "lost")], NO_ARCHIVE),
        [("replication-slots", PROBLEM)],
    ),
    (
        "an archive that never worked",
        lambda: judge_replication([], [], Archive(True, None, NOW)),
        [("archive", PROBLEM)],
    ),
    ("an archive that fails", lambda: judge_replication([], [], Archive(True, NOW - DAY, NOW)), [("archive", PROBLEM)]),
    ("an old archive", lambda: judge_replication([], [], Archive(False, None, NOW)), [("replication", OK)]),
    ("Valkey as `./run` has it", lambda: judge_valkey(KEPT, ""), []),
    ("saved by rules", lambda: judge_valkey(KEPT | {"aof_enabled": 0}, "3600 1"), []),
    ("nothing kept", lambda: judge_valkey(KEPT | {"aof_enabled": 0}, ""), [("valkey-persistence", WARNING)]),
    ("eviction", lambda: judge_valkey(KEPT | {"maxmemory_policy": "allkeys-lru"}, ""), [("valkey-eviction", WARNING)]),
    (
        "a log that fails",
        lambda: judge_valkey(KEPT | {"aof_last_write_status": "err"}, ""),
        [("valkey-persistence", PROBLEM)],
    ),
    (
        "a snapshot that fails",
        lambda: judge_valkey(KEPT | {"rdb_last_bgsave_status": "err"}, ""),
        [("valkey-persistence", PROBLEM)],
    ),
    ("room", lambda: judge_valkey(KEPT | {"used_memory": 90, "maxmemory": 100}, ""), []),
    ("full", lambda: judge_valkey(KEPT | {"used_memory": 91, "maxmemory": 100}, ""), [("valkey-memory", PROBLEM)]),
    ("clocks agree", lambda: judge_clocks({"Valkey": 1.9, "PostgreSQL": -1.9}), [("clocks", OK)]),
    ("a clock ahead", lambda: judge_clocks({"Valkey": 2.0, "PostgreSQL": 0}), [("clocks", WARNING)]),
    ("a clock far behind", lambda: judge_clocks({"Valkey": 0, "PostgreSQL": -60}), [("clocks", PROBLEM)]),
    (
        "PostgreSQL 15",
        lambda: judge_versions(postgres=15, postgres_text="15.1", valkey=("Redis", "6.2.1")),
        [("versions", OK)],
    ),
    (
        "PostgreSQL 14",
        lambda: judge_versions(postgres=14, postgres_text="14.1", valkey=("Valkey", "9.1.2")),
        [("versions", PROBLEM), ("versions", OK)],
    ),
    (
        "Redis 6.0",
        lambda: judge_versions(postgres=18, postgres_text="18.4", valkey=("Redis", "6.0.16")),
        [("versions", WARNING), ("versions", OK)],
    ),
    ("21 days", lambda: [judge_certificate("a.example", NOW + 21 * DAY, NOW)], [("certificate", OK)]),
    ("20 days", lambda: [judge_certificate("a.example", NOW + 20 * DAY, NOW)], [("certificate", WARNING)]),
    ("6 days", lambda: [judge_certificate("a.example", NOW + 6 * DAY, NOW)], [("certificate", PROBLEM)]),
    ("one size", lambda: judge_disk([(NOW, GB)], Room(90 * GB, 100 * GB)), [("disk", OK)]),
    ("room for 90 days", lambda: judge_disk(grow(7 * GB), Room(90 * GB, 100 * GB)), [("disk", OK)]),
    ("room for 29 days", lambda: judge_disk(grow(7 * GB), Room(29 * GB, 100 * GB)), [("disk", WARNING)]),
    ("room for 6 days", lambda: judge_disk(grow(7 * GB), Room(6 * GB, 100 * GB)), [("disk", PROBLEM)]),
    ("an hour's growth", lambda: judge_disk(grow(7 * GB, DAY / 24), Room(9 * GB, 100 * GB)), [("disk", OK)]),
    ("no growth, no room", lambda: judge_disk(grow(-GB), Room(GB, 100 * GB)), [("disk", PROBLEM)]),
    ("no growth", lambda: judge_disk(grow(-GB), Room(20 * GB, 100 * GB)), [("disk", OK)]),
    ("another machine's disk", lambda: judge_disk(grow(7 * GB), None), [("disk", SKIPPED)]),
    ("a week ahead", lambda: [judge_partitions(WEEK_AHEAD, NOW.date())], [("partitions", OK)]),
    ("three days ahead", lambda: [judge_partitions(WEEK_AHEAD[:5], NOW.date())], [("partitions", OK)]),
    ("two days ahead", lambda: [judge_partitions(WEEK_AHEAD[:4], NOW.date())], [("partitions", WARNING)]),
    ("a gap", lambda: [judge_partitions(WEEK_AHEAD[:3] + WEEK_AHEAD[4:], NOW.date())], [("partitions", WARNING)]),
    ("none today", lambda: [judge_partitions(WEEK_AHEAD[:1], NOW.date())], [("partitions", PROBLEM)]),
    ("a worker", lambda: judge_workers(1, ["celery", "maintenance"]), [("workers", OK)]),
    ("nobody folds", lambda: judge_workers(2, ["maintenance"]), [("workers", PROBLEM)]),
    ("nobody does the maintenance", lambda: judge_workers(2, ["celery"]), [("workers", PROBLEM)]),
    ("no worker", lambda: judge_workers(0, []), [("workers", PROBLEM)]),
    ("nothing pending", lambda: [judge_pending(count=0, oldest_s=0)], [("pending", OK)]),
    ("briefly pending", lambda: [judge_pending(count=9, oldest_s=299)], [("pending", OK)]),
    ("long pending", lambda: [judge_pending(count=9, oldest_s=300)], [("pending", WARNING)]),
    ("very long pending", lambda: [judge_pending(count=9, oldest_s=3_600)], [("pending", PROBLEM)]),
    ("jobs in their turn", lambda: judge_jobs(waiting=3, oldest_s=1_799, slow=0), [("jobs", OK)]),
    ("a job without a worker", lambda: judge_jobs(waiting=1, oldest_s=1_800, slow=0), [("jobs", WARNING)]),
    ("a job without an end", lambda: judge_jobs(waiting=0, oldest_s=0, slow=1), [("jobs", WARNING)]),
    ("an old day", lambda: judge_retention(late_days=[NOW.date()], late_cells=[]), [("retention", WARNING)]),
    ("old cells", lambda: judge_retention(late_days=[], late_cells=["shop"]), [("retention", WARNING)]),
    ("nothing old", lambda: judge_retention(late_days=[], late_cells=[]), [("retention", OK)]),
    ("a pending migration", lambda: judge_migrations(pending=["a.0002_b"], unknown=[]), [("migrations", PROBLEM)]),
    ("a newer schema", lambda: judge_migrations(pending=[], unknown=["a.0003_c"]), [("migrations", WARNING)]),
    ("the same schema", lambda: judge_migrations(pending=[], unknown=[]), [("migrations", OK)]),
]


@pytest.mark.parametrize(("judge", "wanted"), [pytest.param(*case[1:], id=case[0]) for case in CASES])
def test_a_fault_is_found_and_nothing_else(judge: Judge, wanted: list[tuple[str, State]]) -> None:
    findings = list(judge())
    assert [(finding.check, finding.state) for finding in findings] == wanted
    for finding in findings:
        assert finding.sentence.endswith("."), finding.sentence
