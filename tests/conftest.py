"""Fixtures for every test: process-wide memories emptied, the raw traces' partitions made."""

import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pytest_django import Settings

import tests.properties  # noqa: F401  # loads Hypothesis' profile before any property is made
from tests.shares import share_out_valkey

if TYPE_CHECKING:
    from execnet import XSpec
    from playwright.sync_api import Browser


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes(specs: list["XSpec"]) -> None:
    """Gives each process what it must not share, before it starts."""
    if url := os.environ.get("REDIS_URL"):  # the pure core's tests have none
        share_out_valkey(specs, url)


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Names long bytes by their argument: a gzip has the second it was made in, and processes must agree on names."""
    return argname if isinstance(val, bytes) and len(val) > 16 else None


@pytest.fixture(autouse=True)
def _forget_everything() -> None:
    """Empties what processes remember of the database: every test has its own."""
    from aggregate.interning import forget_interned
    from aggregate.selectors.categories import forget_sites
    from aggregate.selectors.code import forget_labels
    from ingest.admission import forget_admission
    from ingest.groups import forget_groups
    from ingest.keys import forget_keys

    for forget in (forget_admission, forget_groups, forget_interned, forget_keys, forget_labels, forget_sites):
        forget()


@pytest.fixture(autouse=True)
def _empty_raw_traces(request: pytest.FixtureRequest) -> Iterator[None]:
    """Empties the raw traces behind a test that commits: the flush between such tests knows managed tables alone."""
    yield
    marker = request.node.get_closest_marker("django_db")
    commits = "transactional_db" in request.fixturenames or (marker is not None and marker.kwargs.get("transaction"))
    if commits:
        from django.db import connection

        with request.getfixturevalue("django_db_blocker").unblock(), connection.cursor() as cursor:
            cursor.execute("TRUNCATE ingest_rawtrace")


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: pytest.FixtureRequest) -> Iterator[None]:
    """Adds the partitions that a deployment's beat makes.

    From a test with Playwright's event loop on, Django's connection is another than the one that ends with the
    database: it would keep it from being dropped.
    """
    from django.db import connections

    from ingest.partitions import create_coming_partitions

    with django_db_blocker.unblock():  # type: ignore[attr-defined]  # pytest-django does not export its type
        create_coming_partitions(datetime.now(UTC).date(), 2)
    yield
    with django_db_blocker.unblock():  # type: ignore[attr-defined]  # as above
        connections.close_all()


@pytest.fixture
def plain_static_files(settings: Settings) -> None:
    """Names static files as they are: the manifest is made by collectstatic, which tests do not need."""
    storages = dict(settings.STORAGES)
    storages["staticfiles"] = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
    settings.STORAGES = storages


@pytest.fixture(scope="module")
def chromium() -> Iterator["Browser"]:
    """One Chromium for each module that asks for it."""
    from tests.e2e.browser import open_chromium

    with open_chromium() as browser:
        yield browser


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Puts the files that take longest first: one that begins last would keep the other processes waiting for it."""
    seconds: dict[Path, float] = {}
    for item in items:
        for mark in item.iter_markers("slow"):
            seconds[item.path] = max(seconds.get(item.path, 0), *mark.args)
    items.sort(key=lambda item: -seconds.get(item.path, 0))
