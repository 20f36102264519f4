"""Three people and every address: members read, strangers find nothing, the anonymous are asked who they are."""

from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import get_resolver
from django.utils import timezone
from pytest_django import DjangoDbBlocker

from aggregate.label_models import ReleaseScript
from dashboard import urls
from projects.models import ApiToken, Membership, Project
from projects.tokens import create_token
from tests.builders import make_project
from tests.dashboard.conftest import VIEW_ID, People, make_people, make_shop
from tests.dashboard.web.addresses import (
    ADMIN_ADDRESSES,
    API,
    API_ADDRESSES,
    PAGE_ADDRESSES,
    PROJECT_QUESTION_ADDRESSES,
    SETTINGS,
    TRACE,
)
from tests.runner.keeping import keep

# Jobs are started and cancelled, and have tests of their own.
CODE_PREVIEW_ADDRESS = API + "code/preview"  # takes a body: test_api_code
DISPLAY_PREVIEW_ADDRESS = API + "display/preview"  # as well: test_api_display
JOB_ADDRESSES = [API + f"jobs/{TRACE}", API + f"jobs/{TRACE}/result"]
READ_ONLY_ADDRESSES = [address for address in API_ADDRESSES if not address.endswith(("jobs", "sourcemaps"))]
RAW_ADDRESS = API + f"traces/{TRACE}/raw"
# Each asks before something ends; their ids are of rows that the fixtures make.
QUESTION_ADDRESSES = [
    SETTINGS + "keys/{key}/",
    SETTINGS + "keys/{key}/revoke/",
    SETTINGS + "source-maps/delete/?release=1.0.0",
    SETTINGS + "members/{member}/remove/",
    SETTINGS + "tokens/{token}/revoke/",
]
# One makes links that open accounts, for superusers among the admins; the others take posts of other pages.
OTHER_QUESTION_ADDRESSES = [
    SETTINGS + "members/{member}/link/",
    SETTINGS + "members/{member}/role/",
    SETTINGS + "source-maps/address/?release=1.0.0",
]
POST_ADDRESSES = [
    *(address for address in PAGE_ADDRESSES if address.startswith(SETTINGS) and "state" not in address),
    *QUESTION_ADDRESSES,
    *PROJECT_QUESTION_ADDRESSES,
    *OTHER_QUESTION_ADDRESSES,
]
TIMELINE_ADDRESS = API + f"views/{VIEW_ID}/timeline"  # takes a whole trace: test_api_timeline
OPEN_ADDRESSES = {
    *("api-links", "shared-profile", "home", "login", "logout", "projects", "api-schema", "api-docs", None),
    *("new-project", "deleting-projects"),  # of no project: test_new_project, test_lifecycle
    "server",  # of no project: test_server_page
    *("share", "settings-shared-link", "settings-shared-end", "open-shared"),  # by members too: test_shared_links
    *("provider-start", "provider-return", "provider-link"),  # who one is: test_provider_login
    *("account", "set-password"),  # one's own, whatever the project: test_account
    "saved-view",  # takes posts of its owner: test_saved_views
    *("search", "search-results"),  # of all projects that somebody sees: test_search_page
    *("users", "user", "user-delete", "audit", "audit-export"),  # of the server, for superusers: test_users_page
    *("api-erasures", "api-erasure"),  # for admins, and tokens with their scope: test_erasures
    "api-audit",  # for admins, and tokens with its scope: test_audit_api
    *("sentry-root", "sentry-chunks", "sentry-assemble"),  # of a token's own project: test_sentry_uploads
    # Of one state, change, release, alert or channel: test_alerts_pages, test_rollback_pages.
    "alerts-rolled-back",
    *("alerts-accept", "alerts-profile", "settings-alert-switch", "settings-channel", "settings-channel-end"),
    *("settings-alert", "settings-alert-end", "settings-alert-preview"),
    # Of one alert or channel, or for admins and tokens with their scope: test_alert_api, test_channel_api.
    *("api-alert", "api-accept", "api-alert-preview", "api-channels", "api-channel", "api-channel-secret"),
    *("api-channel-test", "api-deliveries", "api-replay"),
    "style",  # of no project, and with DEBUG only: test_style
    "pyroscope",  # takes messages, by token only: test_connect
}


