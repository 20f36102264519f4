"""The result in words, for a log. No line begins with foreign text, which runners of CI could take for a command."""

from collections.abc import Callable, Iterator

from fieldflame.answers import Change, Culprit
from fieldflame.budgets import Budget, is_over
from fieldflame.clean import clean
from fieldflame.numbers import write_change, write_interval
from fieldflame.outcome import Outcome

WHY = {
    "new": "new",
    "own_time": "seen in its own code",
    "hidden_time": "inferred from hidden time",
}
MAX_PAGES = 10
MAX_PASSED = 3


def write_text(outcome: Outcome, project: str, link: str) -> str:
    """Returns the whole result: the sentence, functions, other pages, budgets, commits, what was visible."""
    return "\n".join(_list_lines(outcome, project, link))


def _list_lines(outcome: Outcome, project: str, link: str) -> Iterator[str]:
    verdict = outcome.verdict
    yield f"Fieldflame, {clean(project)}: {clean(verdict.text, 2_000)}"
    for line in [*describe_rollback(outcome, clean), *describe_base(outcome, clean)]:
        yield f"  {line}"
    for culprit in verdict.culprits:
        yield f"  Function: {clean(culprit.label)} {describe_culprit(culprit)}"
        yield f"    defined at: {clean(describe_place(culprit), 400)}"
    others = [page for page in verdict.pages if page.page != verdict.leading.page]
    changed = [page for page in others if page.state in ("slower", "faster")]
    for page in changed[:MAX_PAGES]:
        yield f"  Also {page.state}: {clean(page.page or '')} {write_figures(page)}"
    if len(changed) > MAX_PAGES:
        yield f"  Also changed: {len(changed) - MAX_PAGES} more pages"
    for line in describe_budgets(outcome.budgets):
        yield f"  Budget: {clean(line, 400)}"
    if verdict.commits is not None:
        commits = verdict.commits
        since = f" after {clean(commits.first)}" if commits.first else ""
        author = f" by {clean(commits.author)}" if commits.author else ""
        yield f"  Commits{since} up to {clean(commits.last)}{author}" + (f": {commits.link}" if commits.link else "")
    for reason in outcome.reasons:
        yield f"  {reason}"
    yield f"  Details: {link}"
    yield f"Result: {outcome.word} (exit code {int(outcome.code)})."


def describe_rollback(outcome: Outcome, mark: Callable[[str], str]) -> list[str]:
    """Returns that this release was rolled back, if it was. `mark` makes foreign text safe."""
    at = outcome.verdict.rolled_back_by
    return [f"{mark(outcome.question.release)} was rolled back on {at:%Y-%m-%d %H:%M} UTC or earlier."] if at else []


def describe_base(outcome: Outcome, mark: Callable[[str], str]) -> list[str]:
    """Returns with which release this one is compared, and why. `mark` makes foreign text safe."""
    verdict = outcome.verdict
    if verdict.base is None:
        return []
    base = mark(verdict.base)
    if outcome.question.base is not None:
        return [f"Compared with {base} (--base)."]
    if verdict.passed_over:
        known_at = f"{max(release.rolled_back_by for release in verdict.passed_over):%Y-%m-%d %H:%M} UTC"
        passed = [mark(release.release) for release in verdict.passed_over[:MAX_PASSED]]
        more = len(verdict.passed_over) > MAX_PASSED
        names = f"{', '.join(passed)} and others" if more else " and ".join(passed)
        return [f"Compared with {base}. Passed over: {names}, rolled back on {known_at} or earlier."]
    lines = [f"Compared with {base}, the release before it."]
    if verdict.leading.state == "faster":
        lines.append(
            f"If {base} was rolled back in the last day, say so by announce --rolled-back, or name the release "
            "that users have again with --base."
        )
    return lines


def write_figures(change: Change) -> str:
    """Returns a change with its interval, or how many page views there are."""
    if change.delta_ms is None:
        base, head = change.views
        return f"({base:,} and {head:,} page views)"
    interval = f" ({write_interval(change.ci95)})" if change.ci95 else ""
    return f"{write_change(change.delta_ms)} per view{interval}"


def describe_culprit(culprit: Culprit) -> str:
    """Returns what a function did, without its name."""
    interval = f" ({write_interval(culprit.ci95)})" if culprit.ci95 else ""
    return f"{write_change(culprit.delta_ms)} per view{interval}, {WHY.get(culprit.why, culprit.why)}"


def place_of(culprit: Culprit) -> str:
    """Returns where a function is defined: in the source, or in the script that was sent."""
    if culprit.original is not None:
        return f"{culprit.original.source}:{culprit.original.line}:{culprit.original.column}"
    if culprit.uri is None:
        return "no place is known"
    return f"{culprit.uri}:{culprit.line or 1}:{culprit.column or 1}"


def describe_place(culprit: Culprit) -> str:
    """Returns where a function is defined, and whether that is not its source: a third party has no source map here."""
    is_sent = culprit.original is None and culprit.uri is not None
    return f"{place_of(culprit)}{' (no source map has it)' if is_sent else ''}"


def describe_budgets(budgets: tuple[Budget, ...]) -> list[str]:
    """Returns the lines on each budget: what is over it, or that it holds."""
    lines = []
    for budget in budgets:
        if budget.findings:
            name = f"{budget.name}: "  # the server's sentence begins with it, too
            lines += [f"{name}{finding.removeprefix(name)}" for finding in budget.findings]
        elif is_over(budget):
            lines.append(f"{budget.name}: over budget")
        elif budget.cannot_be_judged and budget.unjudged is not None:
            lines.append(f"{budget.name}: cannot be judged: {budget.unjudged.text}")
        elif budget.problem is not None:
            lines.append(f"{budget.name}: could not be judged the last time: {budget.problem}")
        elif budget.has_nothing_new:
            lines.append(f"{budget.name}: nothing new")
        else:
            lines.append(f"{budget.name}: {'ok' if budget.is_judged else 'too few page views so far'}")
    return lines
