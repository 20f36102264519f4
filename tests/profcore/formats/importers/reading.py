"""Readers for sample files, with the results as text."""

import json
from pathlib import Path
from typing import Any, Final

import pytest

from profcore.errors import Reason
from profcore.formats.importers.completing import Defaults
from profcore.formats.importers.registry import Imported, read_file
from profcore.formats.importers.shapes import FileError, ImportLimits
from profcore.sums.fold import TraceFold
from profcore.trace.funcs import FuncTable
from profcore.trace.wire import Envelope

SAMPLES: Final = Path(__file__).parents[3] / "data" / "imports"
NOW_MS: Final = 1_795_300_000_000.0
DEFAULTS: Final = Defaults("given-release", "/given", NOW_MS)
LIMITS: Final = ImportLimits()


def sample(name: str) -> bytes:
    """Returns a sample file's bytes."""
    return (SAMPLES / name).read_bytes()


def sample_json(name: str) -> Any:  # Any: JSON
    """Returns a sample file's JSON, to be changed."""
    return json.loads(sample(name))


def read(body: object, *, limits: ImportLimits = LIMITS, defaults: Defaults = DEFAULTS) -> list[Imported]:
    """Returns the traces of a file: bytes as they are, anything else as JSON."""
    sent = body if isinstance(body, bytes) else json.dumps(body).encode()
    return list(read_file("file", sent, defaults, limits))


def read_fault(body: object) -> tuple[Reason, str]:
    """Returns the reason and the path of the error that a file is refused with."""
    with pytest.raises(FileError) as caught:
        read(body)
    return caught.value.reason, caught.value.path


def read_envelope(body: object) -> Envelope:
    """Returns the only trace of a file."""
    (imported,) = read(body)
    return imported.completed.envelope


def lines(envelope: Envelope) -> list[str]:
    """Returns a line per sample: its time in ms, its stack from the root, and its marker in brackets."""
    trace = envelope.trace
    shown = []
    for one in trace.samples:
        names: list[str] = []
        stack = one.stackId
        while stack is not None:
            names.append(trace.frames[trace.stacks[stack].frameId].name or "?")
            stack = trace.stacks[stack].parentId
        marker = f" [{one.marker}]" if one.marker else ""
        shown.append(f"{one.timestamp:g} {' '.join(reversed(names)) or '-'}{marker}")
    return shown


def places(envelope: Envelope) -> dict[str, tuple[str | None, int | None, int | None]]:
    """Returns each function's file, line and column by its name."""
    resources = envelope.trace.resources
    return {
        frame.name: (None if frame.resourceId is None else resources[frame.resourceId], frame.line, frame.column)
        for frame in envelope.trace.frames
    }


Func = tuple[str, str | None, int | None, int | None]


def self_us_by_func(fold: TraceFold, funcs: FuncTable) -> dict[Func, int]:
    """Returns the self time of every func of a folded trace that has some."""
    sums: dict[Func, int] = {}
    for index, us in fold.sums.self_us.items():
        key = funcs.keys[index]
        if us:
            sums[key.name or "(anonymous)", key.uri, key.line, key.column] = us
    return sums


def oracle_self_us(group: dict[str, Any]) -> dict[Func, int]:
    """Returns the same from the oracle's JSON."""
    return {
        (func["name"] or "(anonymous)", func["uri"], func["line"], func["column"]): func["self_us"]
        for func in group["functions"]
        if func["self_us"]
    }


PLACES: Final = {
    "main": ("https://shop.example/app.js", 1, 20),
    "render": ("https://shop.example/app.js", 5, 12),
    "price": ("https://cdn.example/lib.js", 2, 3),
    "setTimeout": (None, None, None),
}
