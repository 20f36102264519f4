"""A body of the read API that is nested too deeply, or too large, is refused with a reason."""

import json

import pytest
from django.test import Client
from pytest_django import Settings

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
