"""A project's quota of traces a day: what is beyond is refused with its reason, and counted."""

import json
from typing import Any

import pytest
from django.db import connection
from django.http import HttpResponse
from django.test import RequestFactory

from ingest.door.keys import forget_keys
from ingest.door.views import receive_traces
from ingest.models import Project, Receipt, Refusal
from ingest.projects.creation import create_project
from tests.envelopes import make_envelope

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _shop() -> None:
    create_project(slug="shop", key="shop-key", origins=["*"])


def send(body: Any) -> HttpResponse:
    request = RequestFactory().post("/ingest/v1/traces?key=shop-key", json.dumps(body), content_type="application/json")
    return receive_traces(request)


def set_quota(quota: int) -> None:
    Project.objects.update(max_traces_per_day=quota)
    forget_keys()


def counted() -> int:
    return sum(Refusal.objects.filter(reason="quota_exceeded").values_list("count", flat=True))


def test_what_is_beyond_the_quota_is_refused_and_counted() -> None:
    set_quota(3)
    assert send(make_envelope("a")).status_code == 202
    answer = send([make_envelope(f"b{n}") for n in range(5)])
    assert answer.status_code == 202
    told = json.loads(answer.content)
    assert told["accepted"] == 2
    assert [(refused["index"], refused["reason"]) for refused in told["rejected"]] == [
        (n, "quota_exceeded") for n in (2, 3, 4)
    ]
    single = send(make_envelope("c"))
    assert single.status_code == 429
    assert 1 <= int(single["Retry-After"]) <= 86_400
    assert Receipt.objects.count() == 3
    assert counted() == 4


def test_a_new_day_has_a_new_quota() -> None:
    set_quota(1)
    assert send(make_envelope("a")).status_code == 202
    assert send(make_envelope("b")).status_code == 429
    with connection.cursor() as cursor:
        cursor.execute("UPDATE ingest_daycount SET day_on = day_on - 1")
    assert send(make_envelope("b")).status_code == 202


def test_without_a_quota_nothing_is_counted() -> None:
    assert send([make_envelope(f"a{n}") for n in range(5)]).status_code == 202
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM ingest_daycount")
        assert cursor.fetchone() == (0,)


def test_a_project_may_lift_the_installations_quota(settings: pytest.FixtureRequest) -> None:
    settings.INGEST_MAX_TRACES_PER_DAY = 1  # type: ignore[attr-defined]  # pytest-django's settings
    assert send(make_envelope("a")).status_code == 202
    assert send(make_envelope("b")).status_code == 429
    set_quota(0)
    assert send(make_envelope("b")).status_code == 202
