"""What ran a little, on a day that could not be judged, or beside made-up names is still told once it costs.

Each case is told by the alert, day by day, and by its preview.
"""

from datetime import date, timedelta
from typing import Final

import pytest
from pytest_django import Settings

from alerts.models import AlertRule, AlertState, StateChange
from alerts.rules import create_alert
from profcore.alerts.states import State
from projects.models import Project
from tests.alerts.costly_days import APP, TODAY, add_functions, follow_alert, preview_alert
from tests.builders import make_project

pytestmark = pytest.mark.django_db
ASKED: Final = {"measure": "time", "by": "party", "limit": 10.0}
TAG: Final = "https://www.googletagmanager.com/gtag/js"
NAME: Final = "Google Tag Manager"
KIT: Final = f"{APP}/node_modules/tag-kit/index.js"


@pytest.fixture
def project() -> Project:
    return make_project("shop", name="Shop")


@pytest.fixture
def alert(project: Project) -> AlertRule:
    now = TODAY - timedelta(days=9)
    return create_alert(project=project, kind="new_third_parties", name="New", question=ASKED, now=now)


def day(days_ago: int) -> date:
    return (TODAY - timedelta(days=days_ago)).date()


def launch(project: Project, *days_ago: int) -> None:
    """Days on which all views run the tag, for twice the limit."""
    for ago in days_ago:
        add_functions(project, ago, {APP: 0.5, TAG: 0.2})


def add_quiet(project: Project, *days_ago: int) -> None:
    for ago in days_ago:
        add_functions(project, ago, {APP: 0.5})


def made_up(days_ago: int, count: int = 50) -> dict[str, float]:
    """Packages that nobody had before, each of them heavier than the kit."""
    return {f"{APP}/node_modules/made-up-{days_ago}-{number}/x.js": 3.0 for number in range(count)}


def alert_packages(project: Project) -> AlertRule:
    asked = {**ASKED, "by": "package"}
    now = TODAY - timedelta(days=9)
    return create_alert(project=project, kind="new_third_parties", name="New", question=asked, now=now)


def assert_confirmed(alert: AlertRule, *expected: tuple[date, str], since: int = 9) -> None:
    assert follow_alert(alert, since) == list(expected)
    assert preview_alert(alert) == list(expected)


def test_what_one_person_tried_the_day_before_is_reported(project: Project, alert: AlertRule) -> None:
    add_quiet(project, 6, 5, 4)
    add_functions(project, 3, {APP: 0.5, TAG: 0.2}, ran_by={TAG: 1})
    launch(project, 2, 1)
    assert_confirmed(alert, (day(1), NAME))


def test_what_a_few_had_for_four_days_is_reported(project: Project, alert: AlertRule) -> None:
    add_quiet(project, 8, 7)
    for days_ago in (6, 5, 4, 3):
        add_functions(project, days_ago, {APP: 0.5, TAG: 0.2}, ran_by={TAG: 4})
    launch(project, 2, 1)
    assert_confirmed(alert, (day(1), NAME))


def test_what_ran_first_on_a_day_with_too_few_views_is_reported(project: Project, alert: AlertRule) -> None:
    add_quiet(project, 6, 5)
    for days_ago in (4, 3):
        add_functions(project, days_ago, {APP: 0.5, TAG: 0.2}, views=20)
    launch(project, 2, 1)
    assert_confirmed(alert, (day(1), NAME))


def test_made_up_names_of_a_few_views_hide_nothing(project: Project) -> None:
    alert = alert_packages(project)
    add_quiet(project, 6, 5, 4)
    for days_ago in (3, 2, 1):
        names = made_up(days_ago)
        add_functions(project, days_ago, {APP: 0.5, KIT: 0.2, **names}, ran_by=dict.fromkeys(names, 8))
    assert_confirmed(alert, (day(2), "tag-kit"))


def test_what_came_on_a_day_of_too_many_new_names_is_new_on_the_next_one(project: Project) -> None:
    alert = alert_packages(project)
    add_quiet(project, 6, 5, 4)
    add_functions(project, 3, {APP: 0.5, KIT: 0.2, **made_up(3)}, ran_by={KIT: 59})
    for days_ago in (2, 1):
        add_functions(project, days_ago, {APP: 0.5, KIT: 0.2})
    assert_confirmed(alert, (day(1), "tag-kit"))


def test_a_tag_that_comes_back_after_four_weeks_is_new_again(project: Project) -> None:
    now = TODAY - timedelta(days=39)
    alert = create_alert(project=project, kind="new_third_parties", name="New", question=ASKED, now=now)
    add_quiet(project, 41, 40)
    launch(project, 39, 38)
    add_quiet(project, 37, 36, 30, 20, 5)
    launch(project, 4, 3, 2, 1)
    assert follow_alert(alert, 39) == [(day(38), NAME), (day(3), NAME)]
    assert AlertState.objects.get(alert_id=alert.id, subject=NAME).began_at == TODAY.replace(hour=0) - timedelta(days=3)
    assert preview_alert(alert) == [(day(3), NAME)]  # the first alarm is before its days


def test_an_alarm_ends_while_a_few_page_views_still_run_it(project: Project, alert: AlertRule) -> None:
    add_quiet(project, 8, 7)
    launch(project, 6, 5)
    for days_ago in (4, 3):
        add_functions(project, days_ago, {APP: 0.5, TAG: 0.2}, ran_by={TAG: 4})
    assert_confirmed(alert, (day(5), NAME))
    row = AlertState.objects.get(alert_id=alert.id, subject=NAME)
    assert (row.state, row.views, row.low) == (State.RESOLVED, 60, None)
    ended = StateChange.objects.get(alert_id=alert.id, state=State.RESOLVED)
    assert ended.at.date() == day(2)
    assert ended.value == pytest.approx(0.2 * 105 * 4 / 60, rel=0.2)


def test_what_only_page_views_beyond_the_sample_ran_is_no_certain_zero(
    project: Project, alert: AlertRule, settings: Settings
) -> None:
    settings.TABLE_STATISTICS_MAX_VIEWS = 30
    add_quiet(project, 8, 7)
    launch(project, 6, 5)
    for days_ago in (4, 3, 2):
        add_functions(project, days_ago, {APP: 0.5, TAG: 0.6}, ran_by={TAG: 20})
    assert_confirmed(alert, (day(5), NAME))
    row = AlertState.objects.get(alert_id=alert.id, subject=NAME)
    assert State(row.state) is State.CONFIRMED  # it costs twice the limit: neither quiet, nor certain
