"""Requests to the server's read API: with the token in a header, with limits, and again if it is busy."""

import json
import random
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote, urlsplit

import httpx

from fieldflame import __version__
from fieldflame.clean import clean
from fieldflame.exits import CommandError, DeniedError, UsageError

TIMEOUT_S: Final = 60.0  # a first verdict over thousands of views takes seconds
MAX_BYTES: Final = 8_000_000  # a verdict on 40 pages has about 30 kB
# So often a request is sent again if the server cannot be reached or is busy: for about a minute.
PAUSES_S: Final = (1.0, 2.0, 4.0, 8.0, 16.0, 30.0)
MAX_RETRY_AFTER_S: Final = 60.0
AGAIN: Final = (429, 502, 503, 504)
LOCAL: Final = ("localhost", "127.0.0.1", "::1")

Pairs = Sequence[tuple[str, str]]
Json = dict[str, Any]  # Any: JSON, checked by its readers


class Server:
    """A project of a server. The token is in no message: neither in errors nor in what is printed."""

    def __init__(
        self,
        url: str,
        project: str,
        token: str,
        *,
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
        pauses_s: Sequence[float] = PAUSES_S,
    ) -> None:
        self.url = check_url(url)
        self.project = project
        self._sleep = sleep
        self._pauses_s = pauses_s
        self._client = httpx.Client(
            base_url=f"{self.url}/api/v1/projects/{quote(project, safe='')}/",
            headers={
                "Authorization": f"Bearer {check_token(token)}",
                "Accept": "application/json",
                "Cache-Control": "no-cache",  # of a server that reads a replica, the newest
                "User-Agent": f"fieldflame/{__version__}",
            },
            timeout=TIMEOUT_S,
            follow_redirects=False,  # the token goes to no one else
            transport=transport,
        )

    @property
    def is_plain(self) -> bool:
        """Returns whether the token goes over the network unencrypted."""
        parts = urlsplit(self.url)
        return parts.scheme == "http" and parts.hostname not in LOCAL

    def close(self) -> None:
        """Closes the connections."""
        self._client.close()

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def get(self, name: str, params: Pairs = ()) -> Json:
        """Returns the answer of an address of the project. Raises `CommandError`."""
        return self._ask("GET", name, params=list(params))

    def post(self, name: str, body: Mapping[str, object]) -> Json:
        """Posts a body that may be sent again, and returns the answer. Raises `CommandError`."""
        return self._ask("POST", name, json=body)

    def link(self, path: str, params: Pairs = ()) -> str:
        """Returns the address of a page of the project in the dashboard."""
        query = httpx.QueryParams(list(params))
        return f"{self.url}/projects/{quote(self.project, safe='')}/{path}" + (f"?{query}" if params else "")

    def _ask(self, method: str, name: str, **options: Any) -> Json:  # Any: of httpx
        for pause_s in (*self._pauses_s, None):
            least_s = 0.0
            try:
                status, headers, body = self._send(method, name, options)
            except httpx.TransportError as error:
                if pause_s is None:
                    raise CommandError(f"{self.url} cannot be reached: {_describe(error)}.") from None
            else:
                if status not in AGAIN or pause_s is None:
                    return self._read(status, headers, body)
                least_s = _retry_after(headers)
            self._sleep(max(least_s, pause_s) * random.uniform(1.0, 1.3))  # noqa: S311  # many builds begin at once
        raise AssertionError("the last attempt returns or raises")

    def _send(self, method: str, name: str, options: Json) -> tuple[int, httpx.Headers, bytes]:
        with self._client.stream(method, name, **options) as response:
            body = b""
            for piece in response.iter_bytes():
                body += piece
                if len(body) > MAX_BYTES:
                    raise CommandError(f"{self.url} answered with more than {MAX_BYTES:,} bytes.")
            return response.status_code, response.headers, body

    def _read(self, status: int, headers: httpx.Headers, body: bytes) -> Json:
        try:
            answer = json.loads(body)
        except ValueError:
            answer = None
        raw_detail = answer.get("detail") if isinstance(answer, dict) else None
        detail = clean(raw_detail, 500) if isinstance(raw_detail, str) else ""
        if 300 <= status < 400:
            there = clean(headers.get("Location", "elsewhere"))
            raise UsageError(f"{self.url} leads to {there}: set FIELDFLAME_URL to where the server itself is.")
        if status == 401:
            raise DeniedError(f"The server does not know the token in FIELDFLAME_TOKEN (401). {detail}".rstrip())
        if status == 403:
            raise DeniedError(f"The token may not do this (403). {detail}".rstrip())
        if status == 404 and "no such address" in detail:
            raise UsageError("The server does not know what is asked: it is older than this command. Update it.")
        if status == 404:
            raise DeniedError(f"There is no project {self.project!r} at {self.url} that this token can read (404).")
        if 400 <= status < 500 and status not in AGAIN:
            field = answer.get("field") if isinstance(answer, dict) else None
            named = f"{clean(field, 80)}: " if isinstance(field, str) and not detail.startswith(field) else ""
            raise UsageError(f"The server refused the request ({status}): {named}{detail or 'it does not say why'}")
        if not 200 <= status < 300:
            raise CommandError(f"{self.url} answered {status}. {detail}".rstrip())
        if not isinstance(answer, dict):
            raise CommandError(f"{self.url} answered something else than JSON: is that the address of a Fieldflame?")
        return answer


def check_url(url: str) -> str:
    """Returns a server's address without a slash at its end. Raises `UsageError`."""
    try:
        parts = urlsplit(url)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_address = False
    if not is_address or not url.isprintable() or " " in url:
        raise UsageError(
            "FIELDFLAME_URL, or --url, must be the server's address, such as https://profiles.example.com."
        )
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise UsageError("The server's address must have no user name, password, query or fragment.")
    return url.rstrip("/")


def check_token(token: str) -> str:
    """Returns a token without the line break that secrets often end with. Raises `DeniedError`, without the token."""
    plain = token.strip()
    if not plain:
        raise DeniedError("FIELDFLAME_TOKEN is empty. Admins create tokens in the settings of the project, API tokens.")
    if not plain.isascii() or not plain.isprintable() or " " in plain:
        raise DeniedError("FIELDFLAME_TOKEN is no token: it has spaces, line breaks or characters beyond ASCII.")
    return plain


def _retry_after(headers: httpx.Headers) -> float:
    text = headers.get("Retry-After", "")
    return min(float(text), MAX_RETRY_AFTER_S) if text.isascii() and text.isdigit() else 0.0


def _describe(error: httpx.TransportError) -> str:
    """Returns what went wrong with a request. The text of a protocol error could have a header in it."""
    if isinstance(error, httpx.ConnectError):
        return clean(str(error)) or "no connection"
    if isinstance(error, httpx.TimeoutException):
        return f"no answer within {TIMEOUT_S:.0f} s"
    return type(error).__name__
