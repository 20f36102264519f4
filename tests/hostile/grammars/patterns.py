"""Patterns of members by their grammars, with texts: code rules, display rules, routes and pages.

Each kind has an independent oracle: Python's own regular expressions, of patterns that these match in little time.
"""

import re
from typing import Final

from hypothesis import strategies as st

from profcore.alerts.routing import is_page_wanted
from profcore.code.categories import ProjectPattern
from profcore.code.display_rules import make_fit
from profcore.trace.collection import find_pattern_problem, write_expression
from profcore.trace.routes import RouteRuleError, check_rule, clean_page, fits_rule
from tests.hostile.cases import PatternCase
from tests.hostile.edits import pick
from tests.hostile.measuring import check_cpu

LETTERS: Final = ("a", "b", "/", ".", "é", "🎈", "_", "-", "0", " ", "\n", "<")
TEXTS: Final = st.lists(pick(LETTERS), max_size=12).map("".join)
CHARS: Final = ("a", "b", ".", "/", "[ab]", "[^a]", r"\.", r"\w", r"\d", "é", "🎈", "(?:a|b)", "(a)", "^", "$", r"\b")
TIMES: Final = ("", "", "", "*", "+", "?", "{0,2}", "*?")
# RE2 and `re` agree about these: RE2's classes are of ASCII, and `$` is the end of the text only.
REGEXES: Final = st.lists(st.tuples(pick(CHARS), pick(TIMES)), max_size=5).map(
    lambda parts: "".join(char + ("" if char in "^$" or char == r"\b" else times) for char, times in parts)
)
# Whatever people and attackers write: only the sentence of a refusal is asked of these.
SOUPS: Final = st.lists(
    pick(
        [
            *"()[]{}*+?|^$\\.:",
            "(?=a)",
            "(?i)",
            "(?P<a>",
            r"\1",
            r"\p{L}",
            "{1000}",
            "{1,60}",
            "(a|a)*",
            r"\C",
            "\0",
            "a",
        ]
    ),
    max_size=12,
).map("".join)
STARRED: Final = st.lists(pick(["*", "a", "b", "/", ".", "é", "?", "[", "\\"]), max_size=8).map("".join)
STEPS: Final = ("a", "b", ":id", ":a?", "?", "*", "a.b", "%41", "a?b", "é", ":x((?!a).*)", "")
ROUTES: Final = st.lists(pick(STEPS), max_size=5).map(lambda steps: "/" + "/".join(steps))


def write_regex(pattern: str, text: str) -> PatternCase:
    return PatternCase("regex", pattern, text, re.search(pattern.replace("$", r"\Z"), text, re.ASCII) is not None)


def write_star(kind: str, pattern: str, text: str) -> PatternCase:
    """Returns a pattern in which a star is any text."""
    expression = ".*".join(map(re.escape, pattern.split("*")))
    return PatternCase(kind, pattern, text, re.fullmatch(expression, text, re.DOTALL) is not None)


def write_route(rule: str, path: str) -> PatternCase:
    """Returns a route rule, and a path."""
    steps = [step for step in rule.split("/") if step]
    is_open = steps[-1:] == ["*"]
    expression = "".join(
        "/[^/]+" if step[0] == ":" or step == "*" else "/" + re.escape(step) for step in steps[: len(steps) - is_open]
    )
    plain = "".join("/" + step for step in path.split("/") if step)
    return PatternCase(
        "route", rule, path, re.fullmatch(expression + ("(?:/.*)?" if is_open else ""), plain) is not None
    )


PATTERNS: Final = (
    st.builds(write_regex, REGEXES, TEXTS)
    | st.builds(lambda pattern, text: PatternCase("soup", pattern, text, None), SOUPS, TEXTS)
    | st.builds(write_star, pick(["display", "channel"]), STARRED, TEXTS)
    | st.builds(  # texts that fit, or nearly
        lambda kind, pattern, rest, cut: write_star(kind, pattern, pattern.replace("*", rest)[cut:]),
        pick(["display", "channel"]),
        STARRED,
        pick(["", "", "a", "*", "/b"]),
        pick([0, 0, 1, 2]),
    )
    | st.builds(lambda pattern, text: PatternCase("page", pattern, text, None), STARRED | ROUTES, ROUTES)
    | st.builds(write_route, ROUTES, st.lists(pick(["a", "b", "a.b", "%41", "é"]), max_size=5).map("/".join))
)


def check_pattern(case: PatternCase) -> None:
    """Matches a text by a pattern, which must be refused with its error, or be right."""
    results: list[bool | None] = []
    check_cpu(lambda: results.append(match(case)))
    if results[0] is not None and case.fits is not None:
        assert results[0] is case.fits, f"{case.kind} {case.pattern!r} on {case.text!r} is {results[0]}"


def match(case: PatternCase) -> bool | None:
    """Returns whether the text of a case matches; None if its pattern is refused."""
    match case.kind:
        case "regex" | "soup":
            try:
                pattern = ProjectPattern(case.pattern)
            except ValueError:
                return None
            whole = pattern.fullmatch(case.text) is not None
            assert not whole or pattern.search(case.text) is not None
            return pattern.search(case.text) is not None
        case "display":
            return make_fit(case.pattern)(case.text)
        case "channel":
            return is_page_wanted([case.pattern], case.text)
        case "route":
            try:
                check_rule(case.pattern)
            except RouteRuleError:
                return None
            return fits_rule([step for step in case.text.split("/") if step], case.pattern)
        case _:
            cleaned = clean_page(case.text)
            assert clean_page(cleaned) == cleaned, f"{case.text!r} is {cleaned!r}, and that {clean_page(cleaned)!r}"
            if find_pattern_problem(case.pattern) is None:
                re.compile(write_expression(case.pattern))
            return None
