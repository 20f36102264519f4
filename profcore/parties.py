"""Whose server a script comes from: the project's own, a known third party's, or another site's.

Known third parties are those of `third-party-web`, a list of companies by domain that the HTTP Archive and Lighthouse
use and keep; it lies beside this module, with its version and licence. Nothing is fetched.
"""

import hashlib
import io
import tarfile
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from typing import Final, Literal, NamedTuple

import msgspec

Owner = Literal["own", "other"]
LIST_NAME: Final = "third_parties.json"
LIST_MEMBER: Final = "package/dist/entities-nostats.json"
MAX_LIST_BYTES: Final = 16 * 2**20  # expanded; version 0.30 has 200 kB
FIRST_PARTY: Final = "(first party)"


class KnownParty(msgspec.Struct, frozen=True):
    """A company's service: what to call it, what it is for, and the domains it is known to serve from.

    `*.x.example` stands for that domain and all below it. `category` is the list's word (`ad`, `analytics`, `cdn`, …).
    """

    name: str
    category: str
    domains: tuple[str, ...]


class PartyList(msgspec.Struct, frozen=True):
    """The list as it is kept: where it is from and under which licence; `integrity` is npm's, of the archive."""

    package: str
    version: str
    integrity: str
    licence: str
    licence_text: str
    parties: tuple[KnownParty, ...]


class Party(NamedTuple):
    """Who serves a script. `name` is `(first party)`, a known third party's, or the site; `category` the list's."""

    is_first: bool
    name: str
    category: str | None


@dataclass(frozen=True, slots=True)
class PartyRule:
    """A project's word on a domain and all below it: whose it is, and for another's, what to call it."""

    domain: str
    owner: Owner
    name: str = ""

    def __post_init__(self) -> None:
        """Raises `ValueError` for a domain that is none, or an owner there is none of."""
        labels = self.domain.split(".")
        if self.domain != self.domain.lower().strip() or not all(labels) or any(c in self.domain for c in "/:*@\0 "):
            raise ValueError(
                f"domain must be a host in small letters, such as cdn.example.com; not {self.domain[:80]!r}"
            )
        if self.owner not in ("own", "other"):
            raise ValueError(f"owner must be own or other; not {str(self.owner)[:80]!r}")


@cache
def known_parties() -> PartyList:
    """Returns the list beside this module."""
    return msgspec.json.decode((files("profcore") / "data" / LIST_NAME).read_bytes(), type=PartyList)


@cache
def _by_domain() -> tuple[Mapping[str, KnownParty], Mapping[str, KnownParty]]:
    exact: dict[str, KnownParty] = {}
    below: dict[str, KnownParty] = {}
    for party in known_parties().parties:
        for domain in party.domains:
            if domain.startswith("*."):
                below[domain[2:]] = party
            else:
                exact[domain] = party
    return exact, below


@lru_cache(maxsize=10_000)
def known_party_of(host: str) -> KnownParty | None:
    """Returns the known third party that a host is one of; the nearest of its parents decides. None for others."""
    exact, below = _by_domain()
    host = host.lower().rstrip(".")
    if (found := exact.get(host)) is not None:
        return found
    return next((below[parent] for parent in _parents(host) if parent in below), None)


def rule_of(host: str, rules: Sequence[PartyRule]) -> PartyRule | None:
    """Returns the rule on a host: that on its nearest parent, None where there is none."""
    if not rules:
        return None
    by_domain = {rule.domain: rule for rule in reversed(rules)}
    return next((by_domain[parent] for parent in _parents(host.lower()) if parent in by_domain), None)


def _parents(host: str) -> list[str]:
    """Returns a host and the domains above it, the nearest first."""
    labels = host.split(".")
    return [".".join(labels[start:]) for start in range(len(labels))]


def pack_list(archive: bytes, *, integrity: str) -> bytes:
    """Returns the list in an npm archive of `third-party-web` as it is kept. `integrity` is what npm says of it.

    Raises `ValueError` where the archive is another one, or has no such list.
    """
    algorithm, _, _ = integrity.partition("-")
    if algorithm != "sha512" or b64encode(hashlib.sha512(archive).digest()).decode() != integrity[7:]:
        raise ValueError("the archive is not the one that integrity= is of")
    members = _read_members(archive, (LIST_MEMBER, "package/package.json", "package/LICENSE"))
    about = msgspec.json.decode(members["package/package.json"], type=dict[str, object])
    listed = msgspec.json.decode(members[LIST_MEMBER], type=list[KnownParty])
    packed = PartyList(
        str(about["name"]),
        str(about["version"]),
        integrity,
        str(about["license"]),
        members["package/LICENSE"].decode(),
        tuple(sorted(listed, key=lambda party: party.name)),
    )
    return msgspec.json.format(msgspec.json.encode(packed), indent=1) + b"\n"


def _read_members(archive: bytes, names: Sequence[str]) -> dict[str, bytes]:
    members: dict[str, bytes] = {}
    with tarfile.open(fileobj=io.BytesIO(archive), mode="r:gz") as tar:
        for name in names:
            try:
                member = tar.getmember(name)
                stream = tar.extractfile(member)
            except KeyError:
                stream = None
            if stream is None or member.size > MAX_LIST_BYTES:
                raise ValueError(f"the archive has no {name} of a usable size")
            members[name] = stream.read()
    return members
