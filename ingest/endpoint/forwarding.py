"""What Datadog's SDK sends beside profiles, passed on to Datadog, where a key says so.

Only to the hosts of Datadog's own sites, which the SDK itself would send to. Places are few, so that a slow Datadog
leaves threads to traces; without one, or if Datadog cannot be reached, the SDK is asked to send it again.
"""

import http.client
import re
import ssl
import threading
from functools import cache
from typing import Final

from ingest.endpoint.requests import IngestRequest, TryLater
from profcore.errors import Reason, TraceError
from projects.keys import DATADOG_SITES

AT_ONCE: Final = 4  # of one web process: each keeps a thread busy
TIMEOUT_S: Final = 5.0  # to connect, and for each answer of the socket: Datadog answers in some hundredths of a second
RETRY_AFTER_S: Final = 5
MAX_TARGET_CHARS: Final = 8_000
PATH: Final = re.compile(r"/api/v2/[a-z0-9_-]+(?:/[a-z0-9_-]+)*")
SUBDOMAIN: Final = re.compile(r"[a-z0-9-]{1,30}")

_places: Final = threading.BoundedSemaphore(AT_ONCE)


def forward(post: IngestRequest, site: str, subdomain: str, target: str, body: bytes) -> int:
    """Sends a body to a site, and returns its status. Raises `TraceError` for what is none of the SDK's addresses."""
    path = target.partition("?")[0]
    is_plain = target.isascii() and target.isprintable() and " " not in target and len(target) <= MAX_TARGET_CHARS
    if not is_plain or not PATH.fullmatch(path) or (subdomain and not SUBDOMAIN.fullmatch(subdomain)):
        raise TraceError(Reason.INVALID_VALUE, "ddforward", "This is no address that Datadog's SDK sends to.")
    if not _places.acquire(blocking=False):
        raise TryLater(Reason.UNAVAILABLE, "$", "Too much is being passed on to Datadog.", retry_after_s=RETRY_AFTER_S)
    try:
        connection = connect(f"{subdomain}.{host_of(site)}" if subdomain else host_of(site))
        try:
            connection.request("POST", target, body, _write_headers(post))
            return connection.getresponse().status
        finally:
            connection.close()
    except (OSError, http.client.HTTPException):
        detail = "Datadog cannot be reached from this server."
        raise TryLater(Reason.UNAVAILABLE, "$", detail, retry_after_s=RETRY_AFTER_S) from None
    finally:
        _places.release()


def connect(host: str) -> http.client.HTTPConnection:
    """Returns a connection to a host of Datadog."""
    return http.client.HTTPSConnection(host, timeout=TIMEOUT_S, context=trusted())


@cache
def trusted() -> ssl.SSLContext:
    """Returns what connections trust: to read the system's certificates takes longer than all else here."""
    return ssl.create_default_context()


def host_of(site: str) -> str:
    """Returns the host that the SDK sends to: `browser-intake-us3-datadoghq.com` for `us3.datadoghq.com`."""
    assert site in DATADOG_SITES
    name, _, end = site.rpartition(".")
    return f"browser-intake-{name.replace('.', '-')}.{end}"


def _write_headers(post: IngestRequest) -> dict[str, str]:
    """Returns the headers that Datadog needs of a proxy: the kind of body, the browser, and the visitor's address."""
    sent = {
        "Content-Type": post.content_type,
        "Content-Encoding": post.coding,
        "User-Agent": post.headers.user_agent,
        "X-Forwarded-For": post.sender,
        "Origin": post.origin or "",
    }
    return {name: text.encode("latin-1", "replace").decode("latin-1") for name, text in sent.items() if text}
