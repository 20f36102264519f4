"""Synthetic heavy traces: parser-like code with thousands of stacks, as recorded apps of that kind have them."""

import random
from typing import Any, Final
from uuid import uuid5

from tests.corpus import NAMESPACE

# (stacks, samples) by kind: 64 kB of JSON, and 223. A recorded app reached 12,230 stacks and 462 kB in three seconds.
SIZES: Final = {"heavy": (1_200, 370), "huge": (5_000, 1_500)}
FRAMES: Final = 300
MAX_DEPTH: Final = 120
RESOURCES: Final = tuple(f"https://heavy.corpus.test/assets/chunk-{n}.js" for n in range(6))


def make_heavy_envelope(number: int, kind: str) -> dict[str, Any]:
    """Returns the `number`-th envelope of a kind of `SIZES`; equal numbers give equal envelopes."""
    stack_count, sample_count = SIZES[kind]
    draw = random.Random(number)  # not for secrets
    frames = [
        {"column": 7 + 31 * n, "line": 1 + n % 9, "name": f"f{n % 97}", "resourceId": n % len(RESOURCES)}
        for n in range(FRAMES)
    ]
    stacks: list[dict[str, int]] = []
    depths: list[int] = []
    for index in range(stack_count):
        # Mostly deeper from where the last one was, as a descent into a grammar is; sometimes back to an older caller.
        parent = index - 1 if draw.random() < 0.8 else draw.randrange(index) if index else -1
        if parent < 0 or depths[parent] >= MAX_DEPTH:
            stacks.append({"frameId": draw.randrange(FRAMES)})
            depths.append(1)
        else:
            stacks.append({"frameId": draw.randrange(FRAMES), "parentId": parent})
            depths.append(depths[parent] + 1)
    samples: list[dict[str, float]] = []
    time_ms = 40.0
    for _ in range(sample_count):
        time_ms = round(time_ms + draw.choice((0.0, 0.1, 2.0, 2.1, 2.2)), 1)
        samples.append({"timestamp": time_ms} if draw.random() < 0.15 else _at(draw.randrange(stack_count), time_ms))
    view = uuid5(NAMESPACE, f"heavy:{number}")
    return {
        "viewId": str(view),
        "seq": 0,
        "release": f"1.{number % 2}.0",
        "page": f"/heavy/{number % 5}",
        "url": f"https://heavy.corpus.test/heavy/{number % 5}?seed={number}",
        "timeOrigin": 1_795_256_990_131.5 + number,
        "sampleInterval": 10,
        "device": {"cores": 8, "memory": 8, "mobile": False},
        "marks": [{"type": "longtask", "start": 40.0 + 600 * n, "duration": 500.0} for n in range(4)],
        "trace": {"frames": frames, "resources": list(RESOURCES), "samples": samples, "stacks": stacks},
    }


def _at(stack: int, time_ms: float) -> dict[str, float]:
    return {"stackId": stack, "timestamp": time_ms}
