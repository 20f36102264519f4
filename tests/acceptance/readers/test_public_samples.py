"""Files that other projects publish: each is read, or refused for the reason that we know.

`tests/data/public-samples.tsv` has their addresses at one commit, their digests and outcomes; the files are not ours to
keep. They come over the network, so only `./test formats` asks for them.
"""

import hashlib
import os
import urllib.error
import urllib.request
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from profcore.formats.importers.completing import Defaults
from profcore.formats.importers.registry import read_file
from profcore.formats.importers.shapes import FileError, ImportLimits
from profcore.symbolicate.maps import MapError, read_map

TABLE: Final = Path(__file__).resolve().parents[2] / "data" / "public-samples.tsv"
DEFAULTS: Final = Defaults("1", "/", 1.8e12)
MAX_BYTES: Final = 4 * 2**20
WAIT_S: Final = 30

pytestmark = [
    pytest.mark.slow(60),
    pytest.mark.skipif(
        not os.environ.get("FIELDFLAME_TEST_NEWEST_READERS"), reason="asks the network: `./test formats`"
    ),
]


class Sample(NamedTuple):
    """A public file: its address at a commit, its SHA-256, and what `read_outcome` says of it."""

    address: str
    digest: str
    outcome: str


def list_samples() -> list[Sample]:
    return [Sample(*line.split("\t")) for line in TABLE.read_text(encoding="ascii").splitlines()]


def fetch(address: str) -> bytes:
    """Returns a file. Skips the test where the address cannot be reached."""
    try:
        with urllib.request.urlopen(address, timeout=WAIT_S) as answer:
            content: bytes = answer.read(MAX_BYTES)
    except urllib.error.HTTPError:
        raise  # it is gone, or was moved
    except OSError as error:
        pytest.skip(f"there is no network: {error}")
    return content


def read_outcome(address: str, content: bytes) -> str:
    """Returns how many traces, or segments of a source map, a file gives, or why it is refused."""
    if address.endswith(".map"):
        try:
            return f"read {len(read_map(content).segments.line)}"
        except MapError as error:
            return f"refused {error.path}"
    try:
        return f"read {len(list(read_file(address, content, DEFAULTS, ImportLimits())))}"
    except FileError as error:
        return f"refused {error.reason} {error.path}"


@pytest.mark.parametrize(
    "sample",
    list_samples(),
    ids=lambda sample: "/".join(sample.address.split("/")[4:5] + sample.address.split("/")[6:]),
)
def test_a_public_file_has_the_outcome_that_we_know(sample: Sample) -> None:
    content = fetch(sample.address)
    assert hashlib.sha256(content).hexdigest() == sample.digest, "another file than the one that was looked at"
    assert read_outcome(sample.address, content) == sample.outcome
