"""What a quota or a rate turned away is told beside the shares, by reason, for the slice's time."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client, RequestFactory
from pytest_django import Settings

from ingest.count_models import ReceiptCount, Refusal
from projects.models import Membership, Project
from tests.aggregate.posting import fold_all
from tests.builders import make_project
from tests.dashboard.pages.reading import text_of
from tests.envelopes import make_envelope
from tests.runner.endpoint_middleware import receive_traces

API = "/api/v1/projects/shop/"
LONG_AGO = datetime.now(UTC).replace(minute=0, second=0, microsecond=0) - timedelta(days=9)


def send(*envelopes: dict[str, Any], status: int = 202) -> None:
    request = RequestFactory().post(
        "/ingest/v1/traces?key=KEY-shop", json.dumps(envelopes), content_type="application/json"
    )
    assert receive_traces(request).status_code == status


@pytest.fixture
def reader(client: Client, db: None, settings: Settings) -> Client:
    """A member of a shop that sent seven traces today, of which a quota let in three; and one that was no trace."""
    project = make_project("shop")
    Project.objects.update(max_traces_per_day=3)
    send(*(make_envelope(f"v{n}", "A") for n in range(7)), make_envelope("bad", "A", sampleInterval=-1))
    fold_all()
    Refusal.objects.create(project=project, hour_at=LONG_AGO, reason="rate_limited", shard=0, count=20)
    ReceiptCount.objects.create(project=project, hour_at=LONG_AGO, folded=0, rejected=0, last_received_at=LONG_AGO)
    Refusal.objects.create(
        project=make_project("other"), hour_at=LONG_AGO, reason="quota_exceeded", shard=0, count=1_000
    )
    user = User.objects.create_user("member")
    Membership.objects.create(project=project, user=user)
    client.force_login(user)
    return client


def test_status_tells_refusals_by_reason_and_how_many_were_dropped(reader: Client) -> None:
    answer = reader.get(API + "status").json()
    assert answer["refused_by_reason"] == {"out_of_range": 1, "quota_exceeded": 4, "rate_limited": 20}
    assert (answer["received"], answer["refused"], answer["dropped"]) == (3, 25, 24)


@pytest.mark.parametrize("address", ["functions", "overview"])
def test_answers_tell_what_arrived_in_the_slices_time(reader: Client, address: str) -> None:
    assert reader.get(API + address).json()["arrivals"] == {
        "received": 3,
        "refused": 25,
        "refused_by_reason": {"out_of_range": 1, "quota_exceeded": 4, "rate_limited": 20},
        "dropped": 24,
        "dropped_share": 24 / 27,
    }
    recent = (datetime.now(UTC) - timedelta(days=1)).strftime("%Y-%m-%dT%H:%M")
    arrivals = reader.get(f"{API}{address}?from={recent}&release=1.0.0").json()["arrivals"]
    assert (arrivals["received"], arrivals["dropped"], arrivals["dropped_share"]) == (3, 4, 4 / 7)
    assert arrivals["refused_by_reason"] == {"out_of_range": 1, "quota_exceeded": 4}
    before = reader.get(f"{API}{address}?to=2020-01-01").json()["arrivals"]
    assert (before["received"], before["refused_by_reason"], before["dropped_share"]) == (0, {}, None)


def test_what_waits_has_arrived_too(reader: Client) -> None:
    Project.objects.update(max_traces_per_day=None)
    from projects.key_cache import clear_keys

    clear_keys()
    send(make_envelope("late", "A"))
    assert reader.get(API + "functions").json()["arrivals"]["received"] == 4


def test_the_pages_say_it_where_there_are_any(reader: Client) -> None:
    sentence = "In this time, 24 of the project’s traces ( 88.9 % ) were refused. No number on this page counts them:"
    for address in ("/projects/shop/", "/projects/shop/functions/?page=/cart"):
        text = text_of(reader, address)
        assert sentence in text
        assert "20 rate limited, 4 quota exceeded." in text
    Refusal.objects.all().delete()
    assert "were refused" not in text_of(reader, "/projects/shop/")
