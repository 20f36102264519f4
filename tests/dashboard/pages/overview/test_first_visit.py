"""A first visit, step by step: what the page says at each, and that it stays until there is something to see."""

from datetime import UTC, datetime, timedelta

import pytest
from django.test import Client

from ingest.count_models import Refusal
from ingest.models import Receipt
from projects.models import IngestKey, Membership, Project
from tests.builders import count_receipts, make_absence, make_cell, make_project, make_receipt
from tests.dashboard.conftest import People
from tests.dashboard.pages.reading import text_of

ADDRESS = "/projects/fresh/"
PART = "/projects/fresh/first-steps/"


@pytest.fixture
def fresh(member: Client) -> Project:
    """A project of which nothing came yet; the member administers it."""
    project = make_project("fresh")
    project.memberships.create(user_id=member.session["_auth_user_id"], role=Membership.Role.ADMIN)
    return project


def states_of(client: Client) -> list[str]:
    """Returns the state of each step: reached, received, folded."""
    page = client.get(PART).content.decode()
    return [piece.partition('"')[0] for piece in page.split('<li class="is-')[1:]]


def test_nothing_has_come_yet(member: Client, fresh: Project) -> None:
    assert states_of(member) == ["now", "later", "later"]
    assert "Waiting for the first trace with the key." in text_of(member, ADDRESS)


def test_a_refused_post_has_reached_the_server_and_is_shown_with_its_reason(member: Client, fresh: Project) -> None:
    Refusal.objects.create(project=fresh, hour_at=datetime.now(UTC), reason="origin_not_allowed", shard=0, count=2)
    assert states_of(member) == ["done", "problem", "later"]
    assert "2 × origin_not_allowed The page’s origin is not allowed for this key." in text_of(member, ADDRESS)


def test_a_received_trace_waits_to_be_folded(member: Client, fresh: Project) -> None:
    make_receipt(fresh, state=Receipt.State.PENDING, age=timedelta(seconds=2))
    assert states_of(member) == ["done", "done", "now"]
    assert "Check whether a worker runs" not in text_of(member, PART)


def test_a_trace_that_waits_for_long_leads_to_the_worker(member: Client, fresh: Project) -> None:
    make_receipt(fresh, state=Receipt.State.PENDING, age=timedelta(minutes=2))
    assert "Check whether a worker runs" in text_of(member, PART)


def test_a_trace_that_was_rejected_is_shown_with_its_reason(member: Client, fresh: Project) -> None:
    receipt = make_receipt(fresh, state=Receipt.State.REJECTED)
    Receipt.objects.filter(project=fresh).update(reason="too_deep", detail="300 <frames>")
    assert receipt.state == Receipt.State.REJECTED
    assert states_of(member) == ["done", "done", "problem"]
    text = text_of(member, PART)
    assert "of /cart in release 1.0.0 , was received but could not be folded. A stack is too deep." in text
    assert "300 <frames>" in text  # as text


def test_a_folded_trace_ends_the_first_visit(member: Client, fresh: Project) -> None:
    make_receipt(fresh)
    make_cell(fresh, js_us=5_000)
    assert states_of(member) == ["done", "done", "done"]
    assert "data-done" in member.get(PART).content.decode()
    assert "Show the overview" in text_of(member, PART)
    assert "Pages by cost" in text_of(member, ADDRESS)


def test_sums_outlive_the_counts_of_what_came(member: Client, fresh: Project) -> None:
    make_receipt(fresh)
    make_cell(fresh, js_us=5_000)
    Receipt.objects.filter(project=fresh).delete()
    count_receipts()
    assert "Pages by cost" in text_of(member, ADDRESS)


def test_it_says_from_where_the_key_may_be_used_and_who_can_change_that(
    client: Client, people: People, fresh: Project
) -> None:
    client.force_login(people.member)
    IngestKey.objects.filter(project=fresh).update(origins=["https://a.example", "https://b.example"])
    text = text_of(client, ADDRESS)
    assert "This key allows https://a.example , https://b.example ; traces from other origins are refused." in text
    assert "Change keys and origins" in text
    IngestKey.objects.filter(project=fresh).update(origins=["*"])
    assert "This key allows any origin." in text_of(client, ADDRESS)
    IngestKey.objects.filter(project=fresh).update(origins=[])
    assert "This key allows no origin yet" in text_of(client, ADDRESS)
    fresh.memberships.update(role=Membership.Role.MEMBER)
    assert "Change keys and origins" not in text_of(client, ADDRESS)


def test_a_page_without_the_header_is_shown_with_the_line_to_add(member: Client, fresh: Project) -> None:
    make_absence(fresh, "no-header", views=3)
    assert states_of(member) == ["done", "problem", "later"]
    text = text_of(member, ADDRESS)
    assert "Your page loads the snippet, but recorded nothing." in text
    assert "The page loads the snippet, but has no Document-Policy header. About 3 page views today" in text
    assert "not of the script: Document-Policy: js-profiling" in text
    said = member.get(PART).content.decode().split('data-said="')[1].partition('"')[0]
    assert "no Document-Policy header" in said


def test_a_policy_is_shown_with_the_address_of_this_server(member: Client, fresh: Project) -> None:
    make_absence(fresh, "csp")
    assert "connect-src http://testserver" in text_of(member, PART)


def test_what_recorded_nothing_is_over_once_a_trace_is_received(member: Client, fresh: Project) -> None:
    make_absence(fresh, "no-header")
    make_receipt(fresh, state=Receipt.State.PENDING)
    assert states_of(member) == ["done", "done", "now"]
    assert "Recorded nothing" not in text_of(member, PART)


def test_what_recorded_nothing_days_ago_or_elsewhere_is_not_shown(member: Client, fresh: Project) -> None:
    make_absence(fresh, "no-header", day_on=datetime.now(UTC).date() - timedelta(days=3))
    make_absence(make_project("another"), "no-header")
    assert states_of(member) == ["now", "later", "later"]
