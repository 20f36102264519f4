"""What a later release removes: headers, the document, the log. Each entry gives notice and is documented."""

import logging
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from drf_spectacular.generators import SchemaGenerator

from dashboard.api.core import deprecations
from dashboard.api.core.deprecations import DEPRECATIONS, LEAST_NOTICE_DAYS, ApiDeprecation
from ingest.models import Project
from ingest.projects.tokens import create_token

ROOT = Path(__file__).parents[4]
STATUS = ApiDeprecation(
    address="status",
    deprecated_on=date(2026, 11, 23),
    sunset_on=date(2027, 6, 1),
    instead="Use `quality`.",
    successor="quality",
)
SORT = ApiDeprecation(
    address="functions",
    parameter="sort",
    deprecated_on=date(2026, 12, 1),
    sunset_on=date(2027, 7, 1),
    instead="Sort what you receive.",
)


@pytest.fixture
def entries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deprecations, "DEPRECATIONS", (STATUS, SORT))
    deprecations._told.clear()


def ask(shop: Project, path: str, token: str | None = None) -> dict[str, str]:
    token = create_token(project=shop)[1] if token is None else token
    answer = Client().get(f"/api/v1/projects/shop/{path}", headers={"Authorization": f"Bearer {token}"})
    return {name: answer.headers[name] for name in ("Deprecation", "Sunset", "Link") if name in answer.headers}


def read_paths() -> dict[str, Any]:
    generator = SchemaGenerator()  # type: ignore[no-untyped-call]  # spectacular has no types
    paths: dict[str, Any] = generator.get_schema(request=None, public=True)["paths"]  # type: ignore[no-untyped-call]
    return paths


def test_a_deprecated_address_says_since_when_and_until_when(shop: Project, entries: None) -> None:
    assert ask(shop, "status") == {
        "Deprecation": "@1795392000",
        "Sunset": "Tue, 01 Jun 2027 00:00:00 GMT",
        "Link": '</api/v1/docs>; rel="deprecation"; type="text/html", </api/v1/docs>; rel="sunset"; type="text/html", '
        '</api/v1/projects/shop/quality>; rel="successor-version"',
    }


def test_only_requests_that_use_a_deprecated_parameter_are_told(shop: Project, entries: None) -> None:
    assert ask(shop, "functions") == {}
    assert ask(shop, "functions?sort=views")["Sunset"] == "Thu, 01 Jul 2027 00:00:00 GMT"
    assert ask(shop, "functions?sort=wrong")["Deprecation"] == "@1796083200"  # answers to bad ones, too


def test_strangers_learn_nothing(shop: Project, entries: None) -> None:
    assert ask(shop, "status", "ff_wrong") == {}


def test_the_log_names_the_project_once(shop: Project, entries: None, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, deprecations.__name__):
        ask(shop, "status")
        ask(shop, "status")
    assert caplog.messages == [f"Project {shop.pk} uses status, which may be gone from 2027-06-01 on."]


def test_the_document_marks_both(entries: None) -> None:
    paths = read_paths()
    status, functions = (paths[f"/api/v1/projects/{{slug}}/{name}"]["get"] for name in ("status", "functions"))
    assert status["deprecated"]
    assert "may be gone from 2027-06-01 on. Use `quality`." in status["description"]
    assert "deprecated" not in functions
    assert [found["name"] for found in functions["parameters"] if found.get("deprecated")] == ["sort"]


def test_each_entry_gives_notice_and_is_documented() -> None:
    paths = read_paths()
    section = (ROOT / "docs" / "api.md").read_text().partition("## Deprecated")[2].partition("\n## ")[0]
    for each in DEPRECATIONS:
        assert f"/api/v1/projects/{{slug}}/{each.address}" in paths, each
        assert (each.sunset_on - each.deprecated_on).days >= LEAST_NOTICE_DAYS, each
        assert f"`{each.parameter or each.address}`" in section, each
    assert section
