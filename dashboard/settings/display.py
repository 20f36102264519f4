"""Display rules: how the project shows functions, edited as rows of a form, with a preview before saving.

Every button is one post of the whole form, so that rows are added, removed and moved without a script.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from django.http import HttpResponse, QueryDict

from aggregate.selectors.display_previews import RuleEffect, preview_display
from dashboard.settings.frame import Desk, settings_page
from profcore.display_rules import (
    COLOURS,
    MAX_PATTERN_CHARS,
    MAX_RULES,
    MAX_TITLE_CHARS,
    encode_display_rules,
    find_problems,
    read_display_rules,
)

ACTION_WORDS: Final = {
    "fold": "Fold runs of",
    "group": "Show as one",
    "retitle": "Retitle",
    "colour": "Colour",
}
FIELD_WORDS: Final = {
    "name": "name",
    "package": "package",
    "party": "party",
    "category": "category",
    "source": "source path",
    "uri": "script URI",
    "origin": "origin",
}
MOVES: Final = ("add", "remove", "up", "down")
TEXTS: Final = ("action", "field", "pattern", "title", "colour")


@dataclass(frozen=True, slots=True)
class Example:
    """Rules to start from."""

    key: str
    word: str
    why: str
    rules: Sequence[Mapping[str, str]]


EXAMPLES: Final = (
    Example(
        "vendor",
        "All of one vendor as one row",
        "Known third parties, each as one row under its name.",
        [{"action": "group", "field": "party", "pattern": "*", "title": "{party}", "colour": "grey"}],
    ),
    Example(
        "framework",
        "Fold framework internals",
        "Calls within a framework as one frame, with the packages that it is made of.",
        [
            {"action": "fold", "field": "package", "pattern": "react*", "title": "React", "colour": ""},
            {"action": "fold", "field": "package", "pattern": "scheduler", "title": "React", "colour": ""},
        ],
    ),
    Example(
        "retitle",
        "Retitle",
        "A name that says more than the one in the source.",
        [{"action": "retitle", "field": "name", "pattern": "handle*", "title": "Handler: {name}", "colour": ""}],
    ),
)
NEW_RULE: Final = {"action": "fold", "field": "name", "pattern": "", "title": "", "colour": ""}


@dataclass(frozen=True, slots=True)
class RuleRow:
    """One rule as it is typed, what is wrong with it by field, and what it would do, where that was asked for."""

    texts: Mapping[str, str]
    problems: Mapping[str, str] = field(default_factory=dict)
    effect: RuleEffect | None = None

    @property
    def rule(self) -> dict[str, str]:
        """The rule as JSON has it: what is empty is left out, but for what a rule needs. A colour has no title."""
        is_colour = self.texts["action"] == "colour"
        left_out = {name for name in ("title", "colour") if not self.texts[name] or (is_colour and name == "title")}
        return {name: text for name, text in self.texts.items() if name not in left_out}


@settings_page("settings-display")
def show_display(desk: Desk) -> HttpResponse:
    if desk.has_posted:
        return answer_form(desk, read_rows(desk.request.POST))
    return show(desk, [RuleRow({name: rule.get(name, "") for name in TEXTS}) for rule in desk.project.display_rules])


def answer_form(desk: Desk, rows: list[RuleRow]) -> HttpResponse:
    """Does what the pressed button says. Status 400 where rules cannot be used."""
    what, _, which = desk.request.POST.get("do", "preview").partition("-")
    if what in MOVES:
        rows, focus = change_rows(rows, what, which)
        return show(desk, rows, focus=focus, is_changed=True)
    rows = [replace(row, problems=find_problems(row.rule)) for row in rows]
    if any(row.problems for row in rows) or len(rows) > MAX_RULES:
        return show(desk, rows, status=400, is_changed=True, has_problems=True)
    rules = read_display_rules([row.rule for row in rows])
    if what == "save":
        desk.project.display_rules = encode_display_rules(rules)
        desk.project.save(update_fields=["display_rules"])
        desk.tell("display rules changed:", len(rules))
        return desk.leave("The rules are saved. They hold at once, for all that was ever recorded.")
    preview = preview_display(desk.project.pk, rules)
    rows = [replace(row, effect=effect) for row, effect in zip(rows, preview.effects, strict=True)]
    is_changed = encode_display_rules(rules) != desk.project.display_rules
    return show(desk, rows, is_changed=is_changed, preview=preview)


def change_rows(rows: list[RuleRow], what: str, which: str) -> tuple[list[RuleRow], str]:
    """Returns the rows after a button, and the control to go on at: its name."""
    if what == "add":
        added = next((example.rules for example in EXAMPLES if example.key == which), [NEW_RULE])
        return [*rows, *(RuleRow(rule) for rule in added)], f"pattern-{len(rows)}"
    at = next((number for number in range(len(rows)) if which == str(number)), None)
    if at is None:
        return rows, ""
    rest = [*rows[:at], *rows[at + 1 :]]
    if what == "remove":
        return rest, f"remove-{min(at, len(rest) - 1)}" if rest else "add"
    to = max(0, at - 1) if what == "up" else min(len(rest), at + 1)
    rest.insert(to, rows[at])
    can_go_on = to > 0 if what == "up" else to < len(rest) - 1
    return rest, f"{what if can_go_on else 'down' if what == 'up' else 'up'}-{to}"


def read_rows(form: QueryDict) -> list[RuleRow]:
    """Returns the rows of a form. Those left wholly empty are none."""
    count = form.get("count", "0")
    size = min(int(count), MAX_RULES + 1) if count.isascii() and count.isdecimal() and len(count) < 5 else 0
    rows = [{name: form.get(f"{name}-{at}", "").strip() for name in TEXTS} for at in range(size)]
    keeps_empty = form.get("do", "").partition("-")[0] in MOVES
    return [RuleRow(texts) for texts in rows if keeps_empty or texts["pattern"] or texts["title"]]


def show(desk: Desk, rows: Sequence[RuleRow], *, status: int = 200, **context: object) -> HttpResponse:
    """Renders the page."""
    given = {
        "rows": rows,
        "actions": ACTION_WORDS.items(),
        "fields": FIELD_WORDS.items(),
        "colours": COLOURS,
        "examples": EXAMPLES,
        "max_rules": MAX_RULES,
        "max_pattern": MAX_PATTERN_CHARS,
        "max_title": MAX_TITLE_CHARS,
        "action_words": ACTION_WORDS,
        "field_words": FIELD_WORDS,
    }
    return desk.show("display", status=status, **(given | context))
