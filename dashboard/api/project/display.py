"""`display`: a project's rules on how functions are shown, with a preview."""

from typing import Any, Final

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response

from aggregate.selectors.previews.display_preview import DisplayPreview, PreviewRow, preview_display
from dashboard.api.core.encoding import encode_shown, shown_fields
from dashboard.api.core.parameters import ERRORS
from dashboard.api.core.views import ProjectView
from dashboard.web.access import may_administer, reader_of
from dashboard.web.params import ParamError, read_changes
from dashboard.web.schemas import Json, Shape, define_shape
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


class DisplayRulesShape(Shape):
    """How functions are shown: the first rule that fits decides."""

    rules = serializers.ListField(
        child=serializers.DictField(), help_text="action, field, pattern, title, colour (docs/display-rules.md)."
    )
    may_change = serializers.BooleanField()


class RuleEffectShape(Shape):
    """What one rule would do."""

    function_count = serializers.IntegerField(help_text="Functions that it decides.")
    fitting_count = serializers.IntegerField(
        help_text="Functions that the rule matches; an earlier rule may decide some of them."
    )
    self_ms = serializers.FloatField(help_text="Self time of the functions that it decides.")


PreviewRowShape = define_shape(
    "DisplayPreviewRowShape",
    "A row of the table, and how many functions it shows.",
    {
        "id": serializers.CharField(),
        "label": serializers.CharField(),
        "category": serializers.CharField(allow_null=True),
        **shown_fields(),
        "rule": serializers.IntegerField(allow_null=True, help_text="The rule that decides, from 0."),
        "is_changed": serializers.BooleanField(
            help_text="Whether the other table shows it differently, or not at all."
        ),
        "function_count": serializers.IntegerField(),
        "self_ms": serializers.FloatField(),
        "hidden_ms": serializers.FloatField(),
        "self_share": serializers.FloatField(allow_null=True, help_text="Of the project's JS time."),
    },
)


class DisplayPreviewShape(Shape):
    """The first rows of the project's table over all time, now and with the new rules."""

    function_count = serializers.IntegerField(help_text="Functions as they are stored.")
    before_count = serializers.IntegerField(help_text="Rows in which they are shown now.")
    after_count = serializers.IntegerField(help_text="Rows in which the new rules would show them.")
    rules = RuleEffectShape(many=True, help_text="In their order.")
    before = PreviewRowShape(many=True)
    after = PreviewRowShape(many=True)


class DisplayView(ProjectView):
    @extend_schema(operation_id="display", responses={200: DisplayRulesShape, **ERRORS})
    def get(self, request: Request, slug: str) -> Response:
        """The project's display rules."""
        return Response(self.encode())

    @extend_schema(
        operation_id="change_display",
        request={"application/json": RULES},
        responses={
            200: DisplayRulesShape,
            **ERRORS,
            403: OpenApiResponse(
                description="Only administrators with a session can change it; a token can only read."
            ),
        },
    )
    def put(self, request: Request, slug: str) -> Response:
        """Replaces the rules. For administrators. No stored sums change."""
        if not self.may_change():
            raise PermissionDenied(
                "Only administrators of the project can change its display rules; a token can only read."
            )
        rules = read_rules(read_changes(request.data, ("rules",)))
        change_display_rules(self.project, rules)
        return Response(self.encode())

    def may_change(self) -> bool:
        return may_administer(reader_of(self.request), self.project)

    def encode(self) -> Json:
        return {"rules": self.project.display_rules, "may_change": self.may_change()}


class DisplayPreviewView(ProjectView):
    @extend_schema(
        operation_id="preview_display",
        request={"application/json": RULES},
        responses={200: DisplayPreviewShape, **ERRORS},
    )
    def post(self, request: Request, slug: str) -> Response:
        """Shows what new rules would change. Nothing is stored."""
        rules = read_rules(read_changes(request.data, ("rules",)))
        return Response(encode_preview(preview_display(self.project.pk, rules)))


def read_rules(changes: dict[str, Any]) -> DisplayRules:  # Any: JSON, checked here
    """Returns the rules of a body. Raises `ParamError`, which names the rule and its field."""
    if "rules" not in changes:
        raise ParamError("rules", "rules must be a list of rules; an empty list means no rules.")
    try:
        return read_display_rules(changes["rules"])
    except DisplayRuleError as error:
        place = f"rules{error.field}" if error.field.startswith("[") else "rules"
        raise ParamError(place, f"{place} {error.detail}.") from None


def encode_preview(preview: DisplayPreview) -> Json:
    return {
        "function_count": preview.stored_count,
        "before_count": preview.before_count,
        "after_count": preview.after_count,
        "rules": [
            {"function_count": effect.decided, "fitting_count": effect.fits, "self_ms": effect.self_us / 1000}
            for effect in preview.effects
        ],
        "before": [_encode_row(row, preview.js_us) for row in preview.before],
        "after": [_encode_row(row, preview.js_us) for row in preview.after],
    }


def _encode_row(found: PreviewRow, js_us: int) -> Json:
    row = found.row
    return {
        "id": str(row.id),
        "label": row.label,
        "category": row.category,
        **encode_shown(row),
        "rule": row.shown.rule if row.shown else None,
        "is_changed": found.is_changed,
        "function_count": found.func_count,
        "self_ms": row.self_us / 1000,
        "hidden_ms": row.hidden_us / 1000,
        "self_share": row.self_us / js_us if js_us else None,
    }
