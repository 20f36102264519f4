"""Pages that have not changed are answered 304; whatever changes one is seen at once, and nobody gets another's."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from aggregate.label_models import ReleaseScript
from aggregate.models import RefoldRun
from ingest.count_models import Refusal
from ingest.models import Receipt
from projects.models import IngestKey, Membership, Project
from tests.aggregate.posting import post
from tests.builders import make_cell, make_group, make_receipt
from tests.dashboard.conftest import People
from tests.envelopes import make_envelope

ADDRESSES = [
    "/projects/shop/functions/?page=/cart",
    "/projects/shop/quality/",
    "/projects/shop/quality/sampled/",
    "/projects/shop/flame-graph/?plain=1",
    "/projects/shop/functions/1/",
]
PAGE = ADDRESSES[0]


def etag_of(client: Client, address: str = PAGE) -> str:
    client.get("/projects/")  # sets the CSRF cookie
    response = client.get(address)
    assert response.status_code == 200
    return str(response["ETag"])


def ask_again(client: Client, etag: str, address: str = PAGE) -> int:
    return client.get(address, headers={"If-None-Match": etag}).status_code


@pytest.mark.parametrize("address", ADDRESSES)
def test_an_unchanged_page_is_not_sent_again(member: Client, address: str) -> None:
    etag = etag_of(member, address)
    response = member.get(address, headers={"If-None-Match": etag})
    assert (response.status_code, response.content) == (304, b"")
    assert response["ETag"] == etag
    assert "Cookie" in response["Vary"]
    assert response["Cache-Control"] == "private, no-cache"


def refold_to_other_sums(shop: Project) -> None:
    make_cell(shop, page="/cart", js_us=1, views=0, traces=0, starts_at=datetime(2026, 11, 3, tzinfo=UTC))


def refold_to_other_functions(shop: Project) -> None:
    now = timezone.now()
    RefoldRun.objects.create(project=shop, id=1, started_at=now, finished_at=now, first_new_cell_id=2, cells=1)


def upload_map(shop: Project) -> None:
    ReleaseScript.objects.create(
        project=shop, id=1, release="1", uri="a", file="a", is_shared=False, uploaded_at=timezone.now()
    )


def expire_raw_bodies(_: Project) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT min(inhrelid)::regclass FROM pg_inherits WHERE inhparent = 'ingest_rawtrace'::regclass")
        ((partition,),) = cursor.fetchall()
        cursor.execute(f"DROP TABLE {partition}")


CHANGES: list[Callable[[Project], object]] = [
    lambda shop: make_cell(shop, page="/new", js_us=5),
    refold_to_other_sums,
    refold_to_other_functions,
    upload_map,
    expire_raw_bodies,
    lambda shop: post("KEY-shop", make_envelope("waits")),
    lambda shop: make_receipt(shop, state=Receipt.State.REJECTED),
    lambda shop: Refusal.objects.create(project=shop, hour_at=timezone.now(), reason="too_long", shard=0, count=1),
    lambda shop: make_group(shop, "2.0.0", "/cart"),
    lambda shop: Project.objects.filter(pk=shop.pk).update(name="Another name"),
    lambda shop: Project.objects.filter(pk=shop.pk).update(code_rules={"categories": []}),
    lambda shop: IngestKey.objects.filter(project=shop).update(origins=["https://other.example"]),
    lambda shop: Membership.objects.filter(project=shop, user__username="member").update(role="admin"),
    lambda _: User.objects.filter(username="member").update(username="renamed"),
]


@pytest.mark.parametrize("change", CHANGES)
def test_whatever_a_page_shows_changes_it(member: Client, shop: Project, change: Callable[[Project], object]) -> None:
    etag = etag_of(member)
    assert ask_again(member, etag) == 304
    change(shop)
    assert ask_again(member, etag) == 200


def test_another_projects_traces_change_nothing(member: Client, people: People) -> None:
    etag = etag_of(member)
    make_cell(Project.objects.get(slug="elsewhere"))
    assert ask_again(member, etag) == 304


def test_another_person_another_login_and_another_address_get_pages_of_their_own(
    client: Client, member: Client, people: People
) -> None:
    etag = etag_of(member)
    assert ask_again(member, etag, PAGE + "&sort=views") == 200
    other = Client()
    other.cookies["csrftoken"] = member.cookies["csrftoken"].value  # a shared computer, and no logout
    other.force_login(people.owner)
    assert ask_again(other, etag) == 200
    other.force_login(people.stranger)
    assert ask_again(other, etag) == 404
    assert ask_again(Client(), etag) == 302
    member.logout()
    member.post("/login/", {"username": "member", "password": "correct horse"})  # a new secret: an old token is void
    assert ask_again(member, etag) == 200


def test_the_next_hour_is_another_page(member: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    etag = etag_of(member)
    later = timezone.now() + timedelta(hours=1)
    monkeypatch.setattr("dashboard.web.etags.timezone.now", lambda: later)
    assert ask_again(member, etag) == 200


def test_other_code_or_settings_are_another_page(member: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    etag = etag_of(member)
    monkeypatch.setattr("dashboard.web.etags.fingerprint_server", lambda: "of the next release")
    assert ask_again(member, etag) == 200


def test_errors_and_pages_without_a_token_have_no_etag(member: Client, settings: Settings) -> None:
    assert "ETag" not in member.get(PAGE)  # it sets the cookie that its token goes with
    assert "ETag" not in member.get(PAGE + "&limit=0")
    assert "ETag" not in member.get("/projects/shop/quality/sampled/?device=x")
    settings.DEBUG = True
    assert "ETag" not in member.get(PAGE)


def test_what_a_form_has_done_is_shown_once(client: Client, people: People) -> None:
    client.force_login(people.owner)
    etag = etag_of(client)
    client.post("/projects/shop/settings/display/", {"count": "0", "do": "save"})
    response = client.get(PAGE, headers={"If-None-Match": etag})  # not the page that the form leads to
    assert (response.status_code, "ETag" in response) == (200, False)
    assert "The rules are saved." in response.content.decode()
    assert ask_again(client, etag) == 304
