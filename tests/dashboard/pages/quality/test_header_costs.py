"""What the header costs, on the page and in the API: both sides, in words, and nothing without the experiment."""

import re
from datetime import UTC, datetime

import pytest
from django.test import Client

from ingest.count_models import LoadCount
from profcore.vitals.page_loads import LOAD_VITALS, bucket_of
from projects.models import Project
from tests.aggregate.posting import fold_all, post
from tests.builders import make_project
from tests.envelopes import make_envelope

pytestmark = pytest.mark.django_db


@pytest.fixture
def project() -> Project:
    project = make_project("shop")
    post("KEY-shop", make_envelope("a", "A"))
    fold_all()
    return project


def add(project: Project, vital: str, has_header: bool, ms: float, loads: int) -> None:
    """Adds loads of about so many ms: a third each of this bucket and its two neighbours."""
    for near in (-3, 0, 3):
        LoadCount.objects.create(
            project=project,
            day_on=datetime.now(UTC).date(),
            vital=LOAD_VITALS.index(vital),
            has_header=has_header,
            bucket=bucket_of(ms) + near,
            loads=loads // 3,
        )


def test_without_the_experiment_there_is_no_card(reader: Client, project: Project) -> None:
    assert "What the header costs" not in reader.get("/projects/shop/quality/").content.decode()


def test_each_vital_says_what_it_shows(reader: Client, project: Project) -> None:
    for has_header, loads in ((True, 3_000), (False, 3_000)):
        add(project, "ttfb", has_header, 100, loads)
        add(project, "lcp", has_header, 2_400 if has_header else 2_000, loads)
        add(project, "fcp", has_header, 900, loads)
    add(project, "inp", True, 100, 60)
    text = reader.get("/projects/shop/quality/").content.decode()
    card = text[text.index('id="header-costs"') :]
    meanings = dict(re.findall(r'<th scope="row">(\w+)</th>.*?data-label="What it says">(.*?)</td>', card, re.DOTALL))
    assert meanings["TTFB"] == "Both sides are answered equally soon, as a fair draw must give."
    assert meanings["FCP"] == "No clear difference."
    assert meanings["LCP"].startswith("The header makes pages slower. Give it to 4.0")
    assert meanings["INP"] == "Too few loads: 100 of each side are needed."
    rows = {row["vital"]: row for row in reader.get("/api/v1/projects/shop/quality").json()["header_costs"]}
    assert rows["lcp"]["later"] == pytest.approx(0.2, abs=0.03)
    low, high = rows["lcp"]["later_ci95"]
    assert low < rows["lcp"]["later"] < high
    assert (rows["lcp"]["proposed_share"], rows["lcp"]["loads"]) == (0.04, 3_000)
    assert rows["inp"]["later"] is None


def test_a_draw_that_is_not_by_chance_is_told(reader: Client, project: Project) -> None:
    add(project, "ttfb", True, 200, 3_000)
    add(project, "ttfb", False, 100, 3_000)
    assert "the draw is not by chance" in reader.get("/projects/shop/quality/").content.decode()
