"""From posted envelopes to the files that are shipped: checked views, times without noise, maps with their scripts."""

import gzip
import io
import json
import tarfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

from ops.demo.story import PAGES
from tools.recording.site import IngestServer

# The browser's clock has steps of 0.1 ms; the digits behind are those of its floating point numbers.
DIGITS: Final = 1
SHORTEST_MS: Final = 1_000.0  # a view that is shorter was cut off by the machine

Envelope = dict[str, Any]  # Any: JSON of the snippet


def pick_views(endpoint: IngestServer) -> list[list[Envelope]]:
    """Returns the complete views of all visits, each with its envelopes in order."""
    views: dict[str, list[Envelope]] = defaultdict(list)
    for envelopes in endpoint.envelopes.values():
        for envelope in envelopes:
            views[envelope["viewId"]].append(envelope)
    picked = []
    for envelopes in views.values():
        envelopes.sort(key=lambda one: one["seq"])
        if _is_complete(envelopes):
            picked.append(envelopes)
    picked.sort(key=lambda one: (one[0]["release"], one[0]["page"], one[0]["viewStart"], one[0]["viewId"]))
    return picked


def _is_complete(envelopes: Sequence[Envelope]) -> bool:
    first = envelopes[0]
    times = [sample["timestamp"] for envelope in envelopes for sample in envelope["trace"]["samples"]]
    return (
        [envelope["seq"] for envelope in envelopes] == list(range(len(envelopes)))
        and {envelope.get("page") for envelope in envelopes} == {first.get("page")}
        and first.get("page") in PAGES
        and bool(times)
        and max(times) - min(times) >= SHORTEST_MS
    )


def round_times(value: Any) -> Any:
    """Returns JSON with all fractions rounded to the step of the browser's clock."""
    if isinstance(value, float):
        rounded = round(value, DIGITS)
        return int(rounded) if rounded.is_integer() else rounded
    if isinstance(value, list):
        return [round_times(item) for item in value]
    if isinstance(value, dict):
        return {name: round_times(item) for name, item in value.items()}
    return value


def pack_views(views: Iterable[Sequence[Envelope]]) -> bytes:
    """Returns views as gzip NDJSON, one envelope per line."""
    lines = [json.dumps(round_times(envelope), separators=(",", ":")) for envelopes in views for envelope in envelopes]
    return gzip.compress("\n".join(lines).encode() + b"\n", 9, mtime=0)


def count_views(views: Iterable[Sequence[Envelope]]) -> Counter[tuple[str, str]]:
    """Returns the number of views by release and page."""
    return Counter((view[0]["release"], view[0]["page"]) for view in views)


def pack_build(folder: Path, names: Iterable[str]) -> bytes:
    """Returns files of a folder as a tar, the same bytes for the same files."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name in sorted(names):
            content = (folder / name).read_bytes()
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return gzip.compress(buffer.getvalue(), 9, mtime=0)
