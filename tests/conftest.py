"""Fixtures for every test: process-wide memories and tables emptied, the raw traces' partitions made."""

import os
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import tests.properties  # noqa: F401  # loads Hypothesis' profile before any property is made
from profcore.kernel import find_kernel
from tests.runner.caches import clear_caches
from tests.runner.emptying import empty_filled_tables_only
from tests.runner.lending import close_all
from tests.runner.outcome.second_try import FAILED_FILE_NAME, FailedTests
from tests.runner.outcome.timings import Timings
from tests.runner.shares import share_out_valkey

if TYPE_CHECKING:
    from execnet import XSpec
    from playwright.sync_api import Browser

    from ops.supervisor.running import RunningStack


def pytest_configure(config: pytest.Config) -> None:
    """Reports at the end where the time went and what failed; of several processes, the first one does."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Timings())
        if path := os.environ.get(FAILED_FILE_NAME):
            config.pluginmanager.register(FailedTests(Path(path)))


def pytest_report_header() -> str:
    kernel = find_kernel()
    return f"kernel: {kernel.name}{', because ' if kernel.why_pure else ''}{kernel.why_pure}"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes(specs: list["XSpec"]) -> None:
    """Gives each process what it must not share, before it starts."""
    if url := os.environ.get("REDIS_URL"):  # the pure core's tests have none
        share_out_valkey(specs, url)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object | None:
    """Keeps files in one process that share a running Fieldflame."""
    if config.getvalue("dist") != "loadfile":
        return None
    from tests.runner.scheduling import TogetherScheduling

    return TogetherScheduling(config, log)


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Names long bytes and gzips by their argument: a gzip has the second it was made in, and processes must agree."""
    is_named = isinstance(val, bytes) and (len(val) > 16 or val.startswith(b"\x1f\x8b"))
    return argname if is_named else None


@pytest.fixture(autouse=True)
def _clear_caches() -> None:
    """Empties what processes cache of the database: every test has its own."""
    clear_caches()


@pytest.fixture(autouse=True)
def _statements_fit_citus() -> Iterator[None]:
    """Fails the test in which the project sent a statement that Citus would not take on one shard."""
    yield
    if (guard := sys.modules.get("tests.citus.statement_guard")) and (broken := guard.take_broken()):
        pytest.fail("\n".join(broken), pytrace=False)


@pytest.fixture(scope="session", autouse=True)
def django_test_environment(django_test_environment: None) -> Iterator[None]:
    """Has the test client and the live server answer posts to the endpoint, and name static files plainly.

    From their first request: the live server reads its middleware once, and some pages need no database.
    """
    from tests.runner.endpoint_middleware import use_endpoint

    with pytest.MonkeyPatch.context() as patch:
        use_endpoint(patch)
        name_static_files_plainly(patch)
        yield


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings: None) -> Iterator[None]:
    """Has the database on Citus, if `./test citus` asks for it."""
    from tests.citus.cluster import create_test_databases_there, is_on_citus

    with pytest.MonkeyPatch.context() as patch:
        if is_on_citus():
            create_test_databases_there(patch)
        yield


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: pytest.FixtureRequest) -> Iterator[None]:
    """Adds the partitions that a deployment's beat makes, and makes commits and passwords cheap.

    From a test with Playwright's event loop on, Django's connection is another than the one that ends with the
    database: it would keep it from being dropped.
    """
    from django.db import connections

    from ingest.storage.partitions import create_coming_partitions
    from ingest.storage.store_pool import STORE_POOL
    from ops.citus.distributing import distribute
    from tests.citus.cluster import is_on_citus
    from tests.citus.statement_guard import watch_statements

    with django_db_blocker.unblock():  # type: ignore[attr-defined]  # pytest-django does not export its type
        if is_on_citus():
            distribute()
        create_coming_partitions(datetime.now(UTC).date(), 3)  # one more than needed: midnight may pass
    with pytest.MonkeyPatch.context() as patch:
        watch_statements(patch)
        empty_filled_tables_only(patch)
        hash_passwords_quickly(patch)
        yield
    STORE_POOL.close()
    with django_db_blocker.unblock():  # type: ignore[attr-defined]  # as above
        connections.close_all()


def hash_passwords_quickly(patch: pytest.MonkeyPatch) -> None:
    """Replaces the hash that is slow on purpose: 0.4 s of a processor for each user with a password."""
    from django.conf import settings
    from django.contrib.auth.hashers import reset_hashers

    patch.setattr(settings, "PASSWORD_HASHERS", ["django.contrib.auth.hashers.MD5PasswordHasher"])
    reset_hashers(setting="PASSWORD_HASHERS")


def name_static_files_plainly(patch: pytest.MonkeyPatch) -> None:
    """Names static files as they are: the manifest is made by collectstatic, which tests do not need.

    It holds for all tests together. A request may outlive its test's live server, and would give the storage that was
    just put back to the next test.
    """
    from django.conf import settings
    from django.test.signals import storages_changed

    plain = {"staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}}
    patch.setattr(settings, "STORAGES", settings.STORAGES | plain)
    storages_changed(setting="STORAGES")


@pytest.fixture(scope="module")
def whole_stack(request: pytest.FixtureRequest) -> Iterator["RunningStack"]:
    """A whole Fieldflame with its demo, which several files share: a first start takes 15 s of a processor."""
    from tests.runner.stacks import WHOLE_STACK

    yield from WHOLE_STACK.lend(request)


@pytest.fixture(scope="module")
def chromium() -> Iterator["Browser"]:
    """The Chromium of this process."""
    from tests.e2e.browser import lend_chromium

    with lend_chromium() as browser:
        yield browser


def pytest_sessionfinish() -> None:
    """Closes what is still lent, and the Chromium of this process, if a test has started it."""
    close_all()
    if module := sys.modules.get("tests.e2e.browser"):
        module.SHARED.close()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks what borrows the browser, and puts the files that take longest first.

    A long file that begins last would keep the other processes waiting for it.
    """
    for item in items:
        if "chromium" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.e2e)
    seconds: dict[Path, float] = {}
    for item in items:
        for mark in item.iter_markers("slow"):
            seconds[item.path] = max(seconds.get(item.path, 0), *mark.args)
    items.sort(key=lambda item: -seconds.get(item.path, 0))
