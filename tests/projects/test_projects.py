"""What admins say of a project is checked, kept, and known to the endpoint."""

import pytest
from django.core.exceptions import ValidationError

from profcore.code.code_rules import CodeRuleError
from profcore.code.source_links import TemplateError
from profcore.trace.routes import RouteRuleError
from projects.descriptions import (
    MAX_ROUTE_RULES,
    change_code_rules,
    change_route_rules,
    change_source_link,
    rename_project,
)
from projects.key_cache import find_key
from projects.models import Project
from tests.builders import make_project


@pytest.fixture
def shop(db: None) -> Project:
    return make_project("shop")


def test_a_name_is_kept_and_an_empty_or_long_one_is_not(shop: Project) -> None:
    rename_project(shop, "The shop")
    for wrong in ("", "x" * 121):
        with pytest.raises(ValidationError) as error:
            rename_project(shop, wrong)
        assert list(error.value.message_dict) == ["name"]
    assert Project.objects.get(pk=shop.pk).name == "The shop"


def test_route_rules_hold_at_the_endpoint_at_once(shop: Project) -> None:
    key = shop.keys.get().public_key
    assert find_key(key) is not None  # it is cached
    change_route_rules(shop, ["/product/:sku"])
    config = find_key(key)
    assert config is not None
    assert config.route_rules == ("/product/:sku",)


@pytest.mark.parametrize(
    ("rules", "message"), [(["/a", "b"], "rule 2: it must begin"), (["/a"] * (MAX_ROUTE_RULES + 1), "more than 200")]
)
def test_a_wrong_rule_is_named_and_changes_nothing(shop: Project, rules: list[str], message: str) -> None:
    change_route_rules(shop, ["/kept"])
    with pytest.raises(RouteRuleError, match=message):
        change_route_rules(shop, rules)
    assert Project.objects.get(pk=shop.pk).route_rules == ["/kept"]


def test_code_rules_and_the_source_link_are_checked_before_they_are_kept(shop: Project) -> None:
    change_code_rules(shop, {"parties": [{"domain": "cdn.example", "owner": "own"}]})
    change_source_link(shop, "https://git.example/{path}#L{line}")
    with pytest.raises(CodeRuleError):
        change_code_rules(shop, {"parties": [{"domain": "https://cdn.example", "owner": "own"}]})
    with pytest.raises(TemplateError):
        change_source_link(shop, "https://git.example/")
    project = Project.objects.get(pk=shop.pk)
    assert project.code_rules["parties"][0]["domain"] == "cdn.example"
    assert project.source_link_template.startswith("https://git.example/{path}")
    change_source_link(shop, "")
    assert Project.objects.get(pk=shop.pk).source_link_template == ""
