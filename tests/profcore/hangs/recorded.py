"""Posts with crash reports as Chromium 156 sent them, each about a page that hung in one way."""

import json
from pathlib import Path
from typing import Any, Final

RECORDED: Final[dict[str, list[dict[str, Any]]]] = json.loads(  # Any: JSON
    (Path(__file__).parents[2] / "data" / "chromium-reports.json").read_bytes()
)


def stack_of(name: str) -> str:
    """Returns the stack of a recorded report."""
    stack: str = RECORDED[name][0]["body"]["stack"]
    return stack
