"""The pages of alerts: states, history, the way to the viewer, and their settings."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine
from django.test import Client
from pytest_django import Settings

from aggregate.models import Job
from alerts.models import AlertRule, AlertState, Channel, StateChange
from alerts.rules import create_alert
from profcore.alerts.states import State
from projects.models import Project
from tests.aggregate.jobs.running_jobs import run_jobs, start
from tests.alerts.costly_days import APP, add_functions
from tests.alerts.state_changes import NOON, change_state
from tests.dashboard.pages.alerts.made_channels import make_channel
from tests.dashboard.pages.reading import HOSTILE, text_of, text_of_posted

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 11, 12, 9, 30, tzinfo=UTC)
PAGE = "/projects/shop/alerts/"
SETTINGS = "/projects/shop/settings/"


def test_the_page_shows_what_is_open_and_its_history(member: Client, shop: Project) -> None:
    assert "Nothing is suspected or confirmed." in text_of(member, PAGE)
    for hours, state in enumerate((State.OK, State.SUSPECTED, State.CONFIRMED)):
        change_state(shop, state, at=NOON + timedelta(hours=hours))
    text = text_of(member, PAGE)
    assert "Confirmed 1.1 made /cart slower: +13 ms per view" in text
    assert "95 % certain: 9.8 to 16.2 ms; 500 page views before, 400 after, look 3" in text
    assert re.search(r"suspected → confirmed .* ok → suspected .* unknown → ok", text)
    page = member.get(PAGE).content.decode()
    assert "/projects/shop/compare/?base_release=1.0&amp;head_release=1.1&amp;page=%2Fcart" in page
    assert "/accept/" not in page  # only admins may
    assert 'href="/projects/shop/alerts/" data-go="a" aria-current="page">Alerts</a>' in page
    (open_card, _) = page.split('aria-labelledby="rules"')
    assert f"{PAGE}changes/{StateChange.objects.order_by('-id')[0].id}/profile/" in open_card


def test_hostile_names_are_text(owner: Client, shop: Project) -> None:
    change_state(shop, State.CONFIRMED, page=HOSTILE, release=HOSTILE)
    page = owner.get(PAGE).content.decode()
    assert "<script>alert" not in page
    (address,) = re.findall(r'href="(/projects/shop/alerts/[^"]+accept/)"', page)
    assert "<script>alert" not in owner.get(address).content.decode()
    assert owner.get("/projects/shop/").status_code == 200


def test_older_changes_are_a_page_away(member: Client, shop: Project) -> None:
    for number in range(60):
        change_state(shop, State.CONFIRMED, page=f"/{number}")
    page = member.get(PAGE).content.decode()
    older = re.search(r"\?before=\d+", page)
    assert older is not None
    assert text_of(member, PAGE + older[0]).count("unknown → confirmed") == 10
    assert member.get(PAGE + "?before=x").status_code == 400


def test_an_admin_accepts_a_state_and_nobody_else_does(owner: Client, member: Client, shop: Project) -> None:
    change_state(shop, State.CONFIRMED)
    (address,) = re.findall(r'href="(/projects/shop/alerts/[^"]+accept/)"', owner.get(PAGE).content.decode())
    assert member.post(address).status_code == member.get(address).status_code == 404
    assert owner.put(address).status_code == 405
    asked = text_of(owner, address)
    assert "Accept this? Confirmed : 1.1 made /cart slower: +13 ms per view" in asked
    assert "It counts as resolved, and the channels get a message." in asked
    assert AlertState.objects.get().state == State.CONFIRMED  # asking accepts nothing
    assert owner.post(address.replace("/0/", "/7/")).status_code == 404
    assert owner.post(re.sub(r"/\w+/accept", "/zz/accept", address)).status_code == 404
    assert "counts as resolved" in text_of_posted(owner, address)
    assert AlertState.objects.get().state == State.RESOLVED
    assert "not open any more" in text_of_posted(owner, address)
    assert owner.get(address).status_code == 302


def test_a_change_leads_to_its_difference_in_the_viewer(member: Client, stranger: Client, shop: Project) -> None:
    change = change_state(shop, State.CONFIRMED)
    assert change is not None
    address = f"{PAGE}changes/{change.id}/profile/"
    answer: Any = member.get(address)
    assert answer.status_code == 302
    assert answer["Location"].startswith("https://profiler.firefox.com/from-url/http%3A%2F%2Ftestserver")
    assert stranger.get(address).status_code == 404
    assert Client().get(address).status_code == 302
    StateChange.objects.update(base_release="")
    assert member.get(address).status_code == 404


def test_the_release_alert_is_listed_and_can_be_switched_off(owner: Client, member: Client, shop: Project) -> None:
    assert "New releases" in text_of(member, SETTINGS + "alerts/")
    address = SETTINGS + "alerts/0/switch/"
    assert member.post(address, {"is_on": "0"}).status_code == 403
    assert "The alert is off" in text_of_posted(owner, address, is_on="0")
    assert not AlertRule.objects.get().is_on
    assert "The alert is on" in text_of_posted(owner, address, is_on="1")
    assert owner.post(SETTINGS + "alerts/9/switch/").status_code == 404


def test_a_channel_of_another_project_is_not_found(owner: Client, elsewhere: Project) -> None:
    channel = make_channel(elsewhere)
    for tail in ("", "delete/"):
        assert owner.get(f"{SETTINGS}channels/{channel.id}/{tail}").status_code == 404


def test_strangers_and_visitors_see_nothing(stranger: Client, shop: Project) -> None:
    channel, change = make_channel(shop), change_state(shop, State.CONFIRMED)
    assert change is not None
    key = bytes(change.subject_key).hex()
    question = {"measure": "time", "limit": 1.0}
    alert = create_alert(project=shop, kind="budget", name="A", question=question, now=NOON)
    alert_page = f"{SETTINGS}alerts/{alert.id}/"
    paths = [
        alert_page,
        f"{alert_page}delete/",
        f"{SETTINGS}channels/{channel.id}/",
        f"{SETTINGS}channels/{channel.id}/delete/",
    ]
    for path in [*paths, f"{SETTINGS}alerts/0/switch/", f"{PAGE}0/{key}/accept/"]:
        assert stranger.post(path, {"is_on": "0"}).status_code == 404, path
        assert Client().post(path).status_code == 302, path
    assert Channel.objects.count() == 1
    assert AlertState.objects.get().state == State.CONFIRMED


BUDGET = {"name": "Script", "about": "time", "limit": "150", "is_on": "on"}


def test_a_budget_is_previewed_created_changed_and_deleted(owner: Client, member: Client, shop: Project) -> None:
    address = SETTINGS + "alerts/new/"
    assert member.get(address).status_code == 403
    text = text_of_posted(owner, address, **BUDGET, preview="1")
    assert "It would never have alerted in the last 30 days" in text
    assert "0 of 30 days could be judged: the others have fewer than 25 page views, and never alert." in text
    assert not AlertRule.objects.filter(kind="budget").exists()
    assert "The alert is saved" in text_of_posted(owner, address, **{**BUDGET, "by": "party", "new_by": "package"})
    alert = AlertRule.objects.get(kind="budget")
    assert alert.question == {"measure": "time", "limit": 150.0}
    assert "At most 150 ms script and hidden time per view" in text_of(member, SETTINGS + "alerts/")
    alert_page = f"{SETTINGS}alerts/{alert.id}/"
    assert 'value="150.0"' in owner.get(alert_page).content.decode()
    share = {**BUDGET, "about": "share", "limit": "20", "by": "package", "subject": "react", "device": "mobile-low"}
    assert "The alert is saved" in text_of_posted(owner, alert_page, **share)
    alert.refresh_from_db()
    asked = {"measure": "share", "limit": 0.2, "by": "package", "name": "react", "device": "mobile-low"}
    assert alert.question == asked
    assert 'value="20.0"' in owner.get(alert_page).content.decode()
    assert owner.post(alert_page, {**BUDGET, "about": "new_third_parties", "new_by": "party"}).status_code == 400
    assert "The alert is deleted" in text_of_posted(owner, alert_page + "delete/")
    assert owner.get(alert_page).status_code == 404
    assert owner.get(SETTINGS + "alerts/0/").status_code == 404


def test_a_budget_on_interactions_is_previewed_by_a_job(owner: Client, member: Client, shop: Project) -> None:
    fields = {**BUDGET, "about": "inp_script"}
    text = text_of_posted(owner, SETTINGS + "alerts/new/", **fields, preview="1")
    assert "The preview is being prepared" in text
    assert "Waiting for a worker" in text
    job = Job.objects.get()
    address = f"{SETTINGS}alerts/previews/{job.id}/"
    assert f'hx-get="{address}"' in text
    assert "The preview is being prepared" in text_of(owner, address)
    Job.objects.update(state=Job.State.RUNNING, done_traces=3, total_traces=30)
    assert "3 of 30 days are read" in text_of(owner, address)
    Job.objects.update(state=Job.State.QUEUED)
    run_jobs()
    text = text_of(owner, address)
    assert "It would never have alerted in the last 30 days" in text
    assert "hx-get" not in owner.get(address).content.decode()
    assert "It would never have alerted" in text_of_posted(owner, SETTINGS + "alerts/new/", **fields, preview="1")
    assert member.get(address).status_code == 403
    assert "The alert is saved" in text_of_posted(owner, SETTINGS + "alerts/new/", **fields)
    alert = AlertRule.objects.get(kind="budget")
    assert alert.question == {"measure": "inp_script", "limit": 150.0}
    assert "of script in the longest interaction, 75th percentile" in text_of(member, SETTINGS + "alerts/")
    assert "inp_script" in owner.get(f"{SETTINGS}alerts/{alert.id}/").content.decode()
    Job.objects.update(state=Job.State.CANCELLED, expires_at=NOON)
    assert "There is no preview It was cancelled" in text_of(owner, address)


def test_a_budget_on_forced_layout_is_previewed_by_a_job(owner: Client, shop: Project) -> None:
    fields = {**BUDGET, "about": "forced_layout"}
    assert "The preview is being prepared" in text_of_posted(owner, SETTINGS + "alerts/new/", **fields, preview="1")
    run_jobs()
    text = text_of(owner, f"{SETTINGS}alerts/previews/{Job.objects.get().id}/")
    assert "Day Views Per view 95 % interval" in text
    assert "of forced layout per view" in text


def test_a_preview_is_of_its_project_and_nothing_else_is_one(
    owner: Client, stranger: Client, shop: Project, settings: Settings
) -> None:
    export = start(shop)
    assert owner.get(f"{SETTINGS}alerts/previews/{export.id}/").status_code == 404
    settings.JOBS_MAX_UNFINISHED = 1
    fields = {**BUDGET, "about": "inp_script", "preview": "1"}
    answer = owner.post(SETTINGS + "alerts/new/", fields)
    assert answer.status_code == 400
    assert "jobs of this project wait or run" in answer.content.decode()
    export.delete()
    owner.post(SETTINGS + "alerts/new/", fields)
    assert stranger.get(f"{SETTINGS}alerts/previews/{Job.objects.get().id}/").status_code == 404


NEW_THIRD_PARTIES = {**BUDGET, "about": "new_third_parties", "new_by": "party", "limit": "5"}


@time_machine.travel(NOW)  # its days must not meet the views that the fixtures of a project have
def test_new_third_parties_is_previewed_and_watched(owner: Client, shop: Project) -> None:
    now = datetime.now(UTC)
    for days_ago in range(9, 1, -1):
        new = {"https://www.googletagmanager.com/a.js": 0.1, "https://connect.facebook.net/b.js": 0.01}
        add_functions(shop, days_ago, {APP: 0.5, **(new if days_ago < 5 else {})}, today=now)
    text = text_of_posted(owner, SETTINGS + "alerts/new/", **NEW_THIRD_PARTIES, preview="1")
    assert "It would have reported 1 third party in the last" in text
    tag = re.sub(r"<[^>]+>|\s+", " ", text[text.index("Google Tag Manager") : text.index("Facebook")])
    assert f"{now - timedelta(days=4):%Y-%m-%d}" in tag
    assert f"{now - timedelta(days=3):%Y-%m-%d}" in tag
    assert re.search(r"1\d\.\d\sms", tag)
    assert "2 new in all. 7 of " in text
    assert "1 had too few views in the four weeks before: everything would look new" in text
    assert "Before 7 of the judged days, less than three weeks are known" in text
    assert not AlertRule.objects.filter(kind="new_third_parties").exists()


def test_a_preview_without_new_third_parties_says_so_and_the_alert_is_created(owner: Client, shop: Project) -> None:
    text = text_of_posted(owner, SETTINGS + "alerts/new/", **NEW_THIRD_PARTIES, preview="1")
    assert "It would have reported nothing in the last" in text
    text_of_posted(owner, SETTINGS + "alerts/new/", **NEW_THIRD_PARTIES)
    assert AlertRule.objects.get(kind="new_third_parties").question == {"measure": "time", "limit": 5.0, "by": "party"}


def test_a_wrong_field_of_a_alert_says_so(owner: Client, shop: Project) -> None:
    for wrong in ({"limit": "0"}, {"about": "share", "by": "package"}, {"device": "fridge"}, {"name": " "}):
        answer = owner.post(SETTINGS + "alerts/new/", {**BUDGET, **wrong})
        assert answer.status_code == 400, wrong
    share = {**BUDGET, "about": "share", "limit": "120", "by": "party", "subject": "ads.example"}
    page = owner.post(SETTINGS + "alerts/new/", share).content.decode()
    assert "Give per cent: a number above 0, at most 100." in page


def test_the_preview_of_a_share_says_if_nothing_of_this_name_ran(owner: Client, shop: Project) -> None:
    add_functions(shop, 2, {APP: 0.5, "https://www.googletagmanager.com/a.js": 0.1}, today=datetime.now(UTC))
    for name, is_shown in (("Google Tag Manager", False), ("Google Tag Manger", True)):
        share = {**BUDGET, "about": "share", "limit": "50", "by": "party", "subject": name}
        text = text_of_posted(owner, SETTINGS + "alerts/new/", **share, preview="1")
        assert "1 of 30 days could be judged: the others have fewer than 25 page views" in text
        assert ("Nothing of this name ran on these days" in text) is is_shown


def test_the_overview_names_what_is_open_and_marks_it_in_the_chart(member: Client, shop: Project) -> None:
    assert "No slowdown" not in text_of(member, "/projects/shop/")
    assert "Alerts: nothing is suspected or confirmed. States and history" in text_of(member, "/projects/shop/")
    before = member.get("/projects/shop/")
    for page in ("/cart", "/a", "/b", None):
        change_state(shop, State.CONFIRMED, page=page)
    text = text_of(member, "/projects/shop/")
    assert "Alerts Confirmed : 1.1 made" in text
    assert "More states and their history" in text
    page = member.get("/projects/shop/").content.decode()
    assert "4 confirmed" in page.partition("data-chart-marks=")[2][:900]
    again = member.get("/projects/shop/", headers={"If-None-Match": before["ETag"]}) if "ETag" in before else None
    assert again is None or again.status_code == 200
    change_state(shop, State.RESOLVED, page="/cart")
    assert "4 confirmed, 1 resolved" in member.get("/projects/shop/").content.decode()
    change_state(shop, State.RESOLVED, page="/a", at=NOON + timedelta(days=1))
    assert "/a resolved" in member.get("/projects/shop/").content.decode()


def test_what_was_never_slower_is_not_called_slower_no_longer(member: Client, shop: Project) -> None:
    change_state(shop, State.OK)
    assert "No slowdown of /cart found in 1.1" in text_of(member, "/projects/shop/alerts/")
    change_state(shop, State.SUSPECTED)
    change_state(shop, State.OK)
    assert "/cart is no longer slower in 1.1" in text_of(member, "/projects/shop/alerts/")
