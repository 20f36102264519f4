"""The import page: who may, what comes in, what it says, and what the form may carry."""

import re
import threading
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import HttpResponse
from django.test import Client
from pytest_django import Settings

from dashboard.pages import imports
from ingest.models import Group, Receipt
from ingest.storage.groups import allocate_ids
from projects.models import Project
from tests.dashboard.conftest import People

SAMPLES = Path(__file__).parents[2] / "data" / "imports"
PAGE = "/projects/shop/import/"


@pytest.fixture
def owner(client: Client, people: People, shop: Project) -> Client:
    """A client with the owner's session; ids of groups go on behind the fixture's."""
    allocate_ids(shop.pk, "group", 10)
    client.force_login(people.owner)
    return client


def upload(name: str, body: bytes | None = None) -> SimpleUploadedFile:
    return SimpleUploadedFile(name, (SAMPLES / name).read_bytes() if body is None else body)


def send(client: Client, *files: SimpleUploadedFile, **fields: str) -> HttpResponse:
    return client.post(PAGE, {"files": list(files), "release": "1.0.0", "page": "/cart", **fields})  # type: ignore[return-value]


def text_of(response: HttpResponse) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", "", response.content.decode())).replace("&#x27;", "'")


def count(project: Project) -> int:
    """Returns how many traces came in beside the one that the fixture has."""
    return Receipt.objects.filter(project=project).count() - 1


def test_files_come_in_and_the_page_tells_what_came(owner: Client, shop: Project) -> None:
    response = send(owner, upload("lab.cpuprofile"), upload("datadog.json"))

    assert response.status_code == 200
    text = text_of(response)
    assert "lab.cpuprofile: 1 trace imported." in text
    assert "1 from a .cpuprofile; missing there: release, time, page, sampling interval, page view." in text
    assert "datadog.json: 2 traces imported." in text
    assert count(shop) == 3
    assert "datadog.json: 2 traces already imported." in text_of(send(owner, upload("datadog.json")))
    assert count(shop) == 3


def test_a_broken_file_stays_out_with_its_place_and_the_others_come_in(owner: Client, shop: Project) -> None:
    response = send(owner, upload("bad.json", b'[{"trace": 1}]'), upload("trace.json"))

    assert response.status_code == 400
    text = text_of(response)
    assert "bad.json › $[0] was not imported" in text
    assert "(unsupported_media at $)" in text
    assert "trace.json: 1 trace imported." in text
    assert count(shop) == 1


def test_release_and_page_are_asked_for_where_a_file_names_none_and_stay_typed(owner: Client, shop: Project) -> None:
    response = send(owner, upload("trace.json"), release="", page="/x")

    assert response.status_code == 400
    assert "The file names no release, and none was given for it." in text_of(response)
    assert 'value="/x"' in response.content.decode()
    assert count(shop) == 0


def test_a_check_alone_brings_nothing_in(owner: Client, shop: Project) -> None:
    assert "1 trace can be imported." in text_of(send(owner, upload("trace.json"), dry_run="on"))
    assert count(shop) == 0


def test_a_member_sees_no_form_and_brings_nothing_in(member: Client, shop: Project) -> None:
    assert PAGE not in member.get("/projects/shop/").content.decode()
    response = send(member, upload("trace.json"))
    assert response.status_code == 403
    assert '<form method="post" enctype' not in response.content.decode()
    assert count(shop) == 0


def test_the_owner_is_led_to_the_form(owner: Client) -> None:
    assert f'href="{PAGE}"' in owner.get("/projects/shop/").content.decode()
    assert "multipart/form-data" in owner.get(PAGE).content.decode()


def test_a_form_of_another_site_is_refused(people: People, shop: Project) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(people.owner)

    assert send(client, upload("trace.json")).status_code == 403
    assert count(shop) == 0


def test_too_much_is_refused_unread(owner: Client, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.IMPORT_MAX_FILE_BYTES = 1_000
    monkeypatch.setattr(imports, "FORM_BYTES", 0)

    response = send(owner, upload("big.json", b" " * 2_000))
    assert response.status_code == 413
    assert "larger than 0 MiB together" in text_of(response)


def test_a_form_without_a_file_or_with_too_many_says_so(owner: Client, shop: Project) -> None:
    assert "Choose a file to import." in text_of(send(owner))
    assert "At most 20 files are accepted" in text_of(send(owner, *[upload(f"{n}.json", b"{}") for n in range(21)]))
    assert count(shop) == 0


def test_imports_of_one_process_are_read_one_at_a_time(owner: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    turn = threading.Lock()
    monkeypatch.setattr(imports, "_turn", turn)
    with turn:
        assert send(owner, upload("trace.json")).status_code == 503
    assert send(owner, upload("trace.json")).status_code == 200


def test_hostile_names_are_shown_as_text(owner: Client) -> None:
    response = send(owner, upload("<b>x\u202e.json", b"{}"))

    assert "<b>x" not in response.content.decode()
    assert "\u202e" not in response.content.decode()


def test_a_new_project_is_told_that_it_can_import(owner: Client, shop: Project) -> None:
    Receipt.objects.filter(project=shop).delete()
    Group.objects.filter(project=shop).delete()
    assert f'href="{PAGE}"' in owner.get("/projects/shop/").content.decode()
