"""Typed readers of environment variables, only for settings.

A value that cannot be read stops the start with one sentence that names the variable. A default never hides a typo.
"""

import os
import re
from collections.abc import Iterable, Mapping, MutableMapping
from ipaddress import ip_network
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from django.core.exceptions import ImproperlyConfigured

from projects.accounts.group_roles import GroupRole

TRUE_WORDS = frozenset({"1", "true", "yes", "on"})
FALSE_WORDS = frozenset({"0", "false", "no", "off", ""})
SEGMENT = re.compile(r"[A-Za-z0-9._~-]+")  # what no proxy, cookie or browser writes in another way
# The first words of the server's own addresses: below a path that begins with one, some could be read in two ways.
OWN_WORDS = frozenset(
    {
        *("account", "api", "audit", "datadog", "demo", "healthz", "ingest", "login", "logout", "metrics", "projects"),
        *("readyz", "search", "sentry", "server", "shared", "snippet", "snippet.js"),
        *("static", "stub.js", "style", "users"),
    }
)


def read_str(name: str, default: str, environ: Mapping[str, str] = os.environ) -> str:
    return environ.get(name, default)


def read_secret(name: str, default: str, environ: Mapping[str, str] = os.environ) -> str:
    """Returns a secret: the variable, or the text of the file that `<name>_FILE` names, without its last line break.

    Orchestrators mount secrets as files, so that no list of a process's environment shows them.
    """
    path = environ.get(f"{name}_FILE")
    if not path:
        return environ.get(name, default)
    if environ.get(name):
        raise ImproperlyConfigured(f"Set {name} or {name}_FILE, not both.")
    try:
        text = Path(path).read_text(encoding="utf-8").rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ImproperlyConfigured(f"{name}_FILE names {path}, which cannot be read: {why}.") from None
    if not text:
        raise ImproperlyConfigured(f"{name}_FILE names {path}, which is empty.")
    return text


def take_in_secret(name: str, environ: MutableMapping[str, str] = os.environ) -> None:
    """Puts the text of a secret's file into its variable, for the supervisor, which passes it on to its children."""
    if environ.get(f"{name}_FILE"):
        environ[name] = read_secret(name, "", environ)
        del environ[f"{name}_FILE"]


def read_int(
    name: str, default: int, *, low: int = 0, high: int = 2**62, environ: Mapping[str, str] = os.environ
) -> int:
    text = environ.get(name)
    if text is None:
        return default
    try:
        value = int(text.replace("_", ""))
    except ValueError:
        raise ImproperlyConfigured(f"{name} must be a whole number, not {text!r}.") from None
    if not low <= value <= high:
        raise ImproperlyConfigured(f"{name} must lie between {low} and {high}, not {value}.")
    return value


def read_bool(name: str, default: bool, environ: Mapping[str, str] = os.environ) -> bool:
    text = environ.get(name)
    if text is None:
        return default
    word = text.strip().lower()
    if word in TRUE_WORDS:
        return True
    if word in FALSE_WORDS:
        return False
    raise ImproperlyConfigured(f"{name} must be one of 1/0, true/false, yes/no or on/off, not {text!r}.")


def read_list(name: str, default: list[str], environ: Mapping[str, str] = os.environ) -> list[str]:
    text = environ.get(name)
    if text is None:
        return default
    return [word.strip() for word in text.split(",") if word.strip()]


def read_choice(name: str, default: str, choices: Iterable[str], environ: Mapping[str, str] = os.environ) -> str:
    word = environ.get(name, default).strip().lower()
    if word not in choices:
        raise ImproperlyConfigured(f"{name} must be one of {', '.join(choices)}, not {word!r}.")
    return word


def read_ports(name: str, default: list[int], environ: Mapping[str, str] = os.environ) -> list[int]:
    """Returns a list of TCP ports."""
    ports = read_list(name, [str(port) for port in default], environ)
    if not all(word.isascii() and word.isdigit() and 0 < int(word) < 65_536 for word in ports):
        raise ImproperlyConfigured(f"{name} must be ports from 1 to 65535, separated by commas.")
    return [int(word) for word in ports]


def read_networks(name: str, environ: Mapping[str, str] = os.environ) -> list[str]:
    """Returns a list of addresses and networks, such as `10.1.0.0/16`; none by default."""
    networks = read_list(name, [], environ)
    for network in networks:
        try:
            ip_network(network)
        except ValueError as error:
            raise ImproperlyConfigured(f"{name} must be addresses or networks such as 10.1.0.0/16: {error}.") from None
    return networks


