"""The settings page "Code": rules about whose code is whose, with a preview of the time they would move."""

from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar, Final

from django import forms
from django.forms import formset_factory
from django.http import HttpResponse

from aggregate.selectors.previews.code_preview import preview_code, preview_moves
from aggregate.selectors.slice.slices import Slice
from dashboard.layout.forms import SettingsForm, SettingsRows, TemplateField, read_lines
from dashboard.pages.settings.layout import SettingsRequest, settings_page
from dashboard.web.read_deadline import bounded_read
from profcore.code.categories import FUNC_CATEGORIES
from profcore.code.code_rules import (
    MAX_RULES,
    MAX_SAME_FUNCS,
    MAX_TEXT_CHARS,
    CodeRuleError,
    CodeRules,
    read_code_rules,
)
from profcore.code.issue_links import MAX_TEMPLATE_CHARS, check_issue_template
from profcore.code.owners import MAX_CHARS as MAX_OWNERS_CHARS
from profcore.code.owners import OwnerRuleError, read_owners
from profcore.code.parties import known_parties
from projects.descriptions import change_code_rules, change_issue_link, change_owners
from projects.models import Project

PREVIEW_DAYS: Final = 7  # of script time in a preview: takes 0.2 s with 100,000 page views a month
MAX_MOVED: Final = 30  # functions that a preview lists
SPARE_ROWS: Final = 2  # empty rows, to add rules without JavaScript
OWNERS: Final = (("", "–"), ("own", "own"), ("other", "other"))

Rules = dict[str, list[dict[str, str]]]


def text_field(label: str, placeholder: str) -> forms.CharField:
    """Returns a short text field of a rule."""
    attrs = {"placeholder": placeholder, "spellcheck": "false", "autocomplete": "off", "aria-label": label}
    return forms.CharField(label=label, required=False, max_length=MAX_TEXT_CHARS, widget=forms.TextInput(attrs=attrs))


class CodeRuleRow(SettingsForm):
    """A form for one rule. Each is checked separately, so that all errors show at once. An empty row is no rule."""

    kind: ClassVar[str]
    needed: ClassVar[dict[str, str]]  # required fields, each with its error text

    def clean(self) -> None:
        rule = self.filled()
        missing = {
            name: message for name, message in self.needed.items() if name not in rule and name not in self.errors
        }
        if not rule or self.cleaned_data.get("DELETE"):
            return
        for name, message in missing.items():
            self.add_error(name, message)
        if self.errors:
            return
        try:
            read_code_rules({self.kind: [rule]})
        except CodeRuleError as error:
            self.add_error(None, f"{error.detail[:1].upper()}{error.detail[1:]}.")


class CategoryRow(CodeRuleRow):
    kind = "categories"
    needed: ClassVar[dict[str, str]] = {"category": "Choose a category."}

    category = forms.ChoiceField(
        choices=[("", "–"), *FUNC_CATEGORIES.items()],
        required=False,
        widget=forms.Select(attrs={"aria-label": "Category"}),
    )
    uri = text_field("Script address matches", "/vendor/")
    source = text_field("Original source matches", "^src/legacy/")
    name = text_field("Function name is", "track.*")


class PartyRow(CodeRuleRow):
    kind = "parties"
    needed: ClassVar[dict[str, str]] = {"domain": "Enter a domain.", "owner": "Choose an owner."}

    domain = text_field("Domain", "cdn.example")
    owner = forms.ChoiceField(choices=OWNERS, required=False, widget=forms.Select(attrs={"aria-label": "Owner"}))
    name = text_field("Display name", "Tag vendor")


class PackageRow(CodeRuleRow):
    kind = "packages"
    needed: ClassVar[dict[str, str]] = {"path": "Enter the folders."}

    path = text_field("Folders", "packages/*")
    name = text_field("Package name", "@acme/*")


class SameForm(SettingsForm):
    same_funcs = forms.CharField(
        label="Functions that are the same",
        required=False,
        max_length=MAX_SAME_FUNCS * 50,
        widget=forms.Textarea(attrs={"rows": 3, "spellcheck": "false", "autocomplete": "off"}),
        help_text="Two ids per line: the old one, then the new one. You find ids in the addresses of function pages.",
    )

    def clean_same_funcs(self) -> list[dict[str, str]]:
        pairs = [line.split() for line in read_lines(self.cleaned_data["same_funcs"])]
        wrong = next((pair for pair in pairs if len(pair) != 2), None)
        if wrong:
            raise forms.ValidationError(f"“{' '.join(wrong)[:80]}” is not a pair of ids.")
        return [{"from": old, "to": new} for old, new in pairs]


