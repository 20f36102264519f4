"""Small envelopes for tests, as the wire has them."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid5

NAMESPACE = UUID("0e5f7a54-2f0d-5c0b-8f0e-3b1f2a9d7c11")
# Yesterday's, whenever the tests run: older than seven days is clamped, older than two is merged.
YESTERDAY = datetime.now(UTC).replace(hour=11, minute=9, second=50, microsecond=0) - timedelta(days=1)
TIME_ORIGIN_MS = YESTERDAY.timestamp() * 1000 + 131.5


def view_id_of(word: str) -> str:
    """Returns a view id that a word always gives."""
    return str(uuid5(NAMESPACE, word))


def make_trace(columns: str, *, interval_ms: float = 10.0) -> dict[str, Any]:
    """Returns a trace from a text picture: one line a sample, its stack from root to leaf; `-` is no stack.

    `A B` means that A called B. Samples are `interval_ms` apart; the first is at 0.
    """
    frames: dict[str, int] = {}
    stacks: dict[tuple[int | None, int], int] = {}
    samples: list[dict[str, Any]] = []
    for row, line in enumerate(line for line in columns.strip().splitlines() if line.strip()):
        sample: dict[str, Any] = {"timestamp": row * interval_ms}
        stack: int | None = None
        for name in line.split():
            if name == "-":
                continue
            frame = frames.setdefault(name, len(frames))
            stack = stacks.setdefault((stack, frame), len(stacks))
        if stack is not None:
            sample["stackId"] = stack
        samples.append(sample)
    return {
        "resources": ["https://shop.example/app.js"],
        "frames": [{"name": name, "resourceId": 0, "line": 1, "column": 10 + n} for name, n in frames.items()],
        "stacks": [
            {"frameId": frame} if parent is None else {"frameId": frame, "parentId": parent} for parent, frame in stacks
        ],
        "samples": samples,
    }


def make_envelope(view: str = "a", columns: str = "A\nA B\n-", **fields: Any) -> dict[str, Any]:
    """Returns a valid envelope of view `view`; keyword fields replace or add to it."""
    return {
        "viewId": view_id_of(view),
        "seq": 0,
        "release": "1.0.0",
        "page": "/cart",
        "timeOrigin": TIME_ORIGIN_MS,
        "sampleInterval": 10,
        "trace": make_trace(columns),
        **fields,
    }
