"""Posting envelopes from files to an endpoint, as `send_traces` and the demo do."""

import gzip
import json
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

MAX_TRIES: Final = 8
MAX_WAIT_S: Final = 30.0


class SendError(Exception):
    """The endpoint refused a whole post, or cannot be reached."""


@dataclass(slots=True)
class SendReport:
    """The answer of the endpoint."""

    accepted: int = 0
    rejected: list[dict[str, Any]] = field(default_factory=list)


def read_lines(path: Path) -> Iterator[bytes]:
    """Yields the envelopes of a file, one line each: NDJSON, one JSON array, or one JSON object; gzip or not."""
    raw = path.read_bytes()
    body = gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw
    if body.lstrip()[:1] == b"[":
        for value in json.loads(body):
            yield _to_line(value)
        return
    lines = [line for line in body.split(b"\n") if line.strip()]
    if len(lines) > 1:
        with suppress(ValueError):
            lines = [_to_line(json.loads(body))]  # one object over several lines
    yield from lines


def _to_line(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def post_lines(url: str, lines: Sequence[bytes]) -> SendReport:
    """Posts envelopes as one gzip NDJSON body, and waits as long as a busy endpoint asks. Raises `SendError`."""
    request = urllib.request.Request(  # noqa: S310  # the user names the endpoint
        url,
        data=gzip.compress(b"\n".join(lines), compresslevel=1),
        headers={"Content-Type": "application/x-ndjson", "Content-Encoding": "gzip"},
        method="POST",
    )
    for attempt in range(MAX_TRIES):
        try:
            with urllib.request.urlopen(request, timeout=60) as response:  # noqa: S310
                answer = json.load(response)
                return SendReport(answer["accepted"], answer["rejected"])
        except urllib.error.HTTPError as error:
            if error.code not in (429, 503) or attempt == MAX_TRIES - 1:
                raise SendError(
                    f"The endpoint answered {error.code}: {error.read().decode(errors='replace')}"
                ) from None
            time.sleep(min(float(error.headers.get("Retry-After") or 1), MAX_WAIT_S))
        except OSError as error:
            raise SendError(f"The endpoint at {url.split('?', maxsplit=1)[0]} cannot be reached: {error}.") from None
    raise SendError("The endpoint stayed busy.")


def group_lines(lines: Iterator[bytes], most: int, most_bytes: int) -> Iterator[list[bytes]]:
    """Yields envelopes in posts of at most `most` envelopes and about `most_bytes` expanded bytes."""
    batch: list[bytes] = []
    size = 0
    for line in lines:
        if batch and (len(batch) == most or size + len(line) > most_bytes):
            yield batch
            batch, size = [], 0
        batch.append(line)
        size += len(line)
    if batch:
        yield batch
