"""`code`: a project's rules for its code, with a preview; `matches`: functions that seem to be the same."""

from collections import Counter
from collections.abc import Callable
from typing import Annotated, Any, Final, NamedTuple

from msgspec import field as wire
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request

from aggregate.selectors.functions.matches import select_matches
from aggregate.selectors.previews.code_preview import preview_code
from aggregate.selectors.slice.sides import resolve_sides
from dashboard.api.core.answer import ADMINS_ONLY, Answer, choices, doc, operation
from dashboard.api.core.parameters import SIDE_PARAMS, SLICE_PARAMS
from dashboard.api.core.parts import FuncAnswer
from dashboard.api.core.views import ProjectView
from dashboard.web.access import may_administer
from dashboard.web.params import ParamError, read_changes, read_side
from dashboard.web.project_pages import PageTraits
from profcore.code.code_rules import CodeRuleError, CodeSpec, read_code_rules
from profcore.code.issue_links import check_issue_template
from profcore.code.owners import OwnerRuleError, read_owners
from profcore.code.parties import known_parties
from profcore.code.source_links import TemplateError, check_template
from projects.descriptions import change_code_rules, change_issue_link, change_owners, change_source_link
from projects.models import ApiToken, Project

NO_GROUP: Final = "(none)"


class CodeText(NamedTuple):
    """A text that admins give: what checks it, and what keeps it."""

    check: Callable[[str], object]
    change: Callable[[Project, str], None]


TEXTS: Final = {
    "source_link_template": CodeText(check_template, change_source_link),
    "owner_rules": CodeText(read_owners, change_owners),
    "issue_link_template": CodeText(check_issue_template, change_issue_link),
}
RULES: Final[dict[str, Any]] = {  # Any: a JSON Schema
    "type": "object",
    "properties": {name: {"type": "array", "items": {"type": "object"}} for name in CodeSpec.__struct_fields__},
    "additionalProperties": False,
}
CHANGES: Final[dict[str, Any]] = {  # Any: as above
    "type": "object",
    "properties": {"rules": RULES, **{name: {"type": "string"} for name in TEXTS}},
    "additionalProperties": False,
}
PREVIEWED: Final[dict[str, Any]] = {  # Any: as above
    "type": "object",
    "properties": {"rules": RULES},
    "required": ["rules"],
    "additionalProperties": False,
}


class CodeAnswer(Answer):
    """The project's rules for its code."""

    rules: Annotated[dict[str, Any], doc("categories, parties, packages, same_funcs (docs/identity.md).")]  # Any: JSON
    source_link_template: str
    owner_rules: Annotated[str, doc("Who owns which sources, in the format of CODEOWNERS.")]
    issue_link_template: Annotated[str, doc("The form for a new issue, with `{title}` and `{body}`.")]
    third_parties: Annotated[str, doc("The list of known third parties and its version.")]
    may_change: bool


class ChangeAnswer(Answer):
    """One function now, and with the new rules."""

    kind: Annotated[str, doc("category, package or party.")]
    from_: str | None = wire(name="from")
    to: str | None


class MovedAnswer(Answer):
    function: FuncAnswer
    changes: list[ChangeAnswer]


class CodePreviewAnswer(Answer):
    """How many of the newest functions are in each group now, and with the new rules."""

    function_count: Annotated[int, doc("Those looked at.")]
    before: Annotated[dict[str, dict[str, int]], doc("Number of functions by category, package and party.")]
    after: dict[str, dict[str, int]]
    moved_count: int
    moved: Annotated[list[MovedAnswer], doc("Some of them.")]


class MatchAnswer(Answer):
    """A function that is gone, and one that came: they may be one."""

    from_: FuncAnswer = wire(name="from")
    to: FuncAnswer
    reason: Annotated[Annotated[str, choices(["body", "name"])], doc("What they have in common.")]


class MatchesAnswer(Answer):
    matches: list[MatchAnswer]