@pytest.fixture(scope="module")
def kept_people(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[People]:
    yield from keep(django_db_blocker, lambda: make_people(make_shop()))


@pytest.fixture
def shop(kept_people: People, db: None) -> Project:
    """The shop of these tests: nearly all of them only read it, and there are three hundred."""
    return Project.objects.get(slug="shop")


@pytest.fixture
def people(kept_people: People, shop: Project) -> People:
    """The shop's people, as no test has changed them."""
    owner, member, stranger = (User.objects.get(username=name) for name in ("owner", "member", "stranger"))
    return People(owner, member, stranger)


@pytest.fixture
def ids(people: People, shop: Project) -> dict[str, object]:
    """What stands in addresses of single keys, members and tokens; and a script of a release."""
    ReleaseScript.objects.create(
        project=shop,
        id=1,
        release="1.0.0",
        uri="https://a/b.js",
        file="b.js",
        is_shared=False,
        uploaded_at=timezone.now(),
    )
    token, _ = create_token(project=shop)
    member = Membership.objects.get(project=shop, user=people.member)
    return {"key": shop.keys.get().pk, "member": member.pk, "token": token.prefix}


def test_every_address_that_names_a_project_is_tried_here() -> None:
    tried = {
        get_resolver().resolve(address.partition("?")[0]).url_name
        for address in [
            *API_ADDRESSES,
            *PAGE_ADDRESSES,
            *ADMIN_ADDRESSES,
            *JOB_ADDRESSES,
            *(address.format(key=1, member=1, token="a") for address in POST_ADDRESSES),
            RAW_ADDRESS,
            CODE_PREVIEW_ADDRESS,
            DISPLAY_PREVIEW_ADDRESS,
            TIMELINE_ADDRESS,
        ]
    }
    assert tried | OPEN_ADDRESSES == {pattern.name for pattern in urls.urlpatterns}


@pytest.mark.parametrize("address", API_ADDRESSES + PAGE_ADDRESSES)
@pytest.mark.parametrize("who", ["owner", "member"])
def test_owner_and_member_see_their_project(
    client: Client, people: People, ids: dict[str, object], who: str, address: str
) -> None:
    client.force_login(getattr(people, who))
    assert client.get(address).status_code == 200


@pytest.mark.parametrize("address", ADMIN_ADDRESSES)
def test_the_owner_administers_and_the_member_does_not(client: Client, people: People, address: str) -> None:
    for who, status in ((people.owner, 200), (people.member, 403)):
        client.force_login(who)
        assert client.get(address).status_code == status


@pytest.mark.parametrize("address", [*QUESTION_ADDRESSES, *PROJECT_QUESTION_ADDRESSES])
def test_the_owner_is_asked_before_something_ends_and_the_member_is_not(
    client: Client, people: People, ids: dict[str, object], address: str
) -> None:
    for who, status in ((people.owner, 200), (people.member, 403), (people.stranger, 404)):
        client.force_login(who)
        assert client.get(address.format(**ids)).status_code == status


@pytest.mark.parametrize("address", POST_ADDRESSES)
def test_settings_are_posted_by_admins_alone_and_with_the_forms_token(
    people: People, ids: dict[str, object], shop: Project, address: str
) -> None:
    before = state_of(shop)
    where, nowhere = address.format(**ids), address.format(**ids).replace("shop", "no-such-project")
    client, careful = Client(), Client(enforce_csrf_checks=True)
    assert client.post(where).headers["Location"].startswith("/login/?next=")
    client.force_login(people.member)
    refused = client.post(where, {"name": "mine", "role": "admin", "username": "stranger", "kind": "read"})
    assert refused.status_code == 403
    assert "Only admins can do this" in refused.content.decode()
    client.force_login(people.stranger)
    assert client.post(where).status_code == client.post(nowhere).status_code == 404
    careful.force_login(people.owner)
    assert careful.post(where).status_code == 403
    assert state_of(shop) == before


@pytest.mark.parametrize("address", [*QUESTION_ADDRESSES, *OTHER_QUESTION_ADDRESSES])
def test_an_admin_reaches_nothing_of_another_project_by_its_ids(
    client: Client, people: People, ids: dict[str, object], shop: Project, address: str
) -> None:
    before = state_of(shop)
    client.force_login(people.stranger)  # he is an admin elsewhere
    answer = client.post(address.format(**ids).replace("shop", "elsewhere"), {"role": "member"})
    assert answer.status_code == 404
    assert state_of(shop) == before


def state_of(project: Project) -> list[object]:
    """Returns all that settings of a project can change."""
    rows = (project.keys, project.memberships, project.tokens, ReleaseScript.objects.filter(project=project))
    return [*Project.objects.order_by("pk").values(), *(list(queryset.order_by("pk").values()) for queryset in rows)]


@pytest.mark.parametrize("address", API_ADDRESSES + PAGE_ADDRESSES + ADMIN_ADDRESSES)
def test_a_stranger_is_answered_as_if_the_project_did_not_exist(client: Client, people: People, address: str) -> None:
    client.force_login(people.stranger)
    theirs, nobodys = client.get(address), client.get(address.replace("shop", "no-such-project"))
    assert theirs.status_code == nobodys.status_code == 404
    if address.startswith("/api"):
        assert theirs.content == nobodys.content


@pytest.mark.parametrize("address", API_ADDRESSES)
def test_a_strangers_bad_parameter_still_says_only_404(client: Client, people: People, address: str) -> None:
    client.force_login(people.stranger)
    assert client.get(address.partition("?")[0] + "?nonsense=1").status_code == 404


def test_raw_bodies_are_for_admins_and_tokens_made_for_it(
    client: Client, people: People, shop: Project, bearer: dict[str, str]
) -> None:
    assert client.get(RAW_ADDRESS).status_code == 401
    client.force_login(people.stranger)
    assert client.get(RAW_ADDRESS).status_code == 404
    client.force_login(people.member)
    assert client.get(RAW_ADDRESS).status_code == 403
    client.force_login(people.owner)
    assert client.get(RAW_ADDRESS).status_code == 200
    assert client.get(RAW_ADDRESS, headers=bearer).status_code == 403
    _, clear = create_token(project=shop, scopes=["raw"])
    raw_bearer = {"Authorization": f"Bearer {clear}"}
    assert client.get(RAW_ADDRESS, headers=raw_bearer).status_code == 200
    assert client.get(RAW_ADDRESS.replace("shop", "elsewhere"), headers=raw_bearer).status_code == 404


@pytest.mark.parametrize("method", ["post", "put", "patch", "delete"])
@pytest.mark.parametrize("who", ["member", "stranger"])
def test_writing_is_refused_to_all_alike_and_never_with_403(people: People, who: str, method: str) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(getattr(people, who))
    for address in READ_ONLY_ADDRESSES:
        if (address, method) not in (
            (API + "settings", "patch"),
            (API + "code", "patch"),
            (API + "display", "put"),
            (API + "releases", "post"),
        ):  # they write: test_api_settings, …
            assert getattr(client, method)(address).status_code == 405


@pytest.mark.parametrize("address", API_ADDRESSES + JOB_ADDRESSES)
def test_without_credentials_the_api_answers_401(client: Client, shop: Project, address: str) -> None:
    for path in (address, address.replace("shop", "no-such-project")):
        response = client.get(path)
        assert response.status_code == 401
        assert response["WWW-Authenticate"].startswith("Bearer")
        assert response["Content-Type"] == "application/json"


@pytest.mark.parametrize("address", [*PAGE_ADDRESSES, *ADMIN_ADDRESSES, "/projects/", "/projects/no-such-project/"])
def test_without_a_login_pages_lead_to_it(client: Client, shop: Project, address: str) -> None:
    response = client.get(address)
    assert response.status_code == 302
    assert response["Location"].startswith("/login/?next=")


@pytest.mark.parametrize("address", API_ADDRESSES)
def test_a_token_reads_its_own_project_and_no_other(
    client: Client, people: People, bearer: dict[str, str], address: str
) -> None:
    assert client.get(address, headers=bearer).status_code == 200
    assert client.get(address.replace("shop", "elsewhere"), headers=bearer).status_code == 404


def test_a_token_opens_no_page(client: Client, bearer: dict[str, str]) -> None:
    assert client.get("/projects/shop/", headers=bearer).status_code == 302


def test_bad_revoked_and_mangled_tokens_are_401(client: Client, shop: Project) -> None:
    token, clear = create_token(project=shop)
    other, _ = create_token(project=shop)
    assert client.get(API + "status", headers={"Authorization": f"bearer {clear}"}).status_code == 200
    for bad in ("", "x", clear[:-1], clear + "x", clear.replace(token.prefix, other.prefix), "ff_00000000_x", "ü\x7f"):
        assert client.get(API + "status", headers={"Authorization": f"Bearer {bad}"}).status_code == 401, bad
    ApiToken.objects.filter(pk=token.pk).update(revoked_at=timezone.now())
    assert client.get(API + "status", headers={"Authorization": f"Bearer {clear}"}).status_code == 401


def test_a_bad_token_is_401_even_with_a_good_session(member: Client) -> None:
    assert member.get(API + "status", headers={"Authorization": "Bearer nonsense"}).status_code == 401


def test_a_token_wins_over_a_session(client: Client, people: People, bearer: dict[str, str]) -> None:
    client.force_login(people.stranger)
    assert client.get(API + "status", headers=bearer).status_code == 200
    assert client.get("/api/v1/projects/elsewhere/status", headers=bearer).status_code == 404


def test_the_clear_text_of_a_token_is_kept_nowhere(shop: Project) -> None:
    token, clear = create_token(project=shop)
    secret = clear.removeprefix(f"ff_{token.prefix}_")  # an underscore may be in it
    assert not any(secret in str(value) for value in ApiToken.objects.filter(pk=token.pk).values_list()[0])


def test_a_project_without_members_belongs_to_the_superusers_until_it_has_some(client: Client, people: People) -> None:
    root = User.objects.create_superuser("root")
    made = make_project("fresh")
    client.force_login(people.stranger)
    assert client.get("/api/v1/projects/fresh/status").status_code == 404
    client.force_login(root)
    assert client.get("/api/v1/projects/fresh/status").status_code == 200
    assert client.get("/api/v1/projects/shop/status").status_code == 404
    assert "fresh" in client.get("/projects/").content.decode()
    Membership.objects.create(project=made, user=people.member)
    assert client.get("/api/v1/projects/fresh/status").status_code == 404
    client.force_login(people.stranger)
    assert client.get("/api/v1/projects/fresh/status").status_code == 404


def test_the_list_of_projects_shows_ones_own_alone(client: Client, people: People) -> None:
    client.force_login(people.member)
    shown = client.get("/projects/").content.decode()
    assert "/projects/shop/" in shown
    assert "elsewhere" not in shown
    client.force_login(people.stranger)
    shown = client.get("/projects/").content.decode()
    assert "/projects/elsewhere/" in shown
    assert "shop" not in shown


def test_a_former_member_is_a_stranger_at_once(member: Client, people: People) -> None:
    Membership.objects.filter(user=people.member).delete()
    assert member.get(API + "status").status_code == 404


def test_someone_who_was_deactivated_is_out(member: Client, people: People) -> None:
    people.member.is_active = False
    people.member.save()
    assert member.get(API + "status").status_code == 401
