"""Users: created, invited by a link, deactivated, deleted with what they own handed over; somebody always stays."""

from datetime import UTC, datetime
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from projects.models import Membership, Project, SavedView, SharedLink
from projects.shared_links import create_shared_link
from tests.dashboard.conftest import People
from tests.dashboard.pages.reading import text_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def root(client: Client, people: People) -> Client:
    client.force_login(User.objects.create_superuser("root", password="correct horse"))
    return client


def press(client: Client, user: User, **fields: str) -> str:
    answer: Any = client.post(f"/users/{user.pk}/", fields, follow=True)  # Any: a client's answer
    user.refresh_from_db()
    text: str = answer.content.decode()
    return text


def delete(client: Client, user: User, successor: str = "") -> Any:  # Any: a client's answer
    return client.post(f"/users/{user.pk}/delete/", {"successor": successor, "confirm": user.get_username()})


def test_a_user_is_created_and_opens_the_account_by_a_link(root: Client) -> None:
    page = root.post("/users/", {"username": "dana", "is_superuser": "on"}).content.decode()
    dana = User.objects.get(username="dana")
    assert (dana.is_superuser, dana.has_usable_password()) == (True, False)
    link = page.partition("http://testserver")[2].partition("<")[0].partition('"')[0]
    assert "/account/password/" in link
    visitor = Client()
    form: Any = visitor.get(link, follow=True)  # Any: a client's answer
    fields = {"new_password1": "correct donkey", "new_password2": "correct donkey"}
    assert visitor.post(form.redirect_chain[-1][0], fields).status_code == 302
    assert Client().login(request=form.wsgi_request, username="dana", password="correct donkey")
    assert root.post("/users/", {"username": "DANA"}).status_code == 400


def test_only_superusers_see_and_change_users(client: Client, people: People) -> None:
    client.force_login(people.owner)
    for address in ("/users/", f"/users/{people.member.pk}/", f"/users/{people.member.pk}/delete/"):
        assert client.get(address).status_code == 403
        assert client.post(address, {"deactivate": "1"}).status_code == 403
    assert b"/users/" not in client.get("/projects/").content


def test_the_list_says_who_is_who_and_can_be_searched(root: Client) -> None:
    text = text_of(root, "/users/")
    assert "member user 1 password never" in text
    assert "root (you) superuser 0 password" in text
    assert "owner" not in text_of(root, "/users/?find=memb")
    assert b"/users/" in root.get("/projects/").content


def test_a_deactivated_user_is_out_at_once_and_can_come_back(root: Client, people: People) -> None:
    member = Client()
    member.force_login(people.member)
    assert "is deactivated" in press(root, people.member, deactivate="1")
    assert member.get("/projects/").status_code == 302
    assert "is active again" in press(root, people.member, activate="1")
    member.force_login(people.member)
    assert member.get("/projects/shop/").status_code == 200


def test_a_link_of_a_deactivated_user_shows_nothing(root: Client, people: People, shop: Project) -> None:
    link, clear = create_shared_link(project=shop, creator=people.member, page="", now=datetime.now(UTC))
    guest = Client()
    assert guest.get(f"/shared/{clear}/", follow=True).status_code == 200
    press(root, people.member, deactivate="1")
    assert guest.get(f"/shared/{link.prefix}/projects/shop/").status_code in (403, 404, 410)


def test_the_last_admin_of_a_project_is_not_deactivated(root: Client, people: People) -> None:
    assert "last admin who can log in of: shop" in press(root, people.owner, deactivate="1")
    assert people.owner.is_active


def test_the_last_superuser_stays_and_nobody_demotes_themselves(root: Client, people: People) -> None:
    account = User.objects.get(username="root")
    assert "Another superuser must do that" in press(root, account, demote="1")
    assert "Another superuser must do that" in press(root, account, deactivate="1")
    assert "is a superuser now" in press(root, people.member, promote="1")
    User.objects.filter(pk=people.member.pk).update(is_active=False)
    other = User.objects.create_superuser("other")  # cannot log in: no password
    visitor = Client()
    visitor.force_login(other)
    assert "last superuser who can log in" in press(visitor, account, demote="1")
    assert account.is_superuser
    assert delete(visitor, account).status_code == 400


def test_a_deleted_users_things_go_to_the_successor(root: Client, people: People, shop: Project) -> None:
    now = datetime.now(UTC)
    for name, is_shared in (("ours", True), ("mine", False)):
        SavedView.objects.create(project=shop, user=people.owner, name=name, is_shared=is_shared)
    create_shared_link(project=shop, creator=people.owner, page="", now=now)
    page = root.get(f"/users/{people.owner.pk}/delete/").content.decode()
    assert "the last admin of <b><bdi>The shop" in page
    assert delete(root, people.owner).status_code == 400
    assert delete(root, people.owner, "nobody").status_code == 400
    assert delete(root, people.owner, "owner").status_code == 400
    assert delete(root, people.owner, "member").status_code == 302
    assert not User.objects.filter(username="owner").exists()
    assert Membership.objects.get(project=shop).role == "admin"
    assert list(SavedView.objects.values_list("name", "user__username")) == [("ours", "member")]
    assert SharedLink.objects.get().creator == people.member


def test_a_user_who_owns_nothing_goes_without_a_successor(root: Client, people: People) -> None:
    assert root.post(f"/users/{people.member.pk}/delete/", {"confirm": "x"}).status_code == 400
    assert delete(root, people.member).status_code == 302
    assert root.get(f"/users/{people.member.pk}/").status_code == 404
    assert delete(root, User.objects.get(username="root")).status_code == 400


def test_an_account_that_the_provider_created_can_be_the_other_admin(
    root: Client, people: People, shop: Project, settings: Any
) -> None:
    from projects.members import is_last_admin
    from projects.models import ProviderIdentity

    olga = User.objects.create_user("olga")
    Membership.objects.create(project=shop, user=olga, role="admin")
    ProviderIdentity.objects.create(user=olga, issuer="https://id.example", subject="olga")
    owner = Membership.objects.get(user=people.owner)
    assert is_last_admin(owner)  # nobody can log in by a provider that is not set up
    settings.OIDC_ISSUER = "https://id.example"
    assert not is_last_admin(owner)
