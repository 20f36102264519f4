"""The check of the disk: for how many days there is room, at the growth of the last days."""

import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from django.conf import settings
from django.db import connection

from aggregate.doctor.findings import Finding, ok, problem, skipped, warning
from aggregate.models import StoreSize
from profcore.times import DAY, HOUR

WINDOW: Final = 7 * DAY  # a week has each day of the week once
LEAST_SPAN: Final = DAY  # less says more about the hour of the day than about growth
WARNING_DAYS: Final = 30  # time to buy a disk, or to shorten the retention
PROBLEM_DAYS: Final = 7
# Without growth: room for a merge, a large job and PostgreSQL's log.
LEAST_FREE_SHARE: Final = 0.1
LEAST_FREE_BYTES: Final = 4 * 2**30
WHAT_TO_DO: Final = "Enlarge the disk, or shorten the retention."


@dataclass(frozen=True, slots=True)
class Room:
    """The disk of the database: what is free and what there is in all. None if it cannot be seen from here."""

    free_bytes: int
    all_bytes: int


def check_disk(now: datetime) -> Iterator[Finding]:
    """Yields for how many days the disk suffices."""
    rows = StoreSize.objects.filter(measured_at__gte=now - WINDOW).order_by("measured_at")
    sizes = [(row.measured_at, row.database_bytes) for row in rows]
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_database_size(current_database())")
        row = cursor.fetchone()
    assert row is not None
    yield from judge_disk([*sizes, (now, int(row[0]))], find_room(int(row[0])))


def find_room(database_bytes: int) -> Room | None:
    """Returns the room of the database: on this machine, else what FIELDFLAME_DATABASE_DISK_GB leaves."""
    cluster = Path(settings.DATA_DIR) / "postgres"
    host = str(connection.settings_dict["HOST"])
    if cluster.exists() and host.startswith("/"):
        usage = shutil.disk_usage(cluster)
        return Room(usage.free, usage.total)
    if disk_bytes := settings.DATABASE_DISK_GB * 10**9:
        return Room(max(0, disk_bytes - database_bytes), disk_bytes)
    with connection.cursor() as cursor:
        cursor.execute("SELECT setting FROM pg_settings WHERE name = 'data_directory'")  # hidden from most roles
        row = cursor.fetchone()
    place = Path(row[0]) if row and row[0] else None
    is_here = host.startswith("/") or host in ("", "localhost", "127.0.0.1", "::1")
    if place is not None and is_here and os.access(place, os.X_OK) and (place / "PG_VERSION").exists():
        usage = shutil.disk_usage(place)
        return Room(usage.free, usage.total)
    return None


def measure_growth(sizes: Sequence[tuple[datetime, int]]) -> float | None:
    """Returns the bytes per day from the first measurement to the last; None if they are less than a day apart."""
    span = sizes[-1][0] - sizes[0][0]
    if span < LEAST_SPAN:
        return None
    return (sizes[-1][1] - sizes[0][1]) / (span / DAY)


def judge_disk(sizes: Sequence[tuple[datetime, int]], room: Room | None) -> Iterator[Finding]:
    size = f"The database has {show_bytes(sizes[-1][1])}"
    growth = measure_growth(sizes)
    grows = describe_growth(growth, sizes[-1][0] - sizes[0][0])
    if room is None:
        yield skipped(
            "disk",
            f"{size}{grows}. For how long its disk suffices is not known: it cannot be seen from here, and "
            "FIELDFLAME_DATABASE_DISK_GB does not say how large it is.",
            line="FIELDFLAME_DATABASE_DISK_GB=500",
        )
        return
    text = f"{size}{grows}, and {show_bytes(room.free_bytes)} are free"
    days = room.free_bytes / growth if growth is not None and growth > 0 else None
    if days is not None and days < WARNING_DAYS:
        make = problem if days < PROBLEM_DAYS else warning
        yield make("disk", f"{text}: enough for {days:.0f} days. {WHAT_TO_DO}")
    elif room.free_bytes < min(LEAST_FREE_SHARE * room.all_bytes, LEAST_FREE_BYTES):
        yield problem("disk", f"{text}, of {show_bytes(room.all_bytes)}. {WHAT_TO_DO}")
    else:
        yield ok("disk", f"{text}{f': enough for {days:,.0f} days' if days is not None and days < 10_000 else ''}.")


def describe_growth(growth: float | None, span: timedelta) -> str:
    if growth is None:
        return f" (growth is known after a day; measured for {span // HOUR} hours)"
    if growth <= 0:
        return " and does not grow"
    return f" and grows by {show_bytes(round(growth))} a day"


def show_bytes(count: int) -> str:
    return f"{count / 1e9:,.1f} GB" if count >= 10**9 else f"{count / 1e6:,.0f} MB"
