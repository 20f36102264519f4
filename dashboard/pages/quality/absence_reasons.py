"""What each reason for a page view without a recording means, what to do about it, and the line to add."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from aggregate.selectors.project.absences import AbsenceReason
from dashboard.layout.snippet_tag import HEADER

# What the ingest endpoint answers traces with, and what to do.
STATUS_ADVICE: Final[Mapping[int, str]] = MappingProxyType(
    {
        401: "Use an active key in the tag.",
        403: "Add the page’s origin to the key.",
        413: "Record for a shorter time.",
        429: "Record fewer page views, or raise the project’s quota.",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AbsenceExplanation:
    """A reason in a sentence, what to do in another, and the line to add ("" if there is none)."""

    meaning: str
    advice: str
    line: str = ""


@dataclass(frozen=True, slots=True)
class ExplainedAbsence:
    """One reason with its numbers and explanation."""

    counted: AbsenceReason
    explanation: AbsenceExplanation


WORDS: Final[Mapping[str, AbsenceExplanation]] = MappingProxyType(
    {
        "no-api": AbsenceExplanation(
            meaning="The browser has no JS Self-Profiling API.",
            advice="Firefox, Safari and all browsers on iOS cannot record. There is nothing to do.",
        ),
        "no-header": AbsenceExplanation(
            meaning="The page loads the snippet, but has no Document-Policy header.",
            advice="Add this line to the response of the page, not of the script:",
            line=HEADER,
        ),
        "header-lost": AbsenceExplanation(
            meaning="The server sent the Document-Policy header, but the browser did not get it.",
            advice="Look in DevTools whether a proxy, CDN or service worker on the way drops or changes this line:",
            line=HEADER,
        ),
        "constructor": AbsenceExplanation(
            meaning="The browser refused to start a profiler, although the page has the header.",
            advice="Add data-debug to the tag: the page’s console then says why.",
        ),
        "csp": AbsenceExplanation(
            meaning="The page’s Content-Security-Policy forbids it to connect to this server.",
            advice="Add this server to the policy:",
            line="connect-src {origin}",
        ),
        "twice": AbsenceExplanation(
            meaning="The page has the snippet twice. Only the first one records.",
            advice="Remove the other tag.",
        ),
        "consent": AbsenceExplanation(
            meaning="The visitor has not consented.",
            advice="There is nothing to do.",
        ),
        "cost": AbsenceExplanation(
            meaning="The snippet took too much of the page’s main thread, and stopped.",
            advice="Record for a shorter time, or only interactions after the load (Settings, Collection).",
        ),
        "status": AbsenceExplanation(
            meaning="This server refused the page’s traces.",
            advice="The table “Why traces were refused” has the reasons.",
        ),
    }
)


def explain_absence(counted: AbsenceReason, origin: str) -> ExplainedAbsence:
    """Returns a reason with its explanation. `origin` is this server's own, for the line of a policy."""
    explanation = WORDS[counted.reason]
    meaning, advice = explanation.meaning, explanation.advice
    if counted.status:
        meaning = f"This server answered the page’s traces with status {counted.status}."
        advice = STATUS_ADVICE.get(counted.status, advice)
    return ExplainedAbsence(
        counted, AbsenceExplanation(meaning=meaning, advice=advice, line=explanation.line.format(origin=origin))
    )
