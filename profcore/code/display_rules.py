"""How a project shows functions: other titles and colours, several as one, runs of calls as one frame.

Rules are data, written as JSON by the project's administrators and checked once here. They change what is shown, never
what is stored, and no time: a group's sums are the sums of its functions. `docs/display-rules.md` explains them.
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
COLOURS: Final[tuple[str, ...]] = get_args(Colour)  # in the flame graph's palette, for both themes
SUMMING: Final = ("group", "fold")

MAX_RULES: Final = 100  # each function of an answer is compared with each rule: about 0.3 µs per rule
MAX_PATTERN_CHARS: Final = 400  # as for the patterns of code rules
MAX_STARS: Final = 8  # each is one search through the text
MAX_TITLE_CHARS: Final = 120  # a table's row and a frame have no room for more
MAX_MATCHED_CHARS: Final = 2_000  # characters of a text: URIs may be megabytes

NOTHING: Final = "(none)"
PLACEHOLDER: Final = re.compile(r"\{([^{}]*)\}")
DISPLAY_ID: Final = re.compile(r"d[0-9a-f]{20}")  # of a row that a rule makes; see also `profcore.code.identity`
ID_BYTES: Final = 10

ReadField = Callable[[str], str | None]  # returns the function's text for one of `FIELDS`, or None


class DisplayRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """An action on the functions whose `field` matches `pattern`, in which a star stands for any text.

    `title` is shown instead of the name, with `{name}` and other fields filled in. A `group` or `fold` is one row per
    resulting title. Any rule may set a colour.
    """

    action: Action
    field: Field
    pattern: str
    title: str = ""
    colour: Colour | None = None


class DisplayRuleError(ValueError):
    """A rule cannot be used; has its place, such as `[2].pattern`, and a sentence."""

    def __init__(self, field: str, detail: str) -> None:
        super().__init__(f"{field}: {detail}")
        self.field = field
        self.detail = detail


@dataclass(frozen=True, slots=True, kw_only=True)
class Display:
    """How a function is shown: its rule, title and colour; None keeps its own.

    All functions with the same `row_id` are one row. With `is_folded`, those that call each other are also one frame.
    """

    rule: int
    title: str | None = None
    colour: str | None = None
    row_id: str | None = None
    is_folded: bool = False


@dataclass(frozen=True, slots=True)
class DisplayRules:
    """Checked rules. The first that matches decides."""

    rules: Sequence[DisplayRule] = ()
    fits: Sequence[tuple[str, Callable[[str], bool]]] = ()  # per rule: its field, and whether a text matches
    colours: Sequence[str | None] = ()  # the colour of each rule; rules that make the same row have the same colour

    def __len__(self) -> int:
        return len(self.rules)

    @property
    def sums_up(self) -> bool:
        """Returns whether any rule may show several functions as one."""
        return any(rule.action in SUMMING for rule in self.rules)

    def names(self, fields: Collection[str]) -> bool:
        """Returns whether any rule depends on one of some fields."""
        return any(field == rule.field or f"{{{field}}}" in rule.title for rule in self.rules for field in fields)

    def decide(self, read_field: ReadField) -> Display | None:
        """Returns how a function is shown; None means unchanged. It reads each fact once, if a rule needs it."""
        known: dict[str, str | None] = {}
        for at, (field, fits) in enumerate(self.fits):
            if field not in known:
                text = read_field(field)
                known[field] = None if text is None else text[:MAX_MATCHED_CHARS]
            value = known[field]
            if value is not None and fits(value):
                return self._show(at, read_field)
        return None

    def _show(self, at: int, read_field: ReadField) -> Display:
        rule = self.rules[at]
        title = PLACEHOLDER.sub(lambda match: read_field(match[1]) or NOTHING, rule.title)[:MAX_MATCHED_CHARS]
        row_id = display_id(rule.action, title) if rule.action in SUMMING else None
        return Display(
            rule=at, title=title or None, colour=self.colours[at], row_id=row_id, is_folded=rule.action == "fold"
        )

    def fitting(self, read_field: ReadField) -> list[int]:
        """Returns the indexes of all rules that match a function."""
        known = {field: read_field(field) for field in {field for field, _ in self.fits}}
        texts = {field: None if text is None else text[:MAX_MATCHED_CHARS] for field, text in known.items()}
        return [at for at, (field, fits) in enumerate(self.fits) if (text := texts[field]) is not None and fits(text)]


def display_id(action: str, title: str) -> str:
    """Returns the id of the row that a rule makes: `d` and 20 hexadecimal digits. Rules of one title make one row."""
    text = f"{action}\0{title}".encode("utf-8", "surrogatepass")
    return "d" + hashlib.blake2b(text, digest_size=ID_BYTES).hexdigest()


def read_display_rules(rules: Any) -> DisplayRules:  # Any: JSON, checked here
    """Returns checked rules from JSON. Raises `DisplayRuleError`, which names the first bad rule."""
    try:
        read = msgspec.convert(rules, tuple[DisplayRule, ...])
    except msgspec.ValidationError as error:
        text, _, path = str(error).partition(" - at `")
        raise DisplayRuleError(path.rstrip("`").removeprefix("$") or "rules", text) from None
    if len(read) > MAX_RULES:
        raise DisplayRuleError("rules", f"at most {MAX_RULES} rules are accepted")
    for at, rule in enumerate(read):
        for field, detail in check_rule(rule).items():
            raise DisplayRuleError(f"[{at}].{field}", detail)
    return DisplayRules(read, [(rule.field, make_fit(rule.pattern)) for rule in read], _share_colours(read))


def _share_colours(rules: Sequence[DisplayRule]) -> list[str | None]:
    """Returns each rule's colour. Rules that make the same row all get the first colour among them."""
    colours: dict[tuple[str, str], Colour] = {}
    for rule in rules:
        if rule.colour is not None and rule.action in SUMMING:
            colours.setdefault((rule.action, rule.title), rule.colour)
    return [colours.get((rule.action, rule.title), rule.colour) for rule in rules]


