"""Tokens: made with scopes and an end, shown once, revoked after a question."""

from datetime import UTC, datetime
from typing import Any

import pytest
from django.test import Client

from dashboard.api.core.auth import find_token
from projects.models import ApiToken, Project
from projects.tokens import create_token
from tests.builders import make_project
from tests.dashboard.pages.settings.conftest import SETTINGS, follow, read, send, text_in


@pytest.mark.parametrize(
    ("scopes", "granted", "address"),
    [
        (["read"], ["read"], "/api/v1/projects/shop/status"),
        (["raw"], ["read", "raw"], "/api/v1/projects/shop/status"),
        (["sourcemaps"], ["sourcemaps"], "/api/v1/projects/shop/sourcemaps"),
        (["sourcemaps", "read"], ["read", "sourcemaps"], "/api/v1/projects/shop/status"),
    ],
    ids=str,
)
def test_a_token_is_shown_once_with_a_command_that_works(
    owner: Client, shop: Project, scopes: list[str], granted: list[str], address: str
) -> None:
    response: Any = owner.post(SETTINGS + "tokens/", {"name": "CI", "scopes": scopes, "days": "90"})  # Any: a client's
    made = ApiToken.objects.get(project=shop)
    assert (made.name, made.scopes) == ("CI", granted)
    assert made.expires_at is not None
    assert 89 <= (made.expires_at - datetime.now(UTC)).days <= 90
    text = text_in(response)
    clear = text.partition("Authorization: Bearer ")[2].partition("'")[0]
    assert find_token(clear) == made
    assert f"http://testserver{address}" in text
    assert "no-store" in response["Cache-Control"]
    assert Client().get(address, headers={"Authorization": f"Bearer {clear}"}).status_code == 200
    secret = clear.removeprefix(f"ff_{made.prefix}_")  # an underscore may be in it
    assert secret not in read(owner, "tokens/")
    assert f"ff_{made.prefix}_" in read(owner, "tokens/")


def test_a_token_needs_a_name_and_a_scope_there_is(owner: Client, shop: Project) -> None:
    response = send(owner, "tokens/", name="", scopes="root")
    assert response.status_code == 400
    assert "This field is required." in text_in(response)
    assert "root is not one of the available choices" in text_in(response)
    assert not ApiToken.objects.filter(project=shop).exists()


def test_a_token_is_revoked_after_a_question(owner: Client, shop: Project) -> None:
    token, clear = create_token(project=shop, name="CI")
    assert "get status 401 immediately" in read(owner, f"tokens/{token.prefix}/revoke/")
    assert find_token(clear) is not None
    text = follow(owner, f"tokens/{token.prefix}/revoke/")
    assert "The token is revoked" in text
    assert "1 ended token" in text
    assert find_token(clear) is None
    assert owner.post(f"{SETTINGS}tokens/{token.prefix}/revoke/").status_code == 404


def test_a_token_of_another_project_is_not_found(owner: Client) -> None:
    token, clear = create_token(project=make_project("other"))
    assert owner.post(f"{SETTINGS}tokens/{token.prefix}/revoke/").status_code == 404
    assert find_token(clear) is not None
