"""`metrics`: OpenMetrics that a strict parser reads, in a bounded number of series, whatever strangers name a page."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.test import Client
from prometheus_client.core import Metric
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from pytest_django import Settings

from alerts.models import AlertRule, AlertState
from dashboard.api.project.openmetrics import MAX_LABEL_CHARS, clean_label
from profcore.alerts.states import State
from profcore.times import start_of_hour
from projects.models import Project
from tests.builders import make_group, make_timed_views

API = "/api/v1/projects/shop/metrics"
Labels = dict[str, str]


def scrape(client: Client, bearer: Labels, query: str = "") -> dict[str, Metric]:
    """Returns the families by name, as prometheus_client's strict parser reads them."""
    response = client.get(API + query, headers=bearer)
    assert response.status_code == 200, response.content
    assert response["Content-Type"] == "application/openmetrics-text; version=1.0.0; charset=utf-8"
    text = response.content.decode()
    families = text_string_to_metric_families(text)  # type: ignore[no-untyped-call]  # the library's own
    return {family.name: family for family in families}


def values(family: Metric, name: str = "", **labels: str) -> list[tuple[Labels, float]]:
    """Returns the other labels and the value of each sample with some labels."""
    return [
        ({key: value for key, value in sample.labels.items() if key not in (*labels, "project")}, sample.value)
        for sample in family.samples
        if labels.items() <= sample.labels.items() and sample.name == (name or family.name)
    ]


def add_views(project: Project, js_ms: list[int], *, hours_ago: int = 1, age_days: int = 0, **cell: Any) -> None:
    """Adds views that began some hours ago, of a release that was first seen `age_days` before now."""
    now = datetime.now(UTC)
    make_group(project, cell["release"], cell["page"], first_seen_at=now - timedelta(days=age_days))
    at = start_of_hour(now) - timedelta(hours=hours_ago)
    make_timed_views(project, [1_000 * ms for ms in js_ms], starts_at=at, **cell)


def test_a_page_in_a_release_has_exact_means_and_a_histogram_that_names_views(
    client: Client, bearer: Labels, shop: Project
) -> None:
    add_views(shop, [40, 60, 90, 500], hidden_us=10_000, engine_us=8_000, release="2.0.0", page="/cart")
    families = scrape(client, bearer)
    series = {"page": "/cart", "release": "2.0.0"}
    assert values(families["fieldflame_window_seconds"]) == [({}, 86_400.0)]
    assert values(families["fieldflame_page_views"]) == [(series, 4.0)]
    assert values(families["fieldflame_page_sampled_views"]) == [(series, 4.0)]
    means = {labels["part"]: value for labels, value in values(families["fieldflame_page_time_per_view_seconds"])}
    assert means == {"script": 0.690 / 4, "hidden": 0.010, "engine": 0.002}
    spread = families["fieldflame_page_view_seconds"]
    assert (spread.type, spread.unit) == ("gaugehistogram", "seconds")
    buckets = {labels["le"]: value for labels, value in values(spread, f"{spread.name}_bucket", **series)}
    assert buckets == {"0.05": 1, "0.1": 3, "0.2": 3, "0.4": 3} | dict.fromkeys(
        ("0.8", "1.6", "3.2", "6.4", "12.8", "+Inf"), 4
    )
    assert values(spread, f"{spread.name}_gsum", **series) == [({}, 0.730)]
    assert values(spread, f"{spread.name}_gcount", **series) == [({}, 4.0)]
    examples = {sample.labels["le"]: sample.exemplar for sample in spread.samples if sample.exemplar}
    assert {bound: example.value for bound, example in examples.items()} == {"0.05": 0.05, "0.1": 0.1, "0.8": 0.51}
    assert all(len(example.labels["view_id"]) == 36 for example in examples.values())


def test_series_are_bounded_and_all_else_is_other(
    client: Client, bearer: Labels, shop: Project, settings: Settings
) -> None:
    settings.METRICS_PAGES, settings.METRICS_RELEASES = 2, 1
    for page, views in (("/a", 100), ("/b", 90), ("/c", 80)):
        add_views(shop, [10] * views, release="2.0.0", page=page, age_days=1)
    add_views(shop, [10] * 50, release="1.0.0", page="/a", age_days=9)
    add_views(shop, [10], release="made-up", page="/a")  # newer, but nobody uses it
    points = values(scrape(client, bearer)["fieldflame_page_views"])
    assert {(labels["page"], labels["release"]): value for labels, value in points} == {
        ("/a", "2.0.0"): 100,
        ("/b", "2.0.0"): 90,
        ("(other)", "2.0.0"): 80,
        ("/a", "(other)"): 51,
    }


