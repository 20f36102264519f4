"""The result as SARIF 2.1.0, with the functions that got slower at their places in the source.

A viewer of code needs a file for each result, and GitHub refuses a whole report if one result has none. So only
functions that a source map has placed are results. What has no place in the source, such as a slower page without a
named function, is a notification of the run.
"""

import hashlib
import json
import re
from typing import Any, Final
from urllib.parse import quote

from fieldflame import __version__
from fieldflame.answers import Culprit, Verdict
from fieldflame.budgets import is_over
from fieldflame.clean import clean
from fieldflame.outcome import Outcome
from fieldflame.paths import clean_path
from fieldflame.reports.words import describe_budgets, describe_culprit, describe_place, write_figures

SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
RULE: Final = "slower-function"
Json = dict[str, Any]  # Any: JSON


def write_sarif(outcome: Outcome, project: str, link: str, *, source_root: str = "") -> str:
    """Returns the result. `source_root` is the folder of the repository to which the paths in source maps belong."""
    verdict = outcome.verdict
    is_slower = verdict.leading.state == "slower"
    culprits = verdict.culprits if is_slower else ()
    placed = [(each, path) for each in culprits if (path := find_path(each, source_root))]
    homeless = [each for each in culprits if not find_path(each, source_root)]
    run: Json = {
        "tool": {
            "driver": {
                "name": "Fieldflame",
                "version": __version__,
                "informationUri": link.partition("/projects/")[0],
                "rules": [describe_rule()],
            }
        },
        "automationDetails": {"id": f"fieldflame/{clean(project)}/"},
        "columnKind": "utf16CodeUnits",
        "invocations": [
            {
                "executionSuccessful": True,
                "exitCode": int(outcome.code),
                "toolExecutionNotifications": _list_notifications(outcome, homeless),
            }
        ],
        "results": [_write_result(verdict, each, path, project, link) for each, path in placed],
        "properties": {"release": outcome.question.release, "base": verdict.base, "result": outcome.word, "link": link},
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=True) + "\n"


def describe_rule() -> Json:
    """Returns the rule that all results are of."""
    return {
        "id": RULE,
        "name": "SlowerFunction",
        "shortDescription": {"text": "A function got slower for real users"},
        "fullDescription": {
            "text": "Since the last release, page views spend more time in this function. The time is measured in "
            "real users' browsers, and the change is beyond chance."
        },
        "help": {
            "text": "Compare both releases in the dashboard, which the link of the result opens. The place is where "
            "the function is defined: the browser does not say which of its lines were running."
        },
        "defaultConfiguration": {"level": "error"},
        "properties": {"tags": ["performance"], "precision": "high"},
    }


def find_path(culprit: Culprit, source_root: str) -> str:
    """Returns the path of a function's source in the repository; empty if it has none there."""
    return "" if culprit.original is None else clean_path(culprit.original.source, source_root)


def escape_message(text: str) -> str:
    """Returns foreign text for a message, in which `[words](address)` would be a link."""
    return re.sub(r"([\\\[\]])", r"\\\1", clean(text, 500))


def _write_result(verdict: Verdict, culprit: Culprit, path: str, project: str, link: str) -> Json:
    assert culprit.original is not None
    where = verdict.leading.page or "all pages together"
    change = f"{verdict.leading.state}: {write_figures(verdict.leading)}"
    message = (
        f"{escape_message(culprit.label)}: {describe_culprit(culprit)}, on {escape_message(where)}, which got "
        f"{change}, from {escape_message(verdict.base or '')} to {escape_message(verdict.head or '')}."
    )
    identity = "\0".join((project, verdict.leading.page or "", path, culprit.label))
    return {
        "ruleId": RULE,
        "ruleIndex": 0,
        "level": "error",
        "message": {"text": message},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": quote(path, safe="/@+,=~")},
                    "region": {"startLine": culprit.original.line, "startColumn": culprit.original.column},
                },
                "logicalLocations": [{"name": clean(culprit.label), "kind": "function"}],
            }
        ],
        "partialFingerprints": {"fieldflame/v1": hashlib.sha256(identity.encode("utf-8", "replace")).hexdigest()},
        "hostedViewerUri": link,
        "properties": {"deltaMsPerView": culprit.delta_ms, "ci95": culprit.ci95, "page": verdict.leading.page},
    }


def _list_notifications(outcome: Outcome, homeless: list[Culprit]) -> list[Json]:
    """Returns the sentence, what has no place in the source, and what is missing."""
    verdict = outcome.verdict
    is_slower = verdict.leading.state == "slower"
    told: list[tuple[str, str]] = [("error" if is_slower else "note", clean(verdict.text, 2_000))]
    told += [
        ("error", f"{clean(page.page or '')} got slower: {write_figures(page)}")
        for page in verdict.pages
        if page.state == "slower"
    ]
    told += [("warning", f"{clean(each.label)}: {clean(describe_place(each), 400)}") for each in homeless]
    for budget in outcome.budgets:
        level = "error" if is_over(budget) else "note"
        told += [(level, clean(line, 400)) for line in describe_budgets((budget,))]
    told += [("note", reason) for reason in outcome.reasons]
    return [{"level": level, "message": {"text": re.sub(r"([\\\[\]])", r"\\\1", text)}} for level, text in told]
