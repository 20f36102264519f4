"""The pages of the log of administration: a project's admins read theirs, superusers that of the server."""

import json
import re

import pytest
from django.contrib.auth.models import User
from django.test import Client

from projects.audit.acts import Act
from projects.audit.entries import record
from projects.limits import change_limits
from projects.models import AuditEntry, Project
from tests.dashboard.conftest import People
from tests.dashboard.pages.reading import HOSTILE, text_of

pytestmark = pytest.mark.django_db
MADE = Act.PROJECT_CREATED  # the entries of the projects that each test has


@pytest.fixture
def owner(client: Client, people: People) -> Client:
    client.force_login(people.owner)
    return client


def test_a_change_by_a_page_is_in_the_log_with_its_user_and_network(owner: Client) -> None:
    owner.post("/projects/shop/settings/", {"name": "The new shop", "source_link_template": ""})
    entry = AuditEntry.objects.get(act=Act.PROJECT_RENAMED)
    assert (entry.actor_kind, entry.actor_name, len(entry.network)) == ("user", "owner", 12)
    text = text_of(owner, "/projects/shop/settings/audit/")
    assert re.search(r"Project renamed \S.* owner name The new shop before The shop", text)


def test_networks_are_told_apart_and_never_named(owner: Client) -> None:
    for name, address in (("a", "192.0.2.7"), ("b", "192.0.2.8"), ("c", "192.0.2.7")):
        owner.post("/projects/shop/settings/", {"name": name, "source_link_template": ""}, REMOTE_ADDR=address)
    first, second, third = AuditEntry.objects.exclude(act=MADE).order_by("pk").values_list("network", flat=True)
    assert first == third != second
    assert "192" not in first + second


def test_the_export_has_a_line_for_each_entry(owner: Client, shop: Project) -> None:
    change_limits(shop, {"keep_raw_days": 7})
    record(Act.ROUTES_CHANGED, project=shop, rules=[])
    response = owner.get("/projects/shop/settings/audit/export/")
    assert response["Content-Type"] == "application/x-ndjson"
    lines = [json.loads(line) for line in response.getvalue().decode().splitlines()]
    assert [line["act"] for line in lines] == ["project.created", "limits.changed", "routes.changed"]
    some = owner.get("/projects/shop/settings/audit/export/?act=routes.changed").getvalue()
    assert some.count(b"\n") == 1


def test_the_page_goes_back_by_hundreds(owner: Client, shop: Project) -> None:
    for number in range(150):
        record(Act.PROJECT_RENAMED, project=shop, name=f"number {number}.")
    page = owner.get("/projects/shop/settings/audit/").content.decode()
    assert "number 149." in page
    assert "number 49." not in page
    oldest = AuditEntry.objects.order_by("-pk")[99].pk
    assert f"?before={oldest}" in page
    assert "number 49." in text_of(owner, f"/projects/shop/settings/audit/?before={oldest}")
    assert "number 149." in text_of(owner, "/projects/shop/settings/audit/?before=nonsense&act=nonsense")


def test_names_are_text(owner: Client, shop: Project) -> None:
    record(Act.PROJECT_RENAMED, project=shop, name=HOSTILE)
    page = owner.get("/projects/shop/settings/audit/").content.decode()
    assert "<script>alert" not in page


def test_members_strangers_and_others_projects_see_none_of_it(client: Client, people: People, shop: Project) -> None:
    record(Act.PROJECT_RENAMED, project=shop, name="secret plan")
    for user, status in ((people.member, 403), (people.stranger, 404)):
        client.force_login(user)
        for address in ("/projects/shop/settings/audit/", "/projects/shop/settings/audit/export/"):
            assert client.get(address).status_code == status
        for address in ("/audit/", "/audit/export/"):
            assert client.get(address).status_code == 403
    client.force_login(people.member)
    assert b"settings/audit/" not in client.get("/projects/shop/settings/").content


def test_a_superuser_sees_the_server_and_no_project_of_others(client: Client, people: People, shop: Project) -> None:
    record(Act.PROJECT_RENAMED, project=shop, name="secret plan")
    record(Act.USER_CREATED, user={"id": 1, "name": "bob"})
    client.force_login(User.objects.create_superuser("root", password="x"))
    text = text_of(client, "/audit/")
    assert "User created" in text
    assert "secret plan" not in text
    exported = client.get("/audit/export/").getvalue().decode()
    assert "secret plan" not in exported
    assert exported.count("\n") == 1


def test_a_password_and_the_end_of_sessions_are_in_the_log(client: Client, people: People) -> None:
    client.force_login(people.member)
    fields = {"old_password": "correct horse", "new_password1": "wrong donkey", "new_password2": "wrong donkey"}
    assert client.post("/account/", fields).status_code == 302
    assert client.post("/account/", {"everywhere": "1", "password": "wrong donkey"}).status_code == 302
    acts = AuditEntry.objects.exclude(act=MADE).order_by("pk").values_list("act", "about__user__name")
    assert list(acts) == [("user.password_set", "member"), ("user.sessions_ended", "member")]
    assert "donkey" not in json.dumps(list(AuditEntry.objects.values_list("about", flat=True)))
