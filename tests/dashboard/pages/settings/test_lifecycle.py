"""Archiving a project: no traces, not in the list, readable, restored with one click. Deleting one: after its slug."""

from datetime import UTC, datetime, timedelta

import pytest
from django.test import Client

from aggregate.maintenance.project_deletion import delete_marked_projects
from ingest.count_models import Refusal
from projects.key_cache import clear_keys
from projects.models import Project
from tests.dashboard.conftest import People
from tests.dashboard.pages.settings.conftest import SETTINGS, follow, read, send, text_in
from tests.envelopes import make_envelope
from tests.ingest.endpoint.posting import ENDPOINT


def post_trace(shop: Project) -> tuple[int, dict[str, object]]:
    """Posts a trace with the shop's key; returns status and answer."""
    answer = Client().post(
        f"{ENDPOINT}?key={shop.keys.get().public_key}", make_envelope(), content_type="application/json"
    )
    return answer.status_code, answer.json()


def test_an_archived_project_is_hidden_readable_and_receives_nothing(
    owner: Client, member: Client, shop: Project
) -> None:
    assert post_trace(shop)[0] == 202
    text = follow(owner, "archive/")
    assert "The shop is archived. This applies within 10 seconds." in text
    status, answer = post_trace(shop)
    assert (status, answer["reason"], answer["stop"]) == (403, "project_archived", 3_600)
    assert Refusal.objects.get(project=shop).reason == "project_archived"
    absent = Client().post(f"/ingest/v1/absent?key={shop.keys.get().public_key}", "{}", content_type="text/plain")
    assert (absent.status_code, absent.json()["reason"]) == (403, "project_archived")
    assert '"off":true' in Client().get(f"/snippet/{shop.keys.get().public_key}.js").content.decode()
    listed = text_in(member.get("/projects/"))  # type: ignore[arg-type]  # the client's own response
    assert "The shop" not in listed
    assert "Show archived (1)" in listed
    assert "The shop" in text_in(member.get("/projects/?archived=1"))  # type: ignore[arg-type]  # as above
    page = member.get("/projects/shop/functions/")
    assert page.status_code == 200
    assert "This project is archived." in text_in(page)  # type: ignore[arg-type]  # as above


def test_an_archived_project_is_restored(owner: Client, shop: Project) -> None:
    follow(owner, "archive/")
    assert "Restore The shop?" in read(owner, "archive/")
    follow(owner, "archive/")  # an old form, sent again, restores nothing
    assert Project.objects.get(pk=shop.pk).archived_at is not None
    assert "The shop receives traces again." in follow(owner, "archive/", restore="1")
    assert post_trace(shop)[0] == 202
    assert "The shop" in text_in(owner.get("/projects/"))  # type: ignore[arg-type]  # as above


def test_other_processes_refuse_within_seconds(shop: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    clear_keys()
    assert post_trace(shop)[0] == 202
    Project.objects.filter(pk=shop.pk).update(archived_at=shop.created_at)  # as another process does
    assert post_trace(shop)[0] == 202
    monkeypatch.setattr("projects.key_cache.CACHE_S", 0.0)
    assert post_trace(shop)[0] == 403


def test_a_project_is_deleted_after_its_slug_is_typed(
    owner: Client, member: Client, shop: Project, bearer: dict[str, str]
) -> None:
    page = read(owner, "delete/")
    assert "Type shop to confirm" in page
    assert "1 page view of 1 page" in page
    wrong = send(owner, "delete/", slug="Shop")
    assert (wrong.status_code, "This is not the project’s slug. Type shop." in text_in(wrong)) == (400, True)
    assert Project.objects.get(pk=shop.pk).deletion_started_at is None
    listed = follow(owner, "delete/", slug="shop")
    assert "The shop is being deleted." in listed
    assert "Being deleted The shop shop : 0 rows deleted" in listed
    assert owner.get(SETTINGS).status_code == member.get("/projects/shop/").status_code == 404
    assert owner.get("/api/v1/projects/shop/status", headers=bearer).status_code in (401, 404)
    assert post_trace(shop)[0] == 401
    assert "Being deleted" in text_in(member.get("/projects/deleting/"))  # type: ignore[arg-type]  # as above
    Project.objects.filter(pk=shop.pk).update(deletion_started_at=shop.created_at)
    delete_marked_projects(datetime.now(UTC) + timedelta(hours=1))
    assert "The project is deleted." in text_in(member.get("/projects/deleting/"))  # type: ignore[arg-type]  # as above


def test_a_stranger_sees_no_deletion(people: People, shop: Project) -> None:
    Project.objects.filter(pk=shop.pk).update(deletion_started_at=shop.created_at)
    client = Client()
    client.force_login(people.stranger)
    assert "The shop" not in text_in(client.get("/projects/"))  # type: ignore[arg-type]  # as above
    assert "The shop" not in text_in(client.get("/projects/deleting/"))  # type: ignore[arg-type]  # as above
