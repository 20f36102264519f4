"""Files of the snippet and the demo, packed once per process and content."""

import gzip
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Final

import brotli

CODINGS: Final = ("br", "gzip")  # the smaller first
PLACEHOLDER: Final = b'"FIELDFLAME_SETTINGS"'  # once in the snippet; without settings it stays, and is ignored
# Different settings that a process keeps the snippet of, about 20 kB each. Unknown keys share one.
MAX_FILLED: Final = 256
ENDPOINT: Final = b"/ingest/v1/traces"  # once in the snippet: where it posts to, on the server of its tag


@dataclass(frozen=True, slots=True)
class FixedFile:
    """A file's bytes by their content coding ("" for plain), with the digest for its ETags."""

    bodies: Mapping[str, bytes]
    digest: str


def pack_file(plain: bytes) -> FixedFile:
    """Returns a file, packed as small as it goes. The gzip stream has no time, so all processes pack the same."""
    bodies = {"": plain, "gzip": gzip.compress(plain, 9, mtime=0), "br": brotli.compress(plain, brotli.MODE_TEXT)}
    return FixedFile(bodies, hashlib.sha256(plain).hexdigest()[:32])


@cache
def read_fixed_file(path: Path) -> FixedFile:
    """Returns the file of `path`, read once per process."""
    return pack_file(path.read_bytes())


@cache
def read_snippet(path: Path, url_path: str) -> FixedFile:
    """Returns the snippet of a server that is below a path of its host, to which the snippet posts."""
    fixed = read_fixed_file(path)
    return pack_file(fixed.bodies[""].replace(ENDPOINT, url_path.encode() + ENDPOINT, 1)) if url_path else fixed


@lru_cache(maxsize=MAX_FILLED)
def fill_settings(path: Path, settings: str, url_path: str) -> FixedFile:
    """Returns the snippet with settings inside, as JSON that is safe in a script. One without their place is plain."""
    return pack_file(read_snippet(path, url_path).bodies[""].replace(PLACEHOLDER, settings.encode(), 1))


def choose_coding(accepted: str) -> str:
    """Returns the coding to answer an `Accept-Encoding` with, "" for none. A weight of 0 forbids a coding."""
    weights = dict(_read_weight(entry) for entry in accepted.lower().split(","))
    return next((coding for coding in CODINGS if weights.get(coding, weights.get("*", 0.0)) > 0), "")


def _read_weight(entry: str) -> tuple[str, float]:
    coding, _, parameters = entry.partition(";")
    name, _, value = parameters.partition("=")
    if name.strip() != "q":
        return coding.strip(), 1.0
    try:
        return coding.strip(), float(value)
    except ValueError:
        return coding.strip(), 0.0
