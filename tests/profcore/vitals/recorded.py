"""Recorded views of the shop, joined on their clock."""

import gzip
import json
from typing import Any, Final

from ops.demo.recordings import FOLDER
from profcore.formats.timeline import ViewTimeline, ViewTrace, build_timeline
from profcore.trace.funcs import FuncTable
from profcore.trace.marks import read_marks
from profcore.trace.wire import Limits, decode_envelope
from tests.profcore.vitals.oracle import windows_of

LIMITS: Final = Limits()


def recorded_views(release: str, count: int) -> list[list[dict[str, Any]]]:
    """Returns the envelopes of some recorded views of the shop, those of all kinds of windows."""
    views: dict[str, list[dict[str, Any]]] = {}
    for line in gzip.decompress((FOLDER / f"{release}.ndjson.gz").read_bytes()).splitlines():
        envelope = json.loads(line)
        views.setdefault(envelope["viewId"], []).append(envelope)
    full = [view for view in views.values() if {"lcp", "processing", "long_frames"} <= windows_of(view).keys()]
    return full[:: max(len(full) // count, 1)][:count]


def join(envelopes: list[dict[str, Any]], funcs: FuncTable) -> ViewTimeline:
    traces = []
    for envelope in envelopes:
        body = json.dumps(envelope).encode()
        traces.append(ViewTrace(decode_envelope(body, LIMITS), read_marks(body, page_url=None, page="/")))
    return build_timeline(traces, page=envelopes[0]["page"], funcs=funcs)
