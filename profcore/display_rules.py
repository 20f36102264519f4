"""How a project wants functions shown: other titles and colours, several as one, runs of calls as one frame.

Rules are data, written as JSON by the project's admins, checked once here. They change what is shown, never what is
stored, and no time: sums of what is shown as one are sums of what it is made of. `docs/display-rules.md` says it in
words.
"""

import hashlib
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

import msgspec

Action = Literal["retitle", "colour", "group", "fold"]
Field = Literal["name", "source", "uri", "package", "category", "party", "origin"]
Colour = Literal["blue", "teal", "green", "yellow", "orange", "red", "pink", "purple", "brown", "grey"]

ACTIONS: Final[tuple[str, ...]] = get_args(Action)
FIELDS: Final[tuple[str, ...]] = get_args(Field)
COLOURS: Final[tuple[str, ...]] = get_args(Colour)  # of the flame graph's palette, which has them for both themes
SUMMING: Final = ("group", "fold")

MAX_RULES: Final = 100  # each function of an answer is held against them in turn, some 0.3 µs a rule
MAX_PATTERN_CHARS: Final = 400  # as the patterns of code rules
MAX_STARS: Final = 8  # each is one search through the text
MAX_TITLE_CHARS: Final = 120  # a table's row and a frame show no more
MAX_MATCHED_CHARS: Final = 2_000  # of a text: URIs may be megabytes, and the rest tells nothing a person would write

NOTHING: Final = "(none)"
PLACEHOLDER: Final = re.compile(r"\{([^{}]*)\}")
SHOWN_ID: Final = re.compile(r"d[0-9a-f]{20}")  # of a row that a rule made; of functions `profcore.identity` tells
ID_BYTES: Final = 10

Facts = Callable[[str], str | None]  # what a function has of one of `FIELDS`, None where that is not known


class DisplayRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What to do with the functions whose `field` fits `pattern`, in which a star stands for any text.

    `title` is what they are shown as; `{name}` and the other fields in it are filled in. A `group` or `fold` is one row
    for each title that comes of it. Any rule may give a colour.
    """

    action: Action
    field: Field
    pattern: str
    title: str = ""
    colour: Colour | None = None


class DisplayRuleError(ValueError):
    """A rule cannot be used: where it stands, such as `[2].pattern`, and a sentence."""

    def __init__(self, field: str, detail: str) -> None:
        super().__init__(f"{field}: {detail}")
        self.field = field
        self.detail = detail


@dataclass(frozen=True, slots=True)
class Shown:
    """How a function is shown: by which rule, under which title and colour; None keeps its own.

    With a `row_id` all functions of that id are one. With `is_folded` those that call each other are one frame, too.
    """

    rule: int
    title: str | None = None
    colour: str | None = None
    row_id: str | None = None
    is_folded: bool = False


@dataclass(frozen=True, slots=True)
class DisplayRules:
    """The rules, ready to be used. The first that fits decides."""

    rules: Sequence[DisplayRule] = ()
    fits: Sequence[tuple[str, Callable[[str], bool]]] = ()  # of each rule, its field and whether a text fits
    colours: Sequence[str | None] = ()  # what each rule gives: rules that make one row give it one

    def __len__(self) -> int:
        return len(self.rules)

    @property
    def sums_up(self) -> bool:
        """Tells whether any rule may show several functions as one."""
        return any(rule.action in SUMMING for rule in self.rules)

    def names(self, fields: Collection[str]) -> bool:
        """Tells whether what any rule makes of a function goes by one of some fields."""
        return any(field == rule.field or f"{{{field}}}" in rule.title for rule in self.rules for field in fields)

    def decide(self, facts: Facts) -> Shown | None:
        """Returns how a function is shown; None as it is. Each fact is asked for once, where a rule needs it."""
        known: dict[str, str | None] = {}
        for at, (field, fits) in enumerate(self.fits):
            if field not in known:
                text = facts(field)
                known[field] = None if text is None else text[:MAX_MATCHED_CHARS]
            found = known[field]
            if found is not None and fits(found):
                return self._show(at, facts)
        return None

    def _show(self, at: int, facts: Facts) -> Shown:
        rule = self.rules[at]
        title = PLACEHOLDER.sub(lambda match: facts(match[1]) or NOTHING, rule.title)[:MAX_MATCHED_CHARS]
        row_id = shown_id(rule.action, title) if rule.action in SUMMING else None
        return Shown(at, title or None, self.colours[at], row_id, rule.action == "fold")

    def fitting(self, facts: Facts) -> list[int]:
        """Returns all rules that fit a function, by their places."""
        known = {field: facts(field) for field in {field for field, _ in self.fits}}
        texts = {field: None if text is None else text[:MAX_MATCHED_CHARS] for field, text in known.items()}
        return [at for at, (field, fits) in enumerate(self.fits) if (text := texts[field]) is not None and fits(text)]


def shown_id(action: str, title: str) -> str:
    """Returns the id of the row that a rule makes: `d` and 20 hexadecimal digits. Rules of one title make one row."""
    text = f"{action}\0{title}".encode("utf-8", "surrogatepass")
    return "d" + hashlib.blake2b(text, digest_size=ID_BYTES).hexdigest()


def read_display_rules(rules: Any) -> DisplayRules:  # Any: JSON, checked here
    """Returns rules as JSON has them, ready to be used. Raises `DisplayRuleError`, which names the first bad rule."""
    try:
        read = msgspec.convert(rules, tuple[DisplayRule, ...])
    except msgspec.ValidationError as error:
        text, _, path = str(error).partition(" - at `")
        raise DisplayRuleError(path.rstrip("`").removeprefix("$") or "rules", text) from None
    if len(read) > MAX_RULES:
        raise DisplayRuleError("rules", f"at most {MAX_RULES} rules are taken")
    for at, rule in enumerate(read):
        for field, detail in check_rule(rule).items():
            raise DisplayRuleError(f"[{at}].{field}", detail)
    return DisplayRules(read, [(rule.field, make_fit(rule.pattern)) for rule in read], _share_colours(read))


def _share_colours(rules: Sequence[DisplayRule]) -> list[str | None]:
    """Returns each rule's colour; of those that make one row, the first that any of them has."""
    colours: dict[tuple[str, str], Colour] = {}
    for rule in rules:
        if rule.colour is not None and rule.action in SUMMING:
            colours.setdefault((rule.action, rule.title), rule.colour)
    return [colours.get((rule.action, rule.title), rule.colour) for rule in rules]


