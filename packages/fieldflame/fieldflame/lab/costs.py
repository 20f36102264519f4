"""What functions cost: in a comparison of two releases, and in the field by kind of device."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from fieldflame.answers import checked
from fieldflame.paths import clean_path

Json = Mapping[str, Any]  # Any: JSON
# Most names in minified code have one or two letters: two functions of such a name are seldom the same one.
LEAST_NAME: Final = 3


@dataclass(frozen=True)
class FuncName:
    """What makes two functions the same in lab and field: the name, and the path of the source if it is known."""

    label: str
    source: str

    @property
    def is_telling(self) -> bool:
        """Returns whether the name alone makes it likely that two functions of this name are one."""
        return len(self.label) >= LEAST_NAME and not self.label.startswith("(")


@dataclass(frozen=True)
class LabChange:
    """A function's time per recording or page view, before and after; `delta_ci95` is that of the change, if known."""

    name: FuncName
    base_ms: float
    head_ms: float
    delta_ci95: tuple[float, float] | None = None


@dataclass(frozen=True)
class Compared:
    """A comparison of two releases. `changes` has those that are beyond chance; `all` has each function.

    `whole_ci95` is the interval of the change of a whole page view, if known.
    """

    is_too_few: bool
    views: tuple[int, int]
    changes: tuple[LabChange, ...]
    all: tuple[LabChange, ...]
    whole_ci95: tuple[float, float] | None = None


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
        placed = [cost for cost in same if name.source and cost.name.source == name.source]
        if len(placed) == 1:
            return placed[0]
        open_ones = [cost for cost in same if not (name.source and cost.name.source)]
        return open_ones[0] if name.is_telling and len(same) == len(open_ones) == 1 else None


def read_compared(answer: Json) -> Compared:
    """Returns what `compare` answered. Raises `CommandError`."""
    return checked(_read_compared, answer)


def read_field(answer: Json) -> FieldTable:
    """Returns what `functions` answered, with the estimates of its measure. Raises `CommandError`."""
    return checked(_read_field, answer)


def _read_compared(answer: Json) -> Compared:
    rows = [(_read_change(row), bool(row["is_significant"])) for row in answer["functions"]]
    return Compared(
        is_too_few=bool(answer["is_too_few"]),
        views=(int(answer["base"]["views"]), int(answer["head"]["views"])),
        changes=tuple(change for change, is_clear in rows if is_clear),
        all=tuple(change for change, _ in rows),
        whole_ci95=_read_interval(answer["overall_delta_ci95"]),
    )


def _read_change(row: Json) -> LabChange:
    delta_ci95 = _read_interval(row["delta_ci95"])
    return LabChange(_read_name(row), float(row["base_ms_per_view"]), float(row["head_ms_per_view"]), delta_ci95)


def _read_interval(pair: Any) -> tuple[float, float] | None:  # Any: JSON
    return None if pair is None else (float(pair[0]), float(pair[1]))


def _read_field(answer: Json) -> FieldTable:
    costs = []
    for row in answer["functions"]:
        figures = row["estimates"]
        if figures is not None and figures["ms_per_view_ci95"] is not None:
            low, high = figures["ms_per_view_ci95"]
            costs.append(FieldCost(_read_name(row), float(figures["ms_per_view"]), (float(low), float(high))))
    return FieldTable(costs)


def _read_name(row: Json) -> FuncName:
    original = row["original"]
    return FuncName(str(row["label"]), clean_path(str(original["source"])) if original else "")
