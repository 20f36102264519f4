"""Sites: whose address a script has, by the public-suffix list inside its package. Nothing is fetched."""

from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from ipaddress import ip_address
from urllib.parse import urlsplit

from publicsuffixlist import PublicSuffixList

from profcore.parties import FIRST_PARTY, Owner, Party, PartyRule, known_party_of, rule_of


@cache
def _suffixes() -> PublicSuffixList:
    return PublicSuffixList()


@lru_cache(maxsize=10_000)
def site_of(host: str) -> str:
    """Returns the registrable domain of a host (`shop.example.co.uk` → `example.co.uk`); else the host itself.

    IP addresses, single words (`localhost`) and public suffixes are sites of their own.
    """
    host = host.lower().rstrip(".")
    try:
        ip_address(host.strip("[]"))
    except ValueError:
        return _suffixes().privatesuffix(host) or host
    return host


def origin_of(uri: str | None) -> str | None:
    """Returns `scheme://host[:port]` of a URI, also of one within `blob:`; None where it has no host."""
    if uri is None:
        return None
    try:
        parts = urlsplit(uri[5:] if uri.startswith("blob:") else uri)
    except ValueError:
        return None
    return f"{parts.scheme}://{parts.netloc}" if parts.scheme and parts.netloc else None


def host_of(uri: str | None) -> str | None:
    """Returns the host of a URI, without its port; None where it has none."""
    origin = origin_of(uri)
    try:
        return urlsplit(origin).hostname if origin else None
    except ValueError:
        return None


def sites_of(origins: Iterable[str]) -> frozenset[str]:
    """Returns the sites of origins as ingest keys have them; a wildcard host counts as its domain, `*` as none."""
    hosts = (host_of(origin.replace("://*.", "://")) for origin in origins if origin not in ("*", "null"))
    return frozenset(site_of(host) for host in hosts if host)


def owner_of(uri: str | None, sites: frozenset[str], rules: Sequence[PartyRule] = ()) -> Owner | None:
    """Returns whose a script is by its host: a project's `rules` decide, then its own sites. None where unknown."""
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
    """Returns who serves a script, None where it has no host, or nothing is known of it.

    What a source map of the project's own maps (`is_mapped`) is the project's, whatever host serves it, unless a rule
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
