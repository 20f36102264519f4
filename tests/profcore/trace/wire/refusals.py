"""Envelopes with one change each, and the expected errors."""

import json
import re
from copy import deepcopy
from typing import Any, Final

import pytest

from profcore.errors import Reason, TraceError
from profcore.trace.wire import Envelope, Limits, decode_envelope
from tests.envelopes import TIME_ORIGIN_MS, make_envelope, view_id_of
from tests.profcore.twins.posted_bodies import compare

STEP: Final = re.compile(r"\.(\w+)|\[(\d+)\]")
HOLE: Final = "\u2205 raw bytes come here \u2205"
# JSON under construction: any value the wire can carry, right or wrong.
Json = Any


def full_envelope() -> Json:
    """Returns a valid envelope that has every field: two frames, two stacks, three samples (A, A B, none)."""
    envelope = make_envelope(
        "a",
        "A\nA B\n-",
        traceId=view_id_of("trace"),
        url="https://shop.example/cart?step=2",
        viewStart=TIME_ORIGIN_MS,
        requestedInterval=10,
        sampleRate=0.5,
        slowRate=0.75,
        onlySlow=True,
        reason="timer",
        navigation="reload",
        cache="warm",
        session="b3-Zx_9",
        environment="staging",
        requestTrace="4bf92f3577b34da6a3ce929d0e0e4736",
        cost={"ms": 1.25, "sampled": 10},
        snippet={"version": "1.0.0", "url": "https://profiles.example/snippet.js"},
        debugIds={"app://shop/main": "f997c982-fb7b-472d-9f0a-84d5c8ad7d7c"},
        userAgent="Mozilla/5.0",
        isolated=False,
        device={"memory": 8, "cores": 4, "mobile": False},
        marks=[{"type": "longtask", "start": 5, "duration": 60.5}],
        tags={"team": "checkout"},
    )
    envelope["trace"]["samples"][2]["marker"] = "gc"
    return envelope


def body_of(envelope: Json) -> bytes:
    """Returns an envelope's bytes, as a browser sends them."""
    return json.dumps(envelope, separators=(",", ":"), ensure_ascii=False).encode()


def steps_of(path: str) -> list[str | int]:
    """Returns the steps of a path such as `$.trace.samples[3].timestamp`."""
    return [name or int(index) for name, index in STEP.findall(path)]


def changed(path: str, value: Json) -> Json:
    """Returns the full envelope with `value` at `path`."""
    envelope = deepcopy(full_envelope())
    *way, last = steps_of(path)
    place = envelope
    for step in way:
        place = place[step]
    place[last] = value
    return envelope


def without(path: str) -> Json:
    """Returns the full envelope without the value at `path`."""
    envelope = deepcopy(full_envelope())
    *way, last = steps_of(path)
    place = envelope
    for step in way:
        place = place[step]
    del place[last]
    return envelope


def with_raw(path: str, raw: bytes) -> bytes:
    """Returns the full envelope's bytes with `raw` as the value at `path`, for text that no JSON writer writes."""
    body = body_of(changed(path, HOLE))
    hole = json.dumps(HOLE, ensure_ascii=False).encode()
    assert body.count(hole) == 1
    return body.replace(hole, raw)


def accepted(envelope: Json, limits: Limits | None = None) -> Envelope:
    """Returns a decoded envelope (or bytes) that must be accepted."""
    body = envelope if isinstance(envelope, bytes) else body_of(envelope)
    compare(body, limits)  # the compiled twin, where it is built, accepts nothing else
    return decode_envelope(body, limits or Limits())


def refusal(envelope: Json, limits: Limits | None = None) -> tuple[Reason, str]:
    """Returns the reason and the path of an envelope (or bytes) that must be refused."""
    error = refusal_error(envelope, limits)
    return error.reason, error.path


def refusal_error(envelope: Json, limits: Limits | None = None) -> TraceError:
    """Returns the error of an envelope (or bytes) that must be refused."""
    with pytest.raises(TraceError) as caught:
        accepted(envelope, limits)
    return caught.value
