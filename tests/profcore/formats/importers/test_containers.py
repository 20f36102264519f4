"""gzip, zlib, zip, arrays and NDJSON, nested, within bounds; none of their tricks has an effect."""

import gzip
import io
import json
import struct
import warnings
import zipfile
import zlib
from dataclasses import replace
from pathlib import Path

import pytest

from profcore.errors import Reason
from profcore.formats.importers.registry import IMPORTERS, Imported, read_file
from profcore.formats.importers.shapes import FileError, ImportLimits, Source
from tests.profcore.formats.importers.reading import DEFAULTS, SAMPLES, read, sample

TRACE = sample("trace.json")
LINE = json.dumps(json.loads(TRACE)).encode()


def make_zip(*members: tuple[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    packed = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # two members of one name
        with zipfile.ZipFile(packed, "w", method) as archive:
            for name, body in members:
                archive.writestr(name, body)
    return packed.getvalue()


def nest(body: bytes, times: int) -> bytes:
    for _ in range(times):
        body = gzip.compress(body)
    return body


@pytest.mark.parametrize(
    "body",
    [
        gzip.compress(TRACE),
        gzip.compress(TRACE[:100]) + gzip.compress(TRACE[100:]),
        zlib.compress(TRACE),
        make_zip(("a/b/trace.json", TRACE)),
        make_zip(("trace.json", TRACE), method=zipfile.ZIP_STORED),
        gzip.compress(make_zip(("trace.json.gz", gzip.compress(TRACE)))),
        b"  \n" + TRACE,
    ],
)
def test_a_packed_trace_is_the_trace_it_was(body: bytes) -> None:
    (packed,), (plain,) = read(body), read(TRACE if body[:1] != b" " else body)

    assert packed.completed == plain.completed


def test_arrays_and_lines_hold_several_inputs_of_any_format_each_with_its_place() -> None:
    other = json.dumps(json.loads(sample("lab.cpuprofile"))).encode()
    for body, places in (
        (b"[" + TRACE + b"," + other + b"]", ["file › $[0]", "file › $[1]"]),
        (LINE + b"\n\n" + other + b"\n", ["file › line 1", "file › line 3"]),
    ):
        inputs = read(body)
        assert [(one.place, one.importer.name) for one in inputs] == list(
            zip(places, ["trace", "cpuprofile"], strict=True)
        )


def test_the_same_trace_has_one_id_wherever_it_lies() -> None:
    line = read(LINE)[0].completed.envelope.viewId

    inputs = read(make_zip(("x", b"[" + LINE + b"," + LINE + b"]"), ("y", LINE + b"\n" + LINE)))
    assert {one.completed.envelope.viewId for one in inputs} == {line}
    assert len(inputs) == 4


def test_what_file_managers_add_to_an_archive_is_passed_over() -> None:
    body = make_zip(("run/", b""), ("run/trace.json", TRACE), ("__MACOSX/run/._trace.json", b"\0"), (".DS_Store", b"x"))

    assert [one.place for one in read(body)] == ["file › run/trace.json"]


@pytest.mark.parametrize(
    "name", ["../../../../tmp/escaped.json", "/etc/escaped.json", "C:\\escaped.json", "a\0b", "x\n\u202eb"]
)
def test_a_members_name_leads_nowhere_and_is_shown_on_one_line(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (imported,) = read(make_zip((name, TRACE)))

    assert list(tmp_path.iterdir()) == []
    assert not {"\n", "\0", "\u202e"} & set(imported.place)


def test_a_fault_is_named_by_file_member_and_path() -> None:
    body = make_zip(("good.json", TRACE), ("run/bad.json", b'{"resources":[],"frames":[],"stacks":[],"samples":[1]}'))

    with pytest.raises(FileError) as caught:
        read(gzip.compress(body))
    assert caught.value.place == "file › run/bad.json"
    assert str(caught.value) == "file › run/bad.json: Expected `object`, got `int`. (at $.samples[0])"


def test_nesting_is_bounded() -> None:
    assert len(read(nest(TRACE, 4))) == 1

    with pytest.raises(FileError) as caught:
        read(nest(TRACE, 5))
    assert caught.value.reason == Reason.TOO_NESTED


SMALL = ImportLimits(file_bytes=2**16, input_bytes=2**20, expanded_bytes=2**20, members=20, traces=10, values=10_000)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b" " * 70_000, Reason.TOO_LARGE),
        (gzip.compress(bytes(2**23)), Reason.TOO_LARGE),
        (zlib.compress(bytes(2**23)), Reason.TOO_LARGE),
        (make_zip(("bomb", bytes(2**23))), Reason.TOO_LARGE),
        (make_zip(("a", gzip.compress(bytes(2**23)))), Reason.TOO_LARGE),
        (make_zip(*((f"{n}.json", LINE + b" " * 100_000) for n in range(12))), Reason.TOO_LARGE),
        (make_zip(*((f"{n}.json", b"") for n in range(30))), Reason.TOO_MANY),
        (b"\n".join([LINE] * 30), Reason.TOO_MANY),
        (b"\n".join([LINE] * 15), Reason.TOO_MANY),
        (b"[" + b",".join([LINE] * 30) + b"]", Reason.TOO_MANY_ENVELOPES),
        (b"[" * 60_000, Reason.TOO_NESTED),
        (b'{"a":' * 9_000, Reason.TOO_NESTED),
        (b'{"meta":0,"threads":[' + b"0," * 12_000 + b"0]}", Reason.TOO_MANY),
        (b'{"a":0,' + b'"b":0,' * 10_500 + b'"c":0}', Reason.UNSUPPORTED_MEDIA),
    ],
)
def test_bombs_are_refused_by_a_named_limit(body: bytes, reason: Reason) -> None:
    with pytest.raises(FileError) as caught:
        read(body, limits=SMALL)
    assert caught.value.reason == reason


