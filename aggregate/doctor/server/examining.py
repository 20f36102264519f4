"""Examining the server: all checks in their order. One that cannot be made is a finding too, and stops no other."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Final

import redis
from django.conf import settings
from django.db import Error, InterfaceError, OperationalError, connection

from aggregate.doctor.findings import DoctorReport, Finding, ok, problem, warning
from aggregate.doctor.server.certificate_checks import check_certificate
from aggregate.doctor.server.disk_checks import check_disk
from aggregate.doctor.server.folder_checks import check_folders
from aggregate.doctor.server.object_checks import check_objects
from aggregate.doctor.server.postgres_checks import check_durability, check_load, check_replication
from aggregate.doctor.server.quota_checks import check_quotas
from aggregate.doctor.server.replica_checks import check_replica
from aggregate.doctor.server.settings_checks import check_kernel, check_settings, check_versions
from aggregate.doctor.server.valkey_checks import check_clocks, check_valkey
from aggregate.doctor.server.work_checks import (
    check_jobs,
    check_migrations,
    check_partitions,
    check_pending,
    check_retention,
    check_workers,
)

Check = Callable[[datetime], Iterator[Finding]]
# Those that need nothing but this process, those that ask PostgreSQL, and those that ask Valkey.
OWN_CHECKS: Final[tuple[Check, ...]] = (check_settings, check_kernel, check_folders, check_certificate)
DATABASE_CHECKS: Final[tuple[Check, ...]] = (
    check_versions,
    check_migrations,
    check_durability,
    check_load,
    check_replication,
    check_replica,
    check_disk,
    check_partitions,
    check_pending,
    check_jobs,
    check_retention,
    check_quotas,
    check_objects,
)
VALKEY_CHECKS: Final[tuple[Check, ...]] = (check_valkey, check_clocks, check_workers)


def examine_server() -> DoctorReport:
    """Returns what was found about this server."""
    now = datetime.now(UTC)
    findings = [finding for check in OWN_CHECKS for finding in check(now)]
    findings += find_postgres(now)
    findings += find_valkey(now)
    return DoctorReport(url="this server", final_url="this server", findings=findings)


def find_postgres(now: datetime) -> Iterator[Finding]:
    """Yields what PostgreSQL says, or only that it does not answer."""
    try:
        connection.ensure_connection()
    except (OperationalError, InterfaceError) as error:
        yield problem("postgres", f"PostgreSQL does not answer: {first_line(error)}")
        return
    yield ok("postgres", "PostgreSQL answers.")
    for check in DATABASE_CHECKS:
        try:
            yield from check(now)
        except Error as error:
            name = check.__name__.removeprefix("check_")
            yield warning(name, f"This cannot be looked at: {first_line(error)}")


def find_valkey(now: datetime) -> Iterator[Finding]:
    """Yields what Valkey says, or only that it does not answer."""
    try:
        with redis.Redis.from_url(settings.REDIS_URL, socket_timeout=2, socket_connect_timeout=2) as client:
            client.ping()
    except (redis.RedisError, OSError) as error:
        yield problem(
            "valkey", f"Valkey does not answer: {first_line(error)} Traces are stored, and folded by the sweep later."
        )
        return
    for check in VALKEY_CHECKS:
        yield from check(now)


def first_line(error: Exception) -> str:
    """Returns the first line of an error, as a sentence."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0].rstrip(".") + "."