class CodeView(ProjectView):
    def get(self, request: Request, slug: str) -> CodeAnswer:
        """The project's rules for its code: categories, parties, packages, same functions; owners and links."""
        return self.answer()

    @operation("change_code", body={"application/json": CHANGES}, errors=ADMINS_ONLY)
    def patch(self, request: Request, slug: str) -> CodeAnswer:
        """Replaces what is given: rules, owners, link templates. For administrators. No stored sums change."""
        if not self.may_change():
            raise PermissionDenied(
                "Only administrators of the project can change its code rules; a token can only read."
            )
        changes = read_changes(request.data, ("rules", *TEXTS))
        if "rules" in changes:
            read_rules(changes["rules"])
        texts = {name: read_text(changes[name], name) for name in TEXTS if name in changes}
        if "rules" in changes:
            change_code_rules(self.project, changes["rules"])
        for name, text in texts.items():
            TEXTS[name].change(self.project, text)
        return self.answer()

    def may_change(self) -> bool:
        reader = self.request.auth if isinstance(self.request.auth, ApiToken) else self.request.user
        return may_administer(reader, self.project)

    def answer(self) -> CodeAnswer:
        listed = known_parties()
        return CodeAnswer(
            rules=self.project.code_rules,
            **{name: getattr(self.project, name) for name in TEXTS},
            third_parties=f"{listed.package} {listed.version} ({listed.licence})",
            may_change=self.may_change(),
        )


class CodePreviewView(ProjectView):
    traits = PageTraits(heavy="yes")
    only_reads = True

    @operation("preview_code", body={"application/json": PREVIEWED})
    def post(self, request: Request, slug: str) -> CodePreviewAnswer:
        """Shows what new rules would change for the project's newest functions. Nothing is stored."""
        rules = read_rules(read_changes(request.data, ("rules",)).get("rules"))
        preview = preview_code(self.project.pk, rules)
        return CodePreviewAnswer.of(
            preview,
            function_count=preview.func_count,
            before={kind: _name_counts(counts) for kind, counts in preview.before.items()},
            after={kind: _name_counts(counts) for kind, counts in preview.after.items()},
            moved=[
                MovedAnswer(
                    FuncAnswer.of(row.func), [ChangeAnswer(kind, *change) for kind, change in row.changes.items()]
                )
                for row in preview.moved
            ],
        )


class MatchesView(ProjectView):
    traits = PageTraits(heavy="yes", on_replica=True)
    known_params = (*SLICE_PARAMS, *SIDE_PARAMS)

    def get(self, request: Request, slug: str) -> MatchesAnswer:
        """Lists gone functions with the new ones that they may be: moved or renamed. An override merges them."""
        params = request.query_params
        base, head = resolve_sides(self.resolve_slice(), read_side(params, "base"), read_side(params, "head"))
        return MatchesAnswer(
            [
                MatchAnswer(FuncAnswer.of(match.gone), FuncAnswer.of(match.came), match.reason)
                for match in select_matches(base, head)
            ]
        )


def read_rules(rules: object) -> Any:  # Any: CodeRules; mypy takes msgspec's fields for Any
    """Returns checked rules. Raises `ParamError`, which names the rule."""
    try:
        return read_code_rules(rules)
    except CodeRuleError as error:
        raise ParamError(f"rules.{error.field}"[:80], error.detail) from None


def read_text(text: object, name: str) -> str:
    """Returns a checked text of the project's code. Raises `ParamError`."""
    if not isinstance(text, str):
        raise ParamError(name, f"{name} must be a text; an empty text means none.")
    try:
        if text:
            TEXTS[name].check(text)
    except (TemplateError, OwnerRuleError) as error:
        raise ParamError(name, f"{name}: {error}.") from None
    return text


def _name_counts(counts: Counter[str | None]) -> dict[str, int]:
    return {name or NO_GROUP: count for name, count in counts.most_common()}
