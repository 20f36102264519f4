"""A project's quotas, of traces and of bytes: what is beyond is refused with its reason, and counted."""

import json
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connection
from django.http import HttpResponse
from django.test import RequestFactory
from pytest_django import Settings

from ingest.count_models import DayBytes, Refusal
from ingest.endpoint.admission import ADMISSION, BytesUsed, select_bytes
from ingest.models import Receipt
from projects.creation import create_project
from projects.key_cache import clear_keys
from projects.models import Project
from tests.envelopes import make_envelope
from tests.runner.endpoint_middleware import receive_traces

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _shop() -> None:
    create_project(slug="shop", key="shop-key", origins=["*"])


def send(body: Any) -> HttpResponse:
    request = RequestFactory().post("/ingest/v1/traces?key=shop-key", json.dumps(body), content_type="application/json")
    return receive_traces(request)


def set_quota(quota: int) -> None:
    Project.objects.update(max_traces_per_day=quota)
    clear_keys()


def counted() -> int:
    return sum(Refusal.objects.filter(reason="quota_exceeded").values_list("count", flat=True))


def test_what_is_beyond_the_quota_is_refused_and_counted() -> None:
    set_quota(3)
    assert send(make_envelope("a")).status_code == 202
    answer = send([make_envelope(f"b{n}") for n in range(5)])
    assert answer.status_code == 202
    outcome = json.loads(answer.content)
    assert outcome["accepted"] == 2
    assert [(refused["index"], refused["reason"]) for refused in outcome["rejected"]] == [
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


def use(bytes_: int, days_ago: int = 0) -> None:
    """Counts bytes as stored, as posts of that day do."""
    project = Project.objects.get()
    day_on = datetime.now(UTC).date() - timedelta(days=days_ago)
    DayBytes.objects.create(project=project, day_on=day_on, shard=100 + days_ago, bytes=bytes_)
    ADMISSION.clear()


def limit_bytes(**quotas: int) -> None:
    Project.objects.update(**quotas)
    clear_keys()


def test_stored_bytes_are_counted_once_and_not_for_a_repeated_post() -> None:
    send([make_envelope("a"), make_envelope("b")])
    send(make_envelope("a"))
    with connection.cursor() as cursor:
        cursor.execute("SELECT sum(octet_length(body)) FROM ingest_rawtrace")
        ((stored,),) = cursor.fetchall()
    assert select_bytes(Project.objects.get().pk, datetime.now(UTC), 30) == BytesUsed(today=stored, kept=stored)


def test_beyond_the_bytes_of_a_day_posts_are_refused_until_midnight() -> None:
    limit_bytes(max_mb_per_day=1)
    use(999_000)
    assert send(make_envelope("a")).status_code == 202
    use(1_000, days_ago=1)
    assert send(make_envelope("b")).status_code == 202
    DayBytes.objects.update(bytes=1_000_000)
    ADMISSION.clear()
    answer = send(make_envelope("c"))
    assert (answer.status_code, json.loads(answer.content)["reason"]) == (429, "quota_exceeded")
    assert "1 MB of traces a day (UTC), compressed." in json.loads(answer.content)["detail"]
    assert 1 <= int(answer["Retry-After"]) <= 86_400
    assert counted() == 1


def test_beyond_the_bytes_kept_posts_are_refused_and_expired_days_do_not_count() -> None:
    limit_bytes(max_kept_mb=2, keep_raw_days=10)
    use(1_500_000, days_ago=11)
    use(1_500_000, days_ago=3)
    assert send(make_envelope("a")).status_code == 202
    use(1_000_000, days_ago=5)
    answer = send(make_envelope("b"))
    assert (answer.status_code, json.loads(answer.content)["reason"]) == (429, "quota_exceeded")
    assert "keep 2 MB of raw traces, compressed." in json.loads(answer.content)["detail"]


def test_quotas_of_bytes_are_on_by_default_and_zero_means_no_quota(settings: Settings) -> None:
    settings.INGEST_MAX_MB_PER_DAY = 1
    use(2_000_000)
    assert send(make_envelope("a")).status_code == 429
    limit_bytes(max_mb_per_day=0)
    assert send(make_envelope("a")).status_code == 202


def test_an_import_keeps_to_the_quotas_of_bytes(tmp_path: Path) -> None:
    limit_bytes(max_mb_per_day=1)
    use(1_000_000)
    file = tmp_path / "trace.json"
    file.write_text(json.dumps(make_envelope("a")))
    err = StringIO()
    with pytest.raises(CommandError):
        call_command("import_traces", "--project", "shop", str(file), stderr=err)
    assert "1 MB of traces a day" in err.getvalue()
    assert not Receipt.objects.exists()
