"""The release alert on functions: told where no page shows it, once for each incident, and over when it is."""

from datetime import timedelta

import pytest
from django.utils import timezone

from aggregate.models import Func, PageView
from alerts.delivery.wording import say_change
from alerts.evaluating import evaluate_due
from alerts.models import AlertRule, AlertState, StateChange
from alerts.reading import select_history
from alerts.rules import RELEASE_ALERT_ID, accept
from ingest.models import Group
from profcore.alerts.states import State
from profcore.sums.blobs import Contribution, encode_contribution
from projects.models import Project
from tests.builders import MONDAY, make_func, make_group, make_project, make_views_of_hours

pytestmark = pytest.mark.django_db
# So far apart that a few ms of one function cannot be seen in them.
TIMES = [20_000, 60_000, 120_000, 240_000] * 25
NAME = "lookup in https://shop.example/assets/app.js"
PAGES = ("/cart", "/home")


@pytest.fixture
def project() -> Project:
    made = make_project("shop")
    receive(made, "1.0", 5_000, days=20)
    return made


@pytest.fixture
def lookup(project: Project) -> Func:
    return Func.objects.get(project=project, name="lookup")


def receive(project: Project, release: str, us: int, *, home_us: int = 5_000, days: int = 0, times: int = 1) -> None:
    """100 views of each page in a release, each of which spends so much in `lookup`."""
    func = Func.objects.filter(project=project, name="lookup").first() or make_func(project, "lookup")
    for page, cost in zip(PAGES, (us, home_us), strict=True):
        make_group(project, release, page, first_seen_at=timezone.now() - timedelta(days=days))
        count = PageView.objects.filter(project=project).count()
        starts_at = MONDAY + timedelta(hours=count // 10)
        make_views_of_hours(project, TIMES * times, starts_at=starts_at, release=release, page=page)
        group = Group.objects.get(project=project, release=release, page=page)
        columns = [[func.id], [cost], [cost], [0], [1], [1], [0], [0]]
        blob = encode_contribution(Contribution(*columns))
        PageView.objects.filter(project=project, group_id=group.id).update(contribution=blob)


def alert(project: Project) -> dict[tuple[str | None, str], str]:
    """Evaluates, and returns the open states by page and function."""
    AlertRule.objects.filter(project=project).update(due_at=timezone.now())
    evaluate_due(timezone.now())
    rows = AlertState.objects.filter(project=project)
    return {(row.page, row.subject): State(row.state).name for row in rows if State(row.state).is_open}


def test_a_function_is_told_where_no_page_shows_it(project: Project) -> None:
    alert(project)
    receive(project, "1.1", 9_000)
    assert alert(project) == {("/cart", NAME): "CONFIRMED"}
    change = StateChange.objects.get(state=State.CONFIRMED)
    assert (change.value, change.views, change.base_views, change.look) == (4.0, 100, 100, 1)
    (entry,) = (row for row in select_history(project, before=None, most=9) if row.change.id == change.id)
    assert entry.said.headline == f"1.1 made {NAME} on /cart slower: +4 ms per view"
    assert entry.said.where == f"function {NAME}, page /cart, release 1.1 compared with 1.0"
    assert "page=%2Fcart" in entry.links.slice


def test_a_function_of_several_pages_is_one_alarm(project: Project) -> None:
    receive(project, "1.1", 9_000, home_us=8_000)
    assert alert(project) == {("/cart", NAME): "CONFIRMED"}


def test_a_new_function_is_said_to_be_added(project: Project) -> None:
    PageView.objects.filter(project=project).update(
        contribution=encode_contribution(Contribution(*([] for _ in range(8))))
    )
    receive(project, "1.1", 9_000, home_us=0)
    assert alert(project) == {("/cart", NAME): "CONFIRMED"}
    (entry, *_) = (row for row in select_history(project, before=None, most=9) if row.change.subject)
    assert entry.said.headline == f"1.1 added {NAME} on /cart: +9 ms per view"


def test_a_page_is_not_told_beside_the_function_that_made_it_slower(project: Project) -> None:
    slow = [us + 4_000 for us in [20_000, 20_100, 20_200, 20_300] * 25]
    PageView.objects.filter(project=project).update(js_us=20_000)
    make_group(project, "1.1", "/cart", first_seen_at=timezone.now())
    make_views_of_hours(project, slow, starts_at=MONDAY + timedelta(days=3), release="1.1", page="/cart")
    func = Func.objects.get(project=project, name="lookup")
    blob = encode_contribution(Contribution([func.id], [9_000], [9_000], [0], [1], [1], [0], [0]))
    group = Group.objects.get(project=project, release="1.1", page="/cart")
    PageView.objects.filter(project=project, group_id=group.id).update(contribution=blob)
    assert alert(project) == {("/cart", NAME): "CONFIRMED"}


def test_functions_of_one_name_are_one_alarm_of_the_one_that_changed_most(project: Project, lookup: Func) -> None:
    twin = make_func(project, "lookup", uri=lookup.uri, line=9)
    for release, us in (("1.1", 9_000), ("1.1", 9_000), ("1.2", 5_000)):
        receive(project, release, us)
        for group in Group.objects.filter(project=project, page="/cart"):
            cost = 9_000 if group.release == "1.1" else 5_000
            columns = [[lookup.id, twin.id], [cost, 3_000], [cost, 3_000], [0, 0], [1, 1], [1, 1], [0, 0], [0, 0]]
            blob = encode_contribution(Contribution(*columns))
            PageView.objects.filter(project=project, group_id=group.id).update(contribution=blob)
        assert alert(project) == ({("/cart", NAME): "CONFIRMED"} if release == "1.1" else {})
        assert AlertRule.objects.get(project=project, id=RELEASE_ALERT_ID).problem is None


def test_an_accepted_function_is_not_told_again(project: Project) -> None:
    receive(project, "1.1", 9_000)
    alert(project)
    row = AlertState.objects.get(project=project, state=State.CONFIRMED)
    rule = AlertRule.objects.get(project=project, id=RELEASE_ALERT_ID)
    assert accept(rule, bytes(row.subject_key), timezone.now()) is not None
    receive(project, "1.1", 9_000, times=2)
    assert alert(project) == {}
    assert StateChange.objects.filter(state=State.CONFIRMED).count() == 1


def test_a_function_that_is_as_it_was_again_ends_its_alarm(project: Project) -> None:
    receive(project, "1.1", 9_000)
    alert(project)
    receive(project, "1.2", 5_000)
    assert alert(project) == {}
    end = StateChange.objects.get(subject=NAME, state=State.RESOLVED)
    assert (end.cause, end.about_release, end.release) == ("release", "1.2", "1.1")


def test_a_later_release_ends_it_too_though_one_between_changed_nothing(project: Project) -> None:
    receive(project, "1.1", 9_000)
    alert(project)
    receive(project, "1.2", 9_000)
    alert(project)
    receive(project, "1.3", 5_000)
    assert alert(project) == {}
    assert StateChange.objects.get(subject=NAME, state=State.RESOLVED).about_release == "1.3"


def test_nothing_is_kept_of_functions_with_which_nothing_is_wrong(project: Project) -> None:
    receive(project, "1.1", 5_000)
    assert alert(project) == {}
    assert not AlertState.objects.exclude(subject="").exists()


def test_what_a_short_lived_release_broke_is_told_of_the_next_one(project: Project) -> None:
    receive(project, "1.0", 5_000, days=20, times=4)
    alert(project)
    for release in ("1.1", "1.2"):  # 1.1 has so few views that it is said to be nothing, and 1.2 is like it
        few = release == "1.1"
        for page in PAGES:
            make_group(project, release, page, first_seen_at=timezone.now())
            views = TIMES[:12] if few else TIMES
            starts_at = MONDAY + timedelta(days=3 if few else 5)
            make_views_of_hours(project, views, starts_at=starts_at, release=release, page=page)
            group = Group.objects.get(project=project, release=release, page=page)
            func = Func.objects.get(project=project, name="lookup")
            blob = encode_contribution(Contribution([func.id], [9_000], [9_000], [0], [1], [1], [0], [0]))
            PageView.objects.filter(project=project, group_id=group.id).update(contribution=blob)
    assert alert(project) == {("/cart", NAME): "CONFIRMED"}
    told = AlertState.objects.get(project=project, state=State.CONFIRMED)
    assert (told.release, told.base_release) == ("1.2", "1.0")
    before = StateChange.objects.count()
    AlertRule.objects.filter(project=project).update(due_at=timezone.now())
    evaluate_due(timezone.now())
    assert StateChange.objects.count() == before
    rule = AlertRule.objects.get(project=project, id=RELEASE_ALERT_ID)
    assert accept(rule, bytes(told.subject_key), timezone.now()) is not None
    assert alert(project) == {}


def test_what_is_told_of_a_short_lived_release_is_not_told_again(project: Project) -> None:
    receive(project, "1.0", 5_000, days=20, times=8)
    receive(project, "1.1", 9_000)
    assert alert(project) == {("/cart", NAME): "CONFIRMED"}
    receive(project, "1.2", 9_000)
    alert(project)
    confirmed = StateChange.objects.filter(state=State.CONFIRMED)
    assert [change.release for change in confirmed] == ["1.1"]


def test_a_third_party_that_changed_by_itself_is_said_to_have_done_it(project: Project, lookup: Func) -> None:
    Func.objects.filter(project=project, id=lookup.id).update(uri="https://www.googletagmanager.com/gtm.js")
    receive(project, "1.1", 60_000)
    assert "lookup in https://www.googletagmanager.com/gtm.js" in {name for _, name in alert(project)}
    (change,) = StateChange.objects.filter(project=project).exclude(subject="")
    assert change.party == "Google Tag Manager"
    said = say_change(AlertRule.objects.get(project=project, id=RELEASE_ALERT_ID), change)
    assert " longer with 1.1: +" in said.headline
    assert ", likely due to Google Tag Manager" in said.headline
