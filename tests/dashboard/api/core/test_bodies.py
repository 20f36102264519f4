"""A body of the read API that is nested too deeply, too large, or no text, is refused with a reason."""

import json

import pytest
from django.test import Client
from pytest_django import Settings

from tests.dashboard.conftest import People

PREVIEW = "/api/v1/projects/shop/code/preview"


@pytest.mark.parametrize("start", ["[", '{"rules":'])
def test_a_body_that_is_nested_too_deeply_is_refused(member: Client, start: str) -> None:
    member.raise_request_exception = False
    answer = member.post(PREVIEW, start * 100_000, content_type="application/json")
    assert (answer.status_code, answer.json()) == (400, {"detail": "The JSON is nested too deeply."})


@pytest.mark.parametrize("by_token", [True, False], ids=["token", "session"])
def test_a_body_larger_than_a_form_is_refused(
    member: Client, bearer: dict[str, str], settings: Settings, by_token: bool
) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1_000
    client, headers = (Client(), bearer) if by_token else (member, {})
    body = json.dumps({"rules": {}})
    for size, status in ((1_000, 200), (1_001, 413)):
        sent = body + " " * (size - len(body))
        answer = client.post(PREVIEW, sent, content_type="application/json", headers=headers)
        assert answer.status_code == status, answer.content
    assert answer.json() == {"detail": "The body is larger than 1000 bytes."}


@pytest.mark.parametrize(
    ("method", "address", "body"),
    [
        ("post", "erasures", {"tag": "HALF", "value": "a"}),
        ("post", "erasures", {"tag": "visitor", "value": "HALF"}),
        ("post", "releases", {"release": "HALF"}),
        ("put", "alerts/cart", {"kind": "budget", "name": "HALF", "question": {"limit": 5}}),
        ("put", "alerts/cart", {"kind": "budget", "name": "A", "question": {"limit": 5, "page": "HALF"}}),
        ("post", "alerts/preview", {"kind": "budget", "question": {"limit": 5, "page": "HALF"}}),
        ("put", "channels/team", {"kind": "webhook", "name": "HALF", "addresses": ["https://a.example/"]}),
        ("put", "channels/team", {"kind": "webhook", "name": "A", "addresses": ["https://a.example/HALF"]}),
        ("patch", "code", {"rules": {"parties": [{"domain": "a.example", "owner": "own", "name": "HALF"}]}}),
        ("put", "display", {"rules": [{"action": "group", "field": "name", "pattern": "HALF", "title": "A"}]}),
        ("patch", "settings", {"collection": {"pages": [["/HALF", 1]]}}),
        ("post", "links", {"params": {"format": "firefox", "page": "HALF"}}),
        ("post", "jobs", {"kind": "functions", "params": {"page": "HALF"}}),
    ],
)
def test_half_a_surrogate_pair_anywhere_in_a_body_is_refused(
    client: Client, people: People, method: str, address: str, body: dict[str, object]
) -> None:
    client.force_login(people.owner)
    sent = json.dumps(body).replace("HALF", "\\ud800")
    answer = getattr(client, method)(f"/api/v1/projects/shop/{address}", sent, content_type="application/json")
    assert answer.status_code == 400, answer.content
