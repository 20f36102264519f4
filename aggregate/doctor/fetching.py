"""Requests of the doctor: to the address that was checked, bounded in redirects, bytes and time."""

import http.client
import socket
import ssl
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urljoin

from aggregate.doctor.addresses import Address, Network, RefusedAddress, Target, read_target, resolve

MAX_REDIRECTS: Final = 5
REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
SOCKET_S: Final = 8.0  # for a connection, and between two pieces of an answer; the visit as a whole has its own limit
MAX_ADDRESSES_TRIED: Final = 2
MAX_COOKIES: Final = 50
MAX_COOKIE_CHARS: Final = 4_096  # as browsers keep
PIECE_BYTES: Final = 65_536
# As a recent Chrome, since sites answer others differently; and who it is.
USER_AGENT: Final = (
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36 "
    "Fieldflame-Doctor"
)
PAGE_HEADERS: Final = {
    "User-Agent": USER_AGENT,
    "Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
    "Accept-Language": "en",
    "Accept-Encoding": "gzip",
    "Sec-Fetch-Dest": "document",
    "Sec-Fetch-Mode": "navigate",
    "Sec-Fetch-Site": "none",
    "Upgrade-Insecure-Requests": "1",
}

Headers = Sequence[tuple[str, str]]


class FailedRequest(Exception):
    """There is no answer; has a sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What visits may use: ports, and networks that are allowed though they are not public."""

    ports: Sequence[int]
    allowed: Sequence[Network]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One answer, with the first or last bytes of its body. `is_cut`: there were more."""

    target: Target
    status: int
    headers: Headers
    body: bytes
    is_cut: bool

    def header(self, name: str) -> str:
        """Returns the lines of a header, joined; empty if there is none."""
        return ", ".join(value for key, value in self.headers if key.lower() == name)


@dataclass(slots=True)
class Jar:
    """Cookies that a site set during the visit, by origin; they go back to that origin only."""

    kept: dict[str, dict[str, str]] = field(default_factory=dict)

    def keep(self, answer: Answer) -> None:
        """Keeps the cookies of an answer."""
        cookies = self.kept.setdefault(answer.target.origin, {})
        for name, line in answer.headers:
            cookie = line.partition(";")[0].strip()
            if name.lower() == "set-cookie" and "=" in cookie and cookie.isascii() and cookie.isprintable():
                key, _, value = cookie.partition("=")
                if len(cookie) <= MAX_COOKIE_CHARS and (key in cookies or len(cookies) < MAX_COOKIES):
                    cookies[key] = value

    def headers_for(self, target: Target) -> dict[str, str]:
        """Returns the Cookie header for a request, if there are cookies."""
        cookies = self.kept.get(target.origin)
        return {"Cookie": "; ".join(f"{key}={value}" for key, value in cookies.items())} if cookies else {}


def find_next_url(answer: Answer) -> str | None:
    """Returns where an answer redirects to, None if nowhere. Raises `ValueError` if that is not an address."""
    place = answer.header("location")
    return urljoin(answer.target.url, place) if answer.status in REDIRECTS and place else None


def follow(url: str, limits: Limits, *, max_bytes: int, sent: Jar, got: Jar, hops: list[Answer]) -> Answer:
    """Requests a page, follows redirects, and adds each answer to `hops`. Returns the last one.

    The cookies of `sent` go along; those that come are kept in `got`. Raises `FailedRequest`.
    """
    for _ in range(MAX_REDIRECTS + 1):
        target = _read(url, limits)
        answer = request(target, limits, PAGE_HEADERS | sent.headers_for(target), max_bytes=max_bytes)
        hops.append(answer)
        got.keep(answer)
        try:
            next_url = find_next_url(answer)
        except ValueError:
            raise FailedRequest("It leads to something that is not an address.") from None
        if next_url is None:
            return answer
        url = next_url
    raise FailedRequest(f"It leads through more than {MAX_REDIRECTS} redirects.")


def fetch(url: str, limits: Limits, headers: Mapping[str, str], *, max_bytes: int, keep_end: bool) -> Answer:
    """Requests one file, and follows redirects. Raises `FailedRequest`."""
    for _ in range(MAX_REDIRECTS + 1):
        answer = request(_read(url, limits), limits, headers, max_bytes=max_bytes, keep_end=keep_end)
        try:
            next_url = find_next_url(answer)
        except ValueError:
            break
        if next_url is None:
            return answer
        url = next_url
    raise FailedRequest("It leads through too many redirects.")


def _read(url: str, limits: Limits) -> Target:
    try:
        return read_target(url, limits.ports)
    except RefusedAddress as error:
        raise FailedRequest(str(error)) from None


def request(
    target: Target, limits: Limits, headers: Mapping[str, str], *, max_bytes: int, keep_end: bool = False
) -> Answer:
    """Sends one GET to the address that the host has now, which is looked up once. Raises `FailedRequest`."""
    try:
        addresses = resolve(target, limits.allowed)
        connection = PinnedConnection(target, addresses)
        try:
            connection.request(
                "GET", target.path, headers={"Host": target.netloc, "Connection": "close"} | dict(headers)
            )
            response = connection.getresponse()
            body, is_cut = _read_end(response, max_bytes) if keep_end else _read_start(response, max_bytes)
            return Answer(
                target=target, status=response.status, headers=response.getheaders(), body=body, is_cut=is_cut
            )
        finally:
            connection.close()
    except RefusedAddress as error:
        raise FailedRequest(str(error)) from None
    except (OSError, http.client.HTTPException, ValueError, zlib.error) as error:
        raise FailedRequest(explain(error, target.host)) from None


class PinnedConnection(http.client.HTTPConnection):
    """A connection to an address that was checked. Host header, TLS name and certificate stay those of the host."""

    def __init__(self, target: Target, addresses: Sequence[Address]) -> None:
        super().__init__(target.host, target.port, timeout=SOCKET_S)
        self._target = target
        self._addresses = addresses[:MAX_ADDRESSES_TRIED]

    def connect(self) -> None:
        self.sock = self._reach()
        if self._target.scheme == "https":
            context = self._make_context()
            context.set_alpn_protocols(["http/1.1"])
            self.sock = context.wrap_socket(self.sock, server_hostname=self._target.host)

    def _make_context(self) -> ssl.SSLContext:
        return ssl.create_default_context()

    def _reach(self) -> socket.socket:
        failure: OSError | None = None
        for address in self._addresses:
            try:
                return socket.create_connection((str(address), self._target.port), timeout=self.timeout)
            except OSError as error:
                failure = error
        raise failure or OSError("no address")


def _read_start(response: http.client.HTTPResponse, max_bytes: int) -> tuple[bytes, bool]:
    """Returns the first bytes of a body, expanded, and whether there are more."""
    packed = response.read(max_bytes + 1)
    encoding = (response.getheader("Content-Encoding") or "identity").strip().lower()
    if encoding == "identity":
        return packed[:max_bytes], len(packed) > max_bytes
    if encoding not in ("gzip", "x-gzip"):
        raise FailedEncoding(encoding)
    plain = zlib.decompressobj(31).decompress(packed, max_bytes + 1)
    return plain[:max_bytes], len(plain) > max_bytes or len(packed) > max_bytes


def _read_end(response: http.client.HTTPResponse, max_bytes: int) -> tuple[bytes, bool]:
    """Returns the last bytes of a body, and whether it goes on behind them. Reads at most `max_bytes`."""
    kept, read = b"", 0
    while read < max_bytes:
        piece = response.read(min(PIECE_BYTES, max_bytes - read))
        if not piece:
            return kept, False
        read += len(piece)
        kept = (kept + piece)[-PIECE_BYTES:]
    return kept, bool(response.read(1))


class FailedEncoding(ValueError):
    """A body is compressed in a way that was not asked for."""


def explain(error: Exception, host: str) -> str:
    """Returns the sentence for a failed request."""
    match error:
        case ssl.SSLCertVerificationError():
            return f"The certificate of {host} is not valid: {error.verify_message}."
        case ssl.SSLError():
            return f"{host} does not speak TLS as browsers do."
        case socket.gaierror():
            return f"The name {host} is not known."
        case TimeoutError():
            return f"{host} did not answer in time."
        case FailedEncoding():
            return f"{host} answered in the encoding {str(error)[:40]!r}, which was not asked for."
        case OSError() if not isinstance(error, http.client.HTTPException):
            return f"{host} cannot be reached: {error.strerror or type(error).__name__}."
        case _:
            return f"The answer of {host} is not valid HTTP."
