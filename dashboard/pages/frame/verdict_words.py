"""A verdict in words: the sentence, its figures, and the functions that it names."""

from dataclasses import replace

from django.urls import reverse

from aggregate.selectors.slice.sides import name_sides
from aggregate.selectors.verdict.sentence import write_sentence
from aggregate.selectors.verdict.verdict import Verdict
from dashboard.web.queries import write_query
from ingest.models import Project
from profcore.stats.comparison import MIN_COMPARED_VIEWS


def describe_verdict(
    project: Project, verdict: Verdict | None, base: str | None = None, head: str | None = None
) -> dict[str, object]:
    """Returns the sentence of a verdict with what stands below it; without two releases only that there is none.

    `base` and `head` are what to call both sides; by default that in which they differ.
    """
    if verdict is None:
        return {"verdict": None}
    names = name_sides(verdict.base, verdict.head)
    base, head = base or names[0], head or names[1]
    leading = verdict.leading
    where = verdict.head if leading.page is None else replace(verdict.head, pages=(leading.page,))
    query = write_query(where.params())
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
            (each, f"{reverse('function', args=[project.slug, each.func.id])}?{query}") for each in verdict.culprits
        ],
    }
