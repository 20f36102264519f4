"""Members: added, promoted, removed; the last admin stays; new accounts are opened by links shown once."""

import re

import pytest
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.test import Client

from projects.models import Membership, Project
from tests.builders import make_project
from tests.dashboard.conftest import People
from tests.dashboard.pages.settings.conftest import SETTINGS, follow, read, send, text_in


@pytest.fixture
def root(people: People) -> Client:
    """A client of a superuser who is an admin of the shop too."""
    user = User.objects.create_superuser("root")
    Membership.objects.create(project=Project.objects.get(slug="shop"), user=user, role="admin")
    client = Client()
    client.force_login(user)
    return client


def roles(project: Project) -> dict[str, str]:
    return dict(Membership.objects.filter(project=project).values_list("user__username", "role"))


def id_of(name: str) -> int:
    return Membership.objects.get(project__slug="shop", user__username=name).pk


def link_in(response: HttpResponse) -> str:
    """Returns the path of the link that is shown."""
    match = re.search(r"http://testserver(/account/password/[^<]*)", response.content.decode())
    assert match, text_in(response)
    return match[1]


def test_an_admin_adds_somebody_by_the_exact_name(owner: Client, shop: Project) -> None:
    assert "stranger is now a member of the project." in follow(owner, "members/", username="stranger", role="member")
    assert roles(shop) == {"owner": "admin", "member": "member", "stranger": "member"}
    for name, sentence in (("Stranger", "No account is called Stranger."), ("member", "member is a member already")):
        response = send(owner, "members/", username=name, role="admin")
        assert response.status_code == 400
        assert sentence in text_in(response)
    assert roles(shop)["member"] == "member"


def test_roles_change_but_the_last_admins(owner: Client, shop: Project) -> None:
    last = "owner is the project’s last admin who can log in. Make another member an admin first: one who has"
    assert last in follow(owner, f"members/{id_of('owner')}/role/", role="member")
    assert "You are the project’s last admin" in read(owner, f"members/{id_of('owner')}/remove/")
    assert last in follow(owner, f"members/{id_of('owner')}/remove/")
    assert "member is now an admin." in follow(owner, f"members/{id_of('member')}/role/", role="admin")
    assert "Choose a role." in follow(owner, f"members/{id_of('member')}/role/", role="root")
    assert roles(shop) == {"owner": "admin", "member": "admin"}


def test_a_member_is_removed_after_a_question_and_finds_nothing_any_more(owner: Client, member: Client) -> None:
    address = f"members/{id_of('member')}/remove/"
    assert "API tokens belong to the project and stay active." in read(owner, address)
    assert member.get(SETTINGS).status_code == 200
    assert "member is no longer a member." in follow(owner, address)
    assert member.get(SETTINGS).status_code == 404


def test_an_admin_who_leaves_lands_at_his_projects(owner: Client, shop: Project) -> None:
    follow(owner, f"members/{id_of('member')}/role/", role="admin")
    response = owner.post(f"{SETTINGS}members/{id_of('owner')}/remove/", follow=True)
    assert response.redirect_chain == [("/projects/", 302)]
    assert "You have left The shop." in response.content.decode()
    assert roles(shop) == {"member": "admin"}


def test_only_superusers_make_accounts_and_links(owner: Client, shop: Project) -> None:
    response = send(owner, "members/", username="new", role="member", create="on")
    assert "only superusers can create accounts" in text_in(response)
    assert not User.objects.filter(username="new").exists()
    for method in (owner.get, owner.post):
        assert method(f"{SETTINGS}members/{id_of('member')}/link/").status_code == 403


def test_a_superuser_makes_an_account_which_its_link_opens_once(root: Client, shop: Project) -> None:
    asked = text_in(send(root, "members/", username="new", role="member"))
    assert "Tick the box below" in asked
    made = send(root, "members/", username="new", role="member", create="on")
    assert roles(shop)["new"] == "member"
    assert "no-store" in made["Cache-Control"]
    assert "has not set a password yet" in read(root, "members/")
    link = link_in(made)
    visitor = Client()
    form = visitor.get(link, follow=True)
    assert "For the account new" in text_in(form)  # type: ignore[arg-type]  # the client's own response
    where = form.redirect_chain[-1][0]
    weak = visitor.post(where, {"new_password1": "abc", "new_password2": "abc"})
    assert "too short" in weak.content.decode()
    done = visitor.post(where, {"new_password1": "long enough 7", "new_password2": "long enough 7"}, follow=True)
    assert "Your password is set." in done.content.decode()
    visitor.post("/login/", {"username": "new", "password": "long enough 7"})
    assert visitor.get(SETTINGS).status_code == 200
    assert "This link has expired" in Client().get(link, follow=True).content.decode()


def test_a_superuser_makes_a_link_for_a_forgotten_password(root: Client, people: People) -> None:
    address = f"members/{id_of('member')}/link/"
    assert "It works once" in read(root, address)
    link = link_in(send(root, address))
    assert people.member.check_password("correct horse")
    assert "For the account member" in Client().get(link, follow=True).content.decode().replace("<b>", "").replace(
        "</b>", ""
    )


def make_bare_shop() -> tuple[Project, Client]:
    """Returns a project without members, and a client of a superuser."""
    client = Client()
    client.force_login(User.objects.create_superuser("root", password="correct horse"))
    return make_project("shop"), client


@pytest.mark.parametrize("role", ["member", "admin"])
def test_a_superuser_who_adds_the_first_member_stays_as_an_admin(db: None, role: str) -> None:
    project, client = make_bare_shop()
    User.objects.create_user("ann")
    assert "you become an admin too" in read(client, "members/")
    page = follow(client, "members/", username="ann", role=role)
    assert "You were added as an admin, so that you keep access" in page
    assert roles(project) == {"ann": role, "root": "admin"}
    assert client.get(SETTINGS).status_code == 200
    page = follow(client, f"members/{id_of('ann')}/role/", role="admin")
    assert "You were added" not in page


def test_a_superuser_who_makes_the_first_account_stays_as_an_admin(db: None) -> None:
    project, client = make_bare_shop()
    made = send(client, "members/", username="dana", role="admin", create="on")
    assert "You were added as an admin" in text_in(made)
    assert link_in(made)
    assert roles(project) == {"dana": "admin", "root": "admin"}


def test_a_superuser_may_be_the_first_member_as_an_admin_only(db: None) -> None:
    project, client = make_bare_shop()
    assert "The first member must be an admin" in text_in(send(client, "members/", username="root", role="member"))
    assert "root is now an admin of the project." in follow(client, "members/", username="root", role="admin")
    assert roles(project) == {"root": "admin"}


def test_an_admin_without_a_password_is_not_enough_to_leave(db: None) -> None:
    project, client = make_bare_shop()
    send(client, "members/", username="dana", role="admin", create="on")
    last = "root is the project’s last admin who can log in. Make another member an admin first: one who has set"
    assert last in follow(client, f"members/{id_of('root')}/remove/")
    assert last in follow(client, f"members/{id_of('root')}/role/", role="member")
    assert roles(project) == {"dana": "admin", "root": "admin"}


def test_a_hostile_name_is_text(owner: Client, shop: Project) -> None:
    user = User.objects.create_user("<b>\u202ex")
    Membership.objects.create(project=shop, user=user)
    page = owner.get(SETTINGS + "members/").content.decode()
    assert "<b>\u202e" not in page
    assert "&lt;b&gt;⟨U+202E⟩x" in page
