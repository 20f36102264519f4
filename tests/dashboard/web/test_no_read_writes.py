"""No read writes: every address is asked on a connection that cannot.

Authentication notes every ten minutes that a token is used; the reads themselves write nothing.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client

from projects.models import Project
from projects.tokens import create_token, note_use
from tests.builders import make_group, make_timed_views
from tests.dashboard.conftest import make_people, make_shop
from tests.dashboard.web.addresses import (
    ADMIN_ADDRESSES,
    API,
    API_ADDRESSES,
    PAGE_ADDRESSES,
    PROJECT_QUESTION_ADDRESSES,
)

VERDICTS = [
    "/projects/shop/",
    "/projects/shop/change-parts/?base_release=2.0.0&head_release=2.1.0",
    "/projects/shop/changes/?base_release=2.0.0&head_release=2.1.0",
    "/projects/shop/change-forced/?base_release=2.0.0&head_release=2.1.0",
    API + "verdict?base_release=2.0.0&head_release=2.1.0",
    API + "verdict?base_release=2.0.0&head_release=2.1.0&device=desktop",
    API + "profile?format=speedscope&base_release=2.0.0&head_release=2.1.0",
    API + "flamegraph?base_release=2.0.0&head_release=2.1.0",
]
ADDRESSES = [*API_ADDRESSES, *PAGE_ADDRESSES, *ADMIN_ADDRESSES, *PROJECT_QUESTION_ADDRESSES, *VERDICTS]


@contextmanager
def nothing_can_be_written() -> Iterator[None]:
    with connection.cursor() as cursor:
        cursor.execute("SET default_transaction_read_only = on")
        try:
            yield
        finally:
            cursor.execute("SHOW transaction_read_only")
            assert cursor.fetchone() == ("on",)
            cursor.execute("SET default_transaction_read_only = off")


@pytest.fixture
def shop(transactional_db: None) -> Project:
    """Two of its releases have enough page views for a verdict."""
    project = make_shop()
    make_people(project)
    for release, more_us in (("2.0.0", 0), ("2.1.0", 20_000)):
        make_group(project, release, "/cart")
        make_timed_views(project, [10_000 + more_us, 20_000 + more_us] * 20, release=release)
    return project


def test_every_address_answers_where_nothing_can_be_written(shop: Project, client: Client) -> None:
    client.force_login(User.objects.get(username="owner"))
    token, clear = create_token(project=shop)
    note_use(token, datetime.now(UTC))  # so that no request does it
    faults = []
    with nothing_can_be_written():
        for address in ADDRESSES:
            bearer = {"Authorization": f"Bearer {clear}"} if address.startswith("/api/") else None
            try:
                status = client.get(address, headers=bearer).status_code
            except Exception as error:  # all addresses are told at once
                faults.append(f"{address}: {error!r}")
            else:
                if status not in (200, 404):
                    faults.append(f"{address}: {status}")
    assert not faults
