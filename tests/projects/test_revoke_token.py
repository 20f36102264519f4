"""Tokens are listed and revoked from the command line, one by one and in their own project alone."""

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from dashboard.api.core.auth import find_token
from projects.models import ApiToken, Project
from projects.tokens import create_token
from tests.builders import make_project


def run(*arguments: str) -> list[dict[str, Any]]:
    """Returns what the command prints, by line."""
    out = StringIO()
    call_command("revoke_token", *arguments, stdout=out)
    return [json.loads(line) for line in out.getvalue().splitlines()]


@pytest.fixture
def shop(db: None) -> Project:
    return make_project("shop")


@pytest.mark.parametrize("is_whole", [True, False])
def test_a_token_is_revoked_by_its_first_part_and_the_others_live_on(shop: Project, is_whole: bool) -> None:
    (token, clear), (_, other) = create_token(project=shop, name="robot"), create_token(project=shop)
    rows = run("--project", "shop", clear if is_whole else f"ff_{token.prefix}")
    assert [(row["token"], row["name"]) for row in rows] == [(f"ff_{token.prefix}_…", "robot")]
    assert find_token(clear) is None
    assert find_token(other) is not None


def test_without_a_token_the_live_ones_are_listed_and_nothing_changes(shop: Project) -> None:
    names = ["robot", "report"]
    clear = [create_token(project=shop, name=name)[1] for name in names]
    create_token(project=make_project("elsewhere"), name="another project's")
    assert [row["name"] for row in run("--project", "shop")] == names
    run("--project", "shop", clear[0])
    assert [row["name"] for row in run("--project", "shop")] == names[1:]
    assert all(token not in json.dumps(run("--project", "shop")) for token in clear)


def test_a_token_of_another_project_is_not_revoked(shop: Project) -> None:
    token, _ = create_token(project=make_project("elsewhere"))
    with pytest.raises(CommandError, match="no live token"):
        run("--project", "shop", token.prefix)
    assert ApiToken.objects.get(pk=token.pk).revoked_at is None


def test_a_project_that_is_not_there_is_named(db: None) -> None:
    with pytest.raises(CommandError, match="'nowhere'"):
        run("--project", "nowhere")
