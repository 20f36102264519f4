"""One deadline for a whole attempt: looking a name up, connecting, TLS, sending, and reading the answer.

The timeout of a socket is that of one operation: a receiver that sends a byte now and then would hold a worker
for days. So the time that is left is set before each operation, and the bytes that come are counted.
"""

import socket
import ssl
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, Final, TypeVar

from aggregate.doctor.fetching import MAX_ADDRESSES_TRIED

FAREWELL_S: Final = 1.0  # for what follows when a message was taken: no time of others is worth it

Result = TypeVar("Result")


class TooMuchRead(OSError):
    """A receiver answered with more bytes than are read."""


class Deadline:
    """The moment at which an attempt is over, and how many bytes may come until then."""

    def __init__(self, seconds: float, *, most_bytes: int) -> None:
        self._ends_at_s = time.monotonic() + seconds
        self._bytes_left = most_bytes

    @property
    def is_over(self) -> bool:
        """Returns whether no time is left."""
        return time.monotonic() >= self._ends_at_s

    def shorten(self, seconds: float) -> None:
        """Leaves at most `seconds`: what follows matters little."""
        self._ends_at_s = min(self._ends_at_s, time.monotonic() + seconds)

    def left_s(self) -> float:
        """Returns the seconds that are left, more than 0. Raises `TimeoutError`."""
        left_s = self._ends_at_s - time.monotonic()
        if left_s <= 0:
            raise TimeoutError("the attempt took too long")
        return left_s

    def count_read(self, size: int) -> None:
        """Counts bytes that came. Raises `TooMuchRead`."""
        self._bytes_left -= size
        if self._bytes_left < 0:
            raise TooMuchRead("the answer is too long")

    def wait_for(self, work: Callable[[], Result]) -> Result:
        """Returns what a call returns that nothing can interrupt, such as looking a name up. Raises `TimeoutError`.

        It runs in a thread, which ends by itself: the system's resolver gives up within a minute. An attempt starts one
        after the other, so few are alive at a time.
        """
        future = Future[Result]()

        def run() -> None:
            try:
                future.set_result(work())
            except BaseException as error:  # it is raised in the thread that waits
                future.set_exception(error)

        threading.Thread(target=run, daemon=True).start()
        return future.result(timeout=self.left_s())

    def connect(self, addresses: Sequence[str], port: int) -> socket.socket:
        """Returns a connection to one of some addresses, none of which takes all of the time. Raises `OSError`."""
        tried = addresses[:MAX_ADDRESSES_TRIED]
        failure = OSError("no address")
        for place, address in enumerate(tried):
            made = _BoundSocket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM)
            made.deadline = self
            try:
                made.settimeout(self.left_s() / (len(tried) - place))
                made.connect((address, port))
            except OSError as error:
                made.close()
                failure = error
            else:
                return made
        raise failure

    def make_tls_context(self) -> ssl.SSLContext:
        """Returns a context as browsers have it, whose connections end with this deadline."""
        context = ssl.create_default_context()
        context.sslsocket_class = type("_BoundTlsSocket", (_TlsSocket,), {"deadline": self})
        return context


# Both kinds of sockets time one operation as a whole, also sending all of a text, and a handshake.
class _BoundSocket(socket.socket):
    """A plain connection that ends with a deadline."""

    deadline: Deadline

    # Any: the arguments of the socket, which are passed on
    def recv_into(self, *args: Any, **kwargs: Any) -> int:
        self.settimeout(self.deadline.left_s())
        size = super().recv_into(*args, **kwargs)
        self.deadline.count_read(size)
        return size

    def send(self, *args: Any, **kwargs: Any) -> int:
        self.settimeout(self.deadline.left_s())
        return super().send(*args, **kwargs)

    def sendall(self, *args: Any, **kwargs: Any) -> None:
        self.settimeout(self.deadline.left_s())
        super().sendall(*args, **kwargs)


class _TlsSocket(_BoundSocket, ssl.SSLSocket):
    """The same with TLS, whose `sendall` calls `send` for each piece."""

    def do_handshake(self, block: bool = False) -> None:
        self.settimeout(self.deadline.left_s())
        super().do_handshake(block)