def read_viewers(name: str, default: Mapping[str, str], environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Returns the origins of viewers by their names, such as `speedscope=https://speedscope.example`."""
    viewers = {}
    for entry in read_list(name, [f"{viewer}={origin}" for viewer, origin in default.items()], environ):
        viewer, _, origin = entry.partition("=")
        parts = urlsplit(origin)
        if viewer not in default or parts.scheme not in ("http", "https") or not parts.netloc:
            names = " and ".join(default)
            raise ImproperlyConfigured(f"{name} must be {names} with their origins, such as {viewer or 'x'}=https://…")
        viewers[viewer] = origin.rstrip("/")
    return viewers


def read_group_roles(name: str, environ: Mapping[str, str] = os.environ) -> list[GroupRole]:
    """Returns entries such as `shop-team=shop:member; ops=superuser`. The group may have `=`, `:` and commas in it."""
    roles = []
    for entry in filter(None, (part.strip() for part in environ.get(name, "").split(";"))):
        group, _, access = entry.rpartition("=")
        project, _, role = access.strip().rpartition(":")
        is_right = (role in ("member", "admin") and project) or (role == "superuser" and not project)
        if not group.strip() or not is_right:
            raise ImproperlyConfigured(
                f"{name} must have entries such as team=shop:member, leads=shop:admin or ops=superuser, with ; between "
                f"them; {entry!r} is none."
            )
        roles.append(GroupRole(group.strip(), project.strip(), role))
    return roles


def read_issuer(name: str, environ: Mapping[str, str] = os.environ) -> str:
    """Returns the address of a login's provider, empty if there is none. Only this machine's may be plain HTTP."""
    issuer = environ.get(name, "").strip()
    url = urlsplit(issuer)
    is_safe = url.scheme == "https" or (url.scheme == "http" and url.hostname in ("127.0.0.1", "localhost", "::1"))
    if issuer and not (is_safe and url.hostname):
        raise ImproperlyConfigured(f"{name} must start with https://, not {issuer!r}.")
    return issuer


def read_bucket(name: str, environ: Mapping[str, str] = os.environ) -> str:
    """Returns the address of a folder in a bucket, `s3://bucket/folder`, empty if there is none."""
    address = environ.get(name, "").strip().rstrip("/")
    if address and not (address.startswith("s3://") and urlsplit(address).netloc):
        raise ImproperlyConfigured(f"{name} must be s3://bucket or s3://bucket/folder, not {address!r}.")
    return address


def read_url_path(name: str, environ: Mapping[str, str] = os.environ) -> str:
    """Returns the path below which browsers reach this server, such as `/fieldflame`; empty for its host's root."""
    path = environ.get(name, "")
    if not path:
        return ""
    before, *segments = path.split("/")
    if before or not all(SEGMENT.fullmatch(segment) and segment.strip(".") for segment in segments):
        raise ImproperlyConfigured(
            f"{name} must be a path such as /fieldflame: letters, digits and -._~ between slashes, none at the end; "
            f"not {path!r}."
        )
    if segments[0] in OWN_WORDS:
        raise ImproperlyConfigured(f"{name} must not begin with /{segments[0]}, which is one of the server's own.")
    return path


def read_path(name: str, default: Path, environ: Mapping[str, str] = os.environ) -> Path:
    return Path(environ[name]).expanduser().resolve() if environ.get(name) else default


def read_database(name: str, default: str, environ: Mapping[str, str] = os.environ) -> dict[str, object]:
    """Returns Django's connection fields for a `postgresql://user:password@host:port/name?host=/socket/folder` URL."""
    url = urlsplit(read_secret(name, "", environ) or default)
    if url.scheme not in ("postgres", "postgresql"):
        raise ImproperlyConfigured(f"{name} must start with postgresql://, not {url.scheme or 'nothing'}://.")
    options = dict(parse_qsl(url.query))
    host = options.pop("host", None) or url.hostname or ""
    return {
        "NAME": unquote(url.path.lstrip("/")) or "fieldflame",
        "USER": unquote(url.username or ""),
        "PASSWORD": unquote(url.password or ""),
        "HOST": host,
        "PORT": str(options.pop("port", None) or url.port or ""),
        "OPTIONS": dict(options),
    }


def make_broker_url(redis_url: str) -> str:
    """Returns a `redis://`, `rediss://` or `unix://` address in Celery's form, which is different for sockets.

    Celery would ignore the database of a `unix://` address, and notifications and their flags would be in two.
    """
    url = urlsplit(redis_url)
    if url.scheme != "unix":
        return redis_url
    names = {"db": "virtual_host"}
    query = urlencode([(names.get(name, name), value) for name, value in parse_qsl(url.query)])
    return f"redis+socket://{url.netloc}{url.path}{'?' if query else ''}{query}"
