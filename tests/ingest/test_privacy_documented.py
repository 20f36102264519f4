"""docs/privacy.md says what is so: retention times, the numbers of classes, and that nobody gets a cookie."""

import re
from pathlib import Path
from typing import Final

import pytest
from django.test import Client

from profcore.trace.dimensions import BROWSERS, DEVICE_CLASSES
from tests.envelopes import make_envelope
from tests.ingest.endpoint.posting import ENDPOINT, IngestServer

ROOT: Final = Path(__file__).parents[2]
DOCUMENT: Final = (ROOT / "docs" / "privacy.md").read_text(encoding="utf-8")
WORDS: Final = {7: "seven", 11: "eleven"}


def test_the_times_are_the_settings_defaults() -> None:
    limits = (ROOT / "config" / "limits.py").read_text(encoding="utf-8")
    rows = re.findall(r"\| (\d+) (?:days|hours) \| `(FIELDFLAME_\w+)` \|", DOCUMENT)
    assert len(rows) == 4
    for number, name in rows:
        assert re.search(rf'"{name}", {number}\b', limits), name


def test_the_numbers_of_classes_are_those_of_the_code() -> None:
    assert f"one of {WORDS[len(DEVICE_CLASSES)]} device classes" in DOCUMENT
    assert f"a browser family (one of {WORDS[len(BROWSERS)]})" in DOCUMENT


@pytest.mark.parametrize("path", ["/snippet.js", "/demo/"])
def test_what_pages_load_sets_no_cookie(client: Client, path: str) -> None:
    response = client.get(path)
    assert response.status_code == 200
    assert not response.cookies


def test_the_answer_to_a_trace_sets_no_cookie(client: Client, endpoint: IngestServer) -> None:
    response = client.post(f"{ENDPOINT}?key={endpoint.key}", make_envelope("a"), content_type="application/json")
    assert response.status_code == 202
    assert not response.cookies
