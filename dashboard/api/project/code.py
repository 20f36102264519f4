"""`code`: a project's rules for its code, with a preview; `matches`: functions that seem to be the same."""

from typing import Any, Final

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response

from aggregate.selectors.functions.matches import FuncMatch, select_matches
from aggregate.selectors.previews.code_preview import CodePreview, preview_code
from aggregate.selectors.slice.sides import SIDE_FIELDS, resolve_sides
from aggregate.selectors.slice.slices import SLICE_FIELDS
from dashboard.api.core.parameters import ERRORS, SIDE_PARAMS, SLICE_PARAMS
from dashboard.api.core.views import ProjectView
from dashboard.api.slices.drilldown_schemas import FuncShape, encode_func
from dashboard.web.access import may_administer
from dashboard.web.params import ParamError, read_changes, read_side
from dashboard.web.schemas import Json, Shape, define_shape
from profcore.code.code_rules import CodeRuleError, CodeSpec, read_code_rules
from profcore.code.parties import known_parties
from profcore.code.source_links import TemplateError, check_template
from projects.descriptions import change_code_rules, change_source_link
from projects.models import ApiToken

NO_GROUP: Final = "(none)"
RULES: Final[dict[str, Any]] = {  # Any: a JSON Schema
    "type": "object",
    "properties": {name: {"type": "array", "items": {"type": "object"}} for name in CodeSpec.__struct_fields__},
    "additionalProperties": False,
}
CHANGES: Final[dict[str, Any]] = {  # Any: as above
    "type": "object",
    "properties": {"rules": RULES, "source_link_template": {"type": "string"}},
    "additionalProperties": False,
}
PREVIEWED: Final[dict[str, Any]] = {  # Any: as above
    "type": "object",
    "properties": {"rules": RULES},
    "required": ["rules"],
    "additionalProperties": False,
}


class CodeShape(Shape):
    """The project's rules for its code."""

    rules = serializers.DictField(help_text="categories, parties, packages, same_funcs (docs/identity.md).")
    source_link_template = serializers.CharField(allow_blank=True)
    third_parties = serializers.CharField(help_text="The list of known third parties and its version.")
    may_change = serializers.BooleanField()


ChangeShape = define_shape(
    "ChangeShape",
    "One function now, and with the new rules.",
    {
        "kind": serializers.CharField(help_text="category, package or party."),
        "from": serializers.CharField(allow_null=True),
        "to": serializers.CharField(allow_null=True),
    },
)


class MovedShape(Shape):
    function = FuncShape()
    changes = ChangeShape(many=True)


class PreviewShape(Shape):
    """How many of the newest functions are in each group now, and with the new rules."""

    function_count = serializers.IntegerField(help_text="Those looked at.")
    before = serializers.DictField(help_text="Number of functions by category, package and party.")
    after = serializers.DictField()
    moved_count = serializers.IntegerField()
    moved = MovedShape(many=True, help_text="Some of them.")


MatchShape = define_shape(
    "MatchShape",
    "A function that is gone, and one that came: they may be one.",
    {
        "from": FuncShape(),
        "to": FuncShape(),
        "reason": serializers.ChoiceField(["body", "name"], help_text="What they have in common."),
    },
)


class MatchesShape(Shape):
    matches = MatchShape(many=True)


class CodeView(ProjectView):
    @extend_schema(operation_id="code", responses={200: CodeShape, **ERRORS})
    def get(self, request: Request, slug: str) -> Response:
        """The project's rules for its code: categories, parties, packages, same functions, source links."""
        return Response(self.encode())

    @extend_schema(
        operation_id="change_code",
        request={"application/json": CHANGES},
        responses={
            200: CodeShape,
            **ERRORS,
            403: OpenApiResponse(
                description="Only administrators with a session can change it; a token can only read."
            ),
        },
    )
    def patch(self, request: Request, slug: str) -> Response:
        """Replaces the rules, the link template, or both. For administrators. No stored sums change."""
        if not self.may_change():
            raise PermissionDenied(
                "Only administrators of the project can change its code rules; a token can only read."
            )
        changes = read_changes(request.data, ("rules", "source_link_template"))
        if "rules" in changes:
            read_rules(changes["rules"])
        if "source_link_template" in changes:
            read_template(changes["source_link_template"])
        if "rules" in changes:
            change_code_rules(self.project, changes["rules"])
        if "source_link_template" in changes:
            change_source_link(self.project, changes["source_link_template"])
        return Response(self.encode())

    def may_change(self) -> bool:
        reader = self.request.auth if isinstance(self.request.auth, ApiToken) else self.request.user
        return may_administer(reader, self.project)

    def encode(self) -> Json:
        listed = known_parties()
        return {
            "rules": self.project.code_rules,
            "source_link_template": self.project.source_link_template,
            "third_parties": f"{listed.package} {listed.version} ({listed.licence})",
            "may_change": self.may_change(),
        }


class CodePreviewView(ProjectView):
    @extend_schema(
        operation_id="preview_code",
        request={"application/json": PREVIEWED},
        responses={200: PreviewShape, **ERRORS},
    )
    def post(self, request: Request, slug: str) -> Response:
        """Shows what new rules would change for the project's newest functions. Nothing is stored."""
        changes = read_changes(request.data, ("rules",))
        rules = read_rules(changes.get("rules"))
        return Response(encode_preview(preview_code(self.project.pk, rules)))


class MatchesView(ProjectView):
    known_params = (*SLICE_FIELDS, *SIDE_FIELDS)

    @extend_schema(
        operation_id="matches",
        parameters=[
            *SLICE_PARAMS,
            *SIDE_PARAMS,
        ],
        responses={200: MatchesShape, **ERRORS},
    )
    def get(self, request: Request, slug: str) -> Response:
        """Lists gone functions with the new ones that they may be: moved or renamed. An override merges them."""
        common = self.resolve_slice()
        params = request.query_params
        base, head = resolve_sides(common, read_side(params, "base"), read_side(params, "head"))
        return Response({"matches": [encode_match(match) for match in select_matches(base, head)]})


def read_rules(rules: object) -> Any:  # Any: CodeRules; mypy takes msgspec's fields for Any
    """Returns checked rules. Raises `ParamError`, which names the rule."""
    try:
        return read_code_rules(rules)
    except CodeRuleError as error:
        raise ParamError(f"rules.{error.field}"[:80], error.detail) from None


def read_template(template: object) -> str:
    if not isinstance(template, str):
        raise ParamError("source_link_template", "source_link_template must be a text; an empty text means no links.")
    try:
        if template:
            check_template(template)
    except TemplateError as error:
        raise ParamError("source_link_template", f"source_link_template: {error}.") from None
    return template


def encode_preview(preview: CodePreview) -> Json:
    return {
        "function_count": preview.func_count,
        "before": {kind: _encode_counts(counts) for kind, counts in preview.before.items()},
        "after": {kind: _encode_counts(counts) for kind, counts in preview.after.items()},
        "moved_count": preview.moved_count,
        "moved": [
            {
                "function": encode_func(moved.func),
                "changes": [{"kind": kind, "from": was, "to": will} for kind, (was, will) in moved.changes.items()],
            }
            for moved in preview.moved
        ],
    }


def _encode_counts(counts: Any) -> dict[str, int]:  # Any: a Counter
    return {name or NO_GROUP: count for name, count in counts.most_common()}


def encode_match(match: FuncMatch) -> Json:
    return {"from": encode_func(match.gone), "to": encode_func(match.came), "reason": match.reason}
