"""A project with a past, for retention to delete: recorded traces that were received over the last days.

Runs inside the soaked stack. The traces are stored as the ingest endpoint stores them, only earlier.
"""

import gzip
import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

from bench.corpus import read_corpus
from ingest.door.keys import find_key
from ingest.door.limits import envelope_limits
from ingest.door.storing import Arrival, store_arrivals
from ingest.projects.creation import create_project
from profcore.trace.wire import decode_envelope

HISTORY: Final = "history"  # the project whose retention gets shorter and shorter
REFOLDED: Final = "refolded"  # the project that is refolded again and again
DAYS: Final = 14
PORTION: Final = 50


def store_history(corpus: Path, traces: int) -> str:
    """Creates both projects, each with so many traces, and returns as JSON how many there are."""
    recorded = [envelope for _, envelope in read_corpus(corpus)]
    now = datetime.now(UTC)
    for slug, days in ((HISTORY, DAYS), (REFOLDED, 1)):
        create_project(slug=slug, key=slug, origins=["*"])
        for start in range(0, traces, PORTION):
            received_at = now - timedelta(days=start * days // traces)
            _store(slug, [recorded[n % len(recorded)] for n in range(start, min(start + PORTION, traces))], received_at)
    return json.dumps({HISTORY: traces, REFOLDED: traces})


def _store(slug: str, envelopes: Sequence[dict[str, Any]], received_at: datetime) -> None:
    key = find_key(slug)
    assert key is not None
    arrivals = []
    for index, recorded in enumerate(envelopes):
        started_ms = received_at.timestamp() * 1000 - 60_000
        envelope = {**recorded, "viewId": str(uuid4()), "timeOrigin": started_ms, "viewStart": started_ms}
        envelope.pop("traceId", None)
        text = json.dumps(envelope, separators=(",", ":")).encode()
        decoded = decode_envelope(text, envelope_limits())
        body = gzip.compress(text, 6)
        arrivals.append(Arrival(index=index, envelope=decoded, body=body, is_gzip=True, expanded_bytes=len(text)))
    store_arrivals(key=key, arrivals=arrivals, header_agent="", received_at=received_at)
