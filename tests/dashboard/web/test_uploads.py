"""Forms without a field for files write none to the disk, whoever sends them."""

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.files.uploadhandler import TemporaryFileUploadHandler
from django.test import Client

from tests.dashboard.conftest import People

LARGE = 3 * 2**20  # Django keeps smaller files in memory


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that forms brought to the disk."""
    names: list[str] = []
    receive = TemporaryFileUploadHandler.new_file

    def note(self: TemporaryFileUploadHandler, field: str, name: str, *args: Any, **kwargs: Any) -> None:
        names.append(name)
        receive(self, field, name, *args, **kwargs)

    monkeypatch.setattr(TemporaryFileUploadHandler, "new_file", note)
    return names


def send(client: Client, address: str) -> int:
    client.cookies["csrftoken"] = "a" * 32
    form = {"files": SimpleUploadedFile("large.bin", b"x" * LARGE), "username": "owner"}
    return client.post(address, form).status_code


@pytest.mark.parametrize("address", ["/login/", "/projects/shop/import/", "/projects/shop/settings/source-maps/"])
def test_a_stranger_brings_no_file_to_the_disk(people: People, written: list[str], address: str) -> None:
    careful = Client(enforce_csrf_checks=True)
    assert send(careful, address) in (302, 403)
    assert written == []


def test_a_form_without_files_takes_none_of_its_readers_either(people: People, written: list[str]) -> None:
    client = Client()
    client.force_login(people.owner)
    assert send(client, "/projects/shop/settings/") < 500
    assert written == []


def test_an_import_takes_files(people: People, written: list[str]) -> None:
    client = Client()
    client.force_login(people.owner)
    assert send(client, "/projects/shop/import/") == 400  # it is no profile
    assert written == ["large.bin"]
