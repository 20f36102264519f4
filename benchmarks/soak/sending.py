"""Posting at a rate, whatever the answers: a site's visitors do not wait for each other."""

import http.client
import json
import threading
import time
from array import array
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Final

from benchmarks.shared.load import PROJECT
from benchmarks.soak.ledger import ACCEPTED, REFUSED, UNKNOWN, Ledger

ANSWER_LIMIT_S: Final = 30.0
KEPT_S: Final = 5.0  # the server ends a connection on which nothing comes for ten seconds
REPEAT_PAUSE_S: Final = 0.5
GATE_S: Final = 0.2
NO_ANSWER: Final = "none"


@dataclass(slots=True, kw_only=True)
class Sent:
    """What a time of sending gave. Times in seconds; those of answers are counted from the first byte sent.

    `at_s` is when each accepted post was answered, `took_s` how long that took, `late_s` how much later than planned a
    post was sent. `other` counts the other answers: status, reason, and whether they have `Retry-After`.
    """

    name: str
    rate: float
    began_s: float
    ended_s: float = 0.0
    at_s: "array[float]" = field(default_factory=lambda: array("d"))
    took_s: "array[float]" = field(default_factory=lambda: array("d"))
    late_s: "array[float]" = field(default_factory=lambda: array("d"))
    other: Counter[tuple[str, str, bool]] = field(default_factory=Counter)
    is_open: threading.Event = field(default_factory=threading.Event)  # else nothing is sent for a while

    @property
    def elapsed_s(self) -> float:
        return self.ended_s - self.began_s

    @property
    def accepted_per_s(self) -> float:
        return len(self.at_s) / self.elapsed_s if self.elapsed_s else 0.0


class Sender:
    """Posts to a running server from so many connections, each of a thread."""

    def __init__(self, port: int, ledger: Ledger, connections: int) -> None:
        self._port = port
        self._ledger = ledger
        self._connections = connections

    def send(self, name: str, seconds: float, rate: float = 0.0, *, connections: int = 0) -> Sent:
        """Posts for so many seconds, `rate` posts per second, or each connection as fast as it is answered."""
        with self.sending(name, rate, connections=connections) as sent:
            time.sleep(seconds)
        return sent

    @contextmanager
    def sending(self, name: str, rate: float = 0.0, *, connections: int = 0) -> Iterator[Sent]:
        """Posts until the end of the block."""
        sent = Sent(name=name, rate=rate, began_s=time.monotonic())
        sent.is_open.set()
        numbers, lock, is_over = count(), threading.Lock(), threading.Event()

        def work() -> None:
            line = Line(self._port)
            while not is_over.is_set():
                if rate:
                    with lock:
                        due_s = sent.began_s + next(numbers) / rate
                    if is_over.wait(due_s - time.monotonic()):
                        break
                    sent.late_s.append(time.monotonic() - due_s)
                elif not sent.is_open.wait(GATE_S):
                    continue
                self._post(line, self._ledger.deal(), sent)
            line.close()

        threads = [threading.Thread(target=work, daemon=True) for _ in range(connections or self._connections)]
        for thread in threads:
            thread.start()
        try:
            yield sent
        finally:
            is_over.set()
            for thread in threads:
                thread.join()
            sent.ended_s = time.monotonic()

    def repeat_unknown(self, limit_s: float) -> int:
        """Posts again what had no clear answer, until it is accepted, as a page would; returns how many there were.

        Raises `TimeoutError`.
        """
        posts = self._ledger.list_in_state(UNKNOWN)
        deadline_s = time.monotonic() + limit_s
        line = Line(self._port)
        sent = Sent(name="again", rate=0.0, began_s=time.monotonic())
        for post in posts:
            while self._post(line, post, sent) != ACCEPTED:
                if time.monotonic() > deadline_s:
                    raise TimeoutError(f"a post is still not accepted after {limit_s} s: {dict(sent.other)}")
                time.sleep(REPEAT_PAUSE_S)
        line.close()
        return len(posts)

    def _post(self, line: "Line", post: int, sent: Sent) -> int:
        """Posts, and notes the answer. Of an error of the server nobody knows whether the trace was stored."""
        body = self._ledger.body_of(post)
        began_s = time.monotonic()
        status, reason, has_retry = line.post(body)
        done_s = time.monotonic()
        if status == 202:
            sent.at_s.append(done_s)
            sent.took_s.append(done_s - began_s)
            state = ACCEPTED
        else:
            sent.other[str(status or NO_ANSWER), reason, has_retry] += 1
            state = UNKNOWN if status is None or status >= 500 or self._ledger.states[post] == UNKNOWN else REFUSED
        self._ledger.states[post] = state
        return state


class Line:
    """A kept connection, opened again when it was lost."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._used_s = 0.0
        self._connection: http.client.HTTPConnection | None = None

    def post(self, body: bytes) -> tuple[int | None, str, bool]:
        """Returns the status, the reason, and whether there is `Retry-After`; without an answer, None and why."""
        if self._connection is not None and time.monotonic() - self._used_s > KEPT_S:
            self.close()
        if self._connection is None:
            self._connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=ANSWER_LIMIT_S)
        try:
            self._connection.request("POST", f"/ingest/v1/traces?key={PROJECT}", body)
            answer = self._connection.getresponse()
            text = answer.read()
        except (OSError, http.client.HTTPException) as error:
            self.close()
            return None, type(error).__name__, False
        self._used_s = time.monotonic()
        reason = "" if answer.status == 202 else str(json.loads(text).get("reason", ""))
        return answer.status, reason, answer.getheader("Retry-After") is not None

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
