"""A verdict in words: the sentence, its figures, and the functions that it names."""

from dataclasses import replace
from typing import Final

from django.urls import reverse

from aggregate.selectors.project.announcements import find_commits
from aggregate.selectors.slice.sides import name_sides
from aggregate.selectors.slice.slices import Slice
from aggregate.selectors.verdict.sentence import write_sentence
from aggregate.selectors.verdict.verdict import Culprit, Verdict
from dashboard.web.access import Guest
from dashboard.web.queries import write_query
from dashboard.web.verdicts import find_rollback
from profcore.stats.joining import MIN_COMPARED_VIEWS
from projects.models import Project


def describe_verdict(
    project: Project, verdict: Verdict | None, base: str | None = None, head: str | None = None
) -> dict[str, object]:
    """Returns the sentence of a verdict with what stands below it; without two releases only that there is no verdict.

    `base` and `head` are what to call both sides; by default that in which they differ.
    """
    if verdict is None:
        return {"verdict": None}
    names = name_sides(verdict.base, verdict.head)
    base, head = base or names[0], head or names[1]
    leading = verdict.leading
    where = verdict.head if leading.page is None else replace(verdict.head, pages=(leading.page,))
    query = write_query(where.params())
    views = f"{reverse('views', args=[project.slug])}?{query}&by=js&go=1&order="
    return {
        "verdict": verdict,
        "sentence": write_sentence(verdict, base, head),
        "base": base,
        "head": head,
        "leading": leading,
        "whole": verdict.judgement.whole,
        "compared": leading.comparison,
        "min_compared": MIN_COMPARED_VIEWS,
        "culprits": [
            (culprit, link_culprit(project, culprit, where, verdict.base), *explain_culprit(culprit, head))
            for culprit in verdict.culprits
        ],
        "view_links": [
            (word, views + order, f"{why} by script time, {WHERE[leading.page is None]} of {head}")
            for order, word, why in VIEW_LINKS
        ],
    }


def describe_changed_releases(base: Slice, head: Slice, user: object) -> dict[str, object]:
    """Returns the commits between two releases, and whether the newer one was rolled back.

    Guests do not see commits: an author is named.
    """
    return {
        "commits": None if isinstance(user, Guest) else find_commits(base, head),
        "rolled_back_by": find_rollback(head),
    }


def link_culprit(project: Project, culprit: Culprit, where: Slice, base: Slice) -> str:
    """Returns the address of a function's page. If a source map knows it, the page begins with what changed in it."""
    pairs = where.params()
    if culprit.func.mapped is not None and culprit.why != "new" and len(base.releases) == 1:
        pairs = [*pairs, ("source_base", base.releases[0]), ("source_view", "changes")]
    return f"{reverse('function', args=[project.slug, culprit.func.id])}?{write_query(pairs)}"


def explain_culprit(culprit: Culprit, head: str) -> tuple[str, str]:
    """Returns how it is known that a function changed, in short words and in a sentence."""
    if culprit.why == "new":
        return f"new in {head}", "No page view before ran it."
    if culprit.why == "own_time":
        return "seen in its own code", "It was on top of the stack in more or fewer samples than before."
    return (
        "inferred from hidden time",
        "The main thread was busy without a visible stack, in this function or in something that it called.",
    )


# Each leads to the first view of such a list.
VIEW_LINKS: Final = (("typical", "Typical view", "Nearest to the median"), ("worst", "Worst view", "The most time"))
WHERE: Final = {True: "among all page views", False: "among the page views of this page"}
