"""Pages as a person reads them: their text, and hostile names in it."""

import html
import re

from django.test import Client

HOSTILE = "<script>alert(1)</script>\"'&\u202ex\x00".replace("\x00", "\x07")


def text_of(client: Client, address: str, status: int = 200) -> str:
    """Returns a page's text without tags, spaces folded."""
    response = client.get(address)
    assert response.status_code == status
    without_tags = re.sub(r"<[^>]*>", " ", response.content.decode())
    return re.sub(r"[ \n]+", " ", html.unescape(without_tags)).replace("\u202f", " ")


def text_of_posted(client: Client, address: str, **fields: str) -> str:
    """Returns the page that a post leads to, with its tags, spaces folded."""
    return re.sub(r"\s+", " ", client.post(address, fields, follow=True).content.decode())


def html_of(client: Client, address: str) -> str:
    """Returns a page's HTML, its entities as characters."""
    response = client.get(address)
    assert response.status_code == 200, response.content
    return html.unescape(response.content.decode())


def attribute(page: str, name: str) -> str:
    match = re.search(rf'{name}="([^"]*)"', page)
    assert match is not None
    return html.unescape(match.group(1))
