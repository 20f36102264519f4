"""The recorded corpus in a running stack: post it, and read back what the oracle expects."""

import http.client
import json
import time
import urllib.request
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import psycopg

from ops.supervisor.running import RunningStack
from tests.acceptance.corpus.oracle import APPS, compare_corpus, read_envelopes


class Stack(Protocol):
    """What has a database: a running Fieldflame, or parts of several."""

    @property
    def store_environment(self) -> dict[str, str]: ...


def corpus(apps: Sequence[str] = APPS) -> Iterator[tuple[str, bytes]]:
    """Yields (app, envelope as JSON) of every recorded trace of some apps, of all by default."""
    for app, envelope in read_envelopes():
        if app in apps:
            yield app, json.dumps(envelope, separators=(",", ":")).encode()


def post_until_accepted(port: int, app: str, body: bytes, limit_s: float = 120.0) -> None:
    """Posts one envelope as a page would, and retries while the server is away or busy. Raises on a refusal."""
    deadline = time.monotonic() + limit_s
    while True:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        try:
            connection.request(
                "POST", f"/ingest/v1/traces?key={app}", body, {"Content-Type": "text/plain;charset=UTF-8"}
            )
            answer = connection.getresponse()
            text = answer.read()
        except OSError:
            status, text = 0, b"no answer"
        except http.client.HTTPException:
            status, text = 0, b"a broken answer"
        else:
            status = answer.status
        finally:
            connection.close()
        if status == 202:
            return
        if status not in (0, 429, 500, 502, 503) or time.monotonic() > deadline:
            raise AssertionError(f"the endpoint answered {status}: {text[:300]!r}")
        time.sleep(0.2)


def database(stack: Stack) -> "psycopg.Connection[tuple[Any, ...]]":
    """Returns a connection to a stack's database, which may be behind a pooler."""
    return psycopg.connect(stack.store_environment["DATABASE_URL"], autocommit=True, prepare_threshold=None)


def compare_with_oracle(stack: Stack, apps: Sequence[str] = APPS) -> list[str]:
    """Returns a line for each group of some apps whose funcs or parts of time differ from the oracle's integers."""
    with database(stack) as connection:
        return compare_corpus(connection, apps)


def ask(stack: RunningStack, token: str, path: str, body: dict[str, Any] | None = None) -> bytes:
    """Returns the answer of the read API; with a body, the request is a POST."""
    request = urllib.request.Request(
        stack.url + path,
        data=None if body is None else json.dumps(body).encode(),
        headers={"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=120) as response:
        answer: bytes = response.read()
    return answer
