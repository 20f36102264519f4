"""Small traces recorded in a real browser, one for each surprising behaviour."""

import json
from pathlib import Path
from typing import Any, Final

from profcore.sums.fold import TraceFold, fold_trace
from profcore.trace.funcs import FuncKey, FuncTable
from profcore.trace.weights import TimeParts
from profcore.trace.wire import Envelope, Limits, decode_envelope
from tests.envelopes import make_envelope
from tests.profcore.trace.wire.refusals import body_of

EDGE: Final = Path(__file__).parents[1] / "data" / "edge"
PAGE_URL: Final = "https://a.corpus.test/page.html"


def edge_meta(name: str) -> dict[str, Any]:  # Any: what the recorder noted, its shape differs by case
    """Returns the notes from the recording of a trace."""
    noted: dict[str, Any] = json.loads((EDGE / f"{name}.meta.json").read_text(encoding="utf-8"))
    return noted


def edge_source(name: str) -> str:
    """Returns the source of a recorded script, its line ends untouched."""
    return (EDGE / name).read_bytes().decode("utf-8")


class EdgeTrace:
    """An edge trace, decoded and folded as after ingest."""

    def __init__(self, name: str, **fields: Any) -> None:  # Any: the wire's JSON
        meta = edge_meta(name)
        self.stats: dict[str, Any] = meta["stats"]
        raw = (EDGE / f"{name}.trace.json").read_bytes()
        wire = make_envelope("edge", sampleInterval=meta.get("sampleInterval", 10), **fields)
        wire["url"] = meta.get("page", PAGE_URL)
        wire["trace"] = None
        body = body_of(wire).replace(b'"trace":null', b'"trace":' + raw)  # the browser's own bytes
        self.envelope: Envelope = decode_envelope(body, Limits())
        self.funcs = FuncTable()
        self.fold: TraceFold = fold_trace(self.envelope, page="/edge", funcs=self.funcs)

    @property
    def keys(self) -> list[FuncKey]:
        """The trace's funcs."""
        return self.funcs.keys

    @property
    def parts(self) -> TimeParts:
        """The parts of its time."""
        return self.fold.parts

    @property
    def names(self) -> set[str]:
        """The names of its funcs."""
        return {key.name for key in self.keys}

    def only(self, name: str) -> FuncKey:
        """Returns the one func of this name."""
        (key,) = [key for key in self.keys if key.name == name]
        return key

    def totals(self, name: str) -> tuple[int, int]:
        """Returns (total samples, self samples) of all funcs of a name."""
        sums = self.fold.sums
        indexes = [index for index, key in enumerate(self.keys) if key.name == name]
        return (
            sum(sums.total_samples.get(index, 0) for index in indexes),
            sum(sums.self_samples.get(index, 0) for index in indexes),
        )

    def paths(self) -> list[list[str]]:
        """Returns the names of each stack, root first."""
        paths: list[list[str]] = []
        for stack, func in enumerate(self.fold.func):
            prefix = self.fold.prefix[stack]
            paths.append([*(paths[prefix] if prefix >= 0 else []), self.keys[func].name])
        return paths

    def times_us(self) -> list[int]:
        """Returns the times of its samples in whole µs, as recorded."""
        return [round(sample.timestamp * 1000) for sample in self.envelope.trace.samples]
