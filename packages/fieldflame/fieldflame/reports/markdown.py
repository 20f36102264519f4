"""The result as Markdown, for a pull request or the summary of a job.

Names come from anybody who can post a trace. They stand in code spans, in which nothing is a link, an image, a mention
or HTML. All other text has its punctuation escaped.
"""

import re
from collections.abc import Iterator
from typing import Final

from fieldflame.answers import Change, Verdict
from fieldflame.clean import clean
from fieldflame.exits import Exit
from fieldflame.outcome import Outcome
from fieldflame.reports.text import (
    describe_base,
    describe_budgets,
    describe_culprit,
    describe_rollback,
    place_of,
    write_figures,
)

SIGNS: Final = {Exit.OK: "✅", Exit.WORSE: "❌", Exit.TOO_FEW: "⏳"}
SPECIAL: Final = re.compile(r"([\\`*_{}\[\]()<>#+\-.!|~&$^=:@/])")
MAX_PAGES: Final = 20


def write_markdown(outcome: Outcome, project: str, link: str) -> str:
    """Returns the result with a table of the functions and one of the pages."""
    return "\n".join(_list_lines(outcome, project, link)) + "\n"


def code(text: str, *, in_table: bool = False) -> str:
    """Returns foreign text as a code span. In a table, a bar would end its cell."""
    plain = clean(text).strip() or "–"
    fence = "`" * (max((len(run) for run in re.findall(r"`+", plain)), default=0) + 1)
    pad = " " if plain.startswith("`") or plain.endswith("`") else ""
    span = f"{fence}{pad}{plain}{pad}{fence}"
    return span.replace("|", "\\|") if in_table else span


def escape(text: str) -> str:
    """Returns text that is shown as it is, without names in it."""
    return SPECIAL.sub(r"\\\1", clean(text, 500))


def write_link(text: str, address: str) -> str:
    """Returns a link to a checked http or https address."""
    return f"[{escape(text)}](<{re.sub(r'[<> ]', '', clean(address, 4_000))}>)"


def _list_lines(outcome: Outcome, project: str, link: str) -> Iterator[str]:
    verdict = outcome.verdict
    yield f"### {SIGNS[outcome.code]} Fieldflame: {outcome.word}"
    yield ""
    yield write_sentence(verdict)
    yield ""
    for line in [*describe_rollback(outcome, code), *describe_base(outcome, code)]:
        yield line
        yield ""
    if verdict.culprits:
        yield f"| Function on {code(verdict.leading.page or 'all pages', in_table=True)} | Change | Defined at |"
        yield "|---|---|---|"
        for culprit in verdict.culprits:
            label, place = (code(text, in_table=True) for text in (culprit.label, place_of(culprit)))
            yield f"| {label} | {escape(describe_culprit(culprit))} | {place} |"
        yield ""
    if len(verdict.pages) > 1:
        yield from _list_pages(verdict)
    for line in describe_budgets(outcome.budgets):
        yield f"- Budget {code(line)}"
    if verdict.commits is not None:
        yield f"- {_write_commits(verdict)}"
    for reason in outcome.reasons:
        yield f"- {escape(reason)}"
    yield f"- {write_link('Compare the functions', link)} of {code(project)}"


def write_sentence(verdict: Verdict) -> str:
    """Returns the verdict's sentence."""
    parts = []
    for text, role in verdict.sentence:
        if role == "name":
            parts.append(code(text))
        elif role == "key":
            parts.append(f"**{escape(text)}**")
        else:
            parts.append(escape(text))
    return "".join(parts)


def _list_pages(verdict: Verdict) -> Iterator[str]:
    yield "<details><summary>All pages</summary>"
    yield ""
    yield "| Page | Result | Change | Page views |"
    yield "|---|---|---|---|"
    pages: list[Change] = list(verdict.pages[:MAX_PAGES])
    for page in pages:
        base, head = page.views
        figures = write_figures(page) if page.delta_ms is not None else "–"
        name, state = code(page.page or "", in_table=True), page.state.replace("_", " ")
        yield f"| {name} | {state} | {escape(figures)} | {base:,} → {head:,} |"
    yield ""
    if verdict.page_count > len(pages):
        yield f"{len(pages)} of {verdict.page_count:,} pages."
        yield ""
    yield "</details>"
    yield ""


def _write_commits(verdict: Verdict) -> str:
    commits = verdict.commits
    assert commits is not None
    span = f"Commits after {code(commits.first)} up to {code(commits.last)}" if commits.first else code(commits.last)
    author = f" by {code(commits.author)}" if commits.author else ""
    links = [("Show commits", commits.link), ("Show release", commits.release_link)]
    anchors = [write_link(word, address) for word, address in links if address]
    return f"{span}{author}" + (f": {', '.join(anchors)}" if anchors else "")
