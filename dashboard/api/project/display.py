"""`display`: a project's rules on how functions are shown, with a preview."""

from typing import Annotated, Any, Final, Self

from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request

from aggregate.selectors.previews.display_preview import PreviewRow, preview_display
from dashboard.api.core.answer import ADMINS_ONLY, Answer, Colour, doc, operation
from dashboard.api.core.parts import IsGroup, share_of
from dashboard.api.core.views import ProjectView
from dashboard.web.access import may_administer, reader_of
from dashboard.web.params import ParamError, read_changes
from dashboard.web.project_pages import PageTraits
from profcore.code.display_rules import (
    ACTIONS,
    COLOURS,
    FIELDS,
    DisplayRuleError,
    DisplayRules,
    read_display_rules,
)
from projects.descriptions import change_display_rules

RULE: Final[dict[str, Any]] = {  # Any: a JSON Schema
    "type": "object",
    "properties": {
        "action": {"type": "string", "enum": list(ACTIONS)},
        "field": {"type": "string", "enum": list(FIELDS)},
        "pattern": {"type": "string", "description": "A star stands for any text."},
        "title": {"type": "string", "description": "The title to show; `{name}` and other fields are filled in."},
        "colour": {"type": "string", "enum": list(COLOURS)},
    },
    "required": ["action", "field", "pattern"],
    "additionalProperties": False,
}
RULES: Final[dict[str, Any]] = {  # Any: as above
    "type": "object",
    "properties": {"rules": {"type": "array", "items": RULE}},
    "required": ["rules"],
    "additionalProperties": False,
}


class DisplayRulesAnswer(Answer):
    """How functions are shown: the first rule that fits decides."""

    rules: Annotated[
        list[dict[str, Any]], doc("action, field, pattern, title, colour (docs/display-rules.md).")  # Any: JSON
    ]
    may_change: bool


class RuleEffectAnswer(Answer):
    """What one rule would do."""

    function_count: Annotated[int, doc("Functions that it decides.")]
    fitting_count: Annotated[int, doc("Functions that the rule matches; an earlier rule may decide some of them.")]
    self_ms: Annotated[float, doc("Self time of the functions that it decides.")]


class PreviewRowAnswer(Answer):
    """A row of the table, and how many functions it shows."""

    id: str
    label: str
    category: str | None
    is_group: IsGroup
    colour: Colour
    rule: Annotated[int | None, doc("The rule that decides, from 0.")]
    is_changed: Annotated[bool, doc("Whether the other table shows it differently, or not at all.")]
    function_count: int
    self_ms: float
    hidden_ms: float
    self_share: Annotated[float | None, doc("Of the project's JS time.")]

    @classmethod
    def of_row(cls, previewed: PreviewRow, js_us: int) -> Self:
        """Returns a row of a table with so much JS time."""
        row = previewed.row
        return cls.of(
            row,
            id=str(row.id),
            is_group=row.is_made,
            colour=row.display.colour if row.display else None,
            rule=row.display.rule if row.display else None,
            is_changed=previewed.is_changed,
            function_count=previewed.func_count,
            self_share=share_of(row.self_us, js_us),
        )


class DisplayPreviewAnswer(Answer):
    """The first rows of the project's table over all time, now and with the new rules."""

    function_count: Annotated[int, doc("Functions as they are stored.")]
    before_count: Annotated[int, doc("Rows in which they are shown now.")]
    after_count: Annotated[int, doc("Rows in which the new rules would show them.")]
    rules: Annotated[list[RuleEffectAnswer], doc("In their order.")]
    before: list[PreviewRowAnswer]
    after: list[PreviewRowAnswer]


class DisplayView(ProjectView):
    def get(self, request: Request, slug: str) -> DisplayRulesAnswer:
        """The project's display rules."""
        return DisplayRulesAnswer(self.project.display_rules, self.may_change())

    @operation("change_display", body={"application/json": RULES}, errors=ADMINS_ONLY)
    def put(self, request: Request, slug: str) -> DisplayRulesAnswer:
        """Replaces the rules. For administrators. No stored sums change."""
        if not self.may_change():
            raise PermissionDenied(
                "Only administrators of the project can change its display rules; a token can only read."
            )
        change_display_rules(self.project, read_rules(read_changes(request.data, ("rules",))))
        return DisplayRulesAnswer(self.project.display_rules, self.may_change())

    def may_change(self) -> bool:
        return may_administer(reader_of(self.request), self.project)


class DisplayPreviewView(ProjectView):
    traits = PageTraits(heavy="yes")
    only_reads = True

    @operation("preview_display", body={"application/json": RULES})
    def post(self, request: Request, slug: str) -> DisplayPreviewAnswer:
        """Shows what new rules would change. Nothing is stored."""
        rules = read_rules(read_changes(request.data, ("rules",)))
        preview = preview_display(self.project.pk, rules)
        return DisplayPreviewAnswer.of(
            preview,
            function_count=preview.stored_count,
            rules=[RuleEffectAnswer(rule.decided, rule.fits, rule.self_us / 1000) for rule in preview.effects],
            before=[PreviewRowAnswer.of_row(row, preview.js_us) for row in preview.before],
            after=[PreviewRowAnswer.of_row(row, preview.js_us) for row in preview.after],
        )


def read_rules(changes: dict[str, Any]) -> DisplayRules:  # Any: JSON, checked here
    """Returns the rules of a body. Raises `ParamError`, which names the rule and its field."""
    if "rules" not in changes:
        raise ParamError("rules", "rules must be a list of rules; an empty list means no rules.")
    try:
        return read_display_rules(changes["rules"])
    except DisplayRuleError as error:
        place = f"rules{error.field}" if error.field.startswith("[") else "rules"
        raise ParamError(place, f"{place} {error.detail}.") from None
