"""Tokens: what their scopes let them do, when they end, and when their use is written."""

from datetime import UTC, datetime, timedelta

import pytest
from django.conf import LazySettings
from django.core.exceptions import ValidationError
from django.test import Client

from dashboard.api.core.auth import find_token
from projects.models import ApiToken, Project
from projects.tokens import NOTE_EVERY, create_token
from tests.builders import make_project

pytestmark = pytest.mark.django_db
API = "/api/v1/projects/shop/"


@pytest.fixture
def project() -> Project:
    return make_project("shop")


def ask(clear: str, address: str) -> int:
    return Client().get(API + address, headers={"Authorization": f"Bearer {clear}"}).status_code


@pytest.mark.parametrize(
    ("scopes", "status", "sourcemaps", "raw"),
    [
        (["read"], 200, 200, 403),
        (["raw"], 200, 200, 404),  # there is no such trace
        (["sourcemaps"], 403, 200, 403),
        (["erase"], 403, 403, 403),
        (["read", "sourcemaps"], 200, 200, 403),
    ],
    ids=str,
)
def test_a_token_does_what_its_scopes_say(
    project: Project, scopes: list[str], status: int, sourcemaps: int, raw: int
) -> None:
    _, clear = create_token(project=project, scopes=scopes)
    trace = "traces/0e5f7a54-2f0d-5c0b-8f0e-3b1f2a9d7c11/raw"
    assert [ask(clear, address) for address in ("status", "sourcemaps", trace)] == [status, sourcemaps, raw]


def test_a_token_ends_and_so_do_links_made_with_it(project: Project) -> None:
    token, clear = create_token(project=project, days=1)
    assert ask(clear, "status") == 200
    ApiToken.objects.filter(pk=token.pk).update(expires_at=datetime.now(UTC) - timedelta(seconds=1))
    assert ask(clear, "status") == 401


def test_a_server_can_bound_the_life_of_new_tokens(project: Project, settings: LazySettings) -> None:
    assert create_token(project=project)[0].expires_at is None
    settings.TOKEN_MAX_DAYS = 30
    expires_at = create_token(project=project)[0].expires_at
    assert expires_at is not None
    assert expires_at <= datetime.now(UTC) + timedelta(days=30)
    with pytest.raises(ValidationError, match="1 to 30 days"):
        create_token(project=project, days=31)
    for scopes in ([], ["root"]):
        with pytest.raises(ValidationError, match="scope"):
            create_token(project=project, scopes=scopes)


def test_the_last_use_is_written_once_in_some_minutes(project: Project) -> None:
    token, clear = create_token(project=project)
    assert find_token(clear) == token
    first = ApiToken.objects.get().last_used_at
    assert first is not None
    find_token(clear)
    assert ApiToken.objects.get().last_used_at == first
    ApiToken.objects.update(last_used_at=first - NOTE_EVERY)
    find_token(clear)
    assert ApiToken.objects.get().last_used_at >= first  # type: ignore[operator]  # it is noted
