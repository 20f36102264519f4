"""Bodies of senders that may be slow: each has a deadline, and only some of the threads wait for slow ones.

The web server's `read` returns when the bytes are there. Nothing can interrupt it, so a sender that stops sending would
hold its thread for ever. Therefore another thread reads, and the request's own thread waits for it within bounds.
"""

import io
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any, Final, Protocol

QUICK_S: Final = 0.5  # a body that has not come by then is slow: on a local network it takes milliseconds
PIECE_MAX_BYTES: Final = 64 * 1024
FLUSH_S: Final = 0.2  # from the last word of a broken answer to its end: the server sends the words meanwhile
TRY_AGAIN: Final = "503 Service Unavailable"
TOO_SLOW: Final = "408 Request Timeout"


class SlowBody(OSError):
    """The body came more slowly than it must. The connection ends with the answer."""


class TooManySlowBodies(SlowBody):
    """The body is slow, and others that are slow have taken all the places."""


class Readable(Protocol):
    """A stream of bytes, such as the web server's `wsgi.input`."""

    def read(self, size: int, /) -> bytes: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class BodyLimits:
    """What a body may take: `wait_s`, and a second more for each `bytes_per_s` that have come."""

    wait_s: float
    bytes_per_s: int
    quick_s: float = QUICK_S

    @property
    def piece_bytes(self) -> int:
        """The bytes that are read at once: a sender at the least rate needs half of `wait_s` for them."""
        return max(1, min(PIECE_MAX_BYTES, int(self.bytes_per_s * self.wait_s / 2)))

    def allowed_s(self, received: int) -> float:
        return self.wait_s + received / self.bytes_per_s


class SlowPlaces:
    """The places for slow bodies of one process, of which one address can take only some."""

    def __init__(self, *, all_places: int, places_of_address: int) -> None:
        self.all_places = all_places
        self.places_of_address = places_of_address
        self._taken: Counter[str] = Counter()
        self._lock = threading.Lock()

    def take(self, address: str) -> bool:
        """Takes a place; returns False if there is none for this address."""
        with self._lock:
            if self._taken[address] >= self.places_of_address or self._taken.total() >= self.all_places:
                return False
            self._taken[address] += 1
            return True

    def leave(self, address: str) -> None:
        with self._lock:
            self._taken[address] -= 1
            if not self._taken[address]:
                del self._taken[address]


class Readers:
    """Threads that read for others. There are as many as bodies have been read at once, which is one per request."""

    def __init__(self) -> None:
        self._jobs: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._idle = 0
        self._lock = threading.Lock()

    def run(self, job: Callable[[], None]) -> None:
        with self._lock:
            is_new_needed = self._idle == 0
            if not is_new_needed:
                self._idle -= 1
        if is_new_needed:
            threading.Thread(target=self._work, name="body-reader", daemon=True).start()
        self._jobs.put(job)

    def _work(self) -> None:
        while True:
            self._jobs.get()()
            with self._lock:
                self._idle += 1


_readers = Readers()


class _Reading:
    """One `read` in another thread, and how far it is."""

    def __init__(self, stream: Readable, size: int, piece_bytes: int) -> None:
        self.stream, self.left, self.piece_bytes = stream, size, piece_bytes
        self.pieces: list[bytes] = []
        self.received = 0
        self.error: Exception | None = None
        self.is_done = threading.Lock()
        self.is_done.acquire()

    def run(self) -> None:
        try:
            while self.left and (piece := self.stream.read(min(self.left, self.piece_bytes))):
                self.pieces.append(piece)
                self.left -= len(piece)
                self.received += len(piece)
        except Exception as error:  # raised again in the thread that waits
            self.error = error
        finally:
            self.is_done.release()


class TimedBody(io.BufferedIOBase):
    """A request's body, read within its limits. Only the time of waiting for it counts.

    `read` raises `SlowBody`. From then on the body is given up, and its connection must be ended: see `end_slow`.
    """

    def __init__(self, stream: Readable, limits: BodyLimits, places: SlowPlaces, address: str) -> None:
        self.stream, self.limits, self.places, self.address = stream, limits, places, address
        self.received = 0
        self.waited_s = 0.0
        self.is_slow = False
        self.error: SlowBody | None = None

    def readable(self) -> bool:
        return True

    def read(self, size: int | None = -1, /) -> bytes:
        """Returns `size` bytes, fewer at the end, or all if there is no size. Raises `SlowBody`."""
        if self.error is not None:
            raise self.error
        reading = _Reading(self.stream, 2**62 if size is None or size < 0 else size, self.limits.piece_bytes)
        began = time.monotonic()
        _readers.run(reading.run)
        self._wait_for(reading, began)
        self.received += reading.received
        self.waited_s += time.monotonic() - began
        if reading.error is not None:
            raise reading.error
        return reading.pieces[0] if len(reading.pieces) == 1 else b"".join(reading.pieces)

    def _wait_for(self, reading: _Reading, began: float) -> None:
        """Returns when the read is done. Raises `SlowBody`."""
        while True:
            allowed_s = self.limits.allowed_s(self.received + reading.received)
            bound_s = allowed_s if self.is_slow else min(allowed_s, self.limits.quick_s)
            if reading.is_done.acquire(timeout=max(began + bound_s - self.waited_s - time.monotonic(), 0)):
                return
            waited_s = self.waited_s + time.monotonic() - began
            if waited_s >= self.limits.allowed_s(self.received + reading.received):
                self.error = SlowBody("The body came too slowly.")
            elif not self.is_slow and waited_s >= self.limits.quick_s:
                self.is_slow = self.places.take(self.address)
                if not self.is_slow:
                    self.error = TooManySlowBodies("Too many bodies come slowly at the moment.")
            if self.error is not None:
                raise self.error

    def leave(self) -> None:
        """Gives the place of a slow body back, once its request is answered."""
        if self.is_slow:
            self.is_slow = False
            self.places.leave(self.address)


def slow_error_of(error: BaseException) -> SlowBody | None:
    """Returns the `SlowBody` that an error of reading a request is, or was made from."""
    cause = error if isinstance(error, SlowBody) else error.__cause__
    return cause if isinstance(cause, SlowBody) else None


def end_slow(
    error: SlowBody, status: str, headers: Iterable[tuple[str, str]], content: bytes, start_response: Any
) -> Iterator[bytes]:
    """Answers a request whose body was given up, and ends its connection.

    The server would keep the connection, and with it the thread that reads, until the sender ends it. So the answer is
    broken on purpose: it promises one byte more than it has. Then the server closes the connection.
    """
    if not status.startswith(("408", "503")):  # a page that knows nothing of slow bodies
        status = TRY_AGAIN if isinstance(error, TooManySlowBodies) else TOO_SLOW
        headers, content = [("Content-Type", "text/plain; charset=utf-8")], f"{error}\n".encode()
    kept = [(name, value) for name, value in headers if name.lower() not in ("content-length", "connection")]
    start_response(status, [*kept, ("Content-Length", str(len(content) + 1)), ("Connection", "close")])
    return _say_and_wait(content)


def _say_and_wait(content: bytes) -> Iterator[bytes]:
    yield content
    time.sleep(FLUSH_S)
