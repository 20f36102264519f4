"""Posts of recorded or artificial traces to a running stack."""

import gzip
import http.client
import json
import threading
import time
from argparse import ArgumentParser
from collections.abc import Sequence
from itertools import count
from typing import Final
from uuid import UUID, uuid5

from tests.corpus import NAMESPACE, Json, corpus_envelopes
from tests.heavy_traces import SIZES, make_heavy_envelope

PROJECT: Final = "bench"
HEAVY_ENVELOPES: Final = 60


def add_kind(parser: ArgumentParser) -> None:
    """Adds the option that says which traces are sent."""
    parser.add_argument("--kind", choices=["recorded", *SIZES], default="recorded", help="which traces (%(default)s)")


def read_envelopes(kind: str = "recorded") -> list[Json]:
    """Returns the recorded traces, or artificial ones of another kind, as envelopes."""
    if kind != "recorded":
        return [make_heavy_envelope(number, kind) for number in range(HEAVY_ENVELOPES)]
    return [envelope for _, envelope in corpus_envelopes()]


def make_bodies(recorded: Sequence[Json], traces: int, first: int = 0) -> list[bytes]:
    """Returns gzip bodies of the envelopes, repeated as new views each time; those from `first` on are others."""
    bodies = []
    for number in range(first, first + traces):
        envelope = dict(recorded[number % len(recorded)])
        view = uuid5(NAMESPACE, f"{envelope['viewId']}:{number}")
        envelope.update(viewId=str(view), traceId=str(UUID(int=view.int ^ 1)))
        bodies.append(gzip.compress(json.dumps(envelope, separators=(",", ":")).encode(), 6))
    return bodies


def post_all(port: int, bodies: Sequence[bytes], senders: int, keys: Sequence[str] = ()) -> list[float]:
    """Posts every body once over keep-alive connections; returns the seconds each answer took. Raises on a refusal.

    `keys` has the ingest key of each body, if they are not all of one project.
    """
    numbers = count()
    latencies: list[float] = []
    faults: list[str] = []

    def send() -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        while (number := next(numbers)) < len(bodies) and not faults:
            began = time.perf_counter()
            key = keys[number] if keys else PROJECT
            connection.request("POST", f"/ingest/v1/traces?key={key}", bodies[number])
            answer = connection.getresponse()
            text = answer.read()
            latencies.append(time.perf_counter() - began)
            if answer.status != 202:
                faults.append(f"{answer.status} {text[:200]!r}")
        connection.close()

    threads = [threading.Thread(target=send) for _ in range(senders)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if faults:
        raise RuntimeError(f"a post was refused: {faults[0]}")
    return latencies
