"""The canonical spelling of a script's address, in which funcs, uploaded scripts and prefixes are compared.

One address has many spellings: `[slug]`, `%5Bslug%5D` and `%5bslug%5d` are the same path. The canonical one escapes
what browsers escape in an address that somebody types, as UTF-8 in capital letters, and nothing else. So most addresses
are canonical already. An escaped slash, `?`, `#` or `%` stays escaped: decoded it would mean something else.
"""

import re
from contextlib import suppress
from typing import Final
from urllib.parse import quote, unquote_to_bytes

# Unreserved characters, and those that stand for themselves in a path (WHATWG URL, path percent-encode set).
SAFE: Final = "~!$&'()*+,;=:@[]|"
CANONICAL: Final = re.compile(r"[A-Za-z0-9._~!$&'()*+,;=:@\[\]|/-]*")
HIERARCHICAL: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*://[^/]*)(/.*)", re.DOTALL)
WILDCARD: Final = "://*."  # begins the host of an address that stands for all subdomains
MAX_LABELS: Final = 20  # of a host: real ones have some five
DEFAULT_PORTS: Final = {"https": ":443", "http": ":80"}


def canonical_uri(uri: str) -> str:
    """Returns the canonical spelling of a URI without query and fragment; other texts stay as they are."""
    parts = HIERARCHICAL.fullmatch(uri)
    return uri if parts is None else parts[1] + canonical_path(parts[2])


def canonical_path(path: str) -> str:
    """Returns the canonical spelling of an address's path. That of a canonical one is itself."""
    if CANONICAL.fullmatch(path):
        return path
    parts = path.encode("utf-8", "surrogatepass").split(b"/")
    return "/".join(quote(unquote_to_bytes(part), safe=SAFE) for part in parts)


def escape_path(file: str) -> str:
    """Returns the canonical path of a file: its name has no escapes, so a `%` in it is one."""
    return file if CANONICAL.fullmatch(file) else quote(file.encode("utf-8", "surrogatepass"), safe=SAFE + "/")


def canonical_origin(scheme: str, host: str) -> str:
    """Returns scheme and host as browsers write them: small letters, no default port, a wire form beyond ASCII.

    `host` may have a port, and begin with `*.`. One that has no wire form stays.
    """
    scheme, host = scheme.lower(), host.lower()
    host = host.removesuffix(DEFAULT_PORTS.get(scheme, "/"))
    if (scheme, host) == ("file", "localhost"):
        host = ""
    if not host.isascii():
        wildcard = "*." if host.startswith("*.") else ""
        with suppress(UnicodeError):
            host = wildcard + host.removeprefix(wildcard).encode("idna").decode()
    return f"{scheme}://{host}"


def wildcard_forms(uri: str) -> list[str]:
    """Returns the addresses with `*.` that cover a URI, the closest first, as origins of keys are matched.

    `https://a.shop.example/x.js` is covered by `https://*.shop.example/x.js` and `https://*.example/x.js`.
    """
    scheme, _, rest = uri.partition("://")
    host, slash, path = rest.partition("/")
    labels = host.split(".", MAX_LABELS)
    return [f"{scheme}{WILDCARD}{'.'.join(labels[number:])}{slash}{path}" for number in range(1, len(labels))]