def find_problems(rule: Any) -> Mapping[str, str]:  # Any: JSON, checked here
    """Returns the errors of a rule from JSON, by field, as `check_rule` does."""
    try:
        return check_rule(msgspec.convert(rule, DisplayRule))
    except msgspec.ValidationError as error:
        text, _, path = str(error).partition(" - at `$.")
        return {path.rstrip("`") or "rule": text}


def check_rule(rule: DisplayRule) -> Mapping[str, str]:
    """Returns the errors of a rule by field, as sentences without a subject; empty if it can be used."""
    problems = {}
    if not rule.pattern:
        problems["pattern"] = "must not be empty; * matches everything"
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
        return "does not go with the action colour; use retitle for both" if rule.title else None
    if not rule.title.strip():
        return "must not be empty"
    if len(rule.title) > MAX_TITLE_CHARS:
        return f"has at most {MAX_TITLE_CHARS} characters"
    if not rule.title.isprintable():
        return "must not contain control characters"
    unknown = [name for name in PLACEHOLDER.findall(rule.title) if name not in FIELDS]
    rest = PLACEHOLDER.sub("", rule.title)
    if unknown or "{" in rest or "}" in rest:
        return f"can only have {', '.join('{' + name + '}' for name in FIELDS)} in braces"
    return None


def make_fit(pattern: str) -> Callable[[str], bool]:
    """Returns a function that says whether a whole text matches a pattern. Each star costs one pass over the text."""
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
            place = text.find(part, at, end)
            if place < 0:
                return False
            at = place + len(part)
        return True

    return fits


def encode_display_rules(rules: DisplayRules) -> list[dict[str, Any]]:  # Any: JSON
    """Returns the rules in the shape of their JSON, to be stored."""
    encoded: list[dict[str, Any]] = msgspec.to_builtins(rules.rules)  # Any: as above
    return list(encoded)


def show_stacks(
    prefix: Sequence[int], func: Sequence[int], number_of: Sequence[int], is_folded: Sequence[bool]
) -> tuple[list[int], list[int], list[int]]:
    """Returns a prefix tree as it is shown: its prefixes, its funcs, and the new node of each given node.

    `number_of` gives the shown function of each func; `is_folded` tells by that number whether a run of its frames is
    one frame. Equal paths meet in one node. Callers come before callees, in the input too. Nothing recurses.
    """
    new_prefix: list[int] = []
    new_func: list[int] = []
    children: dict[tuple[int, int], int] = {}
    places: list[int] = []
    for caller, index in zip(prefix, func, strict=True):
        number = number_of[index]
        above = places[caller] if caller >= 0 else -1
        if above >= 0 and is_folded[number] and new_func[above] == number:
            places.append(above)
            continue
        node = children.setdefault((above, number), len(new_func))
        if node == len(new_func):
            new_prefix.append(above)
            new_func.append(number)
        places.append(node)
    return new_prefix, new_func, places
