"""What an answer means for a build: its exit code, and why."""

from dataclasses import dataclass

from fieldflame.answers import Verdict
from fieldflame.budgets import Budget, is_over
from fieldflame.exits import Exit
from fieldflame.numbers import round_up, write_count, write_ms, write_percent
from fieldflame.question import FIVE_PERCENT, Question
from fieldflame.waiting import Answer, is_worse

# Another look needs a quarter more information, so at least a quarter more page views.
NEXT_LOOK = 0.25


@dataclass(frozen=True)
class Outcome:
    """The result of a check. `reasons` are plain sentences without foreign text."""

    question: Question
    verdict: Verdict
    budgets: tuple[Budget, ...]
    code: Exit
    word: str
    reasons: tuple[str, ...]


def judge(question: Question, answer: Answer) -> Outcome:
    """Returns what an answer means: worse, too few page views, or nothing found. Worse wins over too few."""
    verdict, budgets = answer.verdict, answer.budgets
    reasons: list[str] = []
    missing: list[str] = []
    results = []
    if question.asks_verdict:
        if is_worse(question, verdict):
            results.append("slower")
        missing += find_missing(question, verdict)
        reasons += describe_sight(verdict)
    elif verdict.leading.state == "slower":
        reasons.append("Slower pages do not count: --fail-on names budgets only.")
    over = [budget for budget in budgets if is_over(budget)]
    if over:
        results.append("over budget")
        reasons.append(
            f"{len(over):,} of {write_count(len(budgets), 'budget')} {'is' if len(over) == 1 else 'are'} exceeded."
        )
    if "budget" in question.fail_on:
        hopeless = [budget for budget in budgets if budget.cannot_be_judged]
        waiting = [budget for budget in budgets if not budget.is_judged and not budget.cannot_be_judged]
        if hopeless:
            reasons.append(
                f"{write_count(len(hopeless), 'budget')} cannot be judged: too few page views for a week or more."
            )
        if not budgets:
            reasons.append("The project has no budgets that are switched on.")
        elif waiting:
            is_single = len(waiting) == 1
            missing.append(f"{write_count(len(waiting), 'budget')} {'is' if is_single else 'are'} not judged yet.")
    if results:
        return Outcome(question, verdict, budgets, Exit.WORSE, " and ".join(results), tuple(reasons))
    if missing:
        return Outcome(question, verdict, budgets, Exit.TOO_FEW, "too few page views", (*missing, *reasons))
    word = "nothing worse found" if question.asks_verdict else "no budget exceeded"
    return Outcome(question, verdict, budgets, Exit.OK, word, tuple(reasons))


def find_missing(question: Question, verdict: Verdict) -> list[str]:
    """Returns what a verdict lacks to be one, with how many more page views it takes; nothing if it is worse."""
    leading = verdict.leading
    if is_worse(question, verdict):
        return []
    if verdict.base is None or verdict.head is None:
        where = " with these filters" if question.filters else ""
        return [f"This release has no page views{where} yet, or no release before it has any."]
    base, head = leading.views
    if leading.state == "too_few":
        least = verdict.least_views
        more = [
            f"{least - views:,} more of {side}"
            for side, views in (("the base", base), ("the release", head))
            if views < least
        ]
        if more:
            return [f"Each side needs {least} page views on a page that both have: at least {' and '.join(more)}."]
        return [
            f"Each side needs {least} page views on a page, device class, SDK, navigation and cache that both have. "
            f"They have {base:,} and {head:,}, but too few in common."
        ]
    if leading.state == "slower":
        more_views = round_up(max(head * NEXT_LOOK, 1))
        return [
            "It is slower, but not yet as certain as an alarm must be: that takes several hours. The next look needs "
            f"about {more_views:,} more page views."
        ]
    if verdict.is_early:
        more_views = round_up(max(head * NEXT_LOOK, 1))
        return [f"Not certain yet: the next look needs about {more_views:,} more page views."]
    if question.see is None or (verdict.smallest is not None and verdict.smallest <= question.see):
        return []
    if not verdict.views_for_five_percent:
        return [f"No change of {write_percent(question.see)} could be seen with {base:,} and {head:,} page views."]
    needed = verdict.views_for_five_percent * (FIVE_PERCENT / question.see) ** 2
    lacking = [
        f"{round_up(needed - views):,} more of {side}"
        for side, views in (("the base", base), ("the release", head))
        if views < needed
    ]
    return [
        f"A change of {write_percent(question.see)} needs about {round_up(needed):,} page views on each side: "
        f"{' and '.join(lacking) or 'a few more'}."
    ]


def describe_sight(verdict: Verdict) -> list[str]:
    """Returns what these page views would have shown, if they showed nothing: no alarm is no proof."""
    if verdict.leading.state not in ("no_clear_change", "faster") or verdict.smallest is None:
        return []
    text = f"These page views would show a change of {write_percent(verdict.smallest)}"
    if verdict.smallest_ms is not None:
        text += f" ({write_ms(verdict.smallest_ms)} per view)"
    text += " four times in five."
    if verdict.views_for_five_percent:
        text += f" A change of 5 % needs about {round_up(verdict.views_for_five_percent):,} page views on each side."
    return [text]
