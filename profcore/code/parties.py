"""Whose server a script comes from: the project's own, a known third party's, or another site's.

Known third parties are those of `third-party-web`, a list of companies by domain that the HTTP Archive and Lighthouse
use and maintain. It is stored in `profcore/data/` with its version and licence. Nothing is fetched.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final, Literal, NamedTuple, TypeVar

import msgspec

from profcore.caching import cached

Owner = Literal["own", "other"]
T = TypeVar("T")
LIST_NAME: Final = "third_parties.json"
FIRST_PARTY: Final = "(first party)"
MAX_HOST_CHARS: Final = 253  # of a host name in the DNS: RFC 1035, section 2.3.4


class KnownParty(msgspec.Struct, frozen=True):
    """A company's service: its name, its purpose, and the domains it serves from.

    `*.x.example` stands for that domain and all below it. `category` is the list's word (`ad`, `analytics`, `cdn`, …).
    """

    name: str
    category: str
    domains: tuple[str, ...]


class PartyList(msgspec.Struct, frozen=True, kw_only=True):
    """The stored list, with its source and licence. `integrity` is npm's digest of the archive."""

    package: str
    version: str
    integrity: str
    licence: str
    licence_text: str
    parties: tuple[KnownParty, ...]


class Party(NamedTuple):
    """The server of a script. `name` is `(first party)`, a known third party or the site; `category` is the list's."""

    is_first: bool
    name: str
    category: str | None


@dataclass(frozen=True, slots=True)
class PartyRule:
    """A project's rule for a domain and all below it: its owner, and a name if it is another's."""

    domain: str
    owner: Owner
    name: str = ""

    def __post_init__(self) -> None:
        """Raises `ValueError` for an invalid domain or an unknown owner."""
        labels = self.domain.split(".")
        if self.domain != self.domain.lower().strip() or not all(labels) or any(c in self.domain for c in "/:*@\0 "):
            raise ValueError(f"domain must be a host in lower case, such as cdn.example.com; not {self.domain[:80]!r}")
        if self.owner not in ("own", "other"):
            raise ValueError(f"owner must be own or other; not {str(self.owner)[:80]!r}")


@cache
def known_parties() -> PartyList:
    """Returns the stored list."""
    return msgspec.json.decode((files("profcore") / "data" / LIST_NAME).read_bytes(), type=PartyList)


@cache
def by_domain() -> tuple[Mapping[str, KnownParty], Mapping[str, KnownParty]]:
    exact: dict[str, KnownParty] = {}
    below: dict[str, KnownParty] = {}
    for party in known_parties().parties:
        for domain in party.domains:
            if domain.startswith("*."):
                below[domain[2:]] = party
            else:
                exact[domain] = party
    return exact, below


@cached(entries=10_000, chars=MAX_HOST_CHARS)
def known_party_of(host: str) -> KnownParty | None:
    """Returns the known third party of a host, or None. The nearest parent domain decides."""
    exact, below = by_domain()
    host = host.lower().rstrip(".")
    if (party := exact.get(host)) is not None:
        return party
    return _nearest(host, below)


def rule_of(host: str, rules: Sequence[PartyRule]) -> PartyRule | None:
    """Returns the rule for a host, or for its nearest parent domain; None if there is none."""
    if not rules:
        return None
    return _nearest(host.lower(), {rule.domain: rule for rule in reversed(rules)})


def _nearest(host: str, by_domain: Mapping[str, T]) -> T | None:
    """Returns the entry of a host, or of its nearest parent domain; None for a text too long to be a host."""
    if len(host) > MAX_HOST_CHARS:
        return None
    start = 0
    while True:
        if (entry := by_domain.get(host[start:])) is not None:
            return entry
        start = host.find(".", start) + 1
        if start == 0:
            return None
