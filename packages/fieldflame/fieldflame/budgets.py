"""The budgets of a project, as its watches stand now. The server judges them by whole days, not by release."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from fieldflame.exits import CommandError
from fieldflame.question import Question
from fieldflame.server import Server

KINDS: Final = ("budget", "new_cost")
UNKNOWN: Final = "unknown"
SUSPECTED: Final = "suspected"
CONFIRMED: Final = "confirmed"


@dataclass(frozen=True)
class Standing:
    """What is known of a budget, of a page or party if it has several. The figures are in the budget's own unit."""

    subject: str
    state: str
    value: float | None
    low: float | None
    high: float | None
    threshold: float | None
    views: int


@dataclass(frozen=True)
class Budget:
    """A watch that is a bound on cost, with its standings."""

    name: str
    kind: str
    standings: tuple[Standing, ...]

    @property
    def is_judged(self) -> bool:
        """Tells whether there were enough page views on any day."""
        return any(each.state != UNKNOWN for each in self.standings)


def is_over(budget: Budget) -> bool:
    """Tells whether a budget is exceeded for certain. One that is only suspected fails no build."""
    return any(each.state == CONFIRMED for each in budget.standings)


def select_budgets(server: Server, question: Question) -> tuple[Budget, ...]:
    """Returns the project's budgets that are switched on, if they can fail the build. Raises `CommandError`."""
    if "budget" not in question.fail_on:
        return ()
    answer = server.get("watches")
    try:
        return tuple(
            Budget(str(each["name"]), str(each["kind"]), tuple(_read_standing(row) for row in each["states"]))
            for each in answer["watches"]
            if each["kind"] in KINDS and each["is_on"]
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        raise CommandError(
            "The server's answer on watches cannot be read: update this command, or the server."
        ) from None


def _read_standing(row: Mapping[str, Any]) -> Standing:  # Any: JSON
    parts = [row.get("page"), row.get("subject"), row.get("release")]
    return Standing(
        subject=", ".join(str(part) for part in parts if part),
        state=str(row["state"]),
        value=_number(row["value"]),
        low=_number(row["low"]),
        high=_number(row["high"]),
        threshold=_number(row["threshold"]),
        views=int(row["views"]),
    )


def _number(value: Any) -> float | None:  # Any: JSON
    return None if value is None else float(value)
