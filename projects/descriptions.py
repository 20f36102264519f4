"""What admins say of a project: its name, routes of pages, rules on code, and links to sources and traces."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from django.db import transaction

from profcore.code.code_rules import read_code_rules
from profcore.code.display_rules import DisplayRules, encode_display_rules
from profcore.code.issue_links import check_issue_template
from profcore.code.owners import read_owners
from profcore.code.source_links import check_template, check_trace_template
from profcore.trace.routes import RouteRuleError, check_rule
from projects.audit.acts import Act
from projects.audit.entries import record
from projects.key_cache import clear_keys
from projects.models import Project

MAX_ROUTE_RULES: Final = 200  # each page of a post is matched against each of them


def rename_project(project: Project, name: str) -> None:
    """Gives a project another name to show; its slug stays. Raises Django's `ValidationError` for `name`."""
    before, project.name = project.name, name
    project.clean_fields(exclude=[field.name for field in Project._meta.fields if field.name != "name"])
    if name != before:
        with transaction.atomic():
            project.save(update_fields=["name"])
            record(Act.PROJECT_RENAMED, project=project, name=name, before=before)


def change_source_link(project: Project, template: str) -> None:
    """Sets the link to the project's sources; an empty text means none. Raises `TemplateError`."""
    _change_link(project, "source_link_template", template, check_template, Act.SOURCE_LINK_CHANGED)


def change_issue_link(project: Project, template: str) -> None:
    """Sets the form for a new issue; an empty text means none. Raises `TemplateError`."""
    _change_link(project, "issue_link_template", template, check_issue_template, Act.ISSUE_LINK_CHANGED)


def change_trace_link(project: Project, template: str) -> None:
    """Sets the link from page views to their traces; an empty text means none. Raises `TemplateError`."""
    _change_link(project, "trace_link_template", template, check_trace_template, Act.TRACE_LINK_CHANGED)


def _change_link(project: Project, field: str, template: str, check: Callable[[str], None], act: Act) -> None:
    if template:
        check(template)
    if template != getattr(project, field):
        setattr(project, field, template)
        with transaction.atomic():
            project.save(update_fields=[field])
            record(act, project=project, template=template)


def change_owners(project: Project, rules: str) -> None:
    """Replaces the owners of a project's sources. Raises `OwnerRuleError`, which names the line."""
    read_owners(rules)
    if rules != project.owner_rules:
        project.owner_rules = rules
        with transaction.atomic():
            project.save(update_fields=["owner_rules"])
            record(Act.OWNERS_CHANGED, project=project, lines=len(rules.splitlines()))


def change_code_rules(project: Project, rules: Any) -> None:  # Any: JSON, checked by its reader
    """Replaces the rules on a project's code. Raises `CodeRuleError`, which names the rule."""
    read_code_rules(rules)
    project.code_rules = rules
    with transaction.atomic():
        project.save(update_fields=["code_rules"])
        record(Act.CODE_RULES_CHANGED, project=project, rules=rules)


def change_display_rules(project: Project, rules: DisplayRules) -> None:
    """Replaces the rules by which a project's functions are shown."""
    project.display_rules = encode_display_rules(rules)
    with transaction.atomic():
        project.save(update_fields=["display_rules"])
        record(Act.DISPLAY_RULES_CHANGED, project=project, rules=project.display_rules)


def change_route_rules(project: Project, rules: Sequence[str]) -> None:
    """Replaces a project's route rules. Within seconds they apply to new arrivals.

    Raises `RouteRuleError`, whose text names the first wrong rule by its number.
    """
    if len(rules) > MAX_ROUTE_RULES:
        raise RouteRuleError(f"{len(rules)} rules are more than {MAX_ROUTE_RULES}")
    for number, rule in enumerate(rules, start=1):
        try:
            check_rule(rule)
        except RouteRuleError as error:
            raise RouteRuleError(f"rule {number}: {error}") from None
    project.route_rules = list(rules)
    with transaction.atomic():
        project.save(update_fields=["route_rules"])
        record(Act.ROUTES_CHANGED, project=project, rules=project.route_rules)
    clear_keys()
