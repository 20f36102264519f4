"""Sentry's chunks, its transaction profiles, and the envelopes around them."""

import json
from uuid import UUID

import pytest

from profcore.errors import Reason
from profcore.formats.importers.shapes import FileError
from tests.profcore.formats.importers.reading import PLACES, lines, places, read, read_fault, sample, sample_json

SESSION = UUID("0123456789abcdef0123456789abcdef")


def test_a_chunk_comes_in_with_its_session_as_the_view() -> None:
    (imported,) = read(sample("sentry-chunk.json"))

    envelope = imported.completed.envelope
    assert (envelope.viewId, envelope.release) == (SESSION, "shop@2.1.0")
    assert envelope.timeOrigin == 1_795_256_990_000
    assert places(envelope) == PLACES
    assert imported.completed.missing == ("page", "sampleInterval")


def test_idle_that_the_sdk_booked_to_the_first_stack_is_named_and_not_guessed_away() -> None:
    (imported,) = read(sample("sentry-chunk.json"))

    assert [line.split(" ", 1)[1] for line in lines(imported.completed.envelope)] == [
        "main",
        "main render",
        "main render price",
        "main render price",
        "main",
        "main render setTimeout",
        "main",
    ]
    assert "stack_id 0" in imported.completed.notes[0]


def test_two_chunks_of_a_session_are_two_traces_of_one_view() -> None:
    chunk = sample_json("sentry-chunk.json")
    later = {**chunk, "chunk_id": "b" * 32}

    (first,), (second,) = read(chunk), read(later)
    assert first.completed.envelope.viewId == second.completed.envelope.viewId
    assert first.completed.envelope.seq != second.completed.envelope.seq


def test_a_transactions_profile_in_an_envelope_keeps_page_agent_and_idle_time() -> None:
    (imported,) = read(sample("sentry-envelope.txt"))

    envelope = imported.completed.envelope
    assert (envelope.page, envelope.release, envelope.timeOrigin) == ("/cart", "shop@2.1.0", 1_795_256_990_000)
    assert envelope.userAgent is not None
    assert "Chrome/140" in envelope.userAgent
    assert lines(envelope)[4] == "40 -"
    assert imported.completed.missing == ("sampleInterval",)


def test_an_item_may_state_its_length_and_hold_line_ends() -> None:
    chunk = json.dumps(sample_json("sentry-chunk.json"), indent=1).encode()
    item = json.dumps({"type": "profile_chunk", "length": len(chunk)}).encode()
    body = b"\n".join([b'{"event_id":"1"}', item, chunk, b'{"type":"session"}', b"{}", b""])

    (imported,) = read(body)
    assert imported.completed.envelope.viewId == SESSION


@pytest.mark.parametrize("length", [10**9, -1])
def test_an_item_that_is_longer_than_the_file_is_refused(length: int) -> None:
    item = json.dumps({"type": "profile_chunk", "length": length}).encode()

    with pytest.raises(FileError) as caught:
        read(b'{"event_id":"1"}\n' + item + b"\n{}")
    assert caught.value.path == "$[0]"


def test_an_envelope_without_a_profile_says_so() -> None:
    with pytest.raises(FileError, match="has no profile"):
        read(b'{"event_id":"1"}\n{"type":"session"}\n{}\n')


def test_a_profile_of_another_platform_is_refused() -> None:
    assert read_fault(sample_json("sentry-chunk.json") | {"platform": "python"}) == (
        Reason.UNSUPPORTED_MEDIA,
        "$.platform",
    )


@pytest.mark.parametrize(
    ("table", "row", "path"),
    [
        ("stacks", [7], "$.profile.stacks[0]"),
        ("samples", {"stack_id": 4, "timestamp": 1}, "$.profile.samples[0].stack_id"),
        ("samples", {"stack_id": 0}, "$.profile.samples[0].timestamp"),
    ],
)
def test_a_fault_is_named_by_its_path(table: str, row: object, path: str) -> None:
    chunk = sample_json("sentry-chunk.json")
    chunk["profile"][table][0] = row

    with pytest.raises(FileError) as caught:
        read(chunk)
    assert caught.value.path == path
