"""Public keys and the origins they may be used from. Looked up once in a while, not for every post."""

import time
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from ingest.models import IngestKey

CACHE_S: Final = 10.0  # how long a revoked key may still be taken by a web process
CACHE_KEYS: Final = 10_000  # unknown keys are remembered too, so that guessing costs no queries; bounded


@dataclass(frozen=True, slots=True)
class KeyFacts:
    """What the door needs to know of a key."""

    project_id: int
    origins: tuple[str, ...]
    route_rules: tuple[str, ...]


_known: dict[str, tuple[float, KeyFacts | None]] = {}


def find_key(public_key: str) -> KeyFacts | None:
    """Returns the facts of a live key, or None."""
    now = time.monotonic()
    cached = _known.get(public_key)
    if cached is not None and now - cached[0] < CACHE_S:
        return cached[1]
    facts = None
    if public_key and len(public_key) <= 80 and "\0" not in public_key:
        row = IngestKey.objects.select_related("project").filter(public_key=public_key, revoked_at=None).first()
        if row is not None:
            facts = KeyFacts(row.project_id, tuple(row.origins), tuple(row.project.route_rules))
    if len(_known) >= CACHE_KEYS:
        _known.clear()
    _known[public_key] = (now, facts)
    return facts


def forget_keys() -> None:
    """Empties the cache: after a change in this process, and between tests."""
    _known.clear()


def is_origin_allowed(origin: str | None, allowed: tuple[str, ...]) -> bool:
    """Tells whether a post from `origin` is allowed. No `Origin` at all is: curl and same-origin beacons send none.

    An entry is `*`, an origin (`https://shop.example`), or one with a wildcard host (`https://*.shop.example`).
    """
    if origin is None or "*" in allowed:
        return True
    wanted = origin.lower().rstrip("/")
    return any(_fits_origin(wanted, entry.lower().rstrip("/")) for entry in allowed)


def _fits_origin(origin: str, entry: str) -> bool:
    if origin == entry:
        return True
    scheme, wildcard, domain = entry.partition("://*.")
    if not wildcard:
        return False
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    return parts.scheme == scheme and parts.netloc.endswith("." + domain)
