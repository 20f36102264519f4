"""No page, script or module writes an address of the server itself: it would not be below `FIELDFLAME_PATH`.

Python has `reverse`, templates have `{% url %}` and `{% static %}`, and scripts get their addresses from the page.
"""

import ast
import re
from collections.abc import Iterator
from typing import Final

import pytest

from config.env import OWN_WORDS
from tests.architecture.tree import PRODUCT, ROOT, list_files, list_modules, parse_module

WORD: Final = rf"/(?:{'|'.join(map(re.escape, sorted(OWN_WORDS, key=len, reverse=True)))})(?![\w-])"
# At the beginning of a string, of an attribute's value, or of `url(…)`. A page's name looks alike.
IN_TEXT: Final = re.compile(rf"(?<!data-page=)[\"'`=(]\s*({WORD}[^\"'`\s)>]*)")
IN_PYTHON: Final = re.compile(rf"{WORD}[^\s\"]*")
# Paths of requests, from which FIELDFLAME_PATH is taken off before they are compared; and others that are not ours.
OF_REQUESTS: Final = {
    "dashboard/web/guests/middleware.py": {"/shared/([^/]+)/?", "/shared/.../"},
    "dashboard/web/unavailable.py": {"/api/"},
    "ingest/endpoint/datadog.py": {"/api/v2/profile", "/api/v2/profiling/quota"},  # the SDK's own
    "ingest/endpoint/forwarding.py": {"/api/v2/[a-z0-9_-]+(?:/[a-z0-9_-]+)*"},  # as above
    "ingest/endpoint/views.py": {
        *("/ingest/v1/traces", "/ingest/v1/absent", "/ingest/v1/loads", "/ingest/v1/reports"),
    },
    "ops/preload.py": {"/projects/-/-/-/-"},
    "ops/telemetry/requests.py": {
        *("/ingest/v1/traces", "/ingest/v1/absent", "/ingest/v1/loads", "/ingest/v1/reports"),
        *("/datadog/", "/sentry/", "/snippet", "/api/", "/static/", "/healthz", "/readyz", "/metrics"),
    },
    "ops/telemetry/serving.py": {"/metrics"},
    # Joined with FIELDFLAME_PATH where they are used.
    "aggregate/doctor/tag_checks.py": {"/ingest/v1/traces", "/snippet(?:\\.js|/(?:full/)?([^/]+)\\.js)$"},
    "config/settings.py": {"/static/"},
    "dashboard/layout/hang_lines.py": {"/ingest/v1/reports?key="},
    "dashboard/layout/sdk_lines.py": {"/datadog/", "/sentry/"},
    "dashboard/layout/snippet_tag.py": {"/snippet/"},
    "dashboard/pages/overview/onboarding.py": {"/ingest/v1/traces?key="},
    "ingest/management/commands/send_traces.py": {"/ingest/v1/traces?"},
    "aggregate/doctor/examining.py": {"/snippet.js"},
    "ops/supervisor/start.py": {"/healthz", "/readyz", "/demo/"},
    "ops/supervisor/running.py": {"/readyz", "/api/v1/projects/"},
}


def find_in_text(text: str) -> list[str]:
    return IN_TEXT.findall(text)


def find_in_module(module: str) -> Iterator[str]:
    """Yields the strings of a module, and the pieces of its f-strings, that begin with an address of the server."""
    for node in ast.walk(parse_module(module)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and (found := IN_PYTHON.match(node.value)):
            yield found[0]


def test_no_page_script_or_style_has_an_address_of_the_server() -> None:
    paths = [
        path
        for path in list_files(".html", ".js", ".css")
        if path.startswith(("dashboard/", "ingest/snippet/demo_site/")) and "/vendor/" not in path
    ]
    assert len(paths) > 100
    found = {path: find_in_text((ROOT / path).read_text(encoding="utf-8")) for path in paths}
    assert {path: addresses for path, addresses in found.items() if addresses} == {}


def test_no_module_has_an_address_of_the_server() -> None:
    modules = {name: path for name, path in list_modules().items() if path.startswith(tuple(f"{p}/" for p in PRODUCT))}
    found = {path: set(find_in_module(name)) for name, path in modules.items()}
    assert {path: addresses for path, addresses in found.items() if addresses} == OF_REQUESTS


@pytest.mark.parametrize(
    "text",
    [
        '<a href="/projects/">',
        "<form action=/login/>",
        '<div hx-get="/search/results/">',
        "fetch('/api/v1/projects')",
        "fetch(`/api/v1/projects/${slug}/views`)",
        "location.assign( '/projects/' )",
        "background: url(/static/a.svg)",
    ],
)
def test_such_an_address_is_seen(text: str) -> None:
    assert len(find_in_text(text)) == 1


@pytest.mark.parametrize("text", ["<a href=\"{% url 'projects' %}\">", 'page="/product/:id"', "url(../static/a.svg)"])
def test_others_are_not(text: str) -> None:
    assert find_in_text(text) == []
