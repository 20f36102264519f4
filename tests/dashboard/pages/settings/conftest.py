"""An admin and a member at the settings of a shop."""

import html
import re

import pytest
from django.http import HttpResponse
from django.test import Client

from tests.dashboard.conftest import People

SETTINGS = "/projects/shop/settings/"


@pytest.fixture
def owner(people: People) -> Client:
    """A client with the session of the shop's only admin."""
    client = Client()
    client.force_login(people.owner)
    return client


def text_in(response: HttpResponse) -> str:
    """Returns a page's text without tags, spaces folded."""
    text = html.unescape(re.sub(r"<[^>]*>", " ", response.content.decode()))
    return re.sub(r"\s+", " ", text).replace("\u202f", " ").replace("\xa0", " ")


def send(client: Client, section: str, **fields: object) -> HttpResponse:
    """Posts a form of the settings and returns the answer itself."""
    return client.post(SETTINGS + section, fields)  # type: ignore[return-value]  # the client's own response


def follow(client: Client, section: str, **fields: object) -> str:
    """Posts a form that must succeed, and returns the text of the page to which it leads."""
    response = client.post(SETTINGS + section, fields, follow=True)
    assert response.redirect_chain, text_in(response)  # type: ignore[arg-type]  # as above
    assert response.status_code == 200
    return text_in(response)  # type: ignore[arg-type]  # as above


def read(client: Client, section: str = "", status: int = 200) -> str:
    """Returns the text of a page of the settings."""
    response = client.get(SETTINGS + section)
    assert response.status_code == status
    return text_in(response)  # type: ignore[arg-type]  # as above
