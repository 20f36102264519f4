"""No one fills the log, which cannot be shortened: acts of a user or token are bounded by the hour."""

import pytest
from django.test import Client

from projects.audit import entries
from projects.audit.actors import SERVER, Actor, ActorKind, acting_as
from projects.audit.acts import Act
from projects.audit.entries import TooManyActs
from projects.descriptions import rename_project
from projects.models import AuditEntry, Project
from tests.dashboard.conftest import People

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _two_an_hour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entries, "ACTS_PER_HOUR", 2)


def test_an_act_too_many_is_taken_back_and_others_act_on(shop: Project) -> None:
    anna, token = Actor(ActorKind.USER, 7), Actor(ActorKind.TOKEN, 7)
    with acting_as(lambda: anna):
        rename_project(shop, "One")
        rename_project(shop, "Two")
        with pytest.raises(TooManyActs, match="At most 2 changes an hour") as caught:
            rename_project(shop, "Three")
    assert 0 < caught.value.wait_s <= 3_600
    assert Project.objects.get(pk=shop.pk).name == "Two"
    for actor in (token, SERVER, Actor(ActorKind.COMMAND)):
        with acting_as(lambda actor=actor: actor):  # type: ignore[misc]  # its default is its type
            rename_project(shop, f"By {actor.kind}")
    assert AuditEntry.objects.filter(act=Act.PROJECT_RENAMED).count() == 5


def test_a_page_and_the_api_answer_429_with_a_sentence(shop: Project, people: People) -> None:
    client = Client()
    client.force_login(people.owner)
    fields = {"source_link_template": ""}
    for name in ("One", "Two"):
        assert client.post("/projects/shop/settings/", {"name": name, **fields}).status_code == 302
    refused = client.post("/projects/shop/settings/", {"name": "Three", **fields})
    assert (refused.status_code, "At most 2 changes an hour" in refused.content.decode()) == (429, True)
    answer = client.patch(
        "/api/v1/projects/shop/code",
        {"source_link_template": "https://git.example/{path}"},
        content_type="application/json",
    )
    assert (answer.status_code, "At most 2 changes an hour" in answer.json()["detail"]) == (429, True)
    assert int(answer["Retry-After"]) > 0
    assert Project.objects.get(pk=shop.pk).source_link_template == ""
