"""Logins by a provider, against a real one: accounts, groups, links, refusals, and what a forged answer gains."""

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.utils import timezone
from pytest_django.live_server_helper import LiveServer

from dashboard.web.logins import provider as client
from projects.accounts.group_roles import GroupRole
from projects.members import is_last_admin
from projects.models import AuditEntry, Membership, Project, ProviderIdentity
from tests.builders import make_project
from tests.dashboard.pages.logins.provider import Provider, Visitor, run_provider

pytestmark = [pytest.mark.slow(30), pytest.mark.django_db(transaction=True)]
PEOPLE: Final[dict[str, dict[str, Any]]] = {
    "anna": {"preferred_username": "anna", "groups": ["shop-admins"]},
    "bob": {"preferred_username": "bob", "groups": ["shop-team"]},
    "eve": {"preferred_username": "eve", "groups": ["others"]},
    "olga": {"preferred_username": "olga", "groups": ["ops"]},
}
ROLES: Final = [
    GroupRole("shop-admins", "shop", "admin"),
    GroupRole("shop-team", "shop", "member"),
    GroupRole("ops", "", "superuser"),
]


@pytest.fixture(scope="module")
def running(live_server: LiveServer) -> Iterator[Provider]:
    with run_provider(f"{live_server.url}/login/provider/return/", PEOPLE) as provider:
        yield provider


@pytest.fixture
def provider(running: Provider, settings: LazySettings, monkeypatch: pytest.MonkeyPatch) -> Provider:
    settings.OIDC_ISSUER = running.issuer
    settings.OIDC_CLIENT_ID, settings.OIDC_CLIENT_SECRET = "fieldflame", "a secret of tests"
    settings.OIDC_ROLES = ROLES
    settings.AUTHENTICATION_BACKENDS = [*settings.AUTHENTICATION_BACKENDS, f"{client.__name__}.ProviderBackend"]
    monkeypatch.setattr(client, "_client", None)
    running.change(PEOPLE)
    return running


@pytest.fixture
def site(provider: Provider, live_server: LiveServer) -> str:
    return live_server.url


@pytest.fixture
def shop() -> Project:
    return make_project("shop", name="The shop")


def test_a_person_gets_an_account_and_the_role_of_their_group(site: str, shop: Project) -> None:
    status, url, page = Visitor().log_in(site, "anna", "/projects/shop/settings/")
    assert (status, url) == (200, f"{site}/projects/shop/settings/")
    assert "The shop" in page
    anna = User.objects.get(username="anna")
    assert not anna.has_usable_password()
    assert list(Membership.objects.values_list("user", "role", "by_provider")) == [(anna.pk, "admin", True)]
    acts = list(AuditEntry.objects.filter(actor_kind="provider").order_by("pk").values_list("act", "actor_name"))
    assert acts == [("user.created", "anna"), ("user.linked", "anna"), ("member.added", "anna")]
    assert AuditEntry.objects.filter(actor_kind="provider").first().network  # type: ignore[union-attr]  # it is there


def test_roles_follow_the_groups_at_the_next_login(site: str, shop: Project, provider: Provider) -> None:
    Visitor().log_in(site, "anna")
    Visitor().log_in(site, "bob")
    bob = Membership.objects.get(user__username="bob")
    assert bob.role == "member"
    provider.change({"bob": {"preferred_username": "robert", "groups": ["shop-admins"]}})
    Visitor().log_in(site, "bob")  # another name there, the same person
    bob.refresh_from_db()
    assert bob.role == "admin"
    provider.change({"bob": {"preferred_username": "robert", "groups": []}})
    visitor = Visitor()
    visitor.log_in(site, "bob")
    assert visitor.get(f"{site}/projects/shop/")[0] == 404
    assert User.objects.filter(username="robert").count() == 0


def test_the_last_admin_stays_and_a_role_by_hand_is_left_alone(site: str, shop: Project, provider: Provider) -> None:
    Visitor().log_in(site, "anna")
    by_hand = User.objects.create_user("carl", password="x")
    Membership.objects.create(project=shop, user=by_hand, role="member")
    provider.change({"anna": {"preferred_username": "anna", "groups": []}})
    Visitor().log_in(site, "anna")
    anna = Membership.objects.get(user__username="anna")
    assert anna.role == "admin"
    assert is_last_admin(anna)
    assert Membership.objects.get(user=by_hand).role == "member"


def test_superusers_come_and_go_with_their_group_but_the_last_one_stays(
    site: str, shop: Project, provider: Provider
) -> None:
    Visitor().log_in(site, "olga")
    olga = User.objects.get(username="olga")
    assert olga.is_superuser
    provider.change({"olga": {"preferred_username": "olga", "groups": []}})
    Visitor().log_in(site, "olga")
    olga.refresh_from_db()
    assert olga.is_superuser
    User.objects.create_superuser("root", password="x")
    Visitor().log_in(site, "olga")
    olga.refresh_from_db()
    assert not olga.is_superuser


def test_without_a_group_that_has_a_role_nobody_new_comes_in(site: str, shop: Project) -> None:
    status, _, page = Visitor().log_in(site, "eve")
    assert status == 403
    assert "None of your groups has access" in page
    assert not User.objects.exists()


