"""Display rules by their grammar, with functions that they fit or nearly fit, and call paths of these.

The oracle is independent: a pattern is walked over all positions of a text at once, and titles are filled in by hand.
"""

from collections.abc import Sequence
from contextlib import nullcontext, suppress
from typing import Any, Final

from hypothesis import strategies as st

from profcore.code.display_rules import (
    ACTIONS,
    COLOURS,
    FIELDS,
    MAX_MATCHED_CHARS,
    MAX_STARS,
    Display,
    DisplayRuleError,
    DisplayRules,
    read_display_rules,
    show_stacks,
)
from tests.hostile.cases import DisplayCase
from tests.hostile.edits import pick
from tests.hostile.measuring import TooDear, check_cpu

# Of one function and all its rules, which take 0.1 ms: the quickest of some tries, since others' work disturbs a few. A
# matcher that looks at the rest of a text from each of its places takes more each time.
DECIDE_CPU_S: Final = 0.004
TRIES: Final = 5
WITHIN: Final = 1_900  # characters of a text that is matched whole
LONG: Final = 20_000
# Mostly texts that overlap themselves; and what another matcher would take for its own: a title's braces, marks of
# expressions.
PIECES: Final = (
    *("a", "a", "a", "b", "b", "ab", "ba", "aa", "aba", "/", ".", "é", "🎈"),
    *("{name}", "{uri}", "(", "[a]", "\\", "^", "$", "?", "+"),
)
TITLE_PIECES: Final = (*(f"{{{field}}}" for field in FIELDS), "a", "b", " ", "é", "(none)", "\\1", "$1", "%s")
WRONG: Final = ("{", "}", "a{nme}", "a\n", "x" * 121)
OFTEN: Final = ("name", "uri")  # the fields of most rules, so that most functions fit some

# The first of several values is drawn most often, so it is the most telling one.
LITERALS: Final = st.lists(pick(PIECES), min_size=1, max_size=2).map("".join)
PARTS: Final = st.lists(LITERALS | pick(["a", ""]), min_size=2, max_size=4)
PATTERNS: Final = (PARTS | PARTS | st.lists(LITERALS, min_size=1, max_size=MAX_STARS + 1)).map("*".join)
TITLES: Final = st.lists(pick(TITLE_PIECES), max_size=3).map("".join)
RULES: Final = st.fixed_dictionaries(
    {
        "action": pick(["group", "fold", *ACTIONS]),
        "field": pick([*OFTEN, *OFTEN, *FIELDS]),
        "pattern": PATTERNS,
        "title": pick(["", "a", "{name}", "a", "a"]) | TITLES,
        "colour": pick([*COLOURS[:3], None]),
    }
)


def make_rule(drawn: dict[str, Any]) -> dict[str, Any]:  # Any: JSON
    """Returns a rule as JSON that can be used, unless its pattern cannot."""
    if drawn["action"] == "colour":
        return drawn | {"title": "", "colour": drawn["colour"] or COLOURS[0]}
    return drawn | {"title": drawn["title"] if drawn["title"].strip() else "a"}


def glue(text: str, part: str) -> str:
    """Returns a text that ends with a part, which begins within it if it can: a pattern's parts may not overlap so."""
    most = next(count for count in range(min(len(text), len(part)), -1, -1) if text.endswith(part[:count]))
    return text + part[most:]


