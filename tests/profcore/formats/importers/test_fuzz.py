"""Any input gives either traces within ingest's limits, or an error that names the place."""

import gzip
import io
import json
import random
import subprocess
import sys
import zipfile
import zlib
from copy import deepcopy
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from profcore.errors import Reason
from profcore.formats.importers.registry import read_file
from profcore.formats.importers.shapes import FileError, ImportLimits
from profcore.sums.fold import fold_trace
from profcore.trace.funcs import FuncTable
from profcore.trace.wire import Limits, check_envelope, check_trace
from tests.profcore.formats.importers.reading import DEFAULTS, SAMPLES

LIMITS: Final = ImportLimits(
    file_bytes=2**20,
    input_bytes=2**20,
    expanded_bytes=2**21,
    nesting=3,
    members=50,
    traces=50,
    values=20_000,
    envelope=Limits(samples=3_000, stacks=3_000, frames=1_000, resources=100, depth=200),
)
FUZZ: Final = settings(deadline=None, max_examples=150)
BODIES: Final = [path.read_bytes() for path in sorted(SAMPLES.iterdir())]
JSONS: Final = [json.loads(path.read_bytes()) for path in sorted(SAMPLES.iterdir()) if path.suffix != ".txt"]
HOSTILE: Final[tuple[Any, ...]] = (
    None,
    True,
    -1,
    0,
    1,
    2**31,
    2**63,
    10**400,
    -0.5,
    1e308,
    -1e308,
    5e-324,
    "",
    "x" * 5_000,
    "a\0b",
    "2026-11-21T10:29:50",
    "99999999999999999999",
    [],
    {},
    [0] * 50,
    [[]],
    {"data": None},
)


def try_to_read(body: bytes) -> None:
    """Reads a file: its traces pass ingest's checks and fold, or the error has a place, a reason and a path."""
    try:
        inputs = list(read_file("file", body, DEFAULTS, LIMITS))
    except FileError as error:
        refused = error
    else:
        for imported in inputs:
            envelope = imported.completed.envelope
            check_envelope(envelope, LIMITS.envelope)
            check_trace(envelope.trace, LIMITS.envelope)
            parts = fold_trace(envelope, page="/", funcs=FuncTable()).parts
            known = parts.js_us + parts.hidden_us + parts.idle_us + parts.unobserved_us + parts.profiler_us
            assert known == parts.span_us
        return
    assert refused.place.startswith("file")
    assert refused.path.startswith("$")
    assert refused.reason in Reason
    assert refused.detail.endswith(".")


@FUZZ
@given(st.binary(max_size=300))
def test_random_bytes(body: bytes) -> None:
    try_to_read(body)


@FUZZ
@given(
    st.sampled_from([b"\x1f\x8b\x08\0", b"x\x9c", b"PK\x03\x04", b"[", b"{", b'{"event_id":"1"}\n']),
    st.binary(max_size=200),
)
def test_random_bytes_behind_a_known_beginning(start: bytes, body: bytes) -> None:
    try_to_read(start + body)


@FUZZ
@given(st.sampled_from(BODIES), st.data())
def test_a_sample_cut_off_anywhere(body: bytes, data: st.DataObject) -> None:
    try_to_read(body[: data.draw(st.integers(0, len(body)))])


@FUZZ
@given(st.sampled_from(BODIES), st.integers(0, 2**32))
def test_a_sample_with_some_bytes_changed(body: bytes, seed: int) -> None:
    chance = random.Random(seed)
    changed = bytearray(body)
    for _ in range(chance.randint(1, 8)):
        changed[chance.randrange(len(changed))] = chance.choice(b'0123456789-.eE"[]{},:\\\x00\xff')
    try_to_read(bytes(changed))


@FUZZ
@given(st.sampled_from(BODIES), st.integers(0, 2**32), st.sampled_from(["gzip", "zlib", "zip"]))
def test_a_packed_sample_with_some_bytes_changed(body: bytes, seed: int, packing: str) -> None:
    chance = random.Random(seed)
    packed = io.BytesIO()
    if packing == "zip":
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("a/b.json", body)
            archive.writestr("c.json", body)
    changed = bytearray(packed.getvalue() or (gzip.compress(body) if packing == "gzip" else zlib.compress(body)))
    for _ in range(chance.randint(1, 6)):
        changed[chance.randrange(len(changed))] = chance.randrange(256)
    if chance.random() < 0.3:
        del changed[chance.randrange(len(changed)) :]
    try_to_read(bytes(changed))


def spots(value: Any) -> list[tuple[Any, Any]]:
    """Returns every (container, key) of a JSON value."""
    places, pending = [], [value]
    while pending:
        one = pending.pop()
        keys = list(one) if isinstance(one, dict) else range(len(one)) if isinstance(one, list) else ()
        for key in keys:
            places.append((one, key))
            pending.append(one[key])
    return places


