"""Checks of the settings, the versions and the compiled kernel."""

import platform
from collections.abc import Iterator
from datetime import datetime
from typing import Final

import django
import redis
from django.conf import settings
from django.db import connection

from aggregate.doctor.findings import Finding, ok, problem, warning
from aggregate.sourcemaps.tar_fault import describe_tar_fault
from profcore.kernel import KernelChoice, find_kernel

LEAST_SECRET_CHARS: Final = 32  # 160 bits, where each is one of 32 or more
OLDEST_POSTGRES: Final = 15  # the oldest that the tests have run with
OLDEST_REDIS: Final = (6, 2)  # older ones get no fixes


def check_settings(_: datetime) -> Iterator[Finding]:
    """Yields what is unsafe in the settings."""
    faults = list(find_settings())
    yield from faults
    if not faults:
        yield ok("settings", "The settings are safe.")


def find_settings() -> Iterator[Finding]:
    if settings.DEBUG:
        yield problem(
            "settings", "Debug pages are on: an error shows code and settings to visitors.", line="FIELDFLAME_DEBUG=0"
        )
    if not settings.IS_SECRET_KEPT:
        yield problem(
            "settings",
            "There is no secret key: each process makes its own, and no login or link is valid in another.",
            line="FIELDFLAME_SECRET_KEY=…",
        )
    elif len(settings.SECRET_KEY) < LEAST_SECRET_CHARS:
        yield warning(
            "settings",
            f"The secret key has {len(settings.SECRET_KEY)} characters; take {LEAST_SECRET_CHARS} random ones or more.",
            line="openssl rand -hex 25",
        )
    if "*" in settings.ALLOWED_HOSTS:
        yield warning(
            "settings",
            "Pages answer to any host name, so links in them can be made to lead elsewhere.",
            line="FIELDFLAME_ALLOWED_HOSTS=profiles.example.com",
        )
    if settings.BEHIND_PROXY and not settings.HTTPS:
        yield warning(
            "settings",
            "Behind a proxy, cookies may still be sent over plain HTTP.",
            line="FIELDFLAME_HTTPS=1",
        )


def check_versions(_: datetime) -> Iterator[Finding]:
    """Yields the versions of all parts, and which are too old."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('server_version_num')::int, current_setting('server_version')")
        row = cursor.fetchone()
    assert row is not None
    if fault := describe_tar_fault():
        yield warning("versions", fault)
    yield from judge_versions(postgres=row[0] // 10_000, postgres_text=row[1].split()[0], valkey=read_valkey_version())


def read_valkey_version() -> tuple[str, str]:
    """Returns the name and the version of Valkey or Redis; empty texts if it does not answer."""
    try:
        with redis.Redis.from_url(settings.REDIS_URL, socket_timeout=2, socket_connect_timeout=2) as client:
            server = client.info("server")
    except (redis.RedisError, OSError):
        return "", ""
    if version := server.get("valkey_version"):
        return "Valkey", str(version)
    return "Redis", str(server.get("redis_version", ""))


def judge_versions(*, postgres: int, postgres_text: str, valkey: tuple[str, str]) -> Iterator[Finding]:
    if postgres < OLDEST_POSTGRES:
        yield problem(
            "versions",
            f"PostgreSQL {postgres_text} is too old: Fieldflame needs {OLDEST_POSTGRES} or newer.",
        )
    name, text = valkey
    if name == "Redis" and tuple(int(part) for part in text.split(".")[:2] if part.isdigit()) < OLDEST_REDIS:
        yield warning("versions", f"Redis {text} gets no fixes any more; take a newer one, or Valkey.")
    stores = f"PostgreSQL {postgres_text}" + (f", {name} {text}" if name else "")
    yield ok("versions", f"{stores}, Python {platform.python_version()}, Django {django.__version__}.")


def check_kernel(_: datetime) -> Iterator[Finding]:
    """Yields whether processes that start now fold and check by the compiled kernel, and if not, why."""
    kernel = find_kernel(settings.KERNEL)
    if kernel.module is not None:
        yield ok("kernel", "Traces are folded and checked by the compiled kernel.")
    elif settings.KERNEL == KernelChoice.PURE:
        yield ok("kernel", f"Traces are folded and checked by pure Python, because {kernel.why_pure}.")
    else:
        yield warning(
            "kernel",
            f"Traces are folded and checked by pure Python, which takes several times as long: {kernel.why_pure}.",
            line="./run kernel",
        )
