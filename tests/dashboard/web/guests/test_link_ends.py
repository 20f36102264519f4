"""A link ends at once, also for those who are reading: when it expires, is revoked, or its creator loses access."""

import logging
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.test import Client
from pytest_django import Settings

from projects.lifecycle import archive_project
from projects.members import remove_member
from projects.models import Membership, Project, SharedLink
from tests.dashboard.conftest import People
from tests.dashboard.web.guests.guests import below, open_as_guest, share

SHOP = "/projects/shop/"
TREE = "/api/v1/projects/shop/flamegraph"


def revoke(link: SharedLink) -> None:
    SharedLink.objects.filter(pk=link.pk).update(revoked_at=datetime.now(UTC))


def expire(link: SharedLink) -> None:
    SharedLink.objects.filter(pk=link.pk).update(expires_at=datetime.now(UTC))


def leave(link: SharedLink) -> None:
    remove_member(Membership.objects.get(project=link.project, user=link.creator))


def lose_membership(link: SharedLink) -> None:
    Membership.objects.filter(user=link.creator).delete()


def disable(link: SharedLink) -> None:
    User.objects.filter(pk=link.creator_id).update(is_active=False)


def archive(link: SharedLink) -> None:
    archive_project(link.project)


def begin_deletion(link: SharedLink) -> None:
    Project.objects.filter(pk=link.project_id).update(deletion_started_at=datetime.now(UTC))


@pytest.mark.parametrize(
    ("end", "sentence"),
    [
        (archive, "is archived"),
        (begin_deletion, "can no longer read"),
        (revoke, "was revoked"),
        (expire, "has expired"),
        (leave, "was revoked"),
        (lose_membership, "can no longer read"),
        (disable, "can no longer read"),
    ],
)
def test_a_link_that_ended_opens_nothing_and_says_why(
    people: People, shop: Project, end: Callable[[SharedLink], None], sentence: str
) -> None:
    link, path = share(shop, people.member)
    guest = open_as_guest(path)
    assert guest.get(below(link, SHOP)).status_code == 200
    end(link)
    for client, address in ((Client(), path), (guest, below(link, SHOP)), (guest, below(link, TREE))):
        answer = client.get(address)
        assert (answer.status_code, sentence in answer.content.decode()) == (410, True)
        assert not answer.cookies
    part = guest.get(below(link, SHOP + "quality/sampled/"), headers={"HX-Request": "true"})
    assert part["HX-Refresh"] == "true"  # the open page is loaded again, and says why


@pytest.mark.parametrize("gone", ["project", "creator"])
def test_a_link_is_gone_with_its_project_and_with_its_creator(people: People, shop: Project, gone: str) -> None:
    link, path = share(shop, people.member)
    guest = open_as_guest(path)
    if gone == "project":
        shop.keys.all().delete()
        Membership.objects.filter(project=shop).delete()
        SharedLink.objects.filter(project=shop).delete()
    else:
        people.member.delete()
    assert not SharedLink.objects.exists()
    assert Client().get(path).status_code == guest.get(below(link, SHOP)).status_code == 404


def test_sharing_can_be_switched_off(people: People, shop: Project, settings: Settings) -> None:
    link, path = share(shop, people.member)
    guest = open_as_guest(path)
    settings.SHARED_LINK_MAX_DAYS = 0
    assert Client().get(path).status_code == guest.get(below(link, SHOP)).status_code == 410
    owner = Client()
    owner.force_login(people.owner)
    assert "Share</button>" not in owner.get(SHOP).content.decode()
    assert owner.post(SHOP + "share/", {"page": SHOP}, headers={"HX-Request": "true"}).status_code == 400


def test_a_superuser_of_a_project_without_members_shares_it_until_it_has_some(people: People, shop: Project) -> None:
    root = User.objects.create_superuser("root")
    Membership.objects.filter(project=shop).delete()
    link, path = share(shop, root)
    guest = open_as_guest(path)
    assert guest.get(below(link, SHOP)).status_code == 200
    Membership.objects.create(project=shop, user=people.owner, role=Membership.Role.ADMIN)
    assert guest.get(below(link, SHOP)).status_code == 410


def test_wrong_links_are_refused_and_throttled_and_never_logged(
    people: People, shop: Project, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    link, path = share(shop, people.member)
    settings.SHARED_LINK_FAILURES = 7
    cache.clear()  # other tests of this process counted too
    clear = path.split("/")[2]
    wrong = ["x", "ffs_", link.prefix, clear[:-1], clear + "x", clear.swapcase(), "ffs_000000000000_" + clear[17:]]
    with caplog.at_level(logging.INFO):
        for secret in wrong:
            answer = Client().get(f"/shared/{secret}/")
            assert (answer.status_code, "not valid" in answer.content.decode()) == (404, True)
        # Now a right one from this network waits too: whoever guesses learns nothing.
        answer = Client().get(path)
        assert (answer.status_code, answer["Retry-After"]) == (429, "60")
    assert clear[-20:] not in caplog.text
    assert clear[17:37] not in caplog.text


def test_the_use_of_a_link_is_noted_now_and_then(people: People, shop: Project) -> None:
    link, path = share(shop, people.member)
    open_as_guest(path)
    link.refresh_from_db()
    assert link.last_used_at is not None
    first, guest = link.last_used_at, Client()
    guest.get(path)
    link.refresh_from_db()
    assert link.last_used_at == first
    SharedLink.objects.update(last_used_at=datetime.now(UTC) - timedelta(hours=1))
    guest.get(below(link, SHOP))
    link.refresh_from_db()
    assert link.last_used_at is not None
    assert link.last_used_at > datetime.now(UTC) - timedelta(minutes=10)


@pytest.mark.parametrize("method", ["post", "put", "delete", "options"])
def test_no_answer_puts_a_links_secret_into_the_log(
    people: People, shop: Project, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    _, path = share(shop, people.member)

    def fail(*_: object) -> None:
        raise RuntimeError("the database is away")

    client = Client(enforce_csrf_checks=True, raise_request_exception=False)
    with caplog.at_level(logging.DEBUG):
        assert getattr(client, method)(path).status_code == 405
        assert client.get(path.rstrip("/")).status_code == 302  # without a redirect that has it again
        monkeypatch.setattr("dashboard.pages.shared.read_link", fail)
        assert client.get(path).status_code == 500
    assert "Internal Server Error" in caplog.text
    clear = path.split("/")[2]
    assert clear[17:25] not in caplog.text  # behind the prefix
