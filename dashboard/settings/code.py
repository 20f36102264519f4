"""Code: a project's word on whose code is whose, and how much time a change of it would move where."""

from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar, Final

from django import forms
from django.forms import formset_factory
from django.http import HttpResponse

from aggregate.selectors.previews import preview_code, preview_moves
from aggregate.selectors.slices import Slice
from dashboard.settings.forms import SettingsForm, SettingsRows, read_lines
from dashboard.settings.frame import Desk, settings_page
from ingest.projects import change_code_rules
from profcore.code_rules import MAX_RULES, MAX_SAME_FUNCS, MAX_TEXT_CHARS, CodeRuleError, CodeRules, read_code_rules
from profcore.formats.slice import FUNC_CATEGORIES
from profcore.parties import known_parties

PREVIEW_DAYS: Final = 7  # whose JS time a preview tells: of 100,000 page views a month it takes 0.2 s
MAX_MOVED: Final = 30  # functions a preview names
SPARE_ROWS: Final = 2  # empty ones, to add rules without a script
OWNERS: Final = (("", "–"), ("own", "ours"), ("other", "another’s"))

Rules = dict[str, list[dict[str, str]]]


def text_field(label: str, placeholder: str) -> forms.CharField:
    """Makes a short field of a rule."""
    attrs = {"placeholder": placeholder, "spellcheck": "false", "autocomplete": "off", "aria-label": label}
    return forms.CharField(label=label, required=False, max_length=MAX_TEXT_CHARS, widget=forms.TextInput(attrs=attrs))


class RuleRow(SettingsForm):
    """One rule, checked by itself, so that each wrong one is told at once. An empty row is none."""

    kind: ClassVar[str]
    needed: ClassVar[dict[str, str]]  # what a rule cannot do without, and what to say

    def clean(self) -> None:
        rule = self.filled()
        missing = {name: words for name, words in self.needed.items() if name not in rule and name not in self.errors}
        if not rule or self.cleaned_data.get("DELETE"):
            return
        for name, words in missing.items():
            self.add_error(name, words)
        if self.errors:
            return
        try:
            read_code_rules({self.kind: [rule]})
        except CodeRuleError as error:
            self.add_error(None, f"{error.detail[:1].upper()}{error.detail[1:]}.")


class CategoryRow(RuleRow):
    kind = "categories"
    needed: ClassVar[dict[str, str]] = {"category": "Choose a category."}

    category = forms.ChoiceField(
        choices=[("", "–"), *FUNC_CATEGORIES.items()],
        required=False,
        widget=forms.Select(attrs={"aria-label": "Category"}),
    )
    uri = text_field("Script address fits", "/vendor/")
    source = text_field("Original source fits", "^src/legacy/")
    name = text_field("Function name is", "track.*")


class PartyRow(RuleRow):
    kind = "parties"
    needed: ClassVar[dict[str, str]] = {"domain": "Say which domain.", "owner": "Say whose it is."}

    domain = text_field("Domain", "cdn.example")
    owner = forms.ChoiceField(choices=OWNERS, required=False, widget=forms.Select(attrs={"aria-label": "Whose"}))
    name = text_field("What to call it", "Tag vendor")


class PackageRow(RuleRow):
    kind = "packages"
    needed: ClassVar[dict[str, str]] = {"path": "Say which folders."}

    path = text_field("Folders", "packages/*")
    name = text_field("Package name", "@acme/*")


class SameForm(SettingsForm):
    same_funcs = forms.CharField(
        label="Functions that are the same",
        required=False,
        max_length=MAX_SAME_FUNCS * 50,
        widget=forms.Textarea(attrs={"rows": 3, "spellcheck": "false", "autocomplete": "off"}),
        help_text="Two ids a line: the one that is gone, and the one it became. Addresses of functions have them.",
    )

    def clean_same_funcs(self) -> list[dict[str, str]]:
        pairs = [line.split() for line in read_lines(self.cleaned_data["same_funcs"])]
        wrong = next((pair for pair in pairs if len(pair) != 2), None)
        if wrong:
            raise forms.ValidationError(f"“{' '.join(wrong)[:80]}” is not two ids.")
        return [{"from": old, "to": new} for old, new in pairs]


def rows_of(form: type[SettingsForm], *, can_order: bool = False) -> type[SettingsRows]:
    """Makes the rows of one kind of rule."""
    made: Any = formset_factory(  # Any: Django's stubs type what it makes by the form alone
        form,
        formset=SettingsRows,
        extra=SPARE_ROWS,
        can_delete=True,
        can_order=can_order,
        max_num=MAX_RULES,
        validate_max=True,
    )
    return made  # type: ignore[no-any-return]  # as above


KINDS: Final = {
    "categories": rows_of(CategoryRow, can_order=True),
    "parties": rows_of(PartyRow),
    "packages": rows_of(PackageRow),
}


class CodeForms:
    """All that the page's one form has: rows of rules by kind, and the overrides."""

    def __init__(self, stored: Any, sent: Any = None) -> None:  # Any: JSON that was checked; a QueryDict
        self.rows = {kind: rows(sent, prefix=kind, initial=stored.get(kind, [])) for kind, rows in KINDS.items()}
        pairs = [f"{pair['from']} {pair['to']}" for pair in stored.get("same_funcs", [])]
        self.same = SameForm(sent, initial={"same_funcs": "\n".join(pairs)})

    def is_valid(self) -> bool:
        """Tells whether each field alone has a usable value."""
        return all([*(rows.is_valid() for rows in self.rows.values()), self.same.is_valid()])

    def read(self) -> tuple[Rules, CodeRules] | None:
        """Returns the rules as JSON has them and ready to be used; None, with a word beside it, for a wrong one."""
        rules: Rules = {kind: [form.filled() for form in rows.kept_forms()] for kind, rows in self.rows.items()}
        rules["same_funcs"] = self.same.cleaned_data["same_funcs"]
        rules = {kind: each for kind, each in rules.items() if each}
        try:
            return rules, read_code_rules(rules)
        except CodeRuleError as error:  # each row is fine by itself: it is the overrides
            self.same.add_error("same_funcs", f"{error.detail[:1].upper()}{error.detail[1:]}.")
            return None


@settings_page("settings-code")
def show_code(desk: Desk) -> HttpResponse:
    forms_ = CodeForms(desk.project.code_rules, desk.request.POST if desk.has_posted else None)
    read = forms_.read() if desk.has_posted and forms_.is_valid() else None
    context: dict[str, object] = {**forms_.rows, "same": forms_.same}
    if read is not None:
        rules, checked = read
        if "preview" not in desk.request.POST:
            change_code_rules(desk.project, rules)
            desk.tell("code rules changed:", *(f"{kind} {len(each)}" for kind, each in rules.items()))
            return desk.leave("The rules are saved. They hold at once, for all that was ever recorded.")
        since = (datetime.now(UTC) - timedelta(days=PREVIEW_DAYS)).replace(minute=0, second=0, microsecond=0)
        preview = preview_code(desk.project.pk, checked)
        context |= {
            "moves": preview_moves(Slice(desk.project.pk, ranges=((since, None),)), checked),
            "preview": preview,
            "moved": preview.moved[:MAX_MOVED],
            "days": PREVIEW_DAYS,
        }
    parties = known_parties()
    context["third_parties"] = f"{parties.package} {parties.version}"
    return desk.show("code", status=400 if desk.has_posted and read is None else 200, **context)
