"""What the sentence says where a function changed and its page did not, where time moved, and where all are alike."""

from datetime import timedelta

import numpy as np
import pytest
from django.utils import timezone

from aggregate.models import Func, PageView
from aggregate.selectors.slice.slices import Slice
from aggregate.selectors.verdict.sentence import plain_text, write_sentence
from aggregate.selectors.verdict.verdict import Verdict, select_verdict
from ingest.models import Group
from profcore.sums.blobs import Contribution, encode_contribution
from projects.models import Project
from tests.builders import MONDAY, make_func, make_group, make_project, make_views_of_hours

pytestmark = pytest.mark.django_db
NAMES = ("parse", "draw", "lookup", "track", "sort", "store")
THIN = "\u202f"
Costs = dict[str, float]  # ms per view by function
USUAL: Costs = dict.fromkeys(NAMES, 10.0)


@pytest.fixture
def project() -> Project:
    made = make_project("shop")
    for name in NAMES:
        make_func(made, name)
    return made


def receive(
    project: Project, release: str, costs: Costs, *, page: str = "/lint", speed: float = 1.0, whole: float = 1.0
) -> None:
    """100 views whose functions cost so much, each by 10 % or so more or less, and whose whole time differs widely."""
    rng = np.random.default_rng([7, *release.encode(), *page.encode()])
    make_group(project, release, page, first_seen_at=MONDAY + timedelta(days=len(Group.objects.all())))
    times = np.rint(rng.lognormal(12, 1.0, 100) * speed * whole).astype(int).tolist()
    make_views_of_hours(project, times, starts_at=MONDAY, release=release, page=page)
    ids = {func.name: func.id for func in Func.objects.filter(project=project)}
    run = sorted((ids[name], ms) for name, ms in costs.items() if ms)
    group = Group.objects.get(project=project, release=release, page=page)
    views = list(PageView.objects.filter(project=project, group_id=group.id).order_by("view_id"))
    for view in views:
        us = [round(ms * 1_000 * speed * rng.lognormal(0, 0.1)) for _, ms in run]
        none, one = [0] * len(us), [1] * len(us)
        view.contribution = encode_contribution(
            Contribution([func for func, _ in run], us, us, none, one, one, none, none)
        )
    PageView.objects.bulk_update(views, ["contribution"])


def ask(project: Project) -> Verdict:
    base, head = (Slice(project_id=project.pk, releases=(release,)) for release in ("1.0.0", "1.1.0"))
    return select_verdict(base, head, now=timezone.now())


def say(project: Project) -> str:
    return plain_text(write_sentence(ask(project), "1.0.0", "1.1.0")).replace(THIN, " ")


def test_a_slower_function_leads_and_the_page_says_that_it_shows_nothing(project: Project) -> None:
    receive(project, "1.0.0", USUAL)
    receive(project, "1.1.0", {**USUAL, "lookup": 20.0})
    sentence = say(project)
    assert sentence.startswith("1.1.0 made lookup slower on /lint: +")
    assert " % of the page. The page as a whole: no clear change (" in sentence
    verdict = ask(project)
    assert (verdict.leading.why, verdict.judgement.function_count) == ("function", len(NAMES))


def test_other_pages_and_functions_are_counted(project: Project) -> None:
    for page in ("/lint", "/editor"):
        receive(project, "1.0.0", USUAL, page=page)
        receive(project, "1.1.0", {**USUAL, "lookup": 30.0, "sort": 20.0}, page=page)
    assert "of the page, and on 1 other page, and 1 more function." in say(project)


def test_a_new_function_is_added(project: Project) -> None:
    receive(project, "1.0.0", {**USUAL, "track": 0.0})
    receive(project, "1.1.0", USUAL)
    assert say(project).startswith("1.1.0 added track on /lint: +")


def test_a_third_party_that_changed_by_itself_is_no_work_of_the_release(project: Project) -> None:
    make_func(project, "tag", uri="https://www.googletagmanager.com/gtm.js")
    receive(project, "1.0.0", {**USUAL, "tag": 10.0})
    receive(project, "1.1.0", {**USUAL, "tag": 20.0})
    sentence = say(project)
    assert sentence.startswith("tag takes longer on /lint with 1.1.0 than with 1.0.0: +")
    party = (
        "It comes from Google Tag Manager, and none of your own functions changed with it: likely not by this release."
    )
    assert party in sentence
    (incident,) = ask(project).incidents
    assert (incident.party, incident.from_outside) == ("Google Tag Manager", True)


def test_a_page_that_a_third_party_made_slower_is_no_work_of_the_release(project: Project) -> None:
    make_func(project, "tag", uri="https://www.googletagmanager.com/gtm.js")
    receive(project, "1.0.0", {**USUAL, "tag": 10.0})
    receive(project, "1.1.0", {**USUAL, "tag": 500.0}, whole=3.0)
    sentence = say(project)
    assert sentence.startswith("1.1.0 is slower than 1.0.0 on /lint: +")
    assert ", mainly tag. It comes from Google Tag Manager, and none of your own functions changed" in sentence


def test_a_third_party_that_changed_with_own_code_may_be_used_more(project: Project) -> None:
    make_func(project, "tag", uri="https://www.googletagmanager.com/gtm.js")
    receive(project, "1.0.0", {**USUAL, "tag": 10.0})
    receive(project, "1.1.0", {**USUAL, "tag": 30.0, "track": 20.0})
    assert say(project).startswith("1.1.0 made tag slower on /lint: +")
    assert not any(incident.from_outside for incident in ask(project).incidents)


def test_time_that_moved_is_said_and_no_slowdown(project: Project) -> None:
    receive(project, "1.0.0", {**USUAL, "draw": 0.0, "parse": 20.0})
    receive(project, "1.1.0", {**USUAL, "draw": 19.0, "parse": 0.5})
    verdict = ask(project)
    assert verdict.judgement.state == "no_clear_change"
    assert " Time moved from parse to draw on /lint (" in say(project)


def test_functions_that_all_grew_alike_are_no_function(project: Project) -> None:
    receive(project, "1.0.0", USUAL)
    receive(project, "1.1.0", USUAL, speed=3.0)
    assert "All of its functions take 2" in say(project)
    assert "longer alike: devices, browsers or visitors may differ, not one function." in say(project)


def test_two_devices_are_not_made_slower_by_each_other(project: Project) -> None:
    receive(project, "1.0.0", USUAL)
    receive(project, "1.1.0", {**USUAL, "lookup": 20.0})
    base, head = (Slice(project_id=project.pk, releases=(release,)) for release in ("1.0.0", "1.1.0"))
    verdict = select_verdict(base, head, now=timezone.now())
    object.__setattr__(verdict.base, "releases", ())
    sentence = plain_text(write_sentence(verdict, "desktop", "mobile"))
    assert sentence.startswith("lookup takes longer on /lint with mobile than with desktop: ")


def test_one_page_compared_with_another_names_the_functions_too(project: Project) -> None:
    receive(project, "1.0.0", USUAL, page="/a")
    receive(project, "1.0.0", {**USUAL, "lookup": 30.0}, page="/b")
    base, head = (Slice(project_id=project.pk, pages=(page,)) for page in ("/a", "/b"))
    verdict = select_verdict(base, head, now=timezone.now())
    assert verdict.leading.page is None
    assert [culprit.func.name for culprit in verdict.culprits] == ["lookup"]
    assert plain_text(write_sentence(verdict, "/a", "/b")).startswith("lookup takes longer with /b than with /a: +2")
