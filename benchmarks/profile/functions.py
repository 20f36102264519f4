"""The functions of a recorded profile, as the read API of the Fieldflame that imported it tells them."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

# What is left of a file's path (`benchmarks.profile.sampling`) begins with one of these if the file is our own.
OWN: Final = ("aggregate/", "config/", "dashboard/", "ingest/", "profcore/", "packages/")
SUPERVISOR: Final = "ops/supervisor/"
LISTED_PACKAGES: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionCost:
    """A function's own time and its time with what it called, ms a trace."""

    name: str
    file: str
    self_ms: float
    total_ms: float

    @property
    def package(self) -> str:
        """The library that it is in; a module's name for one of Python itself."""
        return self.file.partition("/")[0] or "(none)"

    @property
    def is_own(self) -> bool:
        """Whether it is a function of Fieldflame, not of a library or of the supervisor, below which all parts run."""
        return self.file.startswith(OWN) and not self.file.startswith(SUPERVISOR)


def read_costs(answer: Mapping[str, Any], processor_ms: float) -> list[FunctionCost]:
    """Returns the functions of an answer of `functions`; their shares are taken of the processor ms of a trace."""
    factor = processor_ms / answer["time_ms"]["js"]
    return [
        FunctionCost(
            name=function["name"],
            file=(function["uri"] or "").lstrip("/"),
            self_ms=function["self_ms"] * factor,
            total_ms=function["total_ms"] * factor,
        )
        for function in answer["functions"]
    ]


def describe_costs(part: str, costs: Sequence[FunctionCost], processor_ms: float, most: int) -> str:
    """Returns packages and functions by their own time, then Fieldflame's by that of their callees too."""
    packages: defaultdict[str, float] = defaultdict(float)
    for cost in costs:
        packages[cost.package] += cost.self_ms
    shares = [f"{name} {ms:.2f}" for name, ms in sorted(packages.items(), key=lambda row: -row[1])[:LISTED_PACKAGES]]
    by_self = sorted(costs, key=lambda cost: -cost.self_ms)[:most]
    by_total = sorted((cost for cost in costs if cost.is_own), key=lambda cost: -cost.total_ms)[:most]
    lines = [f"{part}: {processor_ms:.2f} ms a trace, by package: {', '.join(shares)}"]
    lines.append("  by their own time         self      total   ms a trace")
    lines += [_describe(cost, processor_ms) for cost in by_self]
    lines.append("  Fieldflame's, with their callees")
    lines += [_describe(cost, processor_ms) for cost in by_total]
    return "\n".join(lines)


def _describe(cost: FunctionCost, processor_ms: float) -> str:
    return f"  {cost.self_ms / processor_ms:6.1%} {cost.self_ms:15.3f} {cost.total_ms:10.3f}   {cost.name} {cost.file}"
