"""The compiled check of a posted body: what it accepts the pure one accepts, with the same values."""

import gzip
import json
import random
import re
import struct
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from profcore.kernel import find_kernel
from profcore.trace.wire import Limits
from tests.corpus import corpus_envelopes
from tests.heavy_traces import make_heavy_envelope
from tests.hostile.cases import BodyCase
from tests.hostile.core_parts import ENVELOPES, LIMITS
from tests.hostile.edits import BROKEN, HOSTILE
from tests.profcore.strategies import PROPERTY
from tests.profcore.trace.wire.refusals import body_of, changed, full_envelope, with_raw
from tests.profcore.twins.posted_bodies import MAX_BYTES, check_pure, compare, make_check
from tests.properties import bounded

pytestmark = pytest.mark.skipif(find_kernel().module is None, reason=find_kernel().why_pure)

EDGE: Final = Path(__file__).parents[2] / "data" / "edge"
FULL: Final = body_of(full_envelope())
RICH: Final = body_of(
    changed("$.marks", [{"type": "a", "start": 1, "scripts": [{"n": 1e3}], "x": {"y": [1]}}])
    | {"unknown": {"a": [1, "x"]}}
)
VALUE: Final = re.compile(rb'"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*|true|false|null')


def bodies() -> list[bytes]:
    return [json.dumps(envelope, separators=(",", ":")).encode() for _, envelope in corpus_envelopes()]


def test_every_recorded_trace_is_accepted_gzip_or_not() -> None:
    for body in bodies():
        assert compare(body)
        assert compare(gzip.compress(body, 6))


def test_every_edge_case_gives_the_same() -> None:
    accepted = 0
    for path in sorted(EDGE.glob("*.trace.json")):
        wire = full_envelope()
        wire["trace"] = None
        accepted += compare(body_of(wire).replace(b'"trace":null', b'"trace":' + path.read_bytes()))
    assert accepted >= 30


def test_heavy_traces_are_accepted() -> None:
    for number in range(3):
        for kind in ("heavy", "huge"):
            assert compare(gzip.compress(json.dumps(make_heavy_envelope(number, kind)).encode()))


@pytest.mark.parametrize("body", [FULL, RICH])
def test_all_fields_are_handed_back(body: bytes) -> None:
    assert compare(body)
    assert compare(gzip.compress(body))


@bounded(300)
@given(ENVELOPES)
def test_hostile_envelopes(case: BodyCase) -> None:
    compare(case.body, LIMITS)


@pytest.mark.parametrize("body", [FULL, RICH])
@pytest.mark.parametrize("value", [value for value in HOSTILE if len(value) < 50_000], ids=lambda value: value[:20])
def test_any_hostile_value_in_any_place(body: bytes, value: bytes) -> None:
    for match in VALUE.finditer(body):
        compare(body[: match.start()] + value + body[match.end() :])


@pytest.mark.parametrize("body", [FULL, RICH])
def test_any_byte_changed(body: bytes) -> None:
    for at in range(len(body)):
        for byte in b'"\\{}[],:0-.eE+ \n\x00\xff':
            compare(body[:at] + bytes([byte]) + body[at + 1 :])
        compare(body[:at] + body[at + 1 :])
        compare(body[:at])


@PROPERTY
@given(st.integers(0, len(RICH) - 1), st.integers(0, 12), st.binary(max_size=12))
def test_damaged_bytes(at: int, length: int, patch: bytes) -> None:
    compare(RICH[:at] + patch + RICH[at + length :])


def test_any_byte_of_a_gzip_changed() -> None:
    chance = random.Random(17)
    for level in (1, 6, 9):
        packed = gzip.compress(RICH, level, mtime=0)
        for at in range(len(packed)):
            for byte in (0, 255, packed[at] ^ 1, chance.randrange(256)):
                compare(packed[:at] + bytes([byte]) + packed[at + 1 :])
            compare(packed[:at])


def test_gzip_of_other_forms() -> None:
    for packed in (
        gzip.compress(FULL[:100]) + gzip.compress(FULL[100:]),
        gzip.compress(FULL) + b"\0",
        gzip.compress(FULL) + gzip.compress(b""),
        gzip.compress(FULL)[:-8] + struct.pack("<II", zlib.crc32(FULL), len(FULL) + 1),
        b"\x1f\x8b\x08\x08" + gzip.compress(FULL)[4:10] + b"name\0" + gzip.compress(FULL)[10:],
        zlib.compress(FULL),
        b"\x1f\x8b",
        b"",
    ):
        compare(packed)


def test_a_body_at_the_bound_is_accepted_and_a_larger_one_is_left() -> None:
    for sent in (FULL, gzip.compress(FULL)):
        assert compare(sent, max_bytes=len(FULL))
        assert not compare(sent, max_bytes=len(FULL) - 1)


def test_a_bomb_is_left_before_it_is_expanded() -> None:
    assert not compare(gzip.compress(bytes(2**26), 9))
    claims_small = gzip.compress(bytes(2**24), 9)[:-4] + struct.pack("<I", 1_000)
    assert not compare(claims_small)


@pytest.mark.parametrize(
    "body",
    [
        b"[" + FULL + b"]",
        FULL + b"\n" + FULL,
        FULL + b"1",
        b"\xef\xbb\xbf" + FULL,
        FULL.replace(b'"seq":0', b'"seq":0,"trace":{"resources":[],"frames":[],"stacks":[],"samples":[]}'),
        body_of(changed("$.sampleInterval", 0.5)),  # only posts are held to this one
        body_of(changed("$.requestedInterval", 1_001)),
        body_of(changed("$.sampleInterval", 1_000.5)),
        with_raw("$.page", b'"' + b"a" * 600_000 + b'"'),
    ],
)
def test_what_is_no_single_plain_envelope_is_left(body: bytes) -> None:
    assert not compare(body)


def test_white_space_around_it_changes_nothing() -> None:
    assert compare(b" \r\n\t" + FULL + b"\n \t")


def test_a_field_that_is_sent_twice_is_read_as_the_pure_twin_reads_it() -> None:
    assert compare(FULL.replace(b'"seq":0', b'"seq":0,"seq":5'))
    assert not compare(FULL.replace(b'"seq":0', b'"seq":5,"seq":-1'))


@pytest.mark.parametrize("hostile", BROKEN, ids=lambda value: value[:10])
def test_broken_values_of_unknown_fields_are_never_accepted(hostile: bytes) -> None:
    for body in (FULL, RICH):
        assert not compare(body[:-1] + b',"more":' + hostile + b"}")
        assert not compare(body.replace(b'"resources":', b'"more":' + hostile + b',"resources":'))


def test_threads_share_a_check() -> None:
    check = make_check(Limits(), MAX_BYTES)
    assert check is not None
    packed = [gzip.compress(body) for body in bodies()[:100]]
    wanted = [check_pure(sent, Limits(), MAX_BYTES) for sent in packed]
    with ThreadPoolExecutor(8) as pool:
        for _ in range(5):
            assert list(pool.map(check.check, packed)) == wanted
