"""The README's curl commands do what it says, with what curl sends of its own accord."""

import gzip
import json
import re
import shlex
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.conf import settings
from django.test import Client

from projects.creation import create_project
from projects.tokens import create_token
from tests.aggregate.posting import fold_all

pytestmark = pytest.mark.django_db
CURL = re.compile(r"^    curl .*?(?=\n    [^ ]|\n\n)", re.MULTILINE | re.DOTALL)
FORM = "application/x-www-form-urlencoded"  # what curl says of a body when nobody says what it is


def read_commands() -> list[list[str]]:
    readme = (Path(settings.BASE_DIR) / "README.md").read_text(encoding="utf-8")
    return [shlex.split(command) for command in CURL.findall(readme + "\n\n")]


def run_curl(client: Client, arguments: list[str], token: str) -> bytes:
    """Sends what curl would send of these words; returns the answer's body."""
    url = urlsplit(next(word for word in arguments if word.startswith("http://")))
    given = dict(arguments[at + 1].split(": ", 1) for at, word in enumerate(arguments) if word == "-H")
    headers = {name: value.replace("ff_…", token) for name, value in given.items()}
    path = f"{url.path}?{url.query}"
    if "--data-binary" not in arguments:
        answer = client.get(path, headers=headers)
    else:
        kind = headers.pop("Content-Type", FORM)
        answer = client.post(path, arguments[arguments.index("--data-binary") + 1], content_type=kind, headers=headers)
    assert answer.status_code in {200, 202}, answer.getvalue()
    return answer.getvalue()


def test_a_trace_goes_in_and_comes_back(client: Client) -> None:
    project, _ = create_project(slug="lab", key="lab-key", origins=["*"])
    _, token = create_token(project=project)
    post, functions, profile = read_commands()
    assert json.loads(run_curl(client, post, token)) == {"accepted": 1, "rejected": []}
    fold_all()
    answer = json.loads(run_curl(client, functions, token))
    assert [row["name"] for row in answer["functions"]] == ["renderCart"]
    assert profile[profile.index("-o") + 1].endswith(".json.gz")
    assert b"renderCart" in gzip.decompress(run_curl(client, profile, token))
