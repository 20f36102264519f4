"""The budgets of a project, as its watches stand now. The server judges them by whole days, not by release."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from fieldflame.answers import checked
from fieldflame.question import Question
from fieldflame.server import Server

KINDS: Final = ("budget", "new_cost")
UNKNOWN: Final = "unknown"
SUSPECTED: Final = "suspected"
CONFIRMED: Final = "confirmed"
NEW_COST: Final = "new_cost"
Json = Mapping[str, Any]  # Any: JSON, checked here


@dataclass(frozen=True)
class Finding:
    """A page, party or package of a budget that exceeds it or may do so. `text` is the server's sentence."""

    state: str
    text: str


@dataclass(frozen=True)
class Budget:
    """A watch that is a bound on cost. `counts` are its subjects by their state."""

    name: str
    counts: Mapping[str, int]
    findings: tuple[Finding, ...]
    problem: str | None
    has_nothing_new: bool = False

    @property
    def is_judged(self) -> bool:
        """Tells whether there were enough page views on any day, or, of new cost, whether nothing is new."""
        return self.has_nothing_new or any(count for state, count in self.counts.items() if state != UNKNOWN)


def is_over(budget: Budget) -> bool:
    """Tells whether a budget is exceeded for certain. One that is only suspected fails no build."""
    return bool(budget.counts.get(CONFIRMED))


def select_budgets(server: Server, question: Question) -> tuple[Budget, ...]:
    """Returns the project's budgets that are switched on, if they can fail the build. Raises `CommandError`."""
    if "budget" not in question.fail_on:
        return ()
    return checked(_read_budgets, server.get("watches"))


def _read_budgets(answer: Json) -> tuple[Budget, ...]:
    findings: dict[int, list[Finding]] = {}
    for each in answer["open"]:
        if each["watch"] is not None:
            found = Finding(str(each["state"]), str(each["text"]))
            findings.setdefault(int(each["watch"]["id"]), []).append(found)
    return tuple(
        Budget(
            name=str(each["name"]),
            counts={str(state): int(count) for state, count in each["counts"].items()},
            findings=tuple(findings.get(int(each["id"]), ())),
            problem=None if each["problem"] is None else str(each["problem"]),
            # Only what is new has a state.
            has_nothing_new=each["kind"] == NEW_COST and not each["counts"] and each["evaluated_at"] is not None,
        )
        for each in answer["watches"]
        if each["kind"] in KINDS and each["is_on"]
    )
