"""What a project's admins say of it: its name, the routes of its pages, its code, and where that is read."""

from collections.abc import Sequence
from typing import Any, Final

from ingest.keys import forget_keys
from ingest.models import Project
from profcore.code_rules import read_code_rules
from profcore.routes import RouteRuleError, check_rule
from profcore.source_links import check_template

MAX_ROUTE_RULES: Final = 200  # each page of a post is held against each of them


def rename_project(project: Project, name: str) -> None:
    """Gives a project another name to show; its slug stays. Raises Django's `ValidationError` for `name`."""
    project.name = name
    project.clean_fields(exclude=[field.name for field in Project._meta.fields if field.name != "name"])
    project.save(update_fields=["name"])


def change_source_link(project: Project, template: str) -> None:
    """Says where a person reads the project's sources; an empty text: nowhere. Raises `TemplateError`."""
    if template:
        check_template(template)
    project.source_link_template = template
    project.save(update_fields=["source_link_template"])


def change_code_rules(project: Project, rules: Any) -> None:  # Any: JSON, checked by its reader
    """Replaces the rules on a project's code. Raises `CodeRuleError`, which names the rule."""
    read_code_rules(rules)
    project.code_rules = rules
    project.save(update_fields=["code_rules"])


def change_route_rules(project: Project, rules: Sequence[str]) -> None:
    """Replaces a project's route rules: they hold for what arrives from now on, within seconds.

    Raises `RouteRuleError`, whose text names the first rule that is wrong by its number.
    """
    if len(rules) > MAX_ROUTE_RULES:
        raise RouteRuleError(f"{len(rules)} rules are more than {MAX_ROUTE_RULES}")
    for number, rule in enumerate(rules, start=1):
        try:
            check_rule(rule)
        except RouteRuleError as error:
            raise RouteRuleError(f"rule {number}: {error}") from None
    project.route_rules = list(rules)
    project.save(update_fields=["route_rules"])
    forget_keys()
