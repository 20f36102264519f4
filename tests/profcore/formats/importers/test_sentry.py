"""Sentry's chunks, its transaction profiles, and the envelopes around them."""

import json
from uuid import UUID

import pytest

from profcore.errors import Reason
from profcore.formats.importers.registry import Imported
from profcore.formats.importers.shapes import FileError
from tests.profcore.formats.importers.reading import PLACES, lines, places, read, read_fault, sample, sample_json

RENDER = ["main render", "main render price", "main render price"]
SESSION = UUID("0123456789abcdef0123456789abcdef")


def stacks_of(imported: Imported) -> list[str]:
    return [line.split(" ", 1)[1] for line in lines(imported.completed.envelope)]


def test_a_chunk_comes_in_with_its_session_as_the_view() -> None:
    (imported,) = read(sample("sentry-chunk.json"))

    envelope = imported.completed.envelope
    assert (envelope.viewId, envelope.release) == (SESSION, "shop@2.1.0")
    assert envelope.timeOrigin == 1_795_256_990_000
    assert places(envelope) == PLACES
    assert imported.completed.missing == ("page", "sampleInterval")


@pytest.mark.parametrize("sdk", [{"version": "10.20.0"}, {"version": "11.9.3"}, {"version": "odd"}, {}, None])
def test_what_an_older_sdk_put_on_the_first_stack_is_idle(sdk: object) -> None:
    (imported,) = read(sample_json("sentry-chunk.json") | {"client_sdk": sdk})

    assert stacks_of(imported) == ["-", *RENDER, "-", "main render setTimeout", "-"]
    assert imported.completed.notes == (
        "SDKs before 11.10.0 put idle time on a chunk's first stack (stack_id 0): its 3 samples were read as idle.",
    )


@pytest.mark.parametrize("version", ["11.10.0", "11.12.0-beta.1", "12.0.0"])
def test_a_newer_sdk_has_an_empty_stack_for_idle_time(version: str) -> None:
    chunk = sample_json("sentry-chunk.json") | {"client_sdk": {"version": version}}
    chunk["profile"]["stacks"].append([])
    chunk["profile"]["samples"][4]["stack_id"] = 4

    (imported,) = read(chunk)
    assert stacks_of(imported) == ["main", *RENDER, "-", "main render setTimeout", "main"]
    assert imported.completed.notes == ()


def test_a_first_stack_of_several_frames_is_none_of_the_browsers() -> None:
    chunk = sample_json("sentry-chunk.json")
    chunk["profile"]["stacks"][0] = [1, 0]

    (imported,) = read(chunk)
    assert stacks_of(imported)[0] == "main render"


def test_a_chunk_keeps_its_environment_and_the_interval_that_its_sdk_asks_for() -> None:
    (imported,) = read(sample_json("sentry-chunk.json") | {"environment": "staging"})
    envelope = imported.completed.envelope
    assert envelope.tags == {"imported": "sentry", "env": "staging"}
    assert envelope.requestedInterval == 10
    assert envelope.reason is None


def test_a_chunk_with_as_many_samples_as_the_buffer_has_ended_there() -> None:
    chunk = sample_json("sentry-chunk.json")
    chunk["profile"]["samples"] = [{"stack_id": 0, "timestamp": 1_795_256_990 + at / 100} for at in range(3_000)]
    (imported,) = read(chunk)
    assert imported.completed.envelope.reason == "samplebufferfull"


def test_stacks_that_are_longer_than_a_browsers_together_are_refused() -> None:
    chunk = sample_json("sentry-chunk.json")
    chunk["profile"]["stacks"] = [[0] * 1_000] * 801
    assert read_fault(chunk) == (Reason.TOO_MANY, "$.profile.stacks")


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
