"""What each of several test processes (`pytest -n`) has for itself.

PostgreSQL's databases are pytest-django's doing. Of a Valkey, each process gets a database: notification flags and
tasks of one would reach the tests of another.
"""

from collections.abc import Sequence
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest
from execnet import XSpec

VALKEY_DATABASES = 16  # Valkey's default; whoever gives one by REDIS_URL has hardly raised it


def read_database_number(url: str) -> int:
    """Returns which database a `redis://`, `rediss://` or `unix://` address names; 0 where it names none."""
    parts = urlsplit(url)
    text = dict(parse_qsl(parts.query)).get("db", "") if parts.scheme == "unix" else parts.path.strip("/")
    return int(text or "0")


def with_database(url: str, number: int) -> str:
    """Returns the address of another database of the same server."""
    parts = urlsplit(url)
    if parts.scheme != "unix":
        return parts._replace(path=f"/{number}").geturl()
    query = urlencode({**dict(parse_qsl(parts.query)), "db": number})
    return f"unix://{parts.netloc}{parts.path}?{query}"  # geturl would lose the slashes of an empty host


def share_out_valkey(specs: Sequence[XSpec], url: str) -> None:
    """Gives each process that is to start a database, from the one that the address names on. Raises UsageError."""
    first = read_database_number(url)
    if first + len(specs) > VALKEY_DATABASES:
        raise pytest.UsageError(
            f"{len(specs)} processes need a Valkey database each, from {first} on, and there are {VALKEY_DATABASES}: "
            f"start at most {max(VALKEY_DATABASES - first, 0)}."
        )
    for number, spec in enumerate(specs, start=first):
        spec.env["REDIS_URL"] = with_database(url, number)
