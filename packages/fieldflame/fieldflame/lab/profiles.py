"""CPU profiles as a lab: `.cpuprofile` files of Node, DevTools or Chromium's own protocol."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from fieldflame.exits import UsageError
from fieldflame.lab.costs import LEAST_NAME, Compared, FuncName, LabChange

US_PER_MS: Final = 1_000
MAX_PROFILE_BYTES: Final = 500_000_000
# Scripts that are not the page's: those of Node, of DevTools, of extensions and of the tool that drives the browser.
FOREIGN: Final = ("node:", "devtools:", "chrome-extension:", "extensions::", "__playwright", "__puppeteer", "pptr:")
LEAST_MS: Final = 1.0
LEAST_SHARE: Final = 0.1
# With LEAST_FILES on each side, LEAST_PAIRS of the pairs of a file before and one after must differ in one direction.
# By chance that happens to 1 of 10 unchanged functions with three files, and to 1 of 30 with five.
LEAST_FILES: Final = 3
LEAST_PAIRS: Final = 0.9


def compare_profiles(base: Sequence[str], head: Sequence[str]) -> Compared:
    """Returns two sides of recordings, `.cpuprofile` files, compared by each function's own time per recording.

    Changes are those of at least a tenth and one millisecond. A file says nothing about chance, three or more do a
    little: then nearly every recording of one side must have more than each one of the other.
    """
    sides = [[read_profile(name) for name in names] for names in (base, head)]
    names = dict.fromkeys(name for files in sides for file in files for name in file)
    every, changes = [], []
    for name in names:
        before, after = ([file.get(name, 0.0) for file in files] for files in sides)
        change = LabChange(name, sum(before) / len(before), sum(after) / len(after))
        every.append(change)
        if _is_change(change) and _is_apart(before, after):
            changes.append(change)
    return Compared(False, (len(base), len(head)), tuple(changes), tuple(every))


def _is_change(change: LabChange) -> bool:
    least = max(LEAST_MS, change.base_ms * LEAST_SHARE)
    return abs(change.head_ms - change.base_ms) >= least and len(change.name.label) >= LEAST_NAME


def _is_apart(before: Sequence[float], after: Sequence[float]) -> bool:
    if min(len(before), len(after)) < LEAST_FILES:
        return True
    pairs = [(earlier, later) for earlier in before for later in after]
    slower, faster = sum(earlier < later for earlier, later in pairs), sum(earlier > later for earlier, later in pairs)
    return max(slower, faster) >= LEAST_PAIRS * len(pairs)


def read_profile(name: str) -> dict[FuncName, float]:
    """Returns each function's own time in a `.cpuprofile`, in ms. Raises `UsageError`.

    The time of built-ins and of scripts that are not the page's is that of the function that called them, as in traces.
    """
    try:
        path = Path(name)
        if path.stat().st_size > MAX_PROFILE_BYTES:
            raise UsageError(f"{name} is larger than {MAX_PROFILE_BYTES:,} bytes.")
        profile = json.loads(path.read_bytes())
        labels = _label_nodes(profile["nodes"])
        samples, deltas = profile["samples"], profile["timeDeltas"]
        sums: dict[FuncName, float] = defaultdict(float)
        # A delta is the time before its sample: a sample lasts until the next one.
        for sample, delta_us in zip(samples, deltas[1:], strict=False):
            label = labels[int(sample)]
            if label and delta_us > 0:
                sums[FuncName(label, "")] += float(delta_us) / US_PER_MS
    except OSError as error:
        raise UsageError(f"{name} cannot be read: {error.strerror}.") from None
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise UsageError(f"{name} is no .cpuprofile with nodes, samples and timeDeltas.") from None
    return dict(sums)


def _label_nodes(nodes: Iterable[Mapping[str, Any]]) -> dict[int, str]:  # Any: JSON
    """Returns the name of the page's function that each node's time belongs to; "" if there is none, or it has none."""
    names: dict[int, str | None] = {}
    caller: dict[int, int] = {}
    for node in nodes:
        number, frame = int(node["id"]), node["callFrame"]
        url = str(frame.get("url", ""))
        names[number] = None if not url or url.startswith(FOREIGN) else str(frame["functionName"])
        for child in node.get("children", ()):
            caller[int(child)] = number
    labels: dict[int, str] = {}
    for number in names:
        path: list[int] = []
        at: int | None = number
        while at is not None and at not in labels and names[at] is None:
            path.append(at)
            names[at] = ""  # a node met again has no function: also if the file's callers form a circle
            at = caller.get(at)
        label = "" if at is None else labels.get(at, names[at]) or ""
        for visited in [number, *path]:
            labels[visited] = label
    return labels
