"""A project's public keys: creating one, setting its origins, and revoking it."""

import re
import secrets
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final
from urllib.parse import urlsplit

from django.core.exceptions import ValidationError
from django.db import transaction

from projects.audit.acts import Act
from projects.audit.entries import record
from projects.key_cache import clear_keys, is_origin_entry
from projects.models import IngestKey, Project

KEY_BYTES: Final = 16  # as 32 hexadecimal digits: Sentry's SDKs accept no other keys than letters, digits and _
DSN_KEY: Final = re.compile(r"\w+", re.ASCII)
# A key with other characters is written in hexadecimal digits there, behind this letter.
DSN_ALIAS: Final = re.compile(r"x((?:[0-9a-f]{2})+)")
MAX_ORIGINS: Final = 100  # each post is matched against each of them
MAX_ORIGIN_CHARS: Final = 255
# Of https://docs.datadoghq.com/getting_started/site: where a key may pass on what is no profile.
DATADOG_SITES: Final = (
    "datadoghq.com",
    "us3.datadoghq.com",
    "us5.datadoghq.com",
    "datadoghq.eu",
    "ap1.datadoghq.com",
    "ap2.datadoghq.com",
    "ddog-gov.com",
)
DEFAULT_PORTS: Final = {"http": ":80", "https": ":443"}


def make_public_key() -> str:
    """Returns a new public key, by chance."""
    return secrets.token_hex(KEY_BYTES)


def create_key(*, project: Project, origins: Sequence[str]) -> IngestKey:
    """Creates a public key of a project. Raises Django's `ValidationError` for `origins`, as `clean_origins` does."""
    allowed = clean_origins(origins)
    with transaction.atomic():
        key = IngestKey.objects.create(project=project, public_key=make_public_key(), origins=allowed)
        record(Act.KEY_CREATED, project=project, key=key.pk, origins=allowed)
    clear_keys()
    return key


def change_origins(key: IngestKey, origins: Sequence[str]) -> None:
    """Replaces the origins from which a key may be used, within seconds. Raises what `clean_origins` raises."""
    before, key.origins = key.origins, clean_origins(origins)
    with transaction.atomic():
        key.save(update_fields=["origins"])
        record(Act.KEY_ORIGINS_CHANGED, project=key.project, key=key.pk, origins=key.origins, before=before)
    clear_keys()


def change_forwarding(key: IngestKey, site: str) -> None:
    """Sets to which site of Datadog a key passes on what is no profile, within seconds; an empty text means none.

    Raises Django's `ValidationError` for `forwards_to`.
    """
    if site and site not in DATADOG_SITES:
        raise ValidationError({"forwards_to": "Choose a site of Datadog, or none."})
    if site == key.forwards_to:
        return
    key.forwards_to = site
    with transaction.atomic():
        key.save(update_fields=["forwards_to"])
        record(Act.KEY_FORWARDING_CHANGED, project=key.project, key=key.pk, site=site)
    clear_keys()


def revoke_key(key: IngestKey) -> bool:
    """Revokes a key: within seconds posts with it are refused. Returns False if it was revoked already."""
    with transaction.atomic():
        ended = IngestKey.objects.filter(pk=key.pk, revoked_at=None).update(revoked_at=datetime.now(UTC))
        if ended:
            record(Act.KEY_REVOKED, project=key.project, key=key.pk)
    clear_keys()
    return bool(ended)


def write_dsn_key(public_key: str) -> str:
    """Returns a public key as a DSN can hold it."""
    return public_key if DSN_KEY.fullmatch(public_key) else "x" + public_key.encode().hex()


def read_dsn_key(written: str) -> str:
    """Returns the public key that a DSN holds."""
    if match := DSN_ALIAS.fullmatch(written):
        public_key = bytes.fromhex(match[1]).decode("utf-8", "replace")
        if write_dsn_key(public_key) == written:
            return public_key
    return written


def clean_origins(entries: Sequence[str]) -> list[str]:
    """Returns a key's origins as browsers send them, each once; empty entries are ignored.

    That means small letters, no slash at the end, no default port, and hosts beyond ASCII in their wire form: another
    spelling would never match. Raises Django's `ValidationError` for the field `origins`, a sentence per wrong entry.
    """
    cleaned: dict[str, None] = {}
    wrong = []
    for entry in entries:
        origin = _spell(entry.strip())
        if not origin:
            continue
        advice = _advise(origin)
        if advice is None:
            cleaned[origin] = None
        else:
            wrong.append(f"“{origin[:80]}” {advice}")
    if len(cleaned) > MAX_ORIGINS:
        wrong.append(f"A key has at most {MAX_ORIGINS} origins; these are {len(cleaned)}.")
    if wrong:
        raise ValidationError({"origins": wrong})
    return list(cleaned)


def _spell(entry: str) -> str:
    origin = entry.lower()
    scheme, separator, host = origin.partition("://")
    if not separator:
        return origin
    host = host.removesuffix("/").removesuffix(DEFAULT_PORTS.get(scheme, "/"))
    wildcard = "*." if host.startswith("*.") else ""
    if not host.isascii():
        try:
            host = wildcard + host.removeprefix(wildcard).encode("idna").decode()
        except UnicodeError:
            return origin  # not a host: the advice on the entry says so
    return f"{scheme}://{host}"


def _advise(origin: str) -> str | None:
    """Returns what is wrong with an entry, None if it can match."""
    if len(origin) > MAX_ORIGIN_CHARS:
        return f"is longer than {MAX_ORIGIN_CHARS} characters."
    if "://" not in origin and origin not in ("*", "null"):
        return f"has no scheme. Did you mean https://{origin.split('/', maxsplit=1)[0]}?"
    host = origin.partition("://")[2]
    if "/" in host or "?" in host or "#" in host:
        return f"has a path. An origin ends with its host: {origin.partition('://')[0]}://{host.split('/')[0]}"
    if "*" in host.removeprefix("*."):
        return "has a * where none fits. It stands for all subdomains, first in the host: https://*.shop.example"
    if not is_origin_entry(origin) or not origin.isascii() or not _has_port_of_digits(origin):
        return "is not an origin. One looks like https://shop.example, or https://localhost:3000."
    return None


def _has_port_of_digits(origin: str) -> bool:
    try:
        urlsplit(origin).port  # noqa: B018  # the property raises
    except ValueError:
        return False
    return True
