"""The recordings of the demo as a lab and a field: its fast desktops foretell its slow desktops and its phones.

All devices were recorded with the same inputs, so this measures what other processors do to the rule, and nothing else.
"""

import gzip
import json
import time
from collections import defaultdict
from typing import Final
from uuid import UUID, uuid5

from bench.lab.recording import Envelope, Side
from bench.lab.shop import Release
from config.demo.recordings import FOLDER
from config.demo.story import RELEASES
from profcore.trace.dimensions import DEVICE_CLASSES, classify_device

SIDES: Final[dict[str, Side]] = {
    "desktop-high": "lab",
    "desktop-low": "desktops",
    "mobile-high": "phones",
    "mobile-low": "phones",
}
CHANGED: Final = (
    Release(name=RELEASES[0]),
    Release(name=RELEASES[1], changed={"rankRecommendations": "square"}),
    Release(name=RELEASES[2], changed={"rankRecommendations": "square", "takeSnapshot": "new"}),
)
AGO_MS: Final = 24 * 3_600_000.0  # a post's page view begins at most seven days before


def read_demo() -> dict[tuple[Side, int], list[Envelope]]:
    """Returns the envelopes of the demo by side and release, as if they had been recorded yesterday."""
    found: dict[tuple[Side, int], list[Envelope]] = defaultdict(list)
    begin_ms = time.time() * 1000 - AGO_MS
    for number, release in enumerate(RELEASES):
        packed = (FOLDER / f"{release}.ndjson.gz").read_bytes()
        for line in gzip.decompress(packed).splitlines():
            envelope = json.loads(line)
            device = envelope["device"]
            side = SIDES[DEVICE_CLASSES[classify_device(device["memory"], device["cores"], device["mobile"])]]
            shift_ms = begin_ms - envelope["viewStart"]
            envelope |= {
                "timeOrigin": envelope["timeOrigin"] + shift_ms,
                "viewStart": envelope["viewStart"] + shift_ms,
                "traceId": str(uuid5(UUID(envelope["viewId"]), str(envelope["seq"]))),
            }
            found[side, number].append(envelope)
    return dict(found)
