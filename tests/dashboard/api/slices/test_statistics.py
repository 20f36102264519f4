"""Intervals, percentiles and markers, as the read API tells them."""

from typing import Any

import pytest
from django.test import Client

from projects.creation import create_project
from projects.models import Project
from projects.tokens import create_token
from tests.aggregate.posting import fold_all, post
from tests.envelopes import make_envelope

pytestmark = pytest.mark.django_db


@pytest.fixture
def lab() -> Project:
    project, _ = create_project(slug="lab", key="lab-key", origins=["*"])
    return project


@pytest.fixture
def headers(lab: Project) -> dict[str, str]:
    return {"Authorization": f"Bearer {create_token(project=lab)[1]}"}


def post_views(views: int, *, marker: str | None = None) -> None:
    """Posts views in which `slow` takes 0, 10 or 20 ms and `steady` 10."""
    envelopes = []
    for number in range(views):
        envelope = make_envelope(f"v{number}", "\n".join(["slow"] * (number % 3) + ["steady", "-"]))
        for sample in envelope["trace"]["samples"]:
            if marker:
                sample["marker"] = marker
        envelopes.append(envelope)
    post("lab-key", *envelopes)
    fold_all()


def ask(client: Client, headers: dict[str, str], what: str) -> dict[str, Any]:
    answer = client.get(f"/api/v1/projects/lab/{what}", headers=headers)
    assert answer.status_code == 200, answer.content
    table: dict[str, Any] = answer.json()
    return table


def find(table: dict[str, Any], name: str) -> dict[str, Any]:
    return next(row for row in table["functions"] if row["name"] == name)


def test_a_function_comes_with_its_interval_and_percentiles(client: Client, headers: dict[str, str]) -> None:
    post_views(60)
    table = ask(client, headers, "functions")
    slow = find(table, "slow")
    low, high = slow["self_ms_per_view_ci95"]
    assert low < slow["self_ms_per_view"] == 10.0 < high
    low, high = slow["self_share_ci95"]
    assert low < slow["self_share"] == 0.5 < high
    assert slow["p75_self_ms_per_view"] == 20.0
    estimates = slow["estimates"]
    assert (estimates["p50_ms"], estimates["p75_ms"], estimates["p95_ms"]) == (10.0, 20.0, 20.0)
    assert estimates["views_share"] == pytest.approx(2 / 3)
    assert (table["statistics"]["views"], table["statistics"]["population"]) == (60, 60)
    assert not table["statistics"]["is_too_few"]


def test_too_few_views_have_sums_and_no_estimates(client: Client, headers: dict[str, str]) -> None:
    post_views(6)
    table = ask(client, headers, "functions")
    assert table["statistics"]["is_too_few"]
    slow = find(table, "slow")
    assert (slow["self_ms"], slow["self_ms_per_view"]) == (60.0, 10.0)
    assert slow["self_ms_per_view_ci95"] is slow["p75_self_ms_per_view"] is slow["estimates"] is None


def test_estimates_follow_the_measure_and_self_stays(client: Client, headers: dict[str, str]) -> None:
    post_views(30)
    table = ask(client, headers, "functions?measure=self%2Bhidden&group_by=category")
    assert table["statistics"]["measure"] == "self+hidden"
    (row,) = table["functions"]
    assert row["estimates"]["ms_per_view"] == row["self_ms_per_view"] == 20.0


def test_single_traces_have_no_statistics(client: Client, headers: dict[str, str]) -> None:
    post_views(3)
    (trace, *_) = ask(client, headers, "traces")["traces"]
    table = ask(client, headers, f"functions?trace={trace['id']}")
    assert table["statistics"] is None
    assert table["source"] == "raw"


def test_markers_are_answered_with_their_spread(client: Client, headers: dict[str, str]) -> None:
    post_views(30, marker="layout")
    table = ask(client, headers, "markers")
    (layout,) = [row for row in table["markers"] if row["ms"]]
    assert (layout["marker"], layout["ms"]) == ("layout", 900.0)
    assert layout["estimates"]["ms_per_view"] == 30.0
    assert table["statistics"]["views"] == 30


def test_without_markers_there_is_nothing_to_tell(client: Client, headers: dict[str, str]) -> None:
    post_views(30)
    table = ask(client, headers, "markers")
    assert table["markers"] == []
    assert table["statistics"]["is_too_few"]
