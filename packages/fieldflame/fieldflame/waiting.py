"""Asks for the verdict, and waits for one that says more.

Each verdict that the server counts as a look spends a part of the allowed error, whatever the number of looks. So
asking often cannot make a false alarm likelier: it would only have the server compute the same again. Page views are
counted first, which is cheap. The verdict is asked for when these would make another look: a quarter more information
than the last time.
"""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

from fieldflame.answers import Verdict, read_names, read_verdict, read_views
from fieldflame.budgets import Budget, is_over, select_budgets
from fieldflame.clean import clean
from fieldflame.exits import UsageError
from fieldflame.question import Question
from fieldflame.server import Server

FIRST_PAUSE_S: Final = 10.0
LONGEST_PAUSE_S: Final = 120.0
GROWTH: Final = 1.5
JITTER: Final = 0.1
# As the server counts looks: one needs this much more information than the last.
MORE_INFORMATION: Final = 1.25


@dataclass
class Clock:
    """The time and how to let it pass; tests have their own."""

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    draw: Callable[[], float] = field(default=random.random)


@dataclass(frozen=True)
class Answer:
    """What is known at the end: the verdict, and the budgets if these were asked for."""

    verdict: Verdict
    budgets: tuple[Budget, ...]
    waited_s: float


def ask(server: Server, question: Question, tell: Callable[[str], None], clock: Clock | None = None) -> Answer:
    """Returns the answer to a question; with `wait_s`, as soon as waiting longer would change nothing."""
    clock = clock or Clock()
    began = clock.now()
    ends = began + question.wait_s
    pause_s = FIRST_PAUSE_S
    views = (0, 0)
    verdict = _ask_verdict(server, question, None)
    budgets = select_budgets(server, question)
    if question.wait_s and verdict.base is not None:
        views = _count(server, question, verdict.base)
    while not is_settled(question, verdict, budgets) and clock.now() < ends:
        left_s = ends - clock.now()
        clock.sleep(min(left_s, pause_s * (1 + JITTER * (2 * clock.draw() - 1))))
        pause_s = min(pause_s * GROWTH, LONGEST_PAUSE_S)
        is_last = clock.now() >= ends
        seen = _count(server, question, question.base or verdict.base)
        if is_another_look(verdict, views, seen) or (is_last and seen != views):
            verdict, views = _ask_again(server, question, verdict), seen
            tell(f"After {clock.now() - began:,.0f} s, {sum(seen):,} page views: {clean(verdict.text, 1_000)}")
        budgets = select_budgets(server, question)
    return Answer(verdict, budgets, clock.now() - began)


def is_another_look(last: Verdict, before: tuple[int, int], now: tuple[int, int]) -> bool:
    """Returns whether a verdict on this many page views, of base and head, may say something else than the last one."""
    if last.leading.state == "too_few":
        return now != before
    return information_of(now) >= information_of(before) * MORE_INFORMATION and now != before


def information_of(views: tuple[int, int]) -> float:
    """Returns how much two sides tell about their difference: that of the smaller one, nearly."""
    base, head = views
    return base * head / (base + head) if base + head else 0.0


def is_settled(question: Question, verdict: Verdict, budgets: tuple[Budget, ...]) -> bool:
    """Returns whether waiting longer would change nothing: it is worse, or enough views have said that it is not."""
    if any(is_over(budget) for budget in budgets):
        return True
    if not question.asks_verdict:
        return all(is_done(budget) for budget in budgets)
    if is_worse(question, verdict):
        return True
    if verdict.leading.state == "slower":
        return False  # not certain enough yet
    is_seen = verdict.smallest is not None and verdict.smallest <= question.waits_to_see
    is_judged = verdict.leading.state != "too_few" and not verdict.is_early
    return is_judged and is_seen and all(is_done(budget) for budget in budgets)


def is_done(budget: Budget) -> bool:
    """Returns whether nothing more is to be expected of a budget: it is judged, or too few page views come for it."""
    return budget.is_judged or budget.cannot_be_judged


def is_worse(question: Question, verdict: Verdict) -> bool:
    """Returns whether the verdict fails the build: a page is slower, or as certainly slower as an alarm demands."""
    is_slower = "slower" in question.fail_on and verdict.leading.state == "slower"
    return is_slower or ("confirmed" in question.fail_on and verdict.is_confirmed)


def _ask_verdict(server: Server, question: Question, base: str | None) -> Verdict:
    return read_verdict(server.get("verdict", question.sides(base)))


def _ask_again(server: Server, question: Question, last: Verdict) -> Verdict:
    """Returns a newer verdict on the same base. Only the answer that chose it says what was passed over."""
    verdict = _ask_verdict(server, question, last.base)
    if not last.passed_over:
        return verdict
    answer = {**verdict.answer, "passed_over": last.answer["passed_over"]}
    return replace(verdict, passed_over=last.passed_over, answer=answer)


def _count(server: Server, question: Question, base: str | None) -> tuple[int, int]:
    """Returns the page views of base and head. Exact sums by release: it is cheap."""
    names = [name for name in (base, question.release) if name is not None]
    params = [("by", "release"), *(("release", name) for name in names), *question.filters]
    views = read_views(server.get("overview", params))
    return views.get(base or "", 0), views.get(question.release, 0)


def check_base(server: Server, question: Question) -> None:
    """Raises `UsageError` if the base was never seen: a wrong name would wait for ever."""
    if question.base is None:
        return
    if question.base == question.release:
        raise UsageError("--base and --release are the same release.")
    known = read_names(server.get("releases"))
    if question.base not in known:
        newest = ", ".join(clean(name, 40) for name in known[:3]) or "none"
        raise UsageError(f"No page view has release {clean(question.base)!r} (--base). The newest are: {newest}.")