def make_long_profiles(count: int, weight_us: float) -> bytes:
    """Returns a speedscope file of profiles whose last sample is so long that it becomes thousands."""
    profile = {"type": "sampled", "unit": "microseconds", "samples": [[0]] * 4, "weights": [1, 1, 1, weight_us]}
    return json.dumps({"shared": {"frames": [{"name": "f"}]}, "profiles": [profile] * count}).encode()


@pytest.mark.parametrize(
    ("limits", "reason", "sentence"),
    [
        (replace(SMALL, samples=6_000), Reason.TOO_MANY, "more than 6000 samples"),
        (replace(SMALL, expanded_bytes=2**17), Reason.TOO_LARGE, "more than 131072 bytes"),
    ],
)
def test_what_is_made_of_a_small_file_is_bounded_in_all(limits: ImportLimits, reason: Reason, sentence: str) -> None:
    seen: list[Imported] = []
    with pytest.raises(FileError, match=sentence) as caught:
        seen.extend(read_file("file", make_long_profiles(9, 20_000.0), DEFAULTS, limits))
    assert caught.value.reason == reason
    assert 0 < len(seen) < 9
    assert sum(len(imported.completed.envelope.trace.samples) for imported in seen) <= limits.samples


def test_what_is_made_may_reach_the_bounds() -> None:
    made = [imported.completed for imported in read(make_long_profiles(9, 20_000.0), limits=SMALL)]
    samples = sum(len(one.envelope.trace.samples) for one in made)
    limits = replace(SMALL, samples=samples, expanded_bytes=sum(len(one.body) for one in made))

    assert len(read(make_long_profiles(9, 20_000.0), limits=limits)) == 9


def test_overlapping_members_count_each_time() -> None:
    """One compressed stream that thousands of directory entries point at: the quoted kind of bomb."""
    body = make_zip(("a", bytes(2**19)), ("b", b"x"))
    end = body.rindex(b"PK\x05\x06")
    start = struct.unpack("<I", body[end + 16 : end + 20])[0]
    entry = body[start : body.index(b"PK\x01\x02", start + 4)]
    bomb = body[:start] + entry * 10 + struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, 10, 10, len(entry) * 10, start, 0)

    with pytest.raises(FileError) as caught:
        read(bomb, limits=SMALL)
    assert caught.value.reason in {Reason.TOO_LARGE, Reason.EMPTY_BODY, Reason.UNSUPPORTED_MEDIA, Reason.INVALID_VALUE}


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda body: body[:-30], "damaged"),
        (lambda body: body[:60] + b"\xff\xff" + body[62:], "damaged"),
        (lambda body: body.replace(b"PK\x01\x02\x14\x03\x14\x00\x00", b"PK\x01\x02\x14\x03\x14\x00\x01"), "encrypted"),
    ],
)
def test_a_damaged_or_encrypted_archive_is_refused(change: object, sentence: str) -> None:
    assert callable(change)
    with pytest.raises(FileError, match=sentence):
        read(change(make_zip(("trace.json", TRACE))))


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_methods_of_packing_are_refused(method: int) -> None:
    with pytest.raises(FileError, match="deflate"):
        read(make_zip(("trace.json", TRACE), method=method))


@pytest.mark.parametrize(
    "body", [gzip.compress(TRACE, mtime=0)[:-9], gzip.compress(TRACE, mtime=0) + b"tail", b"\x1f\x8b\x08\0"]
)
def test_damaged_gzip_is_refused(body: bytes) -> None:
    with pytest.raises(FileError) as caught:
        read(body)
    assert caught.value.reason == Reason.INVALID_GZIP


@pytest.mark.parametrize("body", [b"", b" \n\t", gzip.compress(b"", mtime=0)])
def test_an_empty_input_is_said_to_be_empty(body: bytes) -> None:
    with pytest.raises(FileError) as caught:
        read(body)
    assert caught.value.reason == Reason.EMPTY_BODY


def test_what_is_no_profile_is_told_apart_from_what_is_no_json() -> None:
    with pytest.raises(FileError, match=r"has an unknown format\. These can be read"):
        read(b'{"hello": 1}')
    with pytest.raises(FileError, match="truncated"):
        read(b'{"hello": 1')
    with pytest.raises(FileError, match="has an unknown format"):
        read(b"<html>")


@pytest.mark.parametrize("path", sorted(SAMPLES.iterdir()), ids=lambda path: path.name)
def test_every_sample_is_in_one_format_and_every_format_has_a_sample(path: Path) -> None:
    source = Source(path.name, path.read_bytes(), ImportLimits())
    assert sum(importer.can_read(source) for importer in IMPORTERS) == 1


def test_every_format_has_a_sample() -> None:
    names = {one.importer.name for path in SAMPLES.iterdir() for one in read(path.read_bytes())}
    assert names == {importer.name for importer in IMPORTERS}


def test_an_array_without_anything_has_no_traces() -> None:
    assert read(b"[]") == []
