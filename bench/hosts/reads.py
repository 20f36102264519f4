"""Reads of the API beside a trouble: who answered, how fast, and whether a replica answers as the database does."""

import json
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Final

from bench.hosts.site import Site

HEADER: Final = "Fieldflame-Replica-Lag"
PAUSE_S: Final = 0.25
LIMIT_S: Final = 240.0
NEWEST: Final = {"Cache-Control": "no-cache"}


@dataclass(slots=True)
class Answer:
    """An answer of the read API; `lag_s` is None if the database itself was read, `status` 0 if nobody answered."""

    status: int
    lag_s: float | None
    body: Any  # as JSON has it


def ask(site: Site, slug: str, token: str, what: str, headers: Mapping[str, str]) -> Answer:
    """Asks once, through the proxy."""
    request = urllib.request.Request(f"{site.url}/api/v1/projects/{slug}/{what}", headers=dict(headers))  # noqa: S310
    request.add_header("Authorization", f"Bearer {token}")
    try:
        with urllib.request.urlopen(request, timeout=60) as response:  # noqa: S310  # our own
            lag = response.headers.get(HEADER)
            return Answer(response.status, None if lag is None else float(lag), json.load(response))
    except urllib.error.HTTPError as error:
        return Answer(error.code, None, None)
    except OSError:
        return Answer(0, None, None)


def compare_sources(site: Site, tokens: Mapping[str, str], what: str) -> Iterator[str]:
    """Yields a line for each project of which the replica says something else than the database."""
    for slug, token in tokens.items():
        right = ask(site, slug, token, what, NEWEST)
        deadline_s = time.monotonic() + LIMIT_S
        while (told := ask(site, slug, token, what, {})).lag_s is None or told.body != right.body:
            if time.monotonic() > deadline_s:
                yield f"{slug}: the replica's {what} (lag {told.lag_s}) is not the database's"
                break
            time.sleep(PAUSE_S)


@dataclass(slots=True, kw_only=True)
class Reader:
    """Reads a project's overview in a thread, until the end of a block."""

    site: Site
    slug: str
    token: str
    counts: Counter[str] = field(default_factory=Counter)
    slowest_s: float = 0.0
    most_lag_s: float = 0.0
    _is_over: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def __enter__(self) -> "Reader":
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_over.set()
        if self._thread is not None:
            self._thread.join()

    def _work(self) -> None:
        while not self._is_over.wait(PAUSE_S):
            began_s = time.monotonic()
            answer = ask(self.site, self.slug, self.token, "overview", {})
            self.slowest_s = max(self.slowest_s, time.monotonic() - began_s)
            self.most_lag_s = max(self.most_lag_s, answer.lag_s or 0.0)
            by = "the database" if answer.lag_s is None else "the replica"
            self.counts[f"by {by}" if answer.status == 200 else f"{answer.status or 'no answer'}"] += 1
