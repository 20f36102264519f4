"""Collection: what a project tells the snippet to record. The server writes it into the snippet's file."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

LEAST_RATE: Final = 0.0001  # a smaller one would let one recorded view stand for more than 10,000
LEAST_WHOLE_RATE: Final = 0.01  # of fewer whole views, no page has enough for a mean
LEAST_ABSENT_RATE: Final = 0.001  # as many as the server counts for one report (profcore.trace.absence)
MIN_DURATION_MS: Final = 1_000  # a shorter recording has hardly a hundred samples
MAX_DURATION_MS: Final = 30 * 60_000  # about what a trace may have at 10 ms: 200,000 samples
MAX_PAGES: Final = 50  # each page view is matched against each of them, in the browser
MAX_PATTERN_CHARS: Final = 200
MAX_STARS: Final = 3  # each more makes the worst match a page's length times longer

PATTERN_PART: Final = re.compile(r"\*|:\w+|[.+?^${}()|[\]\\]")

PagePatterns = tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Collection:
    """What pages record. None leaves it to the attributes of the page's script element, and so do empty and false.

    `pages` are pairs of a pattern and its rate; the first that matches a page wins over `rate`. `absent_rate` is the
    share of views that report why they recorded nothing. With `only_slow`, only slow moments are kept of most views,
    and `whole_rate` is the share that is kept whole all the same. `experiment_rate` is the share of views that tell how
    soon the page was there, with the header and without.
    """

    off: bool = False
    rate: float | None = None
    pages: PagePatterns = ()
    duration_ms: int | None = None
    interactions: bool = False
    absent_rate: float | None = None
    only_slow: bool = False
    whole_rate: float | None = None
    experiment_rate: float | None = None

    @property
    def needs_full(self) -> bool:
        """Returns whether only the full core does what is wanted."""
        return self.only_slow or bool(self.experiment_rate)


LEFT_TO_PAGES: Final = Collection()
LEAST_RATES: Final = {
    "rate": LEAST_RATE,
    "absent_rate": LEAST_ABSENT_RATE,
    "whole_rate": LEAST_WHOLE_RATE,
    "experiment_rate": LEAST_ABSENT_RATE,
}
FIELDS: Final = tuple(Collection.__slots__)


class CollectionError(ValueError):
    """Fields of a collection that cannot hold: `problems` has sentences by the field's name."""

    def __init__(self, problems: Mapping[str, list[str]]) -> None:
        super().__init__("; ".join(f"{name}: {' '.join(texts)}" for name, texts in problems.items()))
        self.problems = problems


def read_collection(values: Mapping[str, Any]) -> Collection:  # Any: JSON
    """Returns the collection of JSON values by field; absent fields are the defaults. Raises `CollectionError`."""
    problems: dict[str, list[str]] = {}
    for name in values:
        if name not in FIELDS:
            problems[str(name)[:80]] = [f"It is not a field of a collection; {', '.join(FIELDS)} are."]
    for name in ("off", "interactions", "only_slow"):
        if not isinstance(values.get(name, False), bool):
            problems[name] = ["It must be true or false."]
    for name, least in LEAST_RATES.items():
        if values.get(name) is not None and (problem := find_rate_problem(values[name], least)):
            problems[name] = [problem]
    if values.get("whole_rate") == 0:
        problems["whole_rate"] = ["It must be above 0: without whole views there are no means."]
    duration = values.get("duration_ms")
    if duration is not None and (type(duration) is not int or not MIN_DURATION_MS <= duration <= MAX_DURATION_MS):
        problems["duration_ms"] = [f"It must be a whole number from {MIN_DURATION_MS} to {MAX_DURATION_MS}."]
    if texts := find_pages_problems(values.get("pages", [])):
        problems["pages"] = texts
    if problems:
        raise CollectionError(problems)
    pages = tuple((pattern, float(rate)) for pattern, rate in values.get("pages", []))
    return Collection(**{**values, "pages": pages})


def find_rate_problem(rate: object, least: float) -> str | None:
    """Returns what is wrong with a rate, None if nothing is. `least` is the lowest rate above 0."""
    if isinstance(rate, bool) or not isinstance(rate, int | float) or not (rate == 0 or least <= rate <= 1):
        return f"It must be a number from {least:g} to 1, or 0 for never."
    return None


def find_pages_problems(pages: object) -> list[str]:
    """Returns sentences about wrong patterns and rates; each names the pattern by its number."""
    if not isinstance(pages, list | tuple):
        return ["It must be a list of pairs: a pattern and a rate."]
    if len(pages) > MAX_PAGES:
        return [f"At most {MAX_PAGES} patterns are accepted; these are {len(pages)}."]
    problems = []
    seen: set[str] = set()
    for number, pair in enumerate(pages, start=1):
        if not isinstance(pair, list | tuple) or len(pair) != 2 or not isinstance(pair[0], str):
            problems.append(f"Pattern {number}: it must be a pair of a pattern and a rate.")
            continue
        pattern, rate = pair
        if problem := find_pattern_problem(pattern) or find_rate_problem(rate, LEAST_RATE):
            problems.append(f"Pattern {number}: {problem[0].lower()}{problem[1:]}")
        elif pattern in seen:
            problems.append(f"Pattern {number}: it is the same as an earlier one, which wins.")
        seen.add(pattern)
    return problems


def find_pattern_problem(pattern: str) -> str | None:
    """Returns what is wrong with a page's pattern, None if nothing is. `*` is any text, `:x` one part of a path."""
    if not pattern.startswith(("/", "*")):
        return "It must begin with / or *: a pattern is a path, without scheme and host."
    if len(pattern) > MAX_PATTERN_CHARS:
        return f"It has more than {MAX_PATTERN_CHARS} characters."
    if not pattern.isprintable():
        return "It has a control character."
    if "?" in pattern or "#" in pattern:
        return "It has a ? or #: paths end before these."
    if pattern.count("*") > MAX_STARS:
        return f"It has more than {MAX_STARS} stars."
    return None


def encode_for_snippet(collection: Collection, *, absent_rate: float | None = None) -> dict[str, object]:
    """Returns the settings object that the snippet reads. `absent_rate` holds if the project has none of its own."""
    if collection.off:
        return {"off": True}
    rate = absent_rate if collection.absent_rate is None else collection.absent_rate
    fields: dict[str, object] = {
        "rate": collection.rate,
        "pages": [[write_expression(pattern), rate] for pattern, rate in collection.pages] or None,
        "duration": collection.duration_ms,
        "interactions": collection.interactions or None,
        "absent": rate,
        "keep": "slow" if collection.only_slow else None,
        "whole": collection.whole_rate,
        "experiment": collection.experiment_rate,
    }
    return {name: value for name, value in fields.items() if value is not None}


def write_expression(pattern: str) -> str:
    """Returns a pattern as a regular expression of JavaScript; the snippet would need more code to do so itself."""
    return "^" + PATTERN_PART.sub(lambda match: _write_part(match.group()), pattern) + "$"


def _write_part(part: str) -> str:
    if part == "*":
        return ".*"
    return "[^/]+" if part.startswith(":") and len(part) > 1 else f"\\{part}"


def write_for_script(value: object) -> str:
    """Returns JSON that is safe inside any script, also one inside HTML: ASCII only, without `<`."""
    return json.dumps(value, ensure_ascii=True, separators=(",", ":")).replace("<", "\\u003c")
