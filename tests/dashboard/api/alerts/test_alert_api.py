"""Alerts by the API: created by a name that the client chooses, the same again changes nothing, and who may."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from pytest_django import Settings

from alerts.budgets import Preview
from alerts.days import Day
from alerts.evaluating import evaluate_one
from alerts.models import AlertRule, AlertState, StateChange
from dashboard.api.alerts.previews import AlertPreviewAnswer
from profcore.alerts.states import State
from projects.models import AuditEntry, Project
from tests.aggregate.jobs.running_jobs import run_jobs
from tests.alerts.state_changes import change_state
from tests.dashboard.api.alerts.asking import API, BUDGET, Asker, ask_with
from tests.dashboard.conftest import People

pytestmark = pytest.mark.django_db


def test_a_alert_is_created_once_and_the_same_again_changes_nothing(coder: Asker, shop: Project) -> None:
    first = coder.ask("PUT", "alerts/cart", BUDGET)
    assert first.status_code == 201
    made = first.json()
    assert (made["slug"], made["kind"], made["name"], made["is_on"]) == ("cart", "budget", "Cart", True)
    asked = {"measure": "time", "limit": 200.0, "page": "/cart", "device": None, "by": None, "name": None}
    assert made["question"] == asked
    again = coder.ask("PUT", "alerts/cart", BUDGET)
    assert (again.status_code, again.json()) == (200, made)
    assert AlertRule.objects.count() == 1
    assert list(AuditEntry.objects.filter(act__startswith="alert.").values_list("act", flat=True)) == ["alert.created"]
    assert coder.ask("GET", "alerts/cart").json() == made
    assert coder.ask("GET", f"alerts/{made['id']}").json() == made
    assert made in coder.ask("GET", "alerts").json()["alerts"]


def test_what_comes_back_can_be_sent_again(coder: Asker, shop: Project) -> None:
    made = coder.ask("PUT", "alerts/cart", BUDGET).json()
    body = {name: made[name] for name in ("kind", "name", "question", "is_on")}
    assert coder.ask("PUT", "alerts/cart", body).json() == made


def test_a_put_replaces_and_a_patch_changes_the_given_fields(coder: Asker, shop: Project) -> None:
    coder.ask("PUT", "alerts/cart", BUDGET)
    assert coder.ask("PATCH", "alerts/cart", {"is_on": False}).json()["question"]["limit"] == 200.0
    assert not AlertRule.objects.get().is_on
    answer = coder.ask("PUT", "alerts/cart", {**BUDGET, "question": {"limit": 300}}).json()
    assert (answer["is_on"], answer["question"]["limit"], answer["question"]["page"]) == (True, 300.0, None)
    assert [entry.about["is_on"] for entry in AuditEntry.objects.filter(act="alert.changed").order_by("pk")] == [
        False,
        True,
    ]


def test_a_log_entry_names_the_token(coder: Asker, shop: Project) -> None:
    coder.ask("PUT", "alerts/cart", BUDGET)
    entry = AuditEntry.objects.get(act="alert.created")
    assert (entry.actor_kind, entry.actor_name.endswith("as code")) == ("token", True)
    assert entry.about["question"] == {"measure": "time", "limit": 200.0, "page": "/cart"}


def test_new_third_parties_is_watched_and_a_alert_is_deleted(coder: Asker, shop: Project) -> None:
    body = {"kind": "new_third_parties", "name": "New parties", "question": {"by": "party", "limit": 5}}
    assert coder.ask("PUT", "alerts/new-parties", body).status_code == 201
    assert coder.ask("DELETE", "alerts/new-parties").status_code == 204
    assert coder.ask("DELETE", "alerts/new-parties").status_code == 404
    assert not AlertRule.objects.exists()


def test_a_alert_says_since_when_no_day_had_enough_page_views(coder: Asker, shop: Project) -> None:
    assert coder.ask("PUT", "alerts/cart", BUDGET).json()["unjudged"] is None
    alert, now = AlertRule.objects.get(), datetime(2026, 11, 23, 4, tzinfo=UTC)
    AlertRule.objects.update(created_at=now - timedelta(days=3), due_at=now)
    assert evaluate_one(shop.pk, alert.id, now)
    unjudged = {"since": "2026-11-19", "until": "2026-11-22", "days": 4, "views": 0, "least_views": 25}
    assert coder.ask("GET", "alerts/cart").json()["unjudged"] == unjudged
    listed = ask_with(shop, "read").ask("GET", "alerts").json()["alerts"]
    assert [(row["state"], row["counts"], row["unjudged"]) for row in listed] == [("unknown", {"unknown": 1}, unjudged)]


def test_the_alert_on_releases_is_switched_but_neither_made_twice_nor_deleted(coder: Asker, shop: Project) -> None:
    off = coder.ask("PUT", "alerts/release", {"kind": "release", "name": "New releases", "is_on": False})
    assert (off.status_code, off.json()["slug"], off.json()["question"]) == (200, "release", None)
    assert not AlertRule.objects.get(id=0).is_on
    assert coder.ask("PATCH", "alerts/release", {"is_on": True}).json()["is_on"] is True
    second = coder.ask("PUT", "alerts/other", {"kind": "release", "name": "More"})
    assert (second.status_code, second.json()["field"]) == (400, "kind")
    deleted = coder.ask("DELETE", "alerts/release")
    assert (deleted.status_code, deleted.json()["field"]) == (400, "name")


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"kind": "joy"}, "kind"),
        ({"kind": ["budget"]}, "kind"),
        ({"name": ""}, "name"),
        ({"name": None}, "name"),
        ({"name": "a\ud800"}, "name"),
        ({"is_on": 1}, "is_on"),
        ({"question": None}, "question"),
        ({"question": []}, "question"),
        ({"question": {}}, "question.limit"),
        ({"question": {"limit": "5"}}, "question.limit"),
        ({"question": {"limit": 5, "page": 7}}, "question.page"),
        ({"question": {"limit": 5, "page": "\ud800"}}, "question.page"),
        ({"question": {"limit": 5, "page": "a\0"}}, "question.page"),
        ({"question": {"limit": 5, "device": "fridge"}}, "question.device"),
        ({"question": {"limit": 0.5, "measure": "share", "by": "cat"}}, "question.by"),
        ({"question": {"limit": 5, "pages": "/"}}, "question.pages"),
        ({"slug": "x"}, "slug"),
    ],
    ids=ascii,
)
def test_a_wrong_field_is_named_and_nothing_is_created(coder: Asker, change: dict[str, Any], field: str) -> None:
    answer = coder.ask("PUT", "alerts/cart", {**BUDGET, **change})
    assert (answer.status_code, answer.json()["field"]) == (400, field)
    assert not AlertRule.objects.exists()


@pytest.mark.parametrize(
    ("called", "status"),
    [("Cart", 400), ("-a", 400), ("a" * 65, 400), ("a_b", 400), ("%00", 400), ("7", 404), ("1" * 30, 400)],
)
def test_a_slug_is_a_word_and_an_id_must_be_there(coder: Asker, called: str, status: int) -> None:
    assert coder.ask("PUT", f"alerts/{called}", BUDGET).status_code == status
    assert coder.ask("GET", f"alerts/{called}").status_code == 404


def test_a_alert_keeps_its_kind(coder: Asker, shop: Project) -> None:
    coder.ask("PUT", "alerts/cart", BUDGET)
    body = {"kind": "new_third_parties", "name": "Cart", "question": {"by": "party", "limit": 5}}
    assert coder.ask("PUT", "alerts/cart", body).json()["field"] == "kind"


def test_a_project_has_a_bound_of_alerts_for_the_api_too(coder: Asker, settings: Settings) -> None:
    settings.ALERTS_MAX_RULES = 1
    assert coder.ask("PUT", "alerts/one", BUDGET).status_code == 201
    answer = coder.ask("PUT", "alerts/two", BUDGET)
    assert (answer.status_code, answer.json()["field"]) == (400, "name")
    assert "at most 1 alerts" in answer.json()["detail"]


def test_a_token_that_reads_changes_nothing_and_the_answer_says_which_scope_it_needs(shop: Project) -> None:
    reader = ask_with(shop, "read")
    assert reader.ask("GET", "alerts").status_code == 200
    for method, address in (
        ("PUT", "alerts/a"),
        ("PATCH", "alerts/a"),
        ("DELETE", "alerts/a"),
        ("PUT", "channels/a"),
    ):
        answer = reader.ask(method, address, BUDGET)
        assert (answer.status_code, "It needs alerts" in answer.json()["detail"]) == (403, True)
    for address in ("channels", "channels/a", "channels/a/deliveries"):
        assert reader.ask("GET", address).status_code == 403
    writer = ask_with(shop, "alerts")
    for address in ("functions", "releases", "settings", "audit"):
        assert writer.ask("GET", address).status_code == 403
    assert not AlertRule.objects.exists()


@pytest.mark.parametrize(("who", "status"), [("owner", 201), ("member", 403), ("stranger", 404)])
def test_admins_create_and_no_one_else(people: People, who: str, status: int) -> None:
    client = Client()
    client.force_login(getattr(people, who))
    assert Asker(client, {}).ask("PUT", "alerts/cart", BUDGET).status_code == status
    assert AlertRule.objects.exists() == (status == 201)


def test_a_session_needs_its_csrf_token(people: People) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(people.owner)
    for method, address in (("PUT", "alerts/a"), ("DELETE", "alerts/a"), ("POST", "alerts/preview")):
        assert Asker(client, {}).ask(method, address, BUDGET).status_code == 403
    assert not AlertRule.objects.exists()


def test_a_token_of_another_project_finds_nothing(people: People, shop: Project) -> None:
    other = ask_with(Project.objects.get(slug="elsewhere"), "alerts")
    for method in ("GET", "PUT", "DELETE"):
        assert other.ask(method, "alerts/cart", BUDGET).status_code == 404


def test_a_state_is_accepted_and_recorded_as_by_a_person(coder: Asker, shop: Project) -> None:
    change_state(shop, State.CONFIRMED)
    [open_state] = coder.ask("GET", "alerts").json()["open"]
    assert open_state["id"] == StateChange.objects.get().id
    assert open_state["profile_url"].endswith(f"/projects/shop/alerts/changes/{open_state['id']}/profile/")
    address = f"alerts/release/states/{open_state['key']}/accept"
    assert ask_with(shop, "read").ask("POST", address).status_code == 403
    change = coder.ask("POST", address).json()["change"]
    assert (change["state"], change["was"], change["cause"]) == ("resolved", "confirmed", "person")
    assert change["id"] == StateChange.objects.order_by("-id")[0].id
    assert AlertState.objects.get().state == State.RESOLVED
    assert coder.ask("POST", address).json() == {"change": None}
    for wrong in ("zz", "00" * 16):
        assert coder.ask("POST", f"alerts/release/states/{wrong}/accept").status_code == 404


def test_an_open_state_without_history_leads_to_no_difference(coder: Asker, shop: Project) -> None:
    change_state(shop, State.CONFIRMED)
    StateChange.objects.all().delete()
    [open_state] = coder.ask("GET", "alerts").json()["open"]
    assert (open_state["id"], open_state["profile_url"], open_state["cause"]) == (None, None, "look")
    assert open_state["base_release"] == "1.0"


def test_a_day_that_few_page_views_ran_is_judged_without_an_interval() -> None:
    days = [Day(on=date(2026, 11, 19), views=60, value=0.01), Day(on=date(2026, 11, 20), views=12)]
    rare, few = AlertPreviewAnswer.of_budget(Preview([(day, State.OK) for day in days], 0)).days
    assert (rare.use, rare.value, rare.ci95) == ("judged", 0.01, None)
    assert (few.use, few.value, few.ci95) == ("too_few", None, None)


def test_a_preview_counts_alerts_and_stores_nothing(coder: Asker, shop: Project) -> None:
    asked = {"kind": "budget", "question": BUDGET["question"]}
    answer = coder.ask("POST", "alerts/preview", asked)
    assert answer.status_code == 200
    preview = answer.json()
    assert (preview["alerts"], len(preview["days"]), preview["found"]) == (0, 30, [])
    assert {day["use"] for day in preview["days"]} == {"too_few"}
    fresh = coder.ask(
        "POST", "alerts/preview", {"kind": "new_third_parties", "question": {"by": "party", "limit": 1}}
    ).json()
    assert (fresh["alerts"], fresh["found_count"]) == (0, 0)
    assert {day["use"] for day in fresh["days"]} == {"too_few"}
    assert ask_with(shop, "read").ask("POST", "alerts/preview", asked).status_code == 200
    assert coder.ask("POST", "alerts/preview", {"kind": "release"}).json()["field"] == "kind"
    assert coder.ask("POST", "alerts/preview", {"kind": "budget"}).json()["field"] == "question"
    assert not AlertRule.objects.exists()


def test_a_preview_of_interactions_is_asked_again_until_its_job_is_done(
    coder: Asker, shop: Project, settings: Settings
) -> None:
    asked = {"kind": "budget", "question": {"measure": "inp_script", "limit": 50}}
    for _ in range(2):
        answer = coder.ask("POST", "alerts/preview", asked)
        assert (answer.status_code, answer["Retry-After"]) == (202, "2")
        assert (answer.json()["read_days"], answer.json()["total_days"]) == (0, None)
    settings.JOBS_MAX_UNFINISHED = 1
    other = {**asked, "question": {**asked["question"], "limit": 60}}  # type: ignore[dict-item]
    assert coder.ask("POST", "alerts/preview", other).status_code == 429
    run_jobs()
    response = coder.ask("POST", "alerts/preview", asked)
    assert (response.status_code, response.json()["alerts"], len(response.json()["days"])) == (200, 0, 30)


def test_without_credentials_there_is_nothing(client: Client, shop: Project) -> None:
    for address in ("alerts/cart", "channels", "channels/a", "channels/a/deliveries"):
        assert client.get(API + address).status_code == 401
