"""Sites: the registrable domain of a script, by the public-suffix list of a package. Nothing is fetched."""

from collections.abc import Iterable, Sequence
from functools import cache
from ipaddress import ip_address
from urllib.parse import urlsplit

from publicsuffixlist import PublicSuffixList

from profcore.caching import cached
from profcore.code.parties import FIRST_PARTY, MAX_HOST_CHARS, Owner, Party, PartyRule, known_party_of, rule_of


@cache
def suffixes() -> PublicSuffixList:
    return PublicSuffixList()


@cached(entries=10_000, chars=MAX_HOST_CHARS)
def site_of(host: str) -> str:
    """Returns the registrable domain of a host (`shop.example.co.uk` → `example.co.uk`), or the host itself.

    IP addresses, single words (`localhost`) and public suffixes are sites of their own.
    """
    host = host.lower().rstrip(".")
    try:
        ip_address(host.strip("[]"))
    except ValueError:
        return suffixes().privatesuffix(host) or host
    return host


def origin_of(uri: str | None) -> str | None:
    """Returns `scheme://host[:port]` of a URI, also of one inside `blob:`; None if it has no host."""
    if uri is None:
        return None
    try:
        parts = urlsplit(uri[5:] if uri.startswith("blob:") else uri)
    except ValueError:
        return None
    return f"{parts.scheme}://{parts.netloc}" if parts.scheme and parts.netloc else None


def host_of(uri: str | None) -> str | None:
    """Returns the host of a URI without its port; None if it has none, or one that is too long for a host name."""
    origin = origin_of(uri)
    try:
        host = urlsplit(origin).hostname if origin else None
    except ValueError:
        return None
    return host if host and len(host) <= MAX_HOST_CHARS else None


def sites_of(origins: Iterable[str]) -> frozenset[str]:
    """Returns the sites of an ingest key's origins. A wildcard host counts as its domain; `*` has no site."""
    hosts = (host_of(origin.replace("://*.", "://")) for origin in origins if origin not in ("*", "null"))
    return frozenset(site_of(host) for host in hosts if host)


def owner_of(uri: str | None, sites: frozenset[str], rules: Sequence[PartyRule] = ()) -> Owner | None:
    """Returns the owner of a script by its host: first by the project's `rules`, then by its sites. None if unknown."""
    host = host_of(uri)
    if host is None:
        return None
    if (rule := rule_of(host, rules)) is not None:
        return rule.owner
    if not sites:
        return None
    return "own" if site_of(host) in sites else "other"


def party_of(
    uri: str | None, sites: frozenset[str], rules: Sequence[PartyRule] = (), *, is_mapped: bool = False
) -> Party | None:
    """Returns the server of a script; None if it has no host, or if nothing is known.

    A script that a source map of the project covers (`is_mapped`) is the project's, whatever its host, unless a rule
    says otherwise.
    """
    host = host_of(uri)
    if host is None:
        return None
    rule = rule_of(host, rules)
    owner = rule.owner if rule else "own" if is_mapped else owner_of(uri, sites)
    if owner == "own":
        return Party(True, FIRST_PARTY, None)
    known = known_party_of(host)
    if known is None and owner is None:
        return None
    name = (rule and rule.name) or (known.name if known else site_of(host))
    return Party(False, name, known.category if known else None)
