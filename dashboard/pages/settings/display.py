"""The settings page "Display rules": how the project shows functions, edited as a formset, with a preview.

Every button posts the whole form, so that rows can be added, removed and moved without JavaScript.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django import forms
from django.forms import formset_factory
from django.http import HttpResponse

from aggregate.selectors.previews.display_preview import RuleEffect, preview_display
from dashboard.layout.forms import SettingsForm, SettingsRows
from dashboard.pages.settings.layout import SettingsRequest, settings_page
from dashboard.web.read_deadline import bounded_read
from profcore.code.display_rules import (
    COLOURS,
    MAX_PATTERN_CHARS,
    MAX_RULES,
    MAX_TITLE_CHARS,
    encode_display_rules,
    find_problems,
    read_display_rules,
)
from projects.descriptions import change_display_rules

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
PREFIX: Final = "rules"
SUBJECTS: Final = {"pattern": "The pattern", "title": "The title", "colour": "The colour"}


@dataclass(frozen=True, slots=True)
class Example:
    """A button that adds some rules to start from."""

    key: str
    word: str
    why: str
    rules: Sequence[Mapping[str, str]]


EXAMPLES: Final = (
    Example(
        "vendor",
        "Group each vendor as one row",
        "Shows each known third party as one row.",
        [{"action": "group", "field": "party", "pattern": "*", "title": "{party}", "colour": "grey"}],
    ),
    Example(
        "framework",
        "Fold framework internals",
        "Shows calls within a framework, including its packages, as one frame.",
        [
            {"action": "fold", "field": "package", "pattern": "react*", "title": "React", "colour": ""},
            {"action": "fold", "field": "package", "pattern": "scheduler", "title": "React", "colour": ""},
        ],
    ),
    Example(
        "retitle",
        "Retitle functions",
        "Shows a clearer name than the one in the source.",
        [{"action": "retitle", "field": "name", "pattern": "handle*", "title": "Handler: {name}", "colour": ""}],
    ),
)
NEW_RULE: Final = {"action": "fold", "field": "name", "pattern": "", "title": "", "colour": ""}


class DisplayRuleForm(SettingsForm):
    """A form for one rule. `effect` is what the rule does, after a preview."""

    effect: RuleEffect | None = None

    action = forms.ChoiceField(choices=list(ACTION_WORDS.items()))
    field = forms.ChoiceField(choices=list(FIELD_WORDS.items()))
    pattern = forms.CharField(
        required=False,
        max_length=MAX_PATTERN_CHARS,
        widget=forms.TextInput(
            attrs={"placeholder": "react*", "autocomplete": "off", "autocapitalize": "off", "spellcheck": "false"}
        ),
    )
    title = forms.CharField(
        required=False,
        max_length=MAX_TITLE_CHARS,
        widget=forms.TextInput(attrs={"placeholder": "Title", "autocomplete": "off", "spellcheck": "false"}),
    )
    colour = forms.ChoiceField(choices=[("", "own colour"), *((colour, colour) for colour in COLOURS)], required=False)

    @property
    def rule(self) -> dict[str, str]:
        """The rule as JSON has it: without an empty title or colour, and without the title of a colour rule."""
        texts: dict[str, str] = self.cleaned_data
        is_colour = texts["action"] == "colour"
        left_out = {name for name in ("title", "colour") if not texts[name] or (is_colour and name == "title")}
        return {name: text for name, text in texts.items() if name not in left_out}

    def clean(self) -> None:
        if self.errors:
            return
        for name, detail in find_problems(self.rule).items():
            if name in SUBJECTS:
                self.add_error(name, f"{SUBJECTS[name]} {detail}.")
            else:
                self.add_error(None, detail)


class DisplayRuleRows(SettingsRows):
    """The rules of the page, in order. A row without a pattern and a title is empty."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # Any: as in Django's stubs
        too_many = {"too_many_forms": f"At most {MAX_RULES} rules are accepted."}
        super().__init__(*args, **({"prefix": PREFIX, "error_messages": too_many} | kwargs))

    def make_ready(self, *, may_change: bool) -> None:
        """Leaves the focus to the template: it is on the summary of errors, or on the row of a button."""

    @property
    def rule_forms(self) -> list[DisplayRuleForm]:
        """The forms, with their type."""
        return [form for form in self.forms if isinstance(form, DisplayRuleForm)]

    def read_texts(self) -> list[dict[str, str]]:
        """Returns the rows of a bound formset as they were typed."""
        return [{name: (form[name].value() or "").strip() for name in form.base_fields} for form in self.forms]


