"""The result as JUnit XML: a test case for each compared page, one for all pages together, one for each budget.

The elements and attributes are those that the schema of Jenkins knows, in its order; GitLab reads the same.
"""

import re
from dataclasses import dataclass
from typing import Final
from xml.etree import ElementTree

from fieldflame.answers import Change
from fieldflame.budgets import is_over
from fieldflame.clean import clean
from fieldflame.outcome import Outcome, find_missing
from fieldflame.question import Question
from fieldflame.reports.text import describe_budgets, write_figures, write_text

ILLEGAL: Final = re.compile("[^\t\n\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True)
class Case:
    """A test case: passed without a failure and without a reason to be skipped."""

    name: str
    failure: str = ""
    skipped: str = ""


def write_junit(outcome: Outcome, project: str, link: str) -> str:
    """Returns the result as a test suite."""
    cases = list_cases(outcome)
    counts = {
        "tests": str(len(cases)),
        "failures": str(sum(bool(case.failure) for case in cases)),
        "errors": "0",
        "skipped": str(sum(bool(case.skipped) for case in cases)),
        "time": "0",
    }
    suite = ElementTree.Element("testsuite", {"name": f"fieldflame {_plain(project)}", **counts})
    properties = ElementTree.SubElement(suite, "properties")
    for name, value in _list_properties(outcome, link):
        ElementTree.SubElement(properties, "property", {"name": name, "value": _plain(value, 4_000)})
    for case in cases:
        attributes = {"classname": f"fieldflame.{_plain(project)}", "name": _plain(case.name), "time": "0"}
        element = ElementTree.SubElement(suite, "testcase", attributes)
        if case.failure:
            failure = ElementTree.SubElement(element, "failure", {"message": _plain(case.failure), "type": "worse"})
            failure.text = ILLEGAL.sub("\ufffd", write_text(outcome, project, link))
        elif case.skipped:
            ElementTree.SubElement(element, "skipped", {"message": _plain(case.skipped)})
    ElementTree.SubElement(suite, "system-out").text = ILLEGAL.sub("\ufffd", write_text(outcome, project, link))
    ElementTree.indent(suite)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suite, encoding="unicode") + "\n"


def list_cases(outcome: Outcome) -> list[Case]:
    """Returns the test cases of an outcome. What does not fail the build fails no case."""
    verdict, question = outcome.verdict, outcome.question
    cases: list[Case] = []
    if question.asks_verdict:
        cases += [_make_case(question, f"page {page.page}", page) for page in verdict.pages]
        if verdict.whole is not None and len(verdict.pages) != 1:
            cases.append(_make_case(question, "all pages together", verdict.whole))
        missing = find_missing(question, verdict)
        if missing or not cases:
            cases.append(Case("enough page views", skipped=missing[0] if missing else "No page has been compared."))
    for budget in outcome.budgets:
        text = "; ".join(describe_budgets((budget,)))
        if is_over(budget):
            cases.append(Case(f"budget {budget.name}", failure=text))
        else:
            cases.append(Case(f"budget {budget.name}", skipped="" if budget.is_judged else text))
    return cases or [Case("budgets", skipped="The project has no budgets that are switched on.")]


def _make_case(question: Question, name: str, change: Change) -> Case:
    is_slower = change.state == "slower" and "slower" in question.fail_on
    if is_slower or (change.is_confirmed and "confirmed" in question.fail_on):
        return Case(name, failure=f"slower: {write_figures(change)}")
    return Case(name, skipped="too few page views" if change.state == "too_few" else "")


def _list_properties(outcome: Outcome, link: str) -> list[tuple[str, str]]:
    verdict = outcome.verdict
    properties = [("release", outcome.question.release), ("base", verdict.base or ""), ("result", outcome.word)]
    properties += [("sentence", verdict.text), ("link", link), ("bound", f"{verdict.bound:g}")]
    if verdict.looks is not None:
        properties.append(("looks", str(verdict.looks)))
    if verdict.commits is not None:
        properties += [("commit", verdict.commits.last), ("commits_link", verdict.commits.link or "")]
    return [(name, value) for name, value in properties if value]


def _plain(text: str, most: int = 500) -> str:
    return ILLEGAL.sub("\ufffd", clean(text, most))
