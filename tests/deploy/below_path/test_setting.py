"""FIELDFLAME_PATH: what it may be, what is made from it, and what a wrong one says."""

import os
import subprocess
import sys
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.test import RequestFactory
from django.test.utils import override_script_prefix
from django.urls import get_resolver
from django.views.defaults import server_error
from pytest_django import Settings

from alerts.delivery.links import absolute
from config.env import OWN_WORDS, read_url_path
from ingest.snippet.files import ENDPOINT
from ingest.snippet.views import SNIPPET_PATH
from ops.url_path import take_off_path
from tests.deploy.files import ROOT

NAME = "FIELDFLAME_PATH"


@pytest.mark.parametrize("path", ["", "/fieldflame", "/tools/fieldflame", "/a.b_c~d-1", "/projects2"])
def test_a_path_is_taken_as_it_is(path: str) -> None:
    assert read_url_path(NAME, {NAME: path}) == path


@pytest.mark.parametrize(
    "path",
    [
        *("fieldflame", "/", "/fieldflame/", "//fieldflame", "/a//b", "/..", "/a/../b", "/./a", "/a b", "/é", "/a?b"),
        *("/a%2Fb", "/a;b", "/a#b", " /a", "/a\n", "https://host/a", "a/b"),
    ],
)
def test_another_text_is_refused_by_the_name_of_the_setting(path: str) -> None:
    with pytest.raises(ImproperlyConfigured, match=r"FIELDFLAME_PATH must be a path such as /fieldflame"):
        read_url_path(NAME, {NAME: path})


def test_a_path_that_begins_as_an_address_of_the_server_is_refused() -> None:
    with pytest.raises(ImproperlyConfigured, match=r"FIELDFLAME_PATH must not begin with /projects"):
        read_url_path(NAME, {NAME: "/projects/here"})


def test_the_first_words_of_all_addresses_are_known() -> None:
    def list_words(patterns: Any) -> set[str]:  # Any: of Django's resolvers
        words = set()
        for pattern in patterns:
            word = str(pattern.pattern).partition("/")[0]
            words |= list_words(pattern.url_patterns) if hasattr(pattern, "url_patterns") and not word else {word}
        return words

    # The last one is of addresses below /api that do not exist.
    without_pattern = {"datadog", "ingest", "sentry", "static"}
    assert list_words(get_resolver().url_patterns) - {"", "^api(?:"} | without_pattern == OWN_WORDS


@pytest.mark.parametrize(
    ("asked", "left"),
    [
        ("/fieldflame/projects/", "/projects/"),
        ("/fieldflame", "/"),
        ("/fieldflame/", "/"),
        ("/projects/", "/projects/"),
        ("/fieldflames/", "/fieldflames/"),
        ("//fieldflame/ingest/v1/traces", "/ingest/v1/traces"),
        ("/fieldflame//ingest/v1/traces", "//ingest/v1/traces"),
        ("//ingest/v1/traces", "//ingest/v1/traces"),
        ("/fieldflame/fieldflame/", "/fieldflame/"),
    ],
)
def test_the_path_is_taken_off_once_if_it_is_there(asked: str, left: str) -> None:
    environ = {"PATH_INFO": asked}
    take_off_path(environ, "/fieldflame")
    assert environ == {"PATH_INFO": left}


def test_the_snippet_has_one_place_for_the_path() -> None:
    assert SNIPPET_PATH.read_bytes().count(ENDPOINT) == 1


@pytest.mark.parametrize("address", ["https://profiles.example", "https://profiles.example/fieldflame/"])
def test_links_in_messages_have_the_path_once(address: str, settings: Settings) -> None:
    settings.ADDRESS, settings.URL_PATH = address, "/fieldflame"
    assert absolute("/fieldflame/projects/shop/") == "https://profiles.example/fieldflame/projects/shop/"


def test_the_page_of_an_error_leads_to_the_projects_below_the_path() -> None:
    with override_script_prefix("/fieldflame/"):
        assert b'href="/fieldflame/projects/"' in server_error(RequestFactory().get("/")).content


def run(command: list[str], path: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, NAME: path}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


def test_a_worker_makes_addresses_below_the_path() -> None:
    code = (
        "from config.celery import app; app.loader.import_default_modules();"
        "from django.urls import reverse; print(reverse('alerts', args=['shop']))"
    )
    done = run([sys.executable, "-c", code], "/fieldflame")
    assert done.stdout == "/fieldflame/projects/shop/alerts/\n", done.stderr


def test_a_wrong_path_ends_the_start_with_one_sentence() -> None:
    done = run(["deploy/start", "web"], "/fieldflame/")
    assert (done.returncode, done.stderr) == (
        os.EX_CONFIG,
        "Fieldflame: FIELDFLAME_PATH must be a path such as /fieldflame: letters, digits and -._~ between slashes, "
        "none at the end; not '/fieldflame/'.\n",
    )
