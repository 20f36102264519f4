"""Looks at a verdict: which are counted, what each leaves, and that only the alert keeps them."""

from dataclasses import replace
from datetime import timedelta

import pytest
from django.utils import timezone

from aggregate.maintenance.old_looks import delete_old_looks
from aggregate.models import Cell, VerdictLook
from aggregate.selectors.slice.slices import Slice
from aggregate.selectors.verdict.looks import Look, find_look
from aggregate.selectors.verdict.verdict import select_verdict
from alerts.releases import keep_look
from ingest.models import Group
from projects.models import Project
from tests.builders import MONDAY, make_group, make_project, make_timed_views

pytestmark = pytest.mark.django_db
TIMES = [10_000, 20_000] * 20


@pytest.fixture
def project() -> Project:
    """The old release has 400 views, the new one came now."""
    made = make_project("shop")
    make_group(made, "old", "/cart", first_seen_at=timezone.now() - timedelta(days=20))
    make_group(made, "new", "/cart", first_seen_at=timezone.now())
    make_timed_views(made, TIMES * 10, release="old")
    return made


def sides(project: Project) -> tuple[Slice, Slice]:
    whole = Slice(project_id=project.pk)
    return replace(whole, releases=("old",)), replace(whole, releases=("new",))


def look_again(project: Project, more_views: int) -> Look:
    if more_views:
        starts_at = MONDAY + timedelta(hours=Cell.objects.count())
        make_timed_views(project, (TIMES * 10)[:more_views], release="new", starts_at=starts_at)
    verdict = select_verdict(*sides(project), now=timezone.now())
    keep_look(verdict, timezone.now())
    assert verdict.look is not None
    return verdict.look


def test_an_early_look_asks_for_more_than_a_late_one(project: Project) -> None:
    early = look_again(project, 40)
    assert early.number == 1
    assert early.reached == pytest.approx(0.1, abs=0.001)
    assert early.bound == pytest.approx(0.05 * 0.1**3, rel=0.01)
    late = look_again(project, 360)
    assert (late.number, late.reached) == (2, 1.0)
    assert 0.04 < late.bound < 0.05  # what the first look has spent is gone


def test_a_first_look_at_a_release_that_has_all_its_views_has_all_five_per_cent(project: Project) -> None:
    assert look_again(project, 400).bound == pytest.approx(0.05)


def test_looking_again_at_the_same_views_is_no_other_look(project: Project) -> None:
    first = look_again(project, 100)
    assert look_again(project, 0).number == first.number
    assert look_again(project, 4).number == first.number  # four more say nothing new
    assert look_again(project, 60).number == 2
    assert VerdictLook.objects.count() == 2


def test_after_two_weeks_the_plan_is_complete_whatever_came(project: Project) -> None:
    assert look_again(project, 40).reached < 0.2
    Group.objects.filter(project=project, release="new").update(first_seen_at=timezone.now() - timedelta(days=15))
    look = look_again(project, 1)
    assert (look.number, look.reached) == (2, 1.0)
    assert look.bound > 0.04
    later = look_again(project, 300)
    assert (later.number, later.reached) == (3, 1.0)
    assert 0.01 < later.bound < look.bound  # what comes after the plan has little left to spend


def test_each_question_has_its_own_looks(project: Project) -> None:
    look_again(project, 400)
    base, head = sides(project)
    phones = select_verdict(
        base.with_values("device", "desktop"), head.with_values("device", "desktop"), now=timezone.now()
    ).look
    assert phones is not None
    assert phones.number == 1
    week = ((timezone.now() - timedelta(days=7), None),)
    assert find_look(replace(base, ranges=week), replace(head, ranges=week), (400, 400), now=timezone.now()) is None
    assert find_look(base, replace(head, releases=("new", "newer")), (400, 400), now=timezone.now()) is None
    assert find_look(base, base, (400, 400), now=timezone.now()) is None


def test_it_does_not_matter_which_of_both_is_asked_about(project: Project) -> None:
    look = look_again(project, 40)
    base, head = sides(project)
    other = select_verdict(head, base, now=timezone.now()).look
    assert other is not None
    assert (other.number, other.bound, other.question) == (look.number, look.bound, look.question)


def test_who_only_asks_keeps_nothing_and_sees_the_look_that_is_due(project: Project) -> None:
    look_again(project, 100)
    make_timed_views(project, TIMES, release="new", starts_at=MONDAY - timedelta(hours=1))
    for _ in range(2):
        look = select_verdict(*sides(project), now=timezone.now()).look
        assert look is not None
        assert (look.number, look.is_new) == (2, True)
    assert VerdictLook.objects.count() == 1
    assert look_again(project, 0) == look
    kept = select_verdict(*sides(project), now=timezone.now()).look
    assert kept == replace(look, is_new=False)


def test_old_looks_are_deleted_and_so_are_too_many(project: Project) -> None:
    look_again(project, 100)
    look_again(project, 60)
    now = timezone.now()
    base, head = sides(project)
    desktops = base.with_values("device", "desktop"), head.with_values("device", "desktop")
    keep_look(select_verdict(*desktops, now=now), now)
    assert VerdictLook.objects.count() == 3
    assert delete_old_looks(project.pk, now - timedelta(days=1), most=10) == 0
    assert delete_old_looks(project.pk, now - timedelta(days=1), most=2) == 2  # all of a question, or none
    assert VerdictLook.objects.get().number == 1
    assert delete_old_looks(project.pk, now + timedelta(days=1), most=10) == 1
