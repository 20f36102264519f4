"""The estimate in words, as text and as Markdown. Each says that it is one."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from fieldflame.clean import clean
from fieldflame.lab.estimates import Agreement, Estimate, Guess
from fieldflame.numbers import write_change, write_interval, write_ms
from fieldflame.reports.markdown import code, escape

CAUTION: Final = "An estimate from the lab, not a measurement of users."
MOVED: Final = (
    "In the lab, page views as a whole did not clearly change: the time may have moved from functions whose change is "
    "not clear."
)
MAX_ROWS: Final = 10


@dataclass(frozen=True)
class LabReport:
    """All that is said of a release. `has_moved` tells that the lab's page views as a whole did not clearly change."""

    project: str
    release: str
    estimates: Sequence[Estimate]
    sums: Mapping[str, Guess]
    agreement: Agreement
    has_moved: bool


def write_lab_text(report: LabReport) -> str:
    """Returns the estimate for a log. No line begins with foreign text."""
    lines = [
        f"Fieldflame, {clean(report.project)}: {CAUTION} Field times are those of release {clean(report.release)}."
    ]
    for row in report.estimates[:MAX_ROWS]:
        lines.append(f"  Function: {clean(row.change.name.label)}: {describe_lab(row)}. {describe_field(row)}")
    if len(report.estimates) > MAX_ROWS:
        lines.append(f"  And {len(report.estimates) - MAX_ROWS:,} more functions with smaller changes.")
    lines += [f"  All together on {kind}: {describe_guess(guess)}" for kind, guess in report.sums.items()]
    lines += [f"  {MOVED}"] if report.has_moved else []
    lines.append(f"  {describe_agreement(report.agreement)}")
    return "\n".join(lines)


def write_lab_markdown(report: LabReport) -> str:
    """Returns the estimate for a pull request or the summary of a job."""
    return "\n".join(_list_lines(report)) + "\n"


def _list_lines(report: LabReport) -> Iterator[str]:
    kinds = list(report.sums)
    yield "### Fieldflame: estimate from the lab"
    yield ""
    yield f"**{escape(CAUTION)}** Field times are those of {code(report.release)} in {code(report.project)}\\."
    yield ""
    if report.estimates:
        yield "| Function | Lab | " + "".join(f"Field, {kind} | " for kind in kinds).rstrip()
        yield "|---|---|" + "---|" * len(kinds)
        for row in report.estimates[:MAX_ROWS]:
            cost = [describe_guess(row.guesses[kind]) if kind in row.guesses else "not known" for kind in kinds]
            cells = [code(row.change.name.label, in_table=True), escape(describe_lab(row)), *map(escape, cost)]
            yield f"| {' | '.join(cells)} |"
        yield ""
    for kind, guess in report.sums.items():
        yield f"- All together on {kind}: {escape(describe_guess(guess))}"
    if report.has_moved:
        yield f"- {escape(MOVED)}"
    yield f"- {escape(describe_agreement(report.agreement))}"


def describe_lab(estimate: Estimate) -> str:
    """Returns what the lab measured."""
    return f"lab {write_ms(estimate.change.base_ms)} → {write_ms(estimate.change.head_ms)}"


def describe_field(estimate: Estimate) -> str:
    """Returns what it would be in the field, by kind of device."""
    if not estimate.guesses:
        return "The field does not know this function, or it only moved in its script."
    texts = [f"{describe_guess(guess)} on {kind}" for kind, guess in estimate.guesses.items()]
    return f"In the field that would be {', '.join(texts)}."


def describe_guess(guess: Guess) -> str:
    """Returns an estimate with its interval."""
    text = f"about {write_change(guess.ms)} per view ({write_interval(guess.ci95)})"
    return text if guess.is_own else f"{text}, scaled as all functions together"


def describe_agreement(agreement: Agreement) -> str:
    """Returns how well lab and field agreed on earlier releases."""
    if not agreement.functions or agreement.middle is None:
        return "How well lab and field agree is not known: no function changed in both on an earlier release."
    text = (
        f"On {agreement.releases:,} earlier release{'' if agreement.releases == 1 else 's'}, "
        f"{agreement.same_way:,} of {agreement.functions:,} functions that changed in the lab changed the same way in "
        f"the field, by {agreement.middle:.1f} times the estimate"
    )
    half = agreement.middle_half
    return f"{text}, the middle half by {half[0]:.1f} to {half[1]:.1f} times." if half else f"{text}."
