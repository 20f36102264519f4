"""The first sentence of the page "Quality": whether the data is complete enough, with the worst problem first."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from aggregate.selectors.project.absences import Absences
from aggregate.selectors.project.arrivals import Arrivals
from aggregate.selectors.project.quality import MeasuredRow, Overflow
from aggregate.selectors.project.reused_releases import ReusedRelease
from dashboard.pages.quality.absence_reasons import WORDS
from dashboard.pages.quality.reasons import explain_reason
from dashboard.templatetags.figures import share

# From these shares on, numbers are misleading. Each is a judgement: about what a reader would want to hear first.
MOST_REFUSED: Final = 0.05
MOST_REJECTED: Final = 0.01
MOST_ABSENT: Final = 0.10
MOST_TRUNCATED: Final = 0.20
MOST_UNOBSERVED: Final = 0.10
MOST_OTHER: Final = 0.01
REUSED_WEIGHT: Final = (
    2.0  # a release of two builds is as bad as a share of twice its bound: no comparison of it is right
)
BY_DESIGN: Final = frozenset({"no-api", "consent"})  # no one can mend these
MOST_PENDING_S: Final = 600.0  # a worker folds within seconds


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem of the data: how many times its bound it is, a sentence, what to do, and the section about it."""

    weight: float
    text: str
    advice: str
    section: str


@dataclass(frozen=True, slots=True)
class Headline:
    """The problems, the worst first, and the sentence that comes first."""

    problems: Sequence[Problem]
    text: str

    @property
    def section(self) -> str:
        """The section that is open from the start: that of the worst problem."""
        return self.problems[0].section if self.problems else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quality:
    """What the sentence is made from. `totals` counts received traces by state."""

    arrivals: Arrivals
    totals: dict[str, int]
    rejected_for: str  # the reason of most rejected traces
    oldest_pending_s: float | None
    absences: Absences
    whole: MeasuredRow
    overflow: Overflow
    reused: ReusedRelease | None = None


def write_headline(quality: Quality) -> Headline:
    """Returns the first sentence: the worst problem, or how complete the data is."""
    problems = sorted(
        (problem for problem in _find_problems(quality) if problem.weight > 1), key=lambda problem: -problem.weight
    )
    if problems:
        return Headline(problems, problems[0].text)
    received, views = quality.arrivals.received, quality.whole.views
    if not received and not views:
        return Headline((), "No traces were received in this time.")
    parts = []
    if received:
        parts.append(f"{share(quality.totals['folded'] / received)} of received traces were folded")
    if views:
        parts.append(f"{share(1 - quality.whole.truncated_views / views)} of recordings ran to their end")
    is_whole = quality.totals["folded"] == received and not quality.whole.truncated_views
    return Headline((), f"Data is complete{'' if is_whole else ' enough'}: {', and '.join(parts)}.")


def _find_problems(quality: Quality) -> list[Problem]:
    """Returns problems of any weight."""
    arrivals, whole, absences = quality.arrivals, quality.whole, quality.absences
    problems = []
    if quality.oldest_pending_s is not None:
        pending, minutes = quality.totals["pending"], quality.oldest_pending_s / 60
        text = f"Traces are not being folded: {pending} pending, the oldest for {minutes:.0f} minutes."
        problems.append(
            Problem(quality.oldest_pending_s / MOST_PENDING_S, text, "Check whether a worker runs.", "came")
        )
    posted = arrivals.received + arrivals.refused
    if arrivals.refused:
        part, by_reason = arrivals.refused / posted, arrivals.refused_by_reason
        meaning, advice = explain_reason(max(by_reason, key=lambda reason: by_reason[reason]))
        text = f"{share(part)} of traces were refused. {meaning}"
        problems.append(Problem(part / MOST_REFUSED, text, advice, "came"))
    if quality.totals["rejected"] and arrivals.received:
        part = quality.totals["rejected"] / arrivals.received
        meaning, advice = explain_reason(quality.rejected_for)
        text = f"{share(part)} of received traces were rejected. {meaning}"
        problems.append(Problem(part / MOST_REJECTED, text, advice, "came"))
    mendable = [row for row in absences.by_reason if row.reason not in BY_DESIGN]
    if mendable and absences.loaded:
        part = sum(row.views for row in mendable) / absences.loaded
        text = f"About {share(part)} of page views that loaded the snippet could not be recorded."
        meaning, advice = WORDS[mendable[0].reason].meaning, WORDS[mendable[0].reason].advice.removesuffix(":")
        problems.append(Problem(part / MOST_ABSENT, f"{text} {meaning}", f"{advice.removesuffix('.')}.", "absent"))
    if quality.reused is not None:
        problems.append(_describe_reused(quality.reused))
    return problems + (_judge_views(whole, quality.overflow) if whole.views else [])


def _describe_reused(reused: ReusedRelease) -> Problem:
    text = (
        f"Two builds have the release name {reused.release}: "
        f"on {reused.page}, page views ran {reused.earlier} first, and {reused.later} later."
    )
    return Problem(REUSED_WEIGHT, text, "Name each build differently, or changes between them are not seen.", "")


def _judge_views(whole: MeasuredRow, overflow: Overflow) -> list[Problem]:
    truncated, of_other = whole.truncated_views / whole.views, overflow.views / whole.views
    unobserved = whole.share("unobserved") or 0.0
    return [
        Problem(
            truncated / MOST_TRUNCATED,
            f"{share(truncated)} of page views have recordings that were cut short.",
            "Their times are too small. The reasons are under Recording.",
            "measured",
        ),
        Problem(
            unobserved / MOST_UNOBSERVED,
            f"{share(unobserved)} of recorded time is unobserved: there were gaps between samples.",
            "Machines were busy, or the pages were frozen.",
            "measured",
        ),
        Problem(
            of_other / MOST_OTHER,
            f"{share(of_other)} of page views count as (other): the project has too many pages.",
            "Add route rules.",
            "overflow",
        ),
    ]