@settings(FUZZ, max_examples=400)
@given(st.sampled_from(JSONS), st.integers(0, 2**32))
def test_a_sample_with_some_values_replaced_removed_or_repeated(value: Any, seed: int) -> None:
    chance = random.Random(seed)
    changed = json.loads(json.dumps(value))
    for _ in range(chance.randint(1, 4)):
        places = spots(changed)
        if not places:
            break
        container, key = chance.choice(places)
        deed = chance.randrange(4)
        if deed == 0:
            container[key] = deepcopy(chance.choice(HOSTILE))
        elif deed == 1:
            del container[key]
        elif deed == 2 and isinstance(container, list):
            container.insert(key, container[key])
        else:
            container[key] = chance.choice(places)[1] if chance.random() < 0.5 else chance.randint(-3, 12)
    try_to_read(json.dumps(changed).encode())


@pytest.mark.slow(15)
@FUZZ
@given(
    st.recursive(
        st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(),
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.dictionaries(
                st.sampled_from(
                    [
                        "trace",
                        "frames",
                        "stacks",
                        "samples",
                        "resources",
                        "nodes",
                        "timeDeltas",
                        "meta",
                        "threads",
                        "shared",
                        "profiles",
                        "profile",
                        "platform",
                        "version",
                        "traceEvents",
                        "clocksOrigin",
                        "wall-time.json",
                        "ph",
                        "pid",
                    ]
                ),
                inner,
                max_size=6,
            )
        ),
    )
)
def test_json_in_the_words_of_the_formats(value: object) -> None:
    try_to_read(json.dumps(value).encode())


def _zip_of_many() -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for number in range(60_000):
            archive.writestr(str(number), b"")
    return packed.getvalue()


def _deep_profile(threads: int, depth: int) -> bytes:
    """Returns a Firefox profile whose every thread has one sample, at the end of the same deep stack."""
    shared = {
        "stringArray": ["a"],
        "stackTable": {"frame": [0] * depth, "prefixOffset": [0] + [1] * (depth - 1)},
        "frameTable": {"func": [0], "category": [None]},
        "funcTable": {"name": [0], "isJS": [True], "relevantForJS": [False]},
    }
    thread = {"samples": {"stack": [depth - 1], "time": [0]}}
    meta = {"preprocessedProfileVersion": 70}
    return json.dumps({"meta": meta, "shared": shared, "threads": [thread] * threads}).encode()


# Each would take gigabytes or minutes if something is built, split or searched before it is counted.
BOMBS: Final = {
    "gzip": lambda: gzip.compress(gzip.compress(bytes(2**28), 9)),
    "weights": lambda: (
        b'{"$schema":"https://www.speedscope.app/file-format-schema.json","shared":{"frames":[{"name":"a"}]},'
        b'"profiles":[{"type":"sampled","unit":"seconds","samples":[[0],[0]],"weights":[0.000001,2592000]}]}'
    ),
    "profiles": lambda: (
        b'{"$schema":"https://www.speedscope.app/file-format-schema.json","shared":{"frames":['
        + b",".join([b'{"name":"a"}'] * 100_000)
        + b']},"profiles":['
        + b",".join([b'{"type":"sampled","unit":"seconds","samples":[],"weights":[]}'] * 100_000)
        + b"]}"
    ),
    "zeros": lambda: b"[" + b"0," * 20_000_000 + b"0]",
    "events": lambda: b'[{"ph":"X","pid":1},' + b"{}," * 10_000_000 + b"{}]",
    "numbers": lambda: b'[{"ph":"X","pid":1},' + b"0," * 20_000_000 + b"0]",
    "keys": lambda: b"{" + b",".join(b'"%d":0' % n for n in range(4_000_001)) + b"}",
    "lines": lambda: b"{}\n{}\n" + b"\n" * 40_000_000,
    "deep stacks": lambda: _deep_profile(threads=100, depth=9_000),
    "zip": _zip_of_many,
}
IN_A_PROCESS: Final = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (2 * 2**30, 2 * 2**30))
resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
from profcore.formats.importers.completing import Defaults
from profcore.formats.importers.registry import read_file
from profcore.formats.importers.shapes import FileError, ImportLimits
try:
    count = sum(1 for _ in read_file("file", sys.stdin.buffer.read(), Defaults("1", "/", 1.8e12), ImportLimits()))
    print(count, "traces")
except FileError as error:
    print(error.reason)
"""


@pytest.mark.slow(15)
@pytest.mark.parametrize("name", sorted(BOMBS))
def test_a_bomb_takes_no_more_than_the_limits_say(name: str) -> None:
    """In a process of its own that may have 2 GiB of addresses and a minute of one core."""
    done = subprocess.run(
        [sys.executable, "-c", IN_A_PROCESS],
        input=BOMBS[name](),
        capture_output=True,
        cwd=Path(__file__).parents[4],
        timeout=600,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.strip()