def find_problems(rule: Any) -> Mapping[str, str]:  # Any: JSON, checked here
    """Returns what is wrong with one rule as JSON has it, by field, as `check_rule` does."""
    try:
        return check_rule(msgspec.convert(rule, DisplayRule))
    except msgspec.ValidationError as error:
        text, _, path = str(error).partition(" - at `$.")
        return {path.rstrip("`") or "rule": text}


def check_rule(rule: DisplayRule) -> Mapping[str, str]:
    """Returns what is wrong with a rule by field, in sentences without a subject; nothing where it can be used."""
    problems = {}
    if not rule.pattern:
        problems["pattern"] = "must not be empty; * fits everything"
    elif len(rule.pattern) > MAX_PATTERN_CHARS:
        problems["pattern"] = f"has at most {MAX_PATTERN_CHARS} characters"
    elif rule.pattern.count("*") > MAX_STARS:
        problems["pattern"] = f"has at most {MAX_STARS} stars"
    elif not rule.pattern.isprintable():
        problems["pattern"] = "must not contain control characters; * stands for any"
    if problem := _check_title(rule):
        problems["title"] = problem
    if rule.action == "colour" and rule.colour is None:
        problems["colour"] = f"must be one of {', '.join(COLOURS)}"
    return problems


def _check_title(rule: DisplayRule) -> str | None:
    if rule.action == "colour":
        return "is not taken by colour; use retitle for both" if rule.title else None
    if not rule.title.strip():
        return "must not be empty"
    if len(rule.title) > MAX_TITLE_CHARS:
        return f"has at most {MAX_TITLE_CHARS} characters"
    if not rule.title.isprintable():
        return "must not contain control characters"
    unknown = [name for name in PLACEHOLDER.findall(rule.title) if name not in FIELDS]
    rest = PLACEHOLDER.sub("", rule.title)
    if unknown or "{" in rest or "}" in rest:
        return f"takes {', '.join('{' + name + '}' for name in FIELDS)} in braces, and nothing else"
    return None


def make_fit(pattern: str) -> Callable[[str], bool]:
    """Returns what tells whether a whole text fits a pattern, in time proportional to the text for each star."""
    head, *rest = pattern.split("*")
    if not rest:
        return pattern.__eq__
    *middle, tail = rest
    if not any(middle) and not tail:
        return lambda text: text.startswith(head)
    least = len(head) + len(tail)

    def fits(text: str) -> bool:
        if len(text) < least or not text.startswith(head) or not text.endswith(tail):
            return False
        at, end = len(head), len(text) - len(tail)
        for part in middle:
            found = text.find(part, at, end)
            if found < 0:
                return False
            at = found + len(part)
        return True

    return fits


def encode_display_rules(rules: DisplayRules) -> list[dict[str, Any]]:  # Any: JSON
    """Returns the rules as JSON has them, to be stored."""
    encoded: list[dict[str, Any]] = msgspec.to_builtins(rules.rules)  # Any: as above
    return list(encoded)


def show_stacks(
    prefix: Sequence[int], func: Sequence[int], number_of: Sequence[int], is_folded: Sequence[bool]
) -> tuple[list[int], list[int], list[int]]:
    """Returns a prefix tree as it is shown: its prefixes, its funcs, and where each node of the given one went.

    `number_of` says which shown function each func is, `is_folded` by that number whether a run of its frames is one.
    Equal paths meet in one node; callers come before callees, as they must in what is given. Nothing recurses.
    """
    shown_prefix: list[int] = []
    shown_func: list[int] = []
    children: dict[tuple[int, int], int] = {}
    places: list[int] = []
    for caller, index in zip(prefix, func, strict=True):
        number = number_of[index]
        above = places[caller] if caller >= 0 else -1
        if above >= 0 and is_folded[number] and shown_func[above] == number:
            places.append(above)
            continue
        node = children.setdefault((above, number), len(shown_func))
        if node == len(shown_func):
            shown_prefix.append(above)
            shown_func.append(number)
        places.append(node)
    return shown_prefix, shown_func, places
