"""Which addresses the doctor may visit: public ones, on the ports of the web.

Without this, everyone who may start a visit could make this server ask machines of its own network.
"""

import socket
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final
from urllib.parse import quote, urlsplit

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

MAX_URL_CHARS: Final = 2_000  # browsers and servers accept little more
DEFAULT_PORTS: Final = {"http": 80, "https": 443}
PATH_CHARS: Final = "/%:=&?~#+!$,;'@()*[]|"  # stay as they are, as in a browser
# An IPv4 address is in the last 32 bits of these: a gateway would pass the connection on to it.
NAT64: Final = (ip_network("64:ff9b::/96"), ip_network("64:ff9b:1::/48"))


class RefusedAddress(Exception):
    """The doctor may not visit an address; has a sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A URL in parts. `host` is in its wire form, without brackets; `path` has the query and is ASCII."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def netloc(self) -> str:
        """The host as the Host header has it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def origin(self) -> str:
        """The origin as browsers write it."""
        return f"{self.scheme}://{self.netloc}"

    @property
    def url(self) -> str:
        """The whole URL, without its fragment."""
        return self.origin + self.path


def read_target(url: str, ports: Sequence[int], *, setting: str = "FIELDFLAME_DOCTOR_PORTS") -> Target:
    """Returns the parts of a URL that may be visited. Raises `RefusedAddress`, which names the `setting` of `ports`."""
    target = split_url(url)
    if target.port not in ports:
        allowed = ", ".join(str(port) for port in ports)
        raise RefusedAddress(f"Port {target.port} is not allowed; allowed are {allowed} ({setting}).")
    return target


def split_url(url: str) -> Target:
    """Returns the parts of an http or https URL. Raises `RefusedAddress`."""
    if len(url) > MAX_URL_CHARS:
        raise RefusedAddress(f"The address is longer than {MAX_URL_CHARS} characters.")
    if not url.isprintable() or " " in url or "\\" in url:
        raise RefusedAddress("The address has characters that no address may have.")
    try:
        parts = urlsplit(url)
        port = parts.port
        host = (parts.hostname or "").rstrip(".")
        if not host.isascii():
            host = host.encode("idna").decode()
    except (ValueError, UnicodeError):
        raise RefusedAddress("This is not an address.") from None
    if parts.scheme not in DEFAULT_PORTS:
        raise RefusedAddress("Only addresses with http:// or https:// can be visited.")
    if "@" in parts.netloc:
        raise RefusedAddress("The address has a name or password in it; leave it out.")
    if not host or "%" in host or port == 0:
        raise RefusedAddress("The address has no usable host.")
    path = quote((parts.path or "/") + (f"?{parts.query}" if parts.query else ""), safe=PATH_CHARS)
    return Target(scheme=parts.scheme, host=host, port=port or DEFAULT_PORTS[parts.scheme], path=path)


def resolve(
    target: Target, allowed: Sequence[Network], *, setting: str = "FIELDFLAME_DOCTOR_ALLOW_PRIVATE"
) -> list[Address]:
    """Returns the addresses of a host, all of which may be visited. Raises `RefusedAddress`, `OSError`.

    One bad address refuses the host: no host has a public and a private one by chance. `setting` allows private ones.
    """
    try:
        entries = socket.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
    except UnicodeError:
        raise RefusedAddress("The address has no usable host.") from None
    addresses = list(dict.fromkeys(ip_address(str(entry[4][0])) for entry in entries))
    if not addresses or not all(may_visit(address, allowed) for address in addresses):
        raise RefusedAddress(f"{target.host} is not a public address; {setting} can name it.")
    return addresses


def may_visit(address: Address, allowed: Sequence[Network]) -> bool:
    """Returns whether an address is public, or within an allowed network. An address within another counts too."""
    return all(is_public(ip) or any(ip in network for network in allowed) for ip in unwrap(address))


def is_public(address: Address) -> bool:
    """Returns whether an address is that of a machine on the internet."""
    is_special = address.is_multicast or address.is_reserved or address.is_unspecified or address.is_link_local
    return address.is_global and not is_special and not getattr(address, "is_site_local", False)


def unwrap(address: Address) -> Iterator[Address]:
    """Yields the addresses at which a connection would end: that itself, or what a gateway reads in it."""
    if isinstance(address, IPv4Address):
        yield address
        return
    if address.scope_id is not None:
        address = IPv6Address(int(address))
    if address.ipv4_mapped is not None:
        yield address.ipv4_mapped
    elif any(address in network for network in NAT64):
        yield IPv4Address(int(address) & 0xFFFF_FFFF)
    elif address.sixtofour is not None:
        yield address.sixtofour
    elif address.teredo is not None:
        yield from (address, *address.teredo)
    else:
        yield address
