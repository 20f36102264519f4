"""Views for `bench vitals`: recorded ones, heavy ones, and those that are as dear to read as the door admits."""

import json
from collections.abc import Callable, Iterator, Mapping
from itertools import count, islice
from types import MappingProxyType
from typing import Any, Final
from uuid import UUID, uuid5

import msgspec

from bench.corpus import NAMESPACE
from bench.heavy import make_heavy_envelope
from bench.hostile.shapes import TICK_MS, Shape, all_roots, comb, make_envelope
from bench.vitals.run import read_views
from profcore.stats.sampling import sample_key

VIEWS: Final = 400
MOST_BYTES: Final = 36_000_000  # of a kind, expanded: more than one request reads
DEPTH: Final = 10_000
LARGE: Final = 90_000  # samples of a trace of nearly 4 MB
MARKS: Final = 9_000
TRACES_OF_ONE: Final = 100
GROUPS_OF_ONE: Final = 1_500
TRIED_IDS: Final = 10_000
Json = dict[str, Any]  # Any: JSON
View = list[Json]


def recorded() -> Iterator[View]:
    """Yields visits of the shop: four chunks each."""
    for bodies in read_views():
        yield [json.loads(body) for body in bodies]


def heavy() -> Iterator[View]:
    """Yields views of one heavy trace each."""
    for number in count():
        yield [_add_waits(make_heavy_envelope(number, "heavy"), 1_000)]


def samples() -> Iterator[View]:
    """Yields views of as many samples as their bytes can hold: each is a time, and no more."""
    for number in count():
        yield [_make_samples(number, 0)]


def deep() -> Iterator[View]:
    """Yields views of 90,000 samples under stacks of 10,000 calls that all differ."""
    for number in count():
        yield [_shape(comb, LARGE, number)]


def funcs() -> Iterator[View]:
    """Yields views that run 36,000 functions, other ones each."""
    for number in count():
        envelope = _shape(all_roots, 36_000, number)
        for frame in envelope["trace"]["frames"]:
            frame["line"] = number + 1
        yield [envelope]


def marks() -> Iterator[View]:
    """Yields views of eight traces with as many long animation frames as the door admits."""
    for number in count():
        yield [_make_marks(number, seq) for seq in range(8)]


def traces() -> Iterator[View]:
    """Yields views of a hundred small traces."""
    for number in count():
        view = [_shape(comb, 10, number) for _ in range(TRACES_OF_ONE)]
        yield [_move(envelope, seq, 10) for seq, envelope in enumerate(view)]


def giant() -> Iterator[View]:
    """Yields one view of 27 MB, the first in the order of samples, and then recorded ones."""
    first = min((_id_of(number) for number in range(TRIED_IDS)), key=sample_key)
    large = [{**_make_samples(0, seq), "viewId": str(first)} for seq in range(8)]
    yield large
    yield from islice(recorded(), VIEWS - 1)


def one_id() -> Iterator[View]:
    """Yields small views that all have one id, each on a page of its own."""
    for number in range(GROUPS_OF_ONE):
        yield [{**_shape(comb, 10, 0), "seq": number, "page": f"/page-{number}"}]


KINDS: Final[Mapping[str, Callable[[], Iterator[View]]]] = MappingProxyType(
    {each.__name__: each for each in (recorded, heavy, samples, deep, funcs, marks, traces, giant, one_id)}
)


def make_views(kind: str, *, views: int | None = None, most_bytes: int = MOST_BYTES) -> Iterator[list[bytes]]:
    """Yields the bodies of views of a kind: so many views, or so many bytes in all."""
    most = (GROUPS_OF_ONE if kind == "one_id" else VIEWS) if views is None else views
    size = 0
    for view in islice(KINDS[kind](), most):
        bodies = [json.dumps(envelope, separators=(",", ":")).encode() for envelope in view]
        yield bodies
        size += sum(map(len, bodies))
        if size >= most_bytes:
            return


def _id_of(number: int) -> UUID:
    return uuid5(NAMESPACE, f"vitals:{number}")


def _shape(shape: Shape, sample_count: int, number: int) -> Json:
    envelope: Json = msgspec.to_builtins(make_envelope(shape, sample_count, min(DEPTH, sample_count)))
    envelope["viewId"] = str(_id_of(number))
    return _add_waits(envelope, TICK_MS * sample_count)


def _make_samples(number: int, seq: int) -> Json:
    envelope = _shape(comb, 10, number)
    start = 2 * LARGE * seq
    envelope["trace"]["samples"] = [{"timestamp": start + at} for at in range(2 * LARGE)]
    return {**_add_waits(envelope, start + 2 * LARGE), "seq": seq}


def _make_marks(number: int, seq: int) -> Json:
    envelope = _shape(comb, 10, number)
    first = MARKS * seq
    envelope["marks"] += [{"type": "loaf", "start": 20 * (first + at), "duration": 10} for at in range(MARKS)]
    return _move(envelope, seq, 20 * MARKS)


def _move(envelope: Json, seq: int, length_ms: float) -> Json:
    """Returns a trace that is the `seq`-th of its view."""
    for sample in envelope["trace"]["samples"]:
        sample["timestamp"] += seq * length_ms
    return {**envelope, "seq": seq}


def _add_waits(envelope: Json, end_ms: float) -> Json:
    """Returns an envelope whose view waited all the time: every window is as long as its trace."""
    interaction = {"type": "event", "name": "click", "start": 1.0, "duration": end_ms, "interactionId": 1}
    parts = {"processingStart": end_ms / 3, "processingEnd": end_ms / 2}
    frame = {"type": "loaf", "start": 0.0, "duration": end_ms}
    envelope["marks"] = [*envelope.get("marks", ()), {"type": "lcp", "start": end_ms}, {**interaction, **parts}, frame]
    return envelope
