"""Single views for `bench large-views`: usual ones, and hostile ones of a given size."""

import gzip
import json
from collections.abc import Callable, Iterator, Mapping
from itertools import count
from types import MappingProxyType
from typing import Any, Final
from uuid import UUID

import msgspec

from bench.heavy import make_heavy_envelope
from bench.hostile.shapes import TICK_MS, Shape, all_roots, comb, make_envelope

VIEW: Final = UUID(int=1)
SAMPLES: Final = 90_000  # of a trace of nearly 4 MB
DEPTH: Final = 10_000
FUNCS: Final = 36_000
MARKS: Final = 9_000
Json = dict[str, Any]  # Any: JSON


def heavy(seq: int) -> Json:
    """300 functions on 5,000 stacks and 1,500 samples."""
    return make_heavy_envelope(seq, "huge")


def samples(seq: int) -> Json:
    """As many samples as bytes can hold."""
    envelope = _shape(comb, 10)
    envelope["trace"]["samples"] = [{"timestamp": at} for at in range(2 * SAMPLES)]
    return envelope


def deep(seq: int) -> Json:
    """Samples under stacks of 10,000 calls that all differ, in each trace other ones."""
    envelope = _shape(comb, SAMPLES)
    for frame in envelope["trace"]["frames"]:
        frame["line"] = seq + 1
    return envelope


def funcs(seq: int) -> Json:
    """36,000 functions that no other trace has."""
    envelope = _shape(all_roots, FUNCS)
    for frame in envelope["trace"]["frames"]:
        frame["line"] = seq + 1
    return envelope


def stacks(seq: int) -> Json:
    """A chain of calls for each of 20 functions, and a sample in each stack: as many call nodes as stacks."""
    envelope = _shape(comb, 10)
    trace = envelope["trace"]
    trace["frames"] = [{"name": f"f{n}", "line": seq + 1, "column": n + 1, "resourceId": 0} for n in range(20)]
    trace["stacks"] = [{"frameId": n % 20, **({"parentId": n - 1} if n % DEPTH else {})} for n in range(SAMPLES)]
    trace["samples"] = [{"timestamp": at, "stackId": at} for at in range(SAMPLES)]
    return envelope


def marks(seq: int) -> Json:
    """As many long animation frames as the door admits."""
    envelope = _shape(comb, 10)
    envelope["marks"] = [{"type": "loaf", "start": 20 * at, "duration": 10} for at in range(MARKS)]
    return envelope


def names(seq: int) -> Json:
    """Functions with names of a thousand characters: one trace is nearly as large as the door admits."""
    envelope = _shape(all_roots, 24_000)
    for number, frame in enumerate(envelope["trace"]["frames"]):
        frame["name"] = f"{number}-{seq}".ljust(1_000, "x")
    return envelope


KINDS: Final[Mapping[str, Callable[[int], Json]]] = MappingProxyType(
    {each.__name__: each for each in (heavy, samples, deep, stacks, funcs, marks, names)}
)


def make_view(kind: str, most_bytes: int) -> Iterator[Json]:
    """Yields the envelopes of one view, with ascending times, of at most so many expanded bytes in all."""
    size, start_ms = 0, 0.0
    for seq in count():
        moved = _move(KINDS[kind](seq), seq, start_ms)
        size += len(write(moved))
        if seq and size > most_bytes:
            return
        yield moved
        start_ms = max(sample["timestamp"] for sample in moved["trace"]["samples"]) + TICK_MS


def write(envelope: Json) -> bytes:
    """Returns an envelope's body."""
    return json.dumps(envelope, separators=(",", ":")).encode()


def pack(envelope: Json) -> bytes:
    """Returns an envelope's body as a browser sends it."""
    return gzip.compress(write(envelope), 6)


def _move(envelope: Json, seq: int, start_ms: float) -> Json:
    for sample in envelope["trace"]["samples"]:
        sample["timestamp"] += start_ms
    for mark in envelope.get("marks", ()):
        mark["start"] += start_ms
    return {**envelope, "seq": seq, "viewId": str(VIEW), "page": "/large", "timeOrigin": 1.7e12, "release": "1"}


def _shape(shape: Shape, sample_count: int) -> Json:
    envelope: Json = msgspec.to_builtins(make_envelope(shape, sample_count, min(DEPTH, sample_count)))
    return envelope
