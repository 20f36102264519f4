"""Recorded traces as ingest envelopes, for benchmarks and end-to-end tests."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final
from uuid import UUID, uuid5

NAMESPACE: Final = UUID("6f1d9d0e-6a43-5b53-9f5e-0d3b6c1c2a10")


def read_corpus(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields (app, envelope) of a corpus file: gzip lines of `{"envelope": capture facts, "trace": …}`."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            recorded = json.loads(line)
            yield recorded["envelope"]["app"], make_envelope(recorded["envelope"], recorded["trace"])


def make_envelope(facts: dict[str, Any], trace: dict[str, Any]) -> dict[str, Any]:
    """Returns the envelope of one recording; each was one page view."""
    return {
        "traceId": str(uuid5(NAMESPACE, "trace:" + facts["traceId"])),
        "viewId": str(uuid5(NAMESPACE, "view:" + facts["traceId"])),
        "seq": 0,
        "release": facts["release"],
        "page": facts["page"],
        "url": facts["url"],
        "timeOrigin": facts["timeOrigin"],
        "viewStart": facts["timeOrigin"],
        "sampleInterval": facts["sampleInterval"],
        "requestedInterval": facts["requestedSampleInterval"],
        "sampleRate": 1,
        "reason": facts["endReason"],
        "userAgent": facts["userAgent"],
        "isolated": facts["crossOriginIsolated"],
        "device": {"cores": facts["hardwareConcurrency"], "mobile": "Mobile" in facts["userAgent"]},
        "marks": [{"type": "longtask", "start": start, "duration": length} for start, length in facts["longTasks"]],
        "tags": {"class": facts["deviceClass"], "cache": facts["cache"], "input": facts["inputClass"]},
        "trace": trace,
    }
