"""Public keys and the origins from which they may be used. Keys are cached for some seconds."""

import re
import time
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from profcore.caching import keep
from profcore.trace.collection import LEFT_TO_PAGES, Collection
from projects.models import IngestKey, Project

CACHE_S: Final = 10.0  # a web process may still accept a revoked key for this long
CACHE_KEYS: Final = 10_000
MAX_KEY_CHARS: Final = 80
ORIGIN_ENTRY: Final = re.compile(r"^[a-z][a-z0-9+.-]*://(\*\.)?[^\s/*?#@]+/?$", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyConfig:
    """What the endpoint needs to know about a key and its project."""

    project_id: int
    origins: tuple[str, ...]
    route_rules: tuple[str, ...]
    max_traces_per_day: int | None = None  # None: the setting's value; 0: no quota
    max_mb_per_day: int | None = None
    max_kept_mb: int | None = None
    keep_raw_days: int | None = None
    collection: Collection = LEFT_TO_PAGES  # what the project's pages record
    has_traces: bool = True  # false until the first one is received
    is_archived: bool = False  # its project accepts nothing
    forwards_to: str = ""  # the site of Datadog that gets what is no profile


# Unknown keys are cached too, so that a page with a mistyped key costs no queries. They are kept separately, so
# that guessing keys pushes no live key out.
_known: Final[dict[str, tuple[float, KeyConfig]]] = keep({})
_unknown: Final[dict[str, float]] = keep({})


def find_key(public_key: str) -> KeyConfig | None:
    """Returns the configuration of a live key, or None."""
    if not public_key or len(public_key) > MAX_KEY_CHARS or "\0" in public_key:
        return None
    now = time.monotonic()
    cached = _known.get(public_key)
    if cached is not None and now - cached[0] < CACHE_S:
        return cached[1]
    if now - _unknown.get(public_key, now - CACHE_S) < CACHE_S:
        return None
    row = IngestKey.objects.select_related("project").filter(public_key=public_key, revoked_at=None).first()
    if len(_unknown) >= CACHE_KEYS:
        _unknown.clear()
    if row is None:
        _known.pop(public_key, None)
        _unknown[public_key] = now
        return None
    # Asked apart, since keys are on every server of a cluster, and receipts on one; and no more once there are some.
    has_traces = (cached is not None and cached[1].has_traces) or row.project.receipt_set.exists()
    config = key_config_of(row.project, tuple(row.origins), has_traces=has_traces, forwards_to=row.forwards_to)
    _known[public_key] = (now, config)
    return config


def key_config_of(
    project: Project, origins: tuple[str, ...] = (), *, has_traces: bool = True, forwards_to: str = ""
) -> KeyConfig:
    """Returns what the endpoint needs of a project, with a key's origins and the site that it forwards to."""
    return KeyConfig(
        project_id=project.pk,
        origins=origins,
        route_rules=tuple(project.route_rules),
        max_traces_per_day=project.max_traces_per_day,
        max_mb_per_day=project.max_mb_per_day,
        max_kept_mb=project.max_kept_mb,
        keep_raw_days=project.keep_raw_days,
        collection=project.collection,
        has_traces=has_traces,
        is_archived=project.archived_at is not None,
        forwards_to=forwards_to,
    )


def clear_keys() -> None:
    """Empties the cache after a change in this process."""
    _known.clear()
    _unknown.clear()


def is_origin_entry(entry: str) -> bool:
    """Returns whether an entry of a key's origins can ever match: see `is_origin_allowed`."""
    return entry in ("*", "null") or ORIGIN_ENTRY.match(entry) is not None


def is_origin_allowed(origin: str | None, allowed: tuple[str, ...]) -> bool:
    """Returns whether a post from `origin` is allowed. Posts without `Origin` are: curl and beacons of the same origin.

    An entry is `*`, an origin (`https://shop.example`), or one with a wildcard host. `https://*.shop.example` matches
    every subdomain with that scheme and port, but not `shop.example` itself. `null`, the origin of sandboxed and local
    pages, matches only an entry of that name.
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
