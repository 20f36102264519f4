"""A project that grows, for counting statements."""

from datetime import timedelta
from typing import Any, Final

from django.contrib.auth.models import User
from django.utils import timezone

from alerts.rules import make_release_alert
from ingest.endpoint.absence_counts import count_absence
from ingest.models import Group
from profcore.trace.absence import Absence
from projects.limits import change_limits
from projects.models import Membership, Project
from projects.tokens import create_token
from tests.aggregate.posting import fold_all, post
from tests.builders import make_hang, make_project
from tests.dashboard.conftest import TRACE_ID, VIEW_ID, make_people
from tests.envelopes import make_envelope

BASE: Final = "1.0.0"
HEAD: Final = "2.0.0"
VIEWS: Final = 30  # of each page in each release: all of three pages fit into one batch of raw traces
MARKS: Final = [{"type": "longtask", "start": 0, "duration": 30}, {"type": "lcp", "start": 4}]
KINDS: Final[tuple[dict[str, Any], ...]] = (
    {"tags": {"cache": "cold"}, "device": {"mobile": False, "cores": 8}},
    {"tags": {"cache": "warm"}, "device": {"mobile": True, "memory": 2}},
)
RULE: Final = {"action": "fold", "field": "name", "pattern": "no-such-function-*", "title": "None"}


def make_counted_site() -> Project:
    """Makes the shop with its people, a release alert, one view in the base one report of none, and one of a hang."""
    shop = make_project("shop")
    make_people(shop)
    make_release_alert(shop.pk, timezone.now())
    post("KEY-shop", make_envelope(viewId=VIEW_ID, traceId=TRACE_ID, release=BASE, page="/p0"))
    report_absence(shop.pk)
    make_hang(shop, "at draw (https://shop.example/app.js:1:99)", release=BASE, page="/p0")
    return shop


def report_absence(project_id: int) -> None:
    """Counts a report of a page that recorded nothing."""
    absence = Absence(page="/p0", reason=0, status=0, views=1)
    count_absence(project_id, absence, browser=0, day_on=timezone.now().date())


def grow(shop: Project, numbers: range) -> None:
    """Adds pages, functions, rules, members, tokens, entries of the audit log, and other projects of the owner.

    In the head, `draw` takes 30 ms more than in the base.
    """
    for release, more in ((BASE, 0), (HEAD, 3)):
        for number in numbers:
            post_views(release, f"/p{number}", f"paint{number}", more)
    fold_all()
    Group.objects.filter(release=BASE).update(first_seen_at=timezone.now() - timedelta(days=9))
    shop.display_rules = [RULE] * numbers.stop
    shop.save()
    for number in numbers:
        Membership.objects.create(project=shop, user=User.objects.create_user(f"user {number}"))
        other = make_project(f"other-{number}")
        Membership.objects.create(project=other, user=User.objects.get(username="owner"))
        create_token(project=shop)
        change_limits(shop, {"keep_raw_days": number + 1})


def post_views(release: str, page: str, func: str, more: int) -> None:
    fields: dict[str, Any] = {"release": release, "page": page, "marks": MARKS}
    post(
        "KEY-shop",
        *(
            make_envelope(
                f"{release} {page} {number}", draw(func, 1 + number % 3 + more), **fields, **KINDS[number % 2]
            )
            for number in range(VIEWS)
        ),
    )


def draw(func: str, samples: int) -> str:
    """Returns a trace in which `draw` and a function below it run for some samples each."""
    return "\n".join([*["main draw"] * samples, *[f"main draw {func}"] * samples, "main", "-"])
