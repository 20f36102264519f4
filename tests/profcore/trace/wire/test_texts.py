"""Texts that cannot be stored: refused if we would store them verbatim, repaired if a browser wrote them."""

import re

import pytest

from profcore.errors import Reason, TraceError
from profcore.trace.wire import Envelope, Limits, check_envelope
from tests.profcore.trace.wire.refusals import accepted, body_of, changed, full_envelope, refusal, with_raw

OURS = [
    "$.release",
    "$.page",
    "$.url",
    "$.reason",
    "$.environment",
    "$.requestTrace",
    "$.userAgent",
    "$.snippet.version",
    "$.snippet.url",
    "$.marks[0].type",
]
THEIRS = ["$.trace.resources[0]", "$.trace.frames[0].name", "$.trace.samples[2].marker"]


@pytest.mark.parametrize("path", OURS)
def test_a_nul_is_refused_where_it_would_be_stored(path: str) -> None:
    assert refusal(changed(path, "a\0b")) == (Reason.INVALID_VALUE, path)


@pytest.mark.parametrize("tags", [["a\0b"], {"k": "a\0"}, {"\0k": "a"}])
def test_a_nul_in_a_tag_is_refused(tags: object) -> None:
    assert refusal(changed("$.tags", tags)) == (Reason.INVALID_VALUE, "$.tags")


@pytest.mark.parametrize("path", THEIRS)
def test_a_nul_in_what_the_profiler_wrote_is_taken(path: str) -> None:
    accepted(changed(path, "a\0b"))


@pytest.mark.parametrize("path", OURS + THEIRS)
@pytest.mark.parametrize("raw", [b'"\xff"', b'"\xed\xa0\x80"', b'"\xc3"', b'"\xc0\x80"'])
def test_bytes_that_are_no_utf8_are_refused(path: str, raw: bytes) -> None:
    assert refusal(with_raw(path, raw)) == (Reason.INVALID_UTF8, "$")


HALVES = [
    (rb'"\ud800"', "\ufffd"),
    (rb'"a\udc00b"', "a\ufffdb"),
    (rb'"\uD83Dx"', "\ufffdx"),
    (rb'"\ud800\ud800"', "\ufffd\ufffd"),
    (rb'"\ud83d\ud83d\ude00"', "\ufffd😀"),
    (rb'"\ud83d\ude00\ude00"', "😀\ufffd"),
    (rb'"\ude00\ud83d"', "\ufffd\ufffd"),
    (rb'"\ud83d\u0041"', "\ufffdA"),
    (rb'"\ud83d\n"', "\ufffd\n"),
    (rb'"\\\ud83d"', "\\\ufffd"),
    (rb'"\\ud83d\ude00"', "\\ud83d\ufffd"),
    (rb'"\ud83d\\ude00"', "\ufffd\\ude00"),
]


@pytest.mark.parametrize("path", OURS + THEIRS)
@pytest.mark.parametrize(("raw", "text"), HALVES)
def test_half_a_surrogate_pair_becomes_a_replacement_character(path: str, raw: bytes, text: str) -> None:
    assert value_at(path, accepted(with_raw(path, raw))) == text


def value_at(path: str, envelope: Envelope) -> object:
    """Returns the text of a path such as `$.marks[0].type`."""
    value: object = envelope
    for name, index in re.findall(r"\.(\w+)(?:\[(\d+)\])?", path):
        value = getattr(value, name)
        value = value[int(index)] if index else value  # type: ignore[index]  # such a path is of a list
    return value


@pytest.mark.parametrize("unread", [rb'"\ud83d"', rb'["\ude00", {"\ud83d": 1}]', rb'{"a": ["x\ud83dy"]}'])
def test_half_a_surrogate_pair_in_what_is_not_read_is_no_reason_to_refuse(unread: bytes) -> None:
    body = body_of(full_envelope())
    assert accepted(body.removesuffix(b"}") + rb', "more\ud83d": ' + unread + b"}").release


@pytest.mark.parametrize("raw", [rb'{"\ud83d": "\ude00"}', rb'["\ud83d"]'])
def test_half_a_surrogate_pair_in_a_tag_becomes_a_replacement_character(raw: bytes) -> None:
    tags = accepted(with_raw("$.tags", raw)).tags
    assert tags in ({"\ufffd": "\ufffd"}, ["\ufffd"])


@pytest.mark.parametrize("path", OURS)
def test_a_lone_surrogate_from_another_decoder_is_refused_where_it_stands(path: str) -> None:
    envelope = accepted(full_envelope())
    owner = path.split(".")[1]
    target = {"marks[0]": envelope.marks[0], "snippet": envelope.snippet}.get(owner, envelope)
    setattr(target, path.rpartition(".")[2], "a\ud800")
    with pytest.raises(TraceError) as caught:
        check_envelope(envelope, Limits())
    assert (caught.value.reason, caught.value.path) == (Reason.INVALID_UTF8, path)


def test_escapes_and_pairs_are_read() -> None:
    assert accepted(with_raw("$.release", rb'"\u00e9 \ud83d\ude00 \n"')).release == "é 😀 \n"


def test_any_other_text_is_a_name() -> None:
    for name in ("", "(idle)", "<img src=x onerror=alert(1)>", "'; DROP TABLE traces;--", "\x1b[31m", "\u202e", " "):
        assert accepted(changed("$.trace.frames[0].name", name)).trace.frames[0].name == name
