"""Trace events without their closing brackets, and files with a byte order mark or in UTF-16."""

import codecs
import gzip
import io
import json
import time
import zipfile

import pytest

from profcore.errors import Reason, TraceError
from profcore.formats.importers.chrome.cut_short import NOTE_CUT, close_events
from profcore.formats.importers.shapes import FileError, ImportLimits, Source
from tests.profcore.formats.importers.reading import LIMITS, lines, read, read_envelope, read_fault, sample, sample_json

EVENTS = sample_json("trace-events.json")["traceEvents"]
ARRAY = json.dumps(EVENTS).encode()
OBJECT = json.dumps({"traceEvents": EVENTS}).encode()
DEVTOOLS = json.dumps(
    {"metadata": {"source": "DevTools", "x": [{"traceEvents": [1]}]}, "traceEvents": EVENTS, "a": {"b": []}, "c": "}]"},
    indent=1,
).encode()
WHOLE = lines(read_envelope(ARRAY))
ONE_LESS = json.dumps([*EVENTS, {"name": "x", "ph": "X", "pid": 1, "args": {"text": 'a "quoted" } ] {'}}]).encode()


@pytest.mark.parametrize(
    "body",
    [
        ARRAY[:-1],
        ARRAY[:-1] + b",",
        ARRAY[:-1] + b",\n",
        b" \n" + ARRAY[:-1] + b"\r\n",
        OBJECT[:-2],
        OBJECT[:-1],
        OBJECT[:-2] + b",\n",
        OBJECT[:-1] + b",",
        DEVTOOLS.rstrip(b"}").rstrip(),
    ],
)
def test_missing_brackets_are_added(body: bytes) -> None:
    (imported,) = read(body)
    assert lines(imported.completed.envelope) == WHOLE
    assert NOTE_CUT not in imported.completed.notes or body.endswith(b'"')


def test_an_event_that_was_cut_is_left_out_and_said_wherever_the_cut_is() -> None:
    last = ONE_LESS.rindex(b'{"name"')
    for end in range(last + 1, len(ONE_LESS) - 1):
        (imported,) = read(ONE_LESS[:end])
        assert lines(imported.completed.envelope) == WHOLE, end
        is_whole = ONE_LESS[:end].endswith(b"}}")
        assert (NOTE_CUT in imported.completed.notes) != is_whole, end


def test_a_cut_object_is_read_wherever_the_cut_is_behind_the_events() -> None:
    end_of_events = DEVTOOLS.rindex(b"]", 0, DEVTOOLS.rindex(b'"a"'))
    for end in range(end_of_events, len(DEVTOOLS) - 1):
        (imported,) = read(DEVTOOLS[:end])
        assert lines(imported.completed.envelope) == WHOLE, end


def test_every_cut_gives_traces_or_a_sentence() -> None:
    for body in (ARRAY, OBJECT, DEVTOOLS):
        for end in range(0, len(body), 7):
            try:
                read(body[:end])
            except FileError as error:
                assert error.detail  # noqa: PT017


@pytest.mark.parametrize("body", [b'[{"ph":"X","pid":1}]]', b'{"traceEvents":[]}}', b'[{"ph":1]', b'{"traceEvents": 1'])
def test_what_lacks_no_bracket_is_refused_as_before(body: bytes) -> None:
    with pytest.raises(FileError):
        read(body)


def test_other_json_that_was_cut_is_refused() -> None:
    assert read_fault(sample("lab.cpuprofile")[:-3])[0] is Reason.INVALID_JSON


@pytest.mark.parametrize(
    "unit", [b'"', b'"\\"', b'"",', b"\\", b"[", b'[""],', b'{"a":"', b"{}", b"]", b"\n", b'{"ph":"{"},', b"0,"]
)
@pytest.mark.parametrize("start", [b'[{"ph":1},', b'{"traceEvents":[', b'{"traceEvents":[{"ph":"'])
def test_hostile_bytes_take_linear_time(start: bytes, unit: bytes) -> None:
    body = start + unit * (3 * 2**20 // len(unit))
    began_s = time.process_time()
    try:
        close_events(Source("file", body, ImportLimits(values=500_000)))
    except TraceError as error:
        assert error.reason is Reason.TOO_MANY  # noqa: PT017
    assert time.process_time() - began_s < 3


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-be", "utf-32"])
@pytest.mark.parametrize(
    "name", ["lab.cpuprofile", "trace-events.json", "speedscope.json", "firefox-v66.json", "trace.json"]
)
def test_a_byte_order_mark_changes_nothing(name: str, encoding: str) -> None:
    text = sample(name).decode()
    body = text.encode(encoding)
    marked = codecs.BOM_UTF16_BE + body if encoding == "utf-16-be" else body
    expected = read(sample(name))
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(name, marked)
    for given in (marked, gzip.compress(marked), packed.getvalue()):
        assert [one.completed for one in read(given)] == [one.completed for one in expected]


def test_lines_may_have_a_mark_too() -> None:
    body = json.dumps(json.loads(sample("trace.json"))).encode()
    assert len(read(codecs.BOM_UTF8 + body + b"\n" + body + b"\n")) == 2
    assert len(read(codecs.BOM_UTF8 + b"[" + body + b"]")) == 1


def test_utf_16_that_is_too_large_as_utf_8_is_refused() -> None:
    limits = ImportLimits(input_bytes=1_000, envelope=LIMITS.envelope)
    with pytest.raises(FileError, match="As UTF-8"):
        read(codecs.BOM_UTF16_LE + ('"' + "\u4e00" * 400 + '"').encode("utf-16-le"), limits=limits)
