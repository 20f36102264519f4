"""What functions cost: in a comparison of two releases, in the field by kind of device, or in CPU profiles."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from fieldflame.answers import checked
from fieldflame.exits import UsageError
from fieldflame.paths import clean_path

Json = Mapping[str, Any]  # Any: JSON
# Most names in minified code have one or two letters: two functions of such a name are seldom the same one.
LEAST_NAME: Final = 3
US_PER_MS: Final = 1_000
# What V8 writes for time without a function of the page.
NO_FUNCTIONS: Final = frozenset({"(root)", "(idle)", "(program)", "(garbage collector)"})
MAX_PROFILE_BYTES: Final = 500_000_000


@dataclass(frozen=True)
class FuncName:
    """What makes two functions the same in lab and field: the name, and the path of the source if it is known."""

    label: str
    source: str


@dataclass(frozen=True)
class LabChange:
    """A function's time per recording or page view, before and after."""

    name: FuncName
    base_ms: float
    head_ms: float


@dataclass(frozen=True)
class Compared:
    """A comparison of two releases. `changes` has those that are beyond chance; `all` has each function."""

    is_too_few: bool
    views: tuple[int, int]
    changes: tuple[LabChange, ...]
    all: tuple[LabChange, ...]


@dataclass(frozen=True)
class FieldCost:
    """A function's time per page view in the field, with its 95 % interval."""

    name: FuncName
    ms: float
    ci95: tuple[float, float]


class FieldTable:
    """The functions of the field, to find one by its name."""

    def __init__(self, costs: Sequence[FieldCost]) -> None:
        self._by_label: dict[str, list[FieldCost]] = defaultdict(list)
        for cost in costs:
            self._by_label[cost.name.label].append(cost)

    def find(self, name: FuncName) -> FieldCost | None:
        """Returns the function of this name: of the same source, or the only one if a source is not known."""
        same = self._by_label.get(name.label, [])
        placed = [each for each in same if name.source and each.name.source == name.source]
        if len(placed) == 1:
            return placed[0]
        is_telling = len(name.label) >= LEAST_NAME and not name.label.startswith("(")
        open_ones = [each for each in same if not (name.source and each.name.source)]
        return open_ones[0] if is_telling and len(same) == len(open_ones) == 1 else None


def read_compared(answer: Json) -> Compared:
    """Returns what `compare` answered. Raises `CommandError`."""
    return checked(_read_compared, answer)


def read_field(answer: Json) -> FieldTable:
    """Returns what `functions` answered, with the estimates of its measure. Raises `CommandError`."""
    return checked(_read_field, answer)


def _read_compared(answer: Json) -> Compared:
    rows = [(_read_change(each), bool(each["is_significant"])) for each in answer["functions"]]
    return Compared(
        is_too_few=bool(answer["is_too_few"]),
        views=(int(answer["base"]["views"]), int(answer["head"]["views"])),
        changes=tuple(change for change, is_clear in rows if is_clear),
        all=tuple(change for change, _ in rows),
    )


def _read_change(each: Json) -> LabChange:
    return LabChange(_read_name(each), float(each["base_ms_per_view"]), float(each["head_ms_per_view"]))


def _read_field(answer: Json) -> FieldTable:
    costs = []
    for each in answer["functions"]:
        found = each["estimates"]
        if found is not None and found["ms_per_view_ci95"] is not None:
            low, high = found["ms_per_view_ci95"]
            costs.append(FieldCost(_read_name(each), float(found["ms_per_view"]), (float(low), float(high))))
    return FieldTable(costs)


def _read_name(each: Json) -> FuncName:
    original = each["original"]
    return FuncName(str(each["label"]), clean_path(str(original["source"])) if original else "")


def compare_profiles(base: Sequence[str], head: Sequence[str]) -> Compared:
    """Returns two sides of recordings, `.cpuprofile` files, compared by each function's own time per recording.

    Files say nothing about chance, so changes are those of at least a tenth and one millisecond.
    """
    sides = []
    for names in (base, head):
        sums: dict[FuncName, float] = defaultdict(float)
        for name in names:
            for func, ms in read_profile(name).items():
                sums[func] += ms / len(names)
        sides.append(sums)
    before, after = sides
    every = tuple(LabChange(name, before.get(name, 0.0), after.get(name, 0.0)) for name in {**before, **after})
    changes = tuple(
        each
        for each in every
        if abs(each.head_ms - each.base_ms) >= max(1.0, each.base_ms / 10) and len(each.name.label) >= LEAST_NAME
    )
    return Compared(False, (len(base), len(head)), changes, every)


def read_profile(name: str) -> dict[FuncName, float]:
    """Returns each function's own time in a `.cpuprofile`, in ms. Raises `UsageError`."""
    try:
        path = Path(name)
        if path.stat().st_size > MAX_PROFILE_BYTES:
            raise UsageError(f"{name} is larger than {MAX_PROFILE_BYTES:,} bytes.")
        profile = json.loads(path.read_bytes())
        names = {int(node["id"]): str(node["callFrame"]["functionName"]) for node in profile["nodes"]}
        samples, deltas = profile["samples"], profile["timeDeltas"]
        sums: dict[FuncName, float] = defaultdict(float)
        # A delta is the time before its sample: a sample lasts until the next one.
        for sample, delta_us in zip(samples, deltas[1:], strict=False):
            label = names[int(sample)]
            if label and label not in NO_FUNCTIONS and delta_us > 0:
                sums[FuncName(label, "")] += float(delta_us) / US_PER_MS
    except OSError as error:
        raise UsageError(f"{name} cannot be read: {error.strerror}.") from None
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise UsageError(f"{name} is no .cpuprofile with nodes, samples and timeDeltas.") from None
    return dict(sums)