def make_rows() -> type[DisplayRuleRows]:
    """Returns the formset class. One row more than allowed is read, to report too many rules."""
    rows: Any = formset_factory(  # Any: Django's stubs type it by the form only
        DisplayRuleForm,
        formset=DisplayRuleRows,
        extra=0,
        max_num=MAX_RULES,
        absolute_max=MAX_RULES + 1,
        validate_max=True,
    )
    return rows  # type: ignore[no-any-return]  # as above


RULE_ROWS: Final = make_rows()


@settings_page("settings-display", heavy="yes")
def show_display(page: SettingsRequest) -> HttpResponse:
    if not page.has_posted:
        return render_display(page, RULE_ROWS(initial=page.project.display_rules))
    texts = RULE_ROWS(page.request.POST).read_texts()
    button, _, which = page.request.POST.get("do", "preview").partition("-")
    if button in MOVES:
        texts, focus = change_texts(texts, button, which)
        return render_display(page, RULE_ROWS(initial=texts), focus=focus, is_changed=True)
    return answer_form(page, bind_rows([row for row in texts if row["pattern"] or row["title"]]), button)


def answer_form(page: SettingsRequest, rows: DisplayRuleRows, button: str) -> HttpResponse:
    """Saves or previews the rules. Status 400 if they have errors."""
    if not rows.is_valid():
        return render_display(page, rows, status=400, is_changed=True, has_problems=True)
    rules = read_display_rules([form.rule for form in rows.rule_forms])
    if button == "save":
        change_display_rules(page.project, rules)
        page.log_change("display rules changed:", len(rules))
        return page.redirect("The rules are saved. They apply immediately, to all recorded data.")
    with bounded_read():
        preview = preview_display(page.project.pk, rules)
    for form, effect in zip(rows.rule_forms, preview.effects, strict=True):
        form.effect = effect
    is_changed = encode_display_rules(rules) != page.project.display_rules
    return render_display(page, rows, is_changed=is_changed, preview=preview)


def bind_rows(texts: Sequence[Mapping[str, str]]) -> DisplayRuleRows:
    """Returns a formset that has received these rows."""
    sent = {f"{PREFIX}-{at}-{name}": text for at, row in enumerate(texts) for name, text in row.items()}
    return RULE_ROWS({f"{PREFIX}-TOTAL_FORMS": str(len(texts)), f"{PREFIX}-INITIAL_FORMS": str(len(texts)), **sent})


def change_texts(rows: list[dict[str, str]], button: str, which: str) -> tuple[list[dict[str, str]], str]:
    """Returns the rows after a button, and the name of the control that gets the focus."""
    if button == "add":
        added = next((example.rules for example in EXAMPLES if example.key == which), [NEW_RULE])
        return [*rows, *(dict(rule) for rule in added)], f"pattern-{len(rows)}"
    at = next((number for number in range(len(rows)) if which == str(number)), None)
    if at is None:
        return rows, ""
    rest = [*rows[:at], *rows[at + 1 :]]
    if button == "remove":
        return rest, f"remove-{min(at, len(rest) - 1)}" if rest else "add"
    to = max(0, at - 1) if button == "up" else min(len(rest), at + 1)
    rest.insert(to, rows[at])
    can_go_on = to > 0 if button == "up" else to < len(rest) - 1
    return rest, f"{button if can_go_on else 'down' if button == 'up' else 'up'}-{to}"


def render_display(
    page: SettingsRequest, rows: DisplayRuleRows, *, focus: str = "", status: int = 200, **context: object
) -> HttpResponse:
    """Returns the page. `focus` is `pattern-N` or the value of a button."""
    control, _, which = focus.partition("-")
    if control == "pattern":
        rows.forms[int(which)].fields["pattern"].widget.attrs["autofocus"] = True
    values = {
        "rows": rows,
        "focus": focus,
        "stored": page.project.display_rules,
        "examples": EXAMPLES,
        "max_rules": MAX_RULES,
        "action_words": ACTION_WORDS,
        "field_words": FIELD_WORDS,
    }
    return page.render("display", status=status, **(values | context))
