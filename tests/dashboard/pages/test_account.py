"""One's own account: a new password, and the end of other sessions."""

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.test import Client, RequestFactory

from dashboard.pages import account
from projects.models import Membership, Project
from tests.dashboard.conftest import People

ADDRESS = "/account/"


def test_the_header_leads_there_and_a_login_is_needed(member: Client) -> None:
    assert f'href="{ADDRESS}"' in member.get("/projects/").content.decode()
    assert Client().get(ADDRESS)["Location"].startswith("/login/")


def test_a_new_password_ends_the_other_sessions_and_keeps_this_one(member: Client, people: People) -> None:
    other = Client()
    other.force_login(people.member)
    fields = {"old_password": "correct horse", "new_password1": "battery staple", "new_password2": "battery staple"}
    answer = member.post(ADDRESS, fields, follow=True)
    assert answer.redirect_chain == [(ADDRESS, 302)]
    assert "Your password is changed" in answer.content.decode()
    assert member.get("/projects/").status_code == 200
    assert other.get("/projects/").status_code == 302
    assert Client().post("/login/", {"username": "member", "password": "battery staple"})["Location"] == "/projects/"


def test_a_wrong_or_weak_password_changes_nothing(member: Client, people: People) -> None:
    for old, new in (("wrong", "battery staple"), ("correct horse", "short")):
        answer = member.post(ADDRESS, {"old_password": old, "new_password1": new, "new_password2": new})
        assert answer.status_code == 400
        assert "errorlist" in answer.content.decode()
    people.member.refresh_from_db()
    assert people.member.check_password("correct horse")


def test_all_other_sessions_end_by_the_password_alone(member: Client, people: People) -> None:
    other = Client()
    other.force_login(people.member)
    refused = member.post(ADDRESS, {"password": "wrong", "everywhere": "1"})
    assert "Wrong password." in refused.content.decode()
    assert other.get("/projects/").status_code == 200
    answer = member.post(ADDRESS, {"password": "correct horse", "everywhere": "1"}, follow=True)
    assert "All your other sessions have ended." in answer.content.decode()
    assert member.get("/projects/").status_code == 200
    assert other.get("/projects/").status_code == 302
    assert Client().post("/login/", {"username": "member", "password": "correct horse"})["Location"] == "/projects/"


def test_a_link_that_several_use_at_the_same_moment_sets_one_password(
    people: People, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = RequestFactory().get("/")
    request.user = people.owner
    link = account.write_password_link(request, people.member)
    first, second = Client(), Client()
    pages = [client.get(link, follow=True).redirect_chain[-1][0] for client in (first, second)]
    asked = account.SetPassword.get_form_kwargs
    others: list[HttpResponse] = []

    def come_in_between(view: account.SetPassword) -> dict[str, Any]:
        if not others:
            others.append(HttpResponse())
            words = {"new_password1": "stapled battery", "new_password2": "stapled battery"}
            others.append(second.post(pages[1], words))  # type: ignore[arg-type]  # it is one
        return asked(view)

    monkeypatch.setattr(account.SetPassword, "get_form_kwargs", come_in_between)
    answer = first.post(pages[0], {"new_password1": "horses battery", "new_password2": "horses battery"})
    assert (others[1].status_code, answer.status_code) == (302, 200)
    people.member.refresh_from_db()
    assert people.member.check_password("stapled battery")


def test_forms_from_elsewhere_are_refused(people: People) -> None:
    careful = Client(enforce_csrf_checks=True)
    careful.force_login(people.member)
    assert careful.post(ADDRESS, {"password": "correct horse", "everywhere": "1"}).status_code == 403


def test_the_page_of_a_new_account_says_what_its_link_is(client: Client, shop: Project) -> None:
    root = User.objects.create_superuser("root")
    Membership.objects.create(project=shop, user=root, role="admin")
    client.force_login(root)
    made = client.post("/projects/shop/settings/members/", {"username": "dana", "role": "member", "create": "on"})
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]*>", "", made.content.decode()))
    assert "Send this link to dana. It sets the password, works once and expires in 3 days." in text