class TeamForm(SettingsForm):
    """Who owns which sources, and where issues are written."""

    owner_rules = forms.CharField(
        label="Owners of sources",
        required=False,
        max_length=MAX_OWNERS_CHARS,
        widget=forms.Textarea(
            attrs={
                "rows": 4,
                "spellcheck": "false",
                "autocomplete": "off",
                "placeholder": "/src/checkout/ @shop/checkout",
            }
        ),
        help_text="Your CODEOWNERS file: a pattern and its owners on each line; the last that matches wins.",
    )
    issue_link_template = TemplateField(
        label="Form for a new issue",
        check=check_issue_template,
        max_length=MAX_TEMPLATE_CHARS,
        help_text="An address with {title} and {body}: functions, comparisons and alerts get “Create an issue”.",
        example="https://github.com/acme/shop/issues/new?title={title}&body={body}",
    )

    def clean_owner_rules(self) -> str:
        rules: str = self.cleaned_data["owner_rules"]
        try:
            read_owners(rules)
        except OwnerRuleError as error:
            raise forms.ValidationError(f"{str(error).capitalize()}.") from None
        return rules


def rows_of(form: type[SettingsForm], *, can_order: bool = False) -> type[SettingsRows]:
    """Returns the formset class for one kind of rule."""
    made: Any = formset_factory(  # Any: Django's stubs type what it makes by the form alone
        form,
        formset=SettingsRows,
        extra=SPARE_ROWS,
        can_delete=True,
        can_order=can_order,
        max_num=MAX_RULES,
        absolute_max=MAX_RULES + 1,  # Django's own is a thousand more, each of which is checked and drawn
        validate_max=True,
    )
    return made  # type: ignore[no-any-return]  # as above


KINDS: Final = {
    "categories": rows_of(CategoryRow, can_order=True),
    "parties": rows_of(PartyRow),
    "packages": rows_of(PackageRow),
}


class CodeForms:
    """The whole form of the page: a formset for each kind of rule, the overrides, owners and the form for issues."""

    def __init__(self, project: Project, sent: Any = None) -> None:  # Any: a QueryDict
        stored: Any = project.code_rules  # JSON that was checked
        self.rows = {kind: rows(sent, prefix=kind, initial=stored.get(kind, [])) for kind, rows in KINDS.items()}
        pairs = [f"{pair['from']} {pair['to']}" for pair in stored.get("same_funcs", [])]
        self.same = SameForm(sent, initial={"same_funcs": "\n".join(pairs)})
        self.team = TeamForm(sent, initial={name: getattr(project, name) for name in TeamForm.base_fields})

    def is_valid(self) -> bool:
        """Returns whether each field on its own is valid."""
        return all([*(rows.is_valid() for rows in self.rows.values()), self.same.is_valid(), self.team.is_valid()])

    def read(self) -> tuple[Rules, CodeRules] | None:
        """Returns the rules as JSON and ready to use; None if a rule is wrong, with an error in the form."""
        rules: Rules = {kind: [form.filled() for form in rows.kept_forms()] for kind, rows in self.rows.items()}
        rules["same_funcs"] = self.same.cleaned_data["same_funcs"]
        rules = {kind: kind_rules for kind, kind_rules in rules.items() if kind_rules}
        try:
            return rules, read_code_rules(rules)
        except CodeRuleError as error:  # each row is valid, so the error is in the overrides
            self.same.add_error("same_funcs", f"{error.detail[:1].upper()}{error.detail[1:]}.")
            return None


@settings_page("settings-code", heavy="yes")
def show_code(page: SettingsRequest) -> HttpResponse:
    forms_ = CodeForms(page.project, page.request.POST if page.has_posted else None)
    read = forms_.read() if page.has_posted and forms_.is_valid() else None
    context: dict[str, object] = {**forms_.rows, "same": forms_.same, "team": forms_.team}
    if read is not None:
        rules, checked = read
        if "preview" not in page.request.POST:
            if rules != page.project.code_rules:
                change_code_rules(page.project, rules)
            change_owners(page.project, forms_.team.cleaned_data["owner_rules"])
            change_issue_link(page.project, forms_.team.cleaned_data["issue_link_template"])
            page.log_change("code rules changed:", *(f"{kind} {len(kind_rules)}" for kind, kind_rules in rules.items()))
            return page.redirect("The rules are saved. They apply immediately, to all recorded data.")
        since = (datetime.now(UTC) - timedelta(days=PREVIEW_DAYS)).replace(minute=0, second=0, microsecond=0)
        with bounded_read():
            preview = preview_code(page.project.pk, checked)
            moves = preview_moves(Slice(project_id=page.project.pk, ranges=((since, None),)), checked)
        context |= {
            "moves": moves,
            "preview": preview,
            "moved": preview.moved[:MAX_MOVED],
            "days": PREVIEW_DAYS,
        }
    parties = known_parties()
    context["third_parties"] = f"{parties.package} {parties.version}"
    return page.render("code", status=400 if page.has_posted and read is None else 200, **context)
