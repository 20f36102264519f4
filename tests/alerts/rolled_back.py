"""A shop whose second release is rolled back: its releases, and page views of so many hours."""

from datetime import UTC, datetime, timedelta

from alerts.evaluating import evaluate_one
from alerts.models import AlertRule
from alerts.rules import RELEASE_ALERT_ID, make_release_alert
from projects.models import Project
from tests.builders import make_group, make_project, make_timed_views

START = datetime(2026, 11, 16, 0, tzinfo=UTC)
TIMES = [10_000, 12_000, 14_000, 16_000]
PAGES = ("/cart", "/home")


def make_shop() -> Project:
    """Makes a project with two days of release 1.0; 1.1 comes then, without page views yet."""
    made = make_project("shop")
    make_release_alert(made.pk, START)
    make_release(made, "1.0", 0)
    make_release(made, "1.1", 48)
    receive(made, "1.0", range(48))
    return made


def make_slow_shop() -> Project:
    """Makes two days of 1.0, then one of a slow 1.1 that everybody has."""
    made = make_shop()
    receive(made, "1.1", range(48, 72), cart=2.0)
    return made


def look(project: Project, hour: int) -> None:
    """Lets the alert on releases look in an hour."""
    AlertRule.objects.filter(project=project).update(due_at=at(hour))
    assert evaluate_one(project.pk, RELEASE_ALERT_ID, at(hour))
    assert AlertRule.objects.get(project=project).problem is None


def make_release(project: Project, release: str, hour: int) -> None:
    """Makes a release that is first seen in an hour, on each page."""
    for page in PAGES:
        make_group(project, release, page, first_seen_at=START + timedelta(hours=hour))


def receive(
    project: Project, release: str, hours: range, *, cart: float = 1.0, views: int = 20, device: str = "desktop"
) -> None:
    """So many views of each page in each of some hours."""
    for page in PAGES:
        factor = cart if page == "/cart" else 1.0
        for hour in hours:
            times = [round(us * factor) for us in (TIMES * 15)[:views]]
            make_timed_views(
                project, times, release=release, page=page, device=device, starts_at=START + timedelta(hours=hour)
            )


def at(hour: int) -> datetime:
    """The middle of an hour after the start."""
    return START + timedelta(hours=hour, minutes=30)
