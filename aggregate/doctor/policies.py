"""Content-Security-Policy as browsers read it: whether a script may run, and whether a page may connect."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote, urlsplit

from aggregate.doctor.addresses import DEFAULT_PORTS
from aggregate.doctor.markup import ScriptTag

HOST_SOURCE: Final = re.compile(
    r"(?:([a-z][a-z0-9+.-]*)://)?(\*|(?:\*\.)?[^\s/:*]+|\[[0-9a-f:.]+\])(?::(\d+|\*))?(/[^?#]*)?"
)
SCHEME_SOURCE: Final = re.compile(r"([a-z][a-z0-9+.-]*):")
HASH_WORDS: Final = ("'sha256-", "'sha384-", "'sha512-")
# A page may load the secure form of what it allows.
UPGRADES: Final = {("http", "https"), ("ws", "wss"), ("http", "wss")}

Policy = Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class Blocked:
    """The directive of a policy that blocks something, and its sources."""

    directive: str
    sources: Sequence[str]


def read_policies(lines: Iterable[str]) -> list[Policy]:
    """Returns the policies of header lines; all of them hold at a time."""
    policies: list[Policy] = []
    for text in (part for line in lines for part in line.split(",")):
        directives: dict[str, Sequence[str]] = {}
        for directive in text.split(";"):
            name, *sources = directive.split() or [""]
            if name:
                directives.setdefault(name.lower(), sources)
        if directives:
            policies.append(directives)
    return policies


def find_blocked_script(policies: Sequence[Policy], tag: ScriptTag, url: str, page_url: str) -> Blocked | None:
    """Returns what blocks an external script, None if it may run."""
    for policy in policies:
        blocked = _directive(policy, ("script-src-elem", "script-src", "default-src"))
        if blocked is not None and not _allows_script(blocked.sources, tag, url, page_url):
            return blocked
    return None


def find_blocked_inline(policies: Sequence[Policy], tag: ScriptTag) -> Blocked | None:
    """Returns what blocks an inline script, None if it may run."""
    for policy in policies:
        blocked = _directive(policy, ("script-src-elem", "script-src", "default-src"))
        if blocked is not None and not _allows_inline(blocked.sources, tag):
            return blocked
    return None


def find_blocked_connection(policies: Sequence[Policy], url: str, page_url: str) -> Blocked | None:
    """Returns what blocks a request of the page's scripts, None if it may be sent."""
    for policy in policies:
        blocked = _directive(policy, ("connect-src", "default-src"))
        if blocked is not None and not any(matches_source(word, url, page_url) for word in blocked.sources):
            return blocked
    return None


def _directive(policy: Policy, names: Sequence[str]) -> Blocked | None:
    return next((Blocked(name, policy[name]) for name in names if name in policy), None)


def _allows_script(sources: Sequence[str], tag: ScriptTag, url: str, page_url: str) -> bool:
    if _has_nonce(sources, tag) or _has_integrity(sources, tag):
        return True
    if any(word.lower() == "'strict-dynamic'" for word in sources):
        return False  # hosts do not count then
    return any(matches_source(word, url, page_url) for word in sources)


def _allows_inline(sources: Sequence[str], tag: ScriptTag) -> bool:
    if _has_nonce(sources, tag) or any(f"'{digest}'" in sources for digest in tag.hashes):
        return True
    lowered = [word.lower() for word in sources]
    is_strict = "'strict-dynamic'" in lowered or any(word.startswith(("'nonce-", *HASH_WORDS)) for word in lowered)
    return "'unsafe-inline'" in lowered and not is_strict


def _has_nonce(sources: Sequence[str], tag: ScriptTag) -> bool:
    nonce = tag.attributes.get("nonce", "")
    return bool(nonce) and f"'nonce-{nonce}'" in sources


def _has_integrity(sources: Sequence[str], tag: ScriptTag) -> bool:
    hashes = tag.attributes.get("integrity", "").split()
    return bool(hashes) and all(f"'{digest.partition('?')[0]}'" in sources for digest in hashes)


def matches_source(word: str, url: str, page_url: str) -> bool:
    """Returns whether a source of a policy, such as `https://*.shop.example`, allows a URL."""
    source, target, page = word.lower(), urlsplit(url), urlsplit(page_url)
    if source == "*":
        return target.scheme in ("http", "https", page.scheme)
    if source == "'self'":
        is_same_host = target.hostname == page.hostname
        return is_same_host and _fits_scheme(page.scheme, target.scheme) and _fits_self_port(page_url, url)
    if scheme := SCHEME_SOURCE.fullmatch(source):
        return _fits_scheme(scheme[1], target.scheme)
    match = HOST_SOURCE.fullmatch(source)
    if match is None:
        return False
    path = (HOST_SOURCE.fullmatch(word) or match)[4] if word != source else match[4]
    return (
        _fits_scheme(match[1] or page.scheme, target.scheme)
        and _fits_host(match[2], target.hostname or "")
        and _fits_port(match[3] or "", port_of(url), target.scheme)
        and _fits_path(path or "", target.path or "/")
    )


def _fits_scheme(allowed: str, scheme: str) -> bool:
    return allowed == scheme or (allowed, scheme) in UPGRADES


def _fits_host(allowed: str, host: str) -> bool:
    if allowed == "*":
        return True
    if allowed.startswith("*."):
        return host.endswith(allowed[1:])
    return host == allowed.strip("[]")


def _fits_port(allowed: str, port: int, scheme: str) -> bool:
    if allowed == "*":
        return True
    if not allowed:
        return port == DEFAULT_PORTS.get(scheme)
    return int(allowed) == port or (int(allowed), port) == (80, 443)


def _fits_self_port(page_url: str, url: str) -> bool:
    ports = (port_of(page_url), port_of(url))
    return ports[0] == ports[1] or ports == (80, 443)


def _fits_path(allowed: str, path: str) -> bool:
    wanted = unquote(allowed)
    if not wanted or wanted == "/":
        return True
    return unquote(path).startswith(wanted) if wanted.endswith("/") else unquote(path) == wanted


def port_of(url: str) -> int:
    """Returns the port of a URL; 0 if it has none that is known."""
    parts = urlsplit(url)
    return parts.port or DEFAULT_PORTS.get(parts.scheme, 0)
