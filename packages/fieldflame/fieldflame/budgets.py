"""The budgets of a project, as its alerts stand now. The server judges them by whole days, not by release."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from fieldflame.answers import checked
from fieldflame.numbers import write_count
from fieldflame.question import Question
from fieldflame.server import Server

KINDS: Final = ("budget", "new_third_parties")
UNKNOWN: Final = "unknown"
CONFIRMED: Final = "confirmed"
NEW_THIRD_PARTIES: Final = "new_third_parties"
INTERACTIONS: Final = "inp_script"
# After a whole week without a day that could be judged, weekends and working days alike, the next week is no other.
HOPELESS_DAYS: Final = 7
Json = Mapping[str, Any]  # Any: JSON, checked here


@dataclass(frozen=True)
class Unjudged:
    """Days in a row of which none had enough page views; `views` are those of the last one.

    `what` says which page views count.
    """

    since: str
    days: int
    views: int
    least_views: int
    what: str = "page views"

    @property
    def text(self) -> str:
        """What is to be said of it."""
        days = write_count(self.days, "day")
        if self.views >= self.least_views:  # enough in all
            return f"too few {self.what} of some sample rates for {days}. The last day has {self.views:,} in all"
        needed = f"at least {self.least_views:,} are needed"
        return f"too few {self.what} for {days}. The last day has {self.views:,}, {needed}"


@dataclass(frozen=True)
class Budget:
    """An alert that is a bound on cost. `counts` are its subjects by their state.

    `findings` are the server's sentences on those that exceed it or may do so.
    """

    name: str
    counts: Mapping[str, int]
    findings: tuple[str, ...]
    problem: str | None
    has_nothing_new: bool = False
    unjudged: Unjudged | None = None

    @property
    def is_judged(self) -> bool:
        """Returns whether there were enough page views on any day, or, of new third parties, whether nothing is new."""
        return self.has_nothing_new or any(count for state, count in self.counts.items() if state != UNKNOWN)

    @property
    def cannot_be_judged(self) -> bool:
        """Returns whether it is hopeless to wait for a day with enough page views. A problem can be mended."""
        is_long = self.unjudged is not None and self.unjudged.days >= HOPELESS_DAYS
        return is_long and not self.is_judged and self.problem is None


def is_over(budget: Budget) -> bool:
    """Returns whether a budget is exceeded for certain. One that is only suspected fails no build."""
    return bool(budget.counts.get(CONFIRMED))


def select_budgets(server: Server, question: Question) -> tuple[Budget, ...]:
    """Returns the project's budgets that are switched on, if they can fail the build. Raises `CommandError`."""
    if "budget" not in question.fail_on:
        return ()
    return checked(_read_budgets, server.get("alerts"))


def _read_budgets(answer: Json) -> tuple[Budget, ...]:
    findings: dict[int, list[str]] = {}
    for finding in answer["open"]:
        if finding["alert"] is not None:
            findings.setdefault(int(finding["alert"]["id"]), []).append(str(finding["text"]))
    return tuple(
        Budget(
            name=str(alert["name"]),
            counts={str(state): int(count) for state, count in alert["counts"].items()},
            findings=tuple(findings.get(int(alert["id"]), ())),
            problem=None if alert["problem"] is None else str(alert["problem"]),
            # Only what is new has a state.
            has_nothing_new=alert["kind"] == NEW_THIRD_PARTIES
            and not alert["counts"]
            and alert["evaluated_at"] is not None
            and alert["problem"] is None,
            unjudged=_read_unjudged(alert["unjudged"], alert["question"]),
        )
        for alert in answer["alerts"]
        if alert["kind"] in KINDS and alert["is_on"]
    )


def _read_unjudged(unjudged: Json | None, question: Json) -> Unjudged | None:
    if unjudged is None:
        return None
    numbers = {name: int(unjudged[name]) for name in ("days", "views", "least_views")}
    what = "page views with an interaction" if question.get("measure") == INTERACTIONS else "page views"
    return Unjudged(since=str(unjudged["since"]), **numbers, what=what)
