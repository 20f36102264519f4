"""How long a body may take, and how many may be slow at once."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from ingest.endpoint.slow_bodies import (
    BodyLimits,
    SlowBody,
    SlowPlaces,
    TimedBody,
    TooManySlowBodies,
    end_slow,
    slow_error_of,
)

LIMIT_S = 120.0  # the machine may be busy
QUICK = BodyLimits(wait_s=LIMIT_S, bytes_per_s=1_000)


class Stream:
    """A body of so many bytes, in pieces as they are asked for. It stops at `stops_at` until it is released."""

    def __init__(self, size: int, stops_at: int | None = None) -> None:
        self.left = size
        self.stops_at = stops_at
        self.given = 0
        self.asked: list[int] = []
        self.released = threading.Event()

    def read(self, size: int, /) -> bytes:
        self.asked.append(size)
        if self.stops_at is not None and self.given >= self.stops_at:
            self.released.wait(LIMIT_S)
        taken = min(size, self.left)
        self.left -= taken
        self.given += taken
        return b"x" * taken


@contextmanager
def stopping(size: int, stops_at: int) -> Iterator[Stream]:
    stream = Stream(size, stops_at)
    yield stream
    stream.released.set()


def make_places(all_places: int = 4, places_of_address: int = 4) -> SlowPlaces:
    return SlowPlaces(all_places=all_places, places_of_address=places_of_address)


@pytest.mark.parametrize("read", [lambda body: body.read(), lambda body: body.read(10**6), lambda body: body.read(-1)])
def test_a_body_is_read_to_its_end(read: Callable[[TimedBody], bytes]) -> None:
    assert len(read(TimedBody(Stream(300_000), QUICK, make_places(), "a"))) == 300_000


def test_a_part_of_a_body_is_as_long_as_was_asked_for() -> None:
    body = TimedBody(Stream(100), QUICK, make_places(), "a")
    assert [len(body.read(60)) for _ in range(3)] == [60, 40, 0]


def test_lines_are_read_as_from_any_file() -> None:
    class Lines(Stream):
        def read(self, size: int, /) -> bytes:
            return super().read(size).replace(b"x", b"\n")

    assert list(TimedBody(Lines(3), QUICK, make_places(), "a")) == [b"\n", b"\n", b"\n"]


def test_a_sender_at_the_least_rate_needs_less_than_the_wait_for_a_piece() -> None:
    for wait_s, bytes_per_s in ((10, 2_000), (1, 1), (1, 10**9)):
        limits = BodyLimits(wait_s=wait_s, bytes_per_s=bytes_per_s)
        assert limits.piece_bytes / bytes_per_s <= wait_s
        assert limits.piece_bytes <= 64 * 1024


def test_every_byte_that_has_come_gives_time_for_more() -> None:
    assert BodyLimits(wait_s=10, bytes_per_s=2_000).allowed_s(4_000) == 12


def test_a_body_that_stops_is_given_up_and_stays_so() -> None:
    with stopping(100, stops_at=10) as stream:
        body = TimedBody(stream, BodyLimits(wait_s=0.1, bytes_per_s=200), make_places(), "a")
        for _ in range(2):
            with pytest.raises(SlowBody, match="too slowly"):
                body.read(100)
        assert body.error is not None


def test_a_body_without_a_place_is_given_up_before_its_deadline() -> None:
    places = make_places(all_places=1)
    assert places.take("b")
    with stopping(100, stops_at=10) as stream:
        body = TimedBody(stream, BodyLimits(wait_s=LIMIT_S, bytes_per_s=1, quick_s=0.05), places, "a")
        with pytest.raises(TooManySlowBodies):
            body.read(100)


def test_a_slow_body_has_a_place_until_it_is_answered() -> None:
    places = make_places(all_places=1)
    with stopping(100, stops_at=10) as stream:
        body = TimedBody(stream, BodyLimits(wait_s=0.4, bytes_per_s=100, quick_s=0.05), places, "a")
        with pytest.raises(SlowBody):
            body.read(100)
        assert not places.take("b")
        body.leave()
        body.leave()
        assert places.take("b")


def test_one_address_cannot_take_all_places() -> None:
    places = make_places(all_places=3, places_of_address=2)
    assert [places.take("a"), places.take("a"), places.take("a")] == [True, True, False]
    assert [places.take("b"), places.take("b")] == [True, False]
    places.leave("a")
    assert places.take("b")


def test_an_error_of_the_stream_is_that_of_the_read() -> None:
    class Broken:
        def read(self, size: int, /) -> bytes:
            raise ConnectionResetError("gone")

    with pytest.raises(ConnectionResetError):
        TimedBody(Broken(), QUICK, make_places(), "a").read(10)


def test_what_django_makes_of_it_is_recognised() -> None:
    made = OSError("unreadable")
    made.__cause__ = SlowBody("slow")
    assert slow_error_of(made) is made.__cause__
    assert slow_error_of(OSError("gone")) is None


@pytest.mark.parametrize(
    ("error", "given", "status", "content"),
    [
        (SlowBody("Slow."), "403 Forbidden", "408 Request Timeout", b"Slow.\n"),
        (TooManySlowBodies("Many."), "200 OK", "503 Service Unavailable", b"Many.\n"),
        (SlowBody("Slow."), "408 Request Timeout", "408 Request Timeout", b"{}"),
    ],
)
def test_the_answer_promises_a_byte_that_never_comes(error: SlowBody, given: str, status: str, content: bytes) -> None:
    begun: list[tuple[str, list[tuple[str, str]]]] = []
    headers = [("Content-Length", "2"), ("X-Kept", "1")]
    assert b"".join(end_slow(error, given, headers, b"{}", lambda *arguments: begun.append(arguments))) == content
    assert begun[0][0] == status
    assert ("Content-Length", str(len(content) + 1)) in begun[0][1]
    assert ("Connection", "close") in begun[0][1]
    assert (("X-Kept", "1") in begun[0][1]) == (given == status)
