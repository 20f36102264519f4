"""The review in words: text for a log, and Markdown for one comment on the pull request."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from fieldflame.answers import Json, Verdict
from fieldflame.clean import clean
from fieldflame.numbers import write_change, write_count, write_interval, write_ms, write_percent
from fieldflame.reports.markdown import code, escape, write_link, write_sentence
from fieldflame.review.functions import TouchedFunction

# A job finds its own comment by this, and writes it again instead of another one.
MARK: Final = "<!-- fieldflame review -->"
MAX_PAGES: Final = 3
HOUR_MS: Final = 3_600_000


@dataclass(frozen=True)
class Line:
    """A touched function, with the pages that run it, or with its change since the release before."""

    function: TouchedFunction
    pages: tuple[str, ...]
    change: Json | None = None


@dataclass(frozen=True)
class Review:
    """All that is said. `more` functions and `left_out` files are beyond the limits.

    With the `verdict` on a deployed release, it says what that did; without, what touched functions cost.
    """

    project: str
    release: str | None
    lines: tuple[Line, ...]
    more: int
    files: int
    left_out: int
    views_a_day: float | None
    verdict: Verdict | None
    link: str


def write_review_text(review: Review) -> str:
    """Returns the review for a log. No line begins with foreign text."""
    lines = [f"Fieldflame, {clean(review.project)}: {_say_head(review)}"]
    if review.verdict is not None:
        lines.append(f"  {clean(review.verdict.text, 2_000)}")
    for line in review.lines:
        lines.append(f"  {clean(_label(line))} ({clean(f'{line.function.path}:{line.function.line}')}): {_say(line)}")
        if line.pages:
            lines.append(f"    on {', '.join(clean(page) for page in line.pages[:MAX_PAGES])}{_and_more(line)}")
    lines += [f"  {text}" for text in _say_rest(review)]
    return "\n".join([*lines, f"  Details: {review.link}"])


def write_review_markdown(review: Review) -> str:
    """Returns the review as Markdown."""
    return "\n".join(_list_lines(review)) + "\n"


def _list_lines(review: Review) -> Iterator[str]:
    yield MARK
    yield f"### Fieldflame: {escape(_say_head(review))}"
    yield ""
    if review.verdict is not None:
        yield write_sentence(review.verdict)
        yield ""
    if review.lines:
        last = "Change" if review.verdict is not None else "Pages"
        yield f"| Function | Defined at | {'Now' if review.verdict is not None else 'Costs'} | {last} |"
        yield "|---|---|---|---|"
        for line in review.lines:
            place = code(f"{line.function.path}:{line.function.line}", in_table=True)
            name, cost = code(_label(line), in_table=True), escape(_say_cost(line))
            yield f"| {name} | {place} | {cost} | {_say_last(line, review)} |"
        yield ""
    for text in _say_rest(review):
        yield f"- {escape(text)}"
    yield f"- {write_link('Details', review.link)} of {code(review.project)}"


def _say_head(review: Review) -> str:
    if review.release is None and not review.lines:
        return "no page view of a release says what this change touches."
    count = len(review.lines) + review.more
    if not count:
        return f"this change touches no function that takes time ({write_count(review.files, 'file')} looked at)."
    if review.verdict is not None:
        head = clean(review.verdict.head or review.release or "")
        return f"what {head} did to {write_count(count, 'touched function')}."
    cost = write_ms(sum(line.function.cost.ms_per_view for line in review.lines))
    release = clean(review.release or "")
    return f"this change touches {write_count(count, 'function')} that cost {cost} per view in {release}."


def _label(line: Line) -> str:
    return line.function.cost.name or "(anonymous)"


def _say(line: Line) -> str:
    return _say_change(line.change) if line.change is not None else _say_cost(line)


def _say_cost(line: Line) -> str:
    cost = line.function.cost
    said = f"{write_ms(cost.ms_per_view)} per view" + (f" ({write_interval(cost.ci95)})" if cost.ci95 else "")
    return said + (f", in {write_percent(cost.views_share)} of views" if cost.views_share is not None else "")


def _say_change(row: Json | None) -> str:
    if row is None:
        return "not compared: too few page views"
    delta, interval = float(row["delta_ms_per_view"]), row["delta_ci95"]
    figures = (
        write_change(delta) + " per view" + (f" ({write_interval((interval[0], interval[1]))})" if interval else "")
    )
    if not row["is_significant"]:
        return f"no clear change: {figures}"
    return f"{'saved' if delta < 0 else 'lost'}: {figures}"


def _say_last(line: Line, review: Review) -> str:
    if review.verdict is not None:
        return escape(_say_change(line.change))
    return ", ".join(code(page, in_table=True) for page in line.pages[:MAX_PAGES]) + _and_more(line) or "–"


def _and_more(line: Line) -> str:
    more = len(line.pages) - MAX_PAGES
    return f" and {more:,} more" if more > 0 else ""


def _say_rest(review: Review) -> Iterator[str]:
    if review.more:
        yield f"And {write_count(review.more, 'more function')} that cost less."
    if review.left_out:
        yield f"{write_count(review.left_out, 'file')} were not looked at: the change is too large."
    if review.views_a_day and review.lines:
        total = sum(line.function.cost.ms_per_view for line in review.lines) * review.views_a_day / HOUR_MS
        yield (
            f"{review.views_a_day:,.0f} page views a day are recorded: in them, these functions take {total:.1f} hours "
            "of processor time a day."
        )
    if review.verdict is None and review.lines:
        yield "This is what the functions cost now, not what the change does to them."
