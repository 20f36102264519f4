"""The demo project: a recorded shop of three pages in two releases, its dates moved to the last days.

`shopboard.ndjson.gz` holds 126 envelopes of recorded traces, 21 for each page and release: the project's own recordings
of an app written for that. Release 1.1.0 measures the columns of its product table far too often.
"""

import json
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from ingest.models import Project, Receipt
from ingest.projects.creation import create_project
from ingest.sending import SendError, group_lines, post_lines, read_lines

SLUG: Final = "demo"
KEY: Final = "demo"
SAMPLES: Final = Path(__file__).parent / "shopboard.ndjson.gz"
# Each release's views, spread evenly: (begins, ends) in hours before now; the older ends where the newer begins. Four
# days show a trend, and each day has enough views for an interval.
HOURS_BEFORE_NOW: Final = {"1.0.0": (96.0, 48.0), "1.1.0": (48.0, 0.1)}
POST_ENVELOPES: Final = 10
POST_BYTES: Final = 2 * 2**20
STALL_LIMIT_S: Final = 60.0


class DemoError(Exception):
    """The samples could not be loaded; the text is one sentence."""


def ensure_demo_project() -> Project:
    """Returns the demo project, and creates it if it is missing. Any origin may post to it: it has no private data."""
    project = Project.objects.filter(slug=SLUG).first()
    if project is None:
        project, _ = create_project(slug=SLUG, key=KEY, origins=["*"], name="Demo shop")
    return project


def read_samples(now: datetime) -> list[bytes]:
    """Returns the recorded envelopes with their dates moved to before `now` (aware), in recorded order per release.

    Their ids stay the same, so that loading again adds nothing twice.
    """
    by_release: dict[str, list[dict[str, Any]]] = defaultdict(list)  # a JSON object's values are of any type
    for line in read_lines(SAMPLES):
        envelope = json.loads(line)
        by_release[envelope["release"]].append(envelope)
    moved = []
    for release, envelopes in by_release.items():
        begins, ends = HOURS_BEFORE_NOW[release]
        envelopes.sort(key=lambda one: (one["timeOrigin"], one["viewId"]))
        for index, envelope in enumerate(envelopes):
            hours = begins + (ends - begins) * index / max(1, len(envelopes) - 1)
            start_ms = (now.astimezone(UTC) - timedelta(hours=hours)).timestamp() * 1000
            envelope |= {"timeOrigin": start_ms, "viewStart": start_ms}
            moved.append(json.dumps(envelope, separators=(",", ":")).encode())
    return moved


def send_samples(url: str, samples: list[bytes]) -> Iterator[int]:
    """Posts the samples to the door and yields the number of each post. Raises DemoError."""
    for batch in group_lines(iter(samples), POST_ENVELOPES, POST_BYTES):
        try:
            report = post_lines(f"{url}/ingest/v1/traces?key={KEY}", batch)
        except SendError as error:
            raise DemoError(str(error)) from None
        if report.rejected:
            first = report.rejected[0]
            raise DemoError(f"The door refused a sample: {first['reason']} at {first['path']}: {first['detail']}")
        yield len(batch)


def wait_until_folded(project: Project, show: Callable[[int], None]) -> None:
    """Waits until no trace of the project is pending; shows how many are. Raises DemoError if there is no progress."""
    least, moved_at = None, time.monotonic()
    while pending := Receipt.objects.filter(project=project, state=Receipt.State.PENDING).count():
        show(pending)
        if least is None or pending < least:
            least, moved_at = pending, time.monotonic()
        elif time.monotonic() - moved_at > STALL_LIMIT_S:
            raise DemoError(f"{pending} samples are pending, none was folded in {STALL_LIMIT_S:.0f} s; see worker.log.")
        time.sleep(0.1)
    show(0)