def test_an_account_of_the_same_name_is_not_taken_over_but_can_be_linked(
    site: str, shop: Project, settings: LazySettings
) -> None:
    account = User.objects.create_user("anna", password="correct horse")
    status, _, page = Visitor().log_in(site, "anna")
    assert status == 403
    assert "There is an account called anna already" in page
    visitor = Visitor()
    visitor.post(f"{site}/login/", {"username": "anna", "password": "correct horse"})
    assert "Continue to single sign-on" in visitor.post(f"{site}/account/", {"action": f"{site}/account/link/"})[2]
    status, url, page = visitor.log_in(site, "anna")
    assert (status, url) == (200, f"{site}/account/")
    assert "Your account is linked" in page
    assert ProviderIdentity.objects.get().user == account
    assert Visitor().log_in(site, "anna")[0] == 200
    assert Membership.objects.get().user == account


def test_an_operator_may_let_names_link_accounts(site: str, shop: Project, settings: LazySettings) -> None:
    settings.OIDC_LINK_BY_NAME = True
    account = User.objects.create_user("Anna", password="correct horse")
    assert Visitor().log_in(site, "anna")[0] == 200
    assert ProviderIdentity.objects.get().user == account


def test_a_deactivated_account_stays_out(site: str, shop: Project) -> None:
    visitor = Visitor()
    visitor.log_in(site, "anna")
    User.objects.update(is_active=False)
    assert "/login/" in visitor.get(f"{site}/projects/")[1]  # the open session ends too
    status, _, page = Visitor().log_in(site, "anna")
    assert status == 403
    assert "deactivated" in page


def test_an_answer_that_nobody_asked_for_or_that_was_used_logs_nobody_in(site: str, shop: Project) -> None:
    visitor = Visitor()
    for query in ("", "?code=a&state=b", "?error=access_denied&error_description=%3Cb%3E"):
        status, _, page = visitor.get(f"{site}/login/provider/return/{query}")
        assert status == 502
        assert "did not work" in page
        assert "<b>" not in page
    assert "/login/" in visitor.get(f"{site}/projects/")[1]
    assert not User.objects.exists()


def test_nobody_is_sent_to_another_site_afterwards(site: str, shop: Project) -> None:
    for address in ("https://evil.example/", "//evil.example/", "javascript:alert(1)"):
        assert Visitor().log_in(site, "anna", address)[1] == f"{site}/projects/"


def test_a_session_ends_so_that_groups_are_asked_again(site: str, shop: Project, settings: LazySettings) -> None:
    settings.OIDC_SESSION_HOURS = 2
    Visitor().log_in(site, "anna")
    assert 7_100 < (end_of_session() - timezone.now()).total_seconds() <= 7_200


def end_of_session() -> datetime:
    """Returns when the only session that is logged in ends."""
    (session,) = [held for held in Session.objects.all() if "_auth_user_id" in held.get_decoded()]
    return session.expire_date


def test_nothing_makes_a_session_longer(site: str, shop: Project) -> None:
    visitor = Visitor()
    visitor.log_in(site, "anna")
    end = end_of_session()
    assert visitor.get(f"{site}/login/provider/?next=/account/")[1] == f"{site}/account/"
    assert end_of_session() == end
    visitor.post(f"{site}/account/", {"action": f"{site}/account/link/"})
    visitor.post(f"{site}/account/", {"everywhere": "1"})
    assert end_of_session() == end


def test_a_login_by_password_after_a_turn_back_lasts_as_any_other(site: str, shop: Project) -> None:
    User.objects.create_user("carl", password="correct horse")
    visitor = Visitor()
    visitor.get(f"{site}/login/provider/")
    visitor.get(f"{site}/login/")
    visitor.post(f"{site}/login/", {"username": "carl", "password": "correct horse"})
    assert (end_of_session() - timezone.now()).days >= 13


def test_who_has_no_password_can_end_all_other_sessions(site: str, shop: Project) -> None:
    here, elsewhere = Visitor(), Visitor()
    for visitor in (here, elsewhere):
        visitor.log_in(site, "anna")
    assert "All your other sessions have ended" in here.post(f"{site}/account/", {"everywhere": "1"})[2]
    assert "/login/" in elsewhere.get(f"{site}/account/")[1]
    assert here.get(f"{site}/account/")[0] == 200
    assert not User.objects.get(username="anna").has_usable_password()


def test_passwords_can_be_switched_off(site: str, shop: Project, settings: LazySettings) -> None:
    User.objects.create_user("carl", password="correct horse")
    settings.PASSWORD_LOGIN = False
    visitor = Visitor()
    _, _, page = visitor.get(f"{site}/login/")
    assert "Log in with single sign-on" in page
    assert 'name="password"' not in page
    assert visitor.get(f"{site}/account/password/a/b/")[0] == 403
    assert visitor.get(f"{site}/login/", {"username": "carl", "password": "correct horse"})[0] == 403
    assert visitor.log_in(site, "anna")[0] == 200
    page = visitor.get(f"{site}/account/")[2]
    assert "Change password" not in page


def test_a_provider_that_is_away_or_that_lies_about_itself_is_a_page_and_not_an_error(
    site: str, settings: LazySettings
) -> None:
    right = settings.OIDC_ISSUER
    for issuer in ("http://127.0.0.1:9", right + "/"):
        settings.OIDC_ISSUER = issuer
        client._client = None
        status, _, page = Visitor().get(f"{site}/login/provider/")
        assert status == 502
        assert "did not work" in page


def test_without_a_provider_its_addresses_do_not_exist(live_server: LiveServer, db: None) -> None:
    for address in ("/login/provider/", "/login/provider/return/"):
        assert Visitor().get(live_server.url + address)[0] == 404
    assert re.search("single sign-on", Visitor().get(live_server.url + "/login/")[2]) is None
