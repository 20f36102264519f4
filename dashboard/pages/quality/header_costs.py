"""What the header costs, in words: a row for each vital."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from profcore.numbers import write_share
from profcore.stats.header_cost import MIN_LOADS, MOST_LOSS, VitalCost

LEAST_SHOWN: Final = 0.0005  # less rounds to nothing
CONTROL: Final = "ttfb"  # the header is decided before, and cannot change it


@dataclass(frozen=True, slots=True)
class HeaderCostRow:
    """One vital, how much later it comes as a text, its interval, and what that says."""

    cost: VitalCost
    later: str
    interval: str
    meaning: str


def explain_header_costs(costs: Sequence[VitalCost]) -> list[HeaderCostRow]:
    """Returns a row for each vital."""
    return [_explain(cost) for cost in costs]


def _explain(cost: VitalCost) -> HeaderCostRow:
    if cost.later is None or cost.later.ci95 is None:
        return HeaderCostRow(cost, "–", "", f"Too few loads: {MIN_LOADS} of each side are needed.")
    interval = f"{_write_change(cost.later.ci95.low)} to {_write_change(cost.later.ci95.high)}"
    return HeaderCostRow(cost, _write_change(cost.later.value), interval, _say(cost))


def _say(cost: VitalCost) -> str:
    if cost.vital == CONTROL:
        if cost.is_known:
            return (
                "One side is answered sooner, which the header cannot cause: the draw is not by chance, or a cache "
                "keeps one side longer. Do not trust the other rows."
            )
        return "Both sides are answered equally soon, as a fair draw must give."
    if not cost.is_known:
        return "No clear difference."
    if not cost.is_costly:
        return "A small difference."
    share, most = write_share(cost.share), write_share(MOST_LOSS)
    if cost.proposed_share is None:
        return f"The header makes pages slower. With {share} of the pages, visitors together lose less than {most}."
    return (
        f"The header makes pages slower. Give it to {write_share(cost.proposed_share)} of the pages instead of "
        f"{share}: then visitors together lose at most {most}."
    )


def _write_change(part: float) -> str:
    return "0" if abs(part) < LEAST_SHOWN else f"{'+' if part > 0 else ''}{write_share(part)}"
