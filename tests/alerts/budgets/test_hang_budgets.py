"""Budgets on hangs: a count of a finished day, which needs no second day and no page views."""

from datetime import timedelta
from typing import Any

import pytest
from django.core.exceptions import ValidationError

from alerts.budgets import preview_budget
from alerts.models import StateChange
from alerts.queries import clean_alert_query, read_alert_query
from alerts.reading import describe_query, select_history
from profcore.alerts.states import State
from projects.models import Project
from tests.alerts.alerted_days import alert_it, evaluate, receive
from tests.alerts.costly_days import TODAY
from tests.builders import make_hang, make_project

pytestmark = pytest.mark.django_db
HANGS: dict[str, Any] = {"measure": "hangs", "limit": 3}


@pytest.fixture
def project() -> Project:
    return make_project("shop", name="Shop")


def hang(project: Project, days_ago: int, count: int, **fields: Any) -> None:
    make_hang(
        project, "at f (https://shop.example/a.js:1:2)", count=count, at=TODAY - timedelta(days=days_ago), **fields
    )


def test_one_day_over_the_limit_is_confirmed_and_two_within_it_end_it(project: Project) -> None:
    alert = alert_it(project, **HANGS)
    receive(project, 4)
    for days_ago, count in ((6, 3), (4, 4)):
        hang(project, days_ago, count)
    hang(project, 4, 20, reason="oom")
    assert evaluate(alert) == "RESOLVED"
    history = list(StateChange.objects.order_by("id").values_list("state", "value"))
    assert history == [(State.OK, 3.0), (State.CONFIRMED, 4.0), (State.RESOLVED, 0.0)]
    confirmed = select_history(project, before=None, most=2)[1]
    assert confirmed.said.headline == "Script: over its limit (4)"
    assert confirmed.said.how_much == "4 reports of pages that did not answer; the limit is 3"
    assert confirmed.said.how_sure == "counted; 60 page views were recorded"
    assert "/projects/shop/hangs/?from=2026-11-" in confirmed.links.slice


def test_a_page_has_a_budget_of_its_own_and_zero_reports_each_hang(project: Project) -> None:
    hang(project, 2, 50, page="/other")
    hang(project, 1, 1, page="/cart")
    assert evaluate(alert_it(project, **HANGS | {"page": "/cart"})) == "OK"
    alert = alert_it(project, **HANGS | {"page": "/cart", "limit": 0})
    preview = preview_budget(project.pk, read_alert_query(alert), TODAY)
    assert preview.alerts == 1
    assert [state for _, state in preview.days][-1] is State.CONFIRMED
    assert describe_query(alert) == "At most 0 reports a day of pages that did not answer; /cart"


@pytest.mark.parametrize(
    ("more", "field"),
    [({"device": "mobile"}, "device"), ({"name": "x"}, "name"), ({"limit": -1}, "limit"), ({"limit": False}, "limit")],
)
def test_what_hangs_do_not_have_is_refused(more: dict[str, Any], field: str) -> None:
    with pytest.raises(ValidationError) as error:
        clean_alert_query("budget", HANGS | more)
    assert list(error.value.message_dict) == [field]
