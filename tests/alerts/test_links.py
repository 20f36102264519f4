"""The link of an alarm leads to what it is about: its days, its page and device, its row."""

from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from aggregate.selectors.functions.table import MAX_SEARCH_CHARS
from alerts.delivery.links import slice_path
from alerts.models import AlertRule, StateChange
from alerts.queries import clean_alert_query
from dashboard.web.params import MAX_SEARCH
from projects.models import Project

MIDNIGHT = datetime(2026, 11, 18, tzinfo=UTC)  # the end of the second day over the limit
DAYS = [("from", "2026-11-16T00:00Z"), ("to", "2026-11-18T00:00Z")]


def link(kind: str, question: dict[str, Any], **change: Any) -> tuple[str, list[tuple[str, str]]]:
    """Returns the path and the parameters of the link of a change after two days."""
    alert = AlertRule(kind=kind, question=clean_alert_query(kind, question))
    fields = {
        "at": MIDNIGHT,
        "began_at": MIDNIGHT - timedelta(days=1),
        "subject": "",
        "release": "",
        "base_release": "",
    }
    address = urlsplit(slice_path(Project(slug="shop"), alert, StateChange(**{**fields, **change})))
    return address.path, parse_qsl(address.query)


@pytest.mark.parametrize("by", ["package", "party"])
def test_a_share_leads_to_its_group_on_its_days(by: str) -> None:
    where = {"page": "/cart", "device": "mobile-low"}
    asked = {"measure": "share", "limit": 0.2, "by": by, "name": "react & co", **where}
    query = [*where.items(), *DAYS, ("group_by", by), ("q", "react & co")]
    assert link("budget", asked) == ("/projects/shop/functions/", query)


def test_a_share_of_a_function_leads_to_the_functions() -> None:
    asked = {"measure": "share", "limit": 0.2, "by": "function", "name": "renderCart"}
    assert link("budget", asked) == ("/projects/shop/functions/", [*DAYS, ("q", "renderCart")])


def test_new_third_parties_leads_to_what_is_new() -> None:
    query = [*DAYS, ("group_by", "party"), ("q", "Google Tag Manager")]
    assert link("new_third_parties", {"limit": 5, "by": "party"}, subject="Google Tag Manager")[1] == query


def test_an_open_state_leads_to_its_last_judged_day_and_an_accepted_one_to_the_last_midnight() -> None:
    seen_at = MIDNIGHT + timedelta(days=3)
    asked = {"limit": 5, "by": "party"}
    for change in ({"seen_at": seen_at}, {"at": seen_at + timedelta(hours=13)}):
        moments = {name: value for name, value in change.items() if name != "seen_at"}
        alert = AlertRule(kind="new_third_parties", question=clean_alert_query("new_third_parties", asked))
        state_change = StateChange(**{"at": MIDNIGHT, "began_at": MIDNIGHT, "subject": "x", **moments})
        state_change.seen_at = change.get("seen_at")
        query = dict(parse_qsl(urlsplit(slice_path(Project(slug="shop"), alert, state_change)).query))
        assert (query["from"], query["to"]) == ("2026-11-17T00:00Z", "2026-11-21T00:00Z")


def test_a_quiet_day_is_one_day() -> None:
    query = dict(link("new_third_parties", {"limit": 5, "by": "party"}, subject="x", began_at=None)[1])
    assert (query["from"], query["to"]) == ("2026-11-17T00:00Z", "2026-11-18T00:00Z")


def test_a_long_name_is_cut_to_what_the_search_takes() -> None:
    query = dict(link("new_third_parties", {"limit": 5, "by": "package"}, subject="x" * 400)[1])
    assert query["q"] == "x" * MAX_SEARCH_CHARS
    assert MAX_SEARCH_CHARS == MAX_SEARCH


def test_a_deleted_alert_does_not_say_what_the_name_is_of() -> None:
    change = StateChange(at=MIDNIGHT, subject="x", release="", base_release="")
    address = urlsplit(slice_path(Project(slug="shop"), None, change))
    assert address.path == "/projects/shop/functions/"
    assert [name for name, _ in parse_qsl(address.query)] == ["from", "to"]