@st.composite
def write_text(draw: st.DrawFn, patterns: Sequence[str]) -> str:
    """Returns a text that fits one of some patterns; one that lacks some of that; or a long one."""
    parts = draw(pick(patterns)).split("*")
    fill = pick(["", "", *PIECES, *parts])
    text = str(parts[0])
    is_glued = draw(pick([True, False, False]))
    for part in parts[1:]:
        text = glue(text, part) if is_glued else text + draw(fill) + part
    if text and draw(st.booleans()):
        at = draw(st.integers(0, len(text) - 1))
        text = text[:at] + draw(pick(["", "", text[at] * 2, "a"])) + text[at + draw(st.integers(1, 2)) :]
    if draw(pick([False] * 5 + [True])):  # what a matcher would like to try again, at each of many places
        core = draw(pick([*parts, "".join(parts), text])) or "a"
        text = parts[0] + core * (draw(pick([WITHIN, LONG])) // len(core)) + parts[-1]
    return text


@st.composite
def write_case(draw: st.DrawFn) -> DisplayCase:
    rules = [make_rule(rule) for rule in draw(st.lists(RULES, min_size=1, max_size=4))]
    if draw(pick([False] * 9 + [True])):
        rules[-1] |= draw(pick([*({"title": wrong} for wrong in WRONG), {"pattern": ""}, {"pattern": "*" * 9}]))
    texts = {}
    for field in FIELDS:
        patterns = [rule["pattern"] for rule in rules if rule["field"] == field]
        texts[field] = write_text(patterns) | write_text(patterns) | st.none() if patterns else LITERALS | st.none()
    functions = draw(st.lists(st.fixed_dictionaries(texts), min_size=2, max_size=4))
    nodes = draw(st.lists(st.tuples(st.integers(0, 7), st.integers(0, len(functions) - 1)), max_size=8))
    prefix = [above % (node + 1) - 1 for node, (above, _) in enumerate(nodes)]
    return DisplayCase(rules, functions, prefix, [func for _, func in nodes])


DISPLAYS: Final = write_case()


def check_display(case: DisplayCase) -> None:
    """Shows the functions and call paths of a case by its rules, which must be right, or refused with their error."""
    try:
        rules = read_display_rules(case.rules)
    except DisplayRuleError:
        assert not all(map(is_usable, case.rules)), "rules that can be used were refused"
        return
    assert all(map(is_usable, case.rules)), "rules that cannot be used were accepted"
    shown = [check_function(case, rules, function) for function in case.functions]
    number_of = [next(at for at in range(len(shown)) if is_one_row(shown, at, mine)) for mine in range(len(shown))]
    check_stacks(case, number_of, [display is not None and display.is_folded for display in shown])


def is_usable(rule: dict[str, Any]) -> bool:  # Any: JSON
    title = rule.get("title", "")
    if not 0 < len(rule["pattern"]) <= 400 or rule["pattern"].count("*") > MAX_STARS or len(title) > 120:
        return False
    if rule["action"] == "colour":
        return not title and rule.get("colour") is not None
    for field in FIELDS:
        title = title.replace(f"{{{field}}}", "x")
    return bool(title.strip()) and not set("{}\n") & set(title)


def fits(pattern: str, text: str) -> bool:
    """Returns whether a whole text matches a pattern: a bit for each position at which the rest of it may begin."""
    places: dict[str, int] = {}
    for at, char in enumerate(text):
        places[char] = places.get(char, 0) | 1 << at
    end = 1 << len(text)
    reached = 1
    for char in pattern:
        if char == "*":
            reached = (2 * end - 1) & ~((reached & -reached) - 1) if reached else 0
        else:
            reached = (reached & places.get(char, 0)) << 1
    return bool(reached & end)


def fill_in(title: str, function: dict[str, str | None]) -> str:
    first, *others = title.split("{")
    named = ((function[name] or "(none)") + rest for name, _, rest in (part.partition("}") for part in others))
    return (first + "".join(named))[:MAX_MATCHED_CHARS]


def decide_quickly(rules: DisplayRules, function: dict[str, str | None]) -> Display | None:
    """Returns how a function is shown. Raises `TooDear` if that takes too long each time."""
    for tries_left in reversed(range(TRIES)):
        results: list[Display | None] = []
        with suppress(TooDear) if tries_left else nullcontext():
            check_cpu(lambda: results.append(rules.decide(function.get)), most_s=DECIDE_CPU_S)  # noqa: B023  # called here
            break
    return results[0]


def check_function(case: DisplayCase, rules: DisplayRules, function: dict[str, str | None]) -> Display | None:
    """Checks how a function is shown, and returns that."""
    display = decide_quickly(rules, function)
    texts = {field: None if text is None else text[:MAX_MATCHED_CHARS] for field, text in function.items()}
    matching = [
        at
        for at, rule in enumerate(case.rules)
        if (text := texts[rule["field"]]) is not None and fits(rule["pattern"], text)
    ]
    assert rules.fitting(function.get) == matching, f"{rules.fitting(function.get)} fit, not {matching}"
    if not matching:
        assert display is None, f"rule {display} decides, and none fits"
        return None
    rule = case.rules[matching[0]]
    action, title = rule["action"], rule.get("title", "")
    sums = action in ("group", "fold")
    alike = [other for other in case.rules if (other["action"], other.get("title", "")) == (action, title)]
    colours = [other.get("colour") for other in (alike if sums else [rule])]
    assert display is not None
    assert display.rule == matching[0]
    assert display.title == (fill_in(title, function) or None), f"{title!r} became {display.title!r}"
    assert display.colour == next(filter(None, colours), None)
    assert (display.row_id is not None, display.is_folded) == (sums, action == "fold")
    return display


def is_one_row(shown: Sequence[Display | None], one: int, other: int) -> bool:
    """Returns whether two functions are one row; checks that they are if their action and title are the same."""
    first, second = shown[one], shown[other]
    if one == other or first is None or second is None or first.row_id is None or second.row_id is None:
        return one == other
    is_one = (first.is_folded, first.title) == (second.is_folded, second.title)
    assert (first.row_id == second.row_id) is is_one, f"{first} and {second}"
    return is_one


def check_stacks(case: DisplayCase, number_of: Sequence[int], is_folded: Sequence[bool]) -> None:
    """Checks that each call path is shown as its functions are, a run of a folded one as one frame, and only once."""
    prefix, func, places = show_stacks(case.prefix, case.func, number_of, is_folded)
    paths: list[tuple[int, ...]] = []
    for above, index in zip(case.prefix, case.func, strict=True):
        number, path = number_of[index], paths[above] if above >= 0 else ()
        paths.append(path if is_folded[number] and path[-1:] == (number,) else (*path, number))
    new: list[tuple[int, ...]] = []
    for above, number in zip(prefix, func, strict=True):
        new.append((*(new[above] if above >= 0 else ()), number))
    assert [new[place] for place in places] == paths
    assert len(set(new)) == len(new) == len(set(paths)), "a path is there twice, or was not asked for"
