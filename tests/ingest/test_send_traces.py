"""`send_traces` posts files to a running endpoint, and says what became of them."""

import gzip
import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from ingest.sending import MAX_WAIT_S, group_lines, read_lines
from tests.envelopes import make_envelope
from tests.ingest.endpoint.posting import IngestServer, ndjson


def envelopes(count: int) -> list[dict[str, Any]]:
    return [make_envelope("a", seq=seq) for seq in range(count)]


def send(endpoint: IngestServer, server: LiveServer, *arguments: object) -> tuple[str, str]:
    out, err = StringIO(), StringIO()
    texts = [str(argument) for argument in arguments]
    call_command("send_traces", *texts, "--key", endpoint.key, "--url", server.url, stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


def write(path: Path, body: bytes) -> Path:
    path.write_bytes(gzip.compress(body) if path.suffix == ".gz" else body)
    return path


@pytest.mark.parametrize("name", ["a.ndjson", "a.ndjson.gz"])
def test_a_file_of_lines_is_sent(
    open_endpoint: IngestServer, live_server: LiveServer, tmp_path: Path, name: str
) -> None:
    path = write(tmp_path / name, ndjson(*envelopes(7)) + b"\n")
    out, _ = send(open_endpoint, live_server, path, "--batch", 3)
    assert out.strip() == "7 accepted, 0 rejected"
    assert open_endpoint.bodies() == [ndjson(envelope) for envelope in envelopes(7)]


def test_arrays_and_single_objects_are_sent(
    open_endpoint: IngestServer, live_server: LiveServer, tmp_path: Path
) -> None:
    array = write(tmp_path / "a.json", json.dumps(envelopes(3), indent=2).encode())
    single = write(tmp_path / "b.json", json.dumps(make_envelope("b"), indent=2).encode())
    empty = write(tmp_path / "c.json", b"")
    out, _ = send(open_endpoint, live_server, array, single, empty)
    assert out.strip() == "4 accepted, 0 rejected"
    assert len(open_endpoint.receipts()) == 4


def test_what_was_rejected_is_named_and_fails_the_command(
    open_endpoint: IngestServer, live_server: LiveServer, tmp_path: Path
) -> None:
    path = write(tmp_path / "a.ndjson", ndjson(*envelopes(2), make_envelope("b", seq=-1)))
    err = StringIO()
    with pytest.raises(CommandError, match="1 traces were rejected"):
        call_command("send_traces", path, "--key", open_endpoint.key, "--url", live_server.url, stderr=err)
    assert "a.ndjson: out_of_range at $.seq" in err.getvalue()
    assert len(open_endpoint.receipts()) == 2


def test_an_unknown_key_is_named(open_endpoint: IngestServer, live_server: LiveServer, tmp_path: Path) -> None:
    path = write(tmp_path / "a.ndjson", ndjson(*envelopes(1)))
    with pytest.raises(CommandError, match="401"):
        call_command("send_traces", path, "--key", "nobody", "--url", live_server.url)


def test_an_endpoint_that_is_not_there_is_named(tmp_path: Path) -> None:
    path = write(tmp_path / "a.ndjson", ndjson(*envelopes(1)))
    with pytest.raises(CommandError, match="cannot be reached"):
        call_command("send_traces", path, "--key", "k", "--url", "http://127.0.0.1:1")


def test_a_busy_endpoint_is_asked_again_when_it_says(
    open_endpoint: IngestServer,
    live_server: LiveServer,
    tmp_path: Path,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings.INGEST_RATE_PER_S = 2
    waits: list[float] = []

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        settings.INGEST_RATE_PER_S = 1_000_000  # the wait is over at once

    monkeypatch.setattr("ingest.sending.time.sleep", sleep)
    path = write(tmp_path / "a.ndjson", ndjson(*envelopes(8)))
    out, _ = send(open_endpoint, live_server, path, "--batch", 4)
    assert out.strip() == "8 accepted, 0 rejected"
    assert waits
    assert all(0 < wait <= MAX_WAIT_S for wait in waits)


@pytest.mark.parametrize(
    "body",
    [b"\x1f\x8bdamaged", gzip.compress(b"{}" * 99)[:-9], gzip.compress(b"")[:10] + b"xx"],
    ids=["no gzip behind the magic", "cut", "a head alone"],
)
def test_a_damaged_file_is_named(tmp_path: Path, body: bytes) -> None:
    path = tmp_path / "a.gz"
    path.write_bytes(body)
    with pytest.raises(CommandError, match=r"a\.gz cannot be read"):
        call_command("send_traces", path, "--key", "k")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="cannot be read"):
        call_command("send_traces", tmp_path / "nothing", "--key", "k")


def test_posts_stay_within_what_the_endpoint_takes() -> None:
    lines = [b"x" * 40] * 10
    assert [len(batch) for batch in group_lines(iter(lines), 4, 1_000)] == [4, 4, 2]
    assert [len(batch) for batch in group_lines(iter(lines), 100, 120)] == [3, 3, 3, 1]
    assert [len(batch) for batch in group_lines(iter([b"x" * 500, b"y"]), 100, 120)] == [1, 1]


def test_the_lines_of_a_file_are_its_bytes(tmp_path: Path) -> None:
    path = write(tmp_path / "a.ndjson", b'{"a":  1}\n\n{"b": 2}\n')
    assert list(read_lines(path)) == [b'{"a":  1}', b'{"b": 2}']
