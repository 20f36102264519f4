"""The recorded corpus as ingest envelopes, and what an independent, slow reference found in it.

Five hundred and sixty traces of four small apps, recorded in a real browser. Each was one page view: ids derive from
the recorded ones, so that they are the same in every run.
"""

import gzip
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final
from uuid import UUID, uuid5

DATA: Final = Path(__file__).parent / "data"
CORPUS: Final = DATA / "corpus.jsonl.gz"
NAMESPACE: Final = UUID("6f1d9d0e-6a43-5b53-9f5e-0d3b6c1c2a10")
# JSON as recorded: its values are whatever the recorder wrote.
Json = dict[str, Any]


def corpus_envelopes() -> Iterator[tuple[str, Json]]:
    """Yields (app, envelope) for each recorded trace. An app is a project; its name is not in the envelope."""
    with gzip.open(CORPUS, "rt", encoding="utf-8") as lines:
        for line in lines:
            recorded = json.loads(line)
            yield recorded["envelope"]["app"], make_envelope(recorded["envelope"], recorded["trace"])


def make_envelope(details: Json, trace: Json) -> Json:
    """Returns the envelope of one recording; each was one page view."""
    return {
        "traceId": str(uuid5(NAMESPACE, "trace:" + details["traceId"])),
        "viewId": str(uuid5(NAMESPACE, "view:" + details["traceId"])),
        "seq": 0,
        "release": details["release"],
        "page": details["page"],
        "url": details["url"],
        "timeOrigin": details["timeOrigin"],
        "viewStart": details["timeOrigin"],
        "sampleInterval": details["sampleInterval"],
        "requestedInterval": details["requestedSampleInterval"],
        "sampleRate": 1,
        "reason": details["endReason"],
        "userAgent": details["userAgent"],
        "isolated": details["crossOriginIsolated"],
        "device": {"cores": details["hardwareConcurrency"], "mobile": "Mobile" in details["userAgent"]},
        "marks": [{"type": "longtask", "start": start, "duration": length} for start, length in details["longTasks"]],
        "tags": {"class": details["deviceClass"], "cache": details["cache"], "input": details["inputClass"]},
        "trace": trace,
    }


@cache
def expected() -> list[Json]:
    """Returns the reference's result for each app, release and page: exact integers, samples and µs."""
    with gzip.open(DATA / "expected.json.gz", "rb") as file:
        groups: list[Json] = json.load(file)
    return groups
