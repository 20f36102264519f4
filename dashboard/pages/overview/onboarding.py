"""Texts for a project without traces: the snippet's tag, and a command that sends a test trace."""

import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import uuid4

from dashboard.layout.snippet_tag import HEADER, write_tag
from projects.models import Project


@dataclass(frozen=True, slots=True, kw_only=True)
class Onboarding:
    """Texts to copy: `tag` goes into a page's head, `curl` into a shell. The key allows `origins` (`*`: any).

    `origin` is this server's own, for the policies of pages.
    """

    tag: str
    header: str
    curl: str
    origin: str
    origins: Sequence[str]


def build_onboarding(project: Project, base_url: str, origin: str, now: datetime) -> Onboarding | None:
    """Returns the texts with the project's oldest active key; None without a key. `base_url` ends in no slash."""
    key = project.keys.filter(revoked_at=None).order_by("pk").first()
    if key is None:
        return None
    tag, curl = write_tag(base_url, key.public_key), write_curl(base_url, key.public_key, now)
    return Onboarding(tag=tag, header=HEADER, curl=curl, origin=origin, origins=key.origins)


def write_curl(base_url: str, public_key: str, now: datetime) -> str:
    """Returns a shell command that posts one small trace: 20 ms of a function `hello`, then nothing."""
    address = f"{base_url}/ingest/v1/traces?key={public_key}"
    body = json.dumps(make_envelope(now), separators=(",", ":"))
    return f"curl -i {shlex.quote(address)} -H 'content-type: application/json' --data {shlex.quote(body)}"


def make_envelope(now: datetime) -> dict[str, object]:
    """Returns the smallest envelope that shows something."""
    return {
        "viewId": str(uuid4()),
        "seq": 0,
        "release": "1.0.0",
        "page": "/hello",
        "timeOrigin": int(now.timestamp() * 1000),
        "sampleInterval": 10,
        "trace": {
            "resources": ["https://example.com/app.js"],
            "frames": [{"name": "hello", "resourceId": 0, "line": 1, "column": 15}],
            "stacks": [{"frameId": 0}],
            "samples": [{"timestamp": 0, "stackId": 0}, {"timestamp": 10, "stackId": 0}, {"timestamp": 20}],
        },
    }