def test_what_began_before_the_window_is_left_out(client: Client, bearer: Labels, shop: Project) -> None:
    add_views(shop, [10], hours_ago=3, release="2.0.0", page="/old")
    add_views(shop, [10], hours_ago=1, release="2.0.0", page="/new")
    points = values(scrape(client, bearer, "?hours=3")["fieldflame_page_views"])
    assert [labels["page"] for labels, _ in points] == ["/new"]


def test_a_sample_of_views_is_scaled_to_all_of_them(
    client: Client, bearer: Labels, shop: Project, settings: Settings
) -> None:
    settings.METRICS_MAX_VIEWS = 20
    add_views(shop, [10, 1_000] * 100, release="2.0.0", page="/a")
    families = scrape(client, bearer)
    assert values(families["fieldflame_page_sampled_views"])[0][1] == 20
    spread = families["fieldflame_page_view_seconds"]
    counts = [value for _, value in values(spread, f"{spread.name}_bucket")]
    assert counts == sorted(counts)
    assert 0 < counts[0] < counts[-1] == values(spread, f"{spread.name}_gcount")[0][1] == 200


@pytest.mark.parametrize("page", ['/"},x="1', "/a\\n", "/new\nline 1", "/\x7f\u2028", "/" + "é" * 390, "/🙂", "# EOF"])
def test_any_page_is_a_safe_label(client: Client, bearer: Labels, shop: Project, page: str) -> None:
    add_views(shop, [10], release="2.0.0", page=page)
    ((labels, _),) = values(scrape(client, bearer)["fieldflame_page_views"])
    assert labels["page"] == clean_label(page)
    assert len(labels["page"]) <= MAX_LABEL_CHARS


def test_labels_that_are_changed_stay_different() -> None:
    long = "/" + "x" * 300
    changed = [long + "1", long + "2", "/\x01", "/\x02"]
    assert len({clean_label(text) for text in changed}) == 4
    assert clean_label("/cart/:id") == "/cart/:id"


def test_an_empty_project_has_only_its_window(client: Client, bearer: Labels, shop: Project) -> None:
    families = scrape(client, bearer)
    assert [name for name, family in families.items() if family.samples] == ["fieldflame_window_seconds"]


def test_a_new_page_is_scraped_at_once(client: Client, bearer: Labels, shop: Project) -> None:
    add_views(shop, [10], release="2.0.0", page="/a")
    first = scrape(client, bearer)
    assert scrape(client, bearer).keys() == first.keys()
    add_views(shop, [10], release="2.0.0", page="/b")
    assert len(values(scrape(client, bearer)["fieldflame_page_views"])) == 2


def test_a_bad_window_is_named(client: Client, bearer: Labels) -> None:
    response = client.get(API + "?hours=49", headers=bearer)
    assert (response.status_code, response.json()["field"]) == (400, "hours")


def alert(project: Project, number: int, name: str, states: list[State], **fields: Any) -> None:
    """Adds an alert with subjects in some states."""
    now = datetime.now(UTC)
    AlertRule.objects.create(
        project=project, id=number, kind=AlertRule.Kind.BUDGET, name=name, created_at=now, due_at=now, **fields
    )
    for place, state in enumerate(states):
        key = bytes([number, place])
        AlertState.objects.create(
            project=project, alert_id=number, subject_key=key, state=state, since_at=now, seen_at=now
        )


def test_alerts_have_gauges_of_their_states(client: Client, bearer: Labels, shop: Project) -> None:
    alert(shop, 7, "Budget", [State.CONFIRMED, State.OK, State.OK], evaluated_at=datetime(2026, 11, 23, tzinfo=UTC))
    alert(shop, 8, "Switched off", [State.CONFIRMED], is_on=False)
    families = scrape(client, bearer)
    subjects = values(families["fieldflame_alert_subjects"], alert="Budget", alert_id="7", kind="budget")
    assert {labels["state"]: value for labels, value in subjects} == {
        "unknown": 0,
        "ok": 2,
        "suspected": 0,
        "confirmed": 1,
        "resolved": 0,
    }
    assert len(families["fieldflame_alert_subjects"].samples) == 5
    ((_, evaluated),) = values(families["fieldflame_alert_evaluated_timestamp_seconds"])
    assert evaluated == datetime(2026, 11, 23, tzinfo=UTC).timestamp()


def test_the_documentation_names_all_metrics_and_no_others(client: Client, bearer: Labels, shop: Project) -> None:
    add_views(shop, [10], release="2.0.0", page="/a")
    alert(shop, 7, "Budget", [State.OK], evaluated_at=datetime.now(UTC))
    names = {name for family in scrape(client, bearer).values() for name in (family.name, *_names(family))}
    text = (Path(django_settings.BASE_DIR) / "docs" / "grafana.md").read_text()
    documented = set(re.findall(r"fieldflame_\w+", text))
    assert documented <= names
    assert {name for name in names if not name.endswith(("_gcount", "_gsum"))} <= documented


def _names(family: Metric) -> set[str]:
    return {sample.name for sample in family.samples}
