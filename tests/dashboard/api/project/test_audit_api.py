"""The audit log by the API: for tokens with its scope and for admins, page by page."""

import pytest
from django.test import Client

from projects.limits import change_limits
from projects.models import Project
from projects.tokens import create_token
from tests.dashboard.conftest import People

AUDIT = "/api/v1/projects/shop/audit"


def test_a_token_with_the_scope_reads_what_came_after_an_entry(client: Client, shop: Project) -> None:
    _, clear = create_token(project=shop, scopes=["audit"])
    bearer = {"Authorization": f"Bearer {clear}"}
    first = client.get(AUDIT, headers=bearer).json()
    assert [entry["act"] for entry in first["entries"]] == ["project.created", "token.created"]
    change_limits(shop, {"keep_raw_days": 7})
    second = client.get(f"{AUDIT}?after={first['after']}", headers=bearer).json()
    assert [entry["act"] for entry in second["entries"]] == ["limits.changed"]
    assert client.get(f"{AUDIT}?after={second['after']}", headers=bearer).json()["entries"] == []
    assert client.get(f"{AUDIT}?after=x", headers=bearer).status_code == 400


@pytest.mark.parametrize(("who", "status"), [("owner", 200), ("member", 403), ("stranger", 404)])
def test_admins_read_it_and_no_one_else(client: Client, people: People, who: str, status: int) -> None:
    client.force_login(getattr(people, who))
    assert client.get(AUDIT).status_code == status


def test_a_token_that_reads_numbers_does_not_read_it(client: Client, shop: Project) -> None:
    _, clear = create_token(project=shop)
    answer = client.get(AUDIT, headers={"Authorization": f"Bearer {clear}"})
    assert answer.status_code == 403
    assert answer.json()["detail"] == "This token has the scope read. It needs audit."
