"""The recordings that are shipped: page views of the shop as the snippet sent them."""

import gzip
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from uuid import UUID

from ops.demo.story import RELEASES
from profcore.trace.dimensions import DEVICE_CLASSES, classify_device

DEMO: Final = Path(__file__).parent
FOLDER: Final = DEMO / "recordings"
MAPS: Final = DEMO / "maps"
HEAVY_FIELDS: Final = ("marks", "trace")  # the same in all views that are made from a recording


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """One envelope: its light fields, and the end of its JSON with the heavy ones, packed."""

    fields: dict[str, Any]  # Any: JSON of the snippet
    packed_end: bytes
    end_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """One recorded page view."""

    release: str
    page: str
    device: str
    started_ms: float
    chunks: tuple[Chunk, ...]


def read_recordings() -> list[Recording]:
    """Returns all recordings, release by release."""
    recordings = []
    for release in RELEASES:
        views: dict[UUID, list[dict[str, Any]]] = {}
        for line in gzip.decompress((FOLDER / f"{release}.ndjson.gz").read_bytes()).splitlines():
            envelope = json.loads(line)
            views.setdefault(UUID(envelope["viewId"]), []).append(envelope)
        recordings += [_make_recording(envelopes) for envelopes in views.values()]
    return recordings


def _make_recording(envelopes: list[dict[str, Any]]) -> Recording:
    first, device = envelopes[0], envelopes[0]["device"]
    device_class = classify_device(device["memory"], device["cores"], device["mobile"])
    return Recording(
        release=first["release"],
        page=first["page"],
        device=DEVICE_CLASSES[device_class],
        started_ms=first["viewStart"],
        chunks=tuple(map(_make_chunk, envelopes)),
    )


def _make_chunk(envelope: dict[str, Any]) -> Chunk:
    heavy = {name: envelope.pop(name) for name in HEAVY_FIELDS}
    end = json.dumps(heavy, separators=(",", ":")).encode()[1:]  # without its opening bracket
    return Chunk(fields=envelope, packed_end=gzip.compress(end, 6, mtime=0), end_bytes=len(end))
