"""Views that could not be recorded: on the page "Data quality" and in the API, by reason, browser and page."""

import json
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from aggregate.selectors.project.absences import MAX_PAGES, select_absences
from aggregate.selectors.slice.slices import Slice
from dashboard.pages.quality.absence_reasons import STATUS_ADVICE, WORDS
from profcore.trace.absence import ABSENCE_REASONS, KNOWN_STATUSES
from projects.models import Project
from tests.aggregate.posting import fold_all, post
from tests.builders import make_absence, make_project, now
from tests.dashboard.pages.reading import text_of
from tests.envelopes import make_envelope

PAGE = "/projects/shop/quality/"
PICTURE = "A\nA B"
CHROME = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36"


@pytest.fixture
def project(db: None) -> Project:
    """Two recorded views of /cart at a rate of a hundredth, and some that could not be recorded."""
    project = make_project("shop")
    for view in ("a", "b"):
        fields = {"page": "/cart", "userAgent": CHROME, "sampleRate": 0.01, "timeOrigin": now().timestamp() * 1_000}
        post("KEY-shop", make_envelope(view, PICTURE, **fields))
    fold_all()
    make_absence(make_project("elsewhere"), "csp", views=10**6)
    return project


def ask(client: Client, **query: str) -> Mapping[str, Any]:  # Any: JSON
    answer: Mapping[str, Any] = json.loads(client.get("/api/v1/projects/shop/quality", query).content)["absent"]
    return answer


def test_every_reason_and_only_those_have_words() -> None:
    assert set(WORDS) == set(ABSENCE_REASONS)
    assert set(STATUS_ADVICE) <= KNOWN_STATUSES
    for text in WORDS.values():
        assert text.meaning.endswith(".")
        assert text.advice.endswith("." if not text.line else ":")


def test_a_project_whose_pages_report_nothing(reader: Client) -> None:
    assert "No page reported that it could not record in this time." in text_of(reader, PAGE)
    assert ask(reader) == {
        "reports": 0,
        "views": 0,
        "recorded_views": None,
        "share": None,
        "since": None,
        "by_reason": [],
        "by_browser": [],
        "by_page": [],
        "page_count": 0,
    }


def test_views_are_divided_by_reason_browser_and_page(reader: Client, project: Project) -> None:
    make_absence(project, "no-header", views=500, reports=5)
    make_absence(project, "no-header", views=100, reports=1, shard=3)
    make_absence(project, "no-api", views=150, browser="firefox")
    make_absence(project, "status", views=50, status=413, page="/checkout")
    assert ask(reader) == {
        "reports": 8,
        "views": 800,
        "recorded_views": 200,
        "share": 0.8,
        "since": now().date().isoformat(),
        "by_reason": [
            {"reason": "no-header", "status": None, "reports": 6, "views": 600},
            {"reason": "no-api", "status": None, "reports": 1, "views": 150},
            {"reason": "status", "status": 413, "reports": 1, "views": 50},
        ],
        "by_browser": [
            {"browser": "chrome", "reports": 7, "views": 650},
            {"browser": "firefox", "reports": 1, "views": 150},
        ],
        "by_page": [{"page": "/cart", "reports": 7, "views": 750}, {"page": "/checkout", "reports": 1, "views": 50}],
        "page_count": 2,
    }


def test_the_page_says_why_and_what_to_add(reader: Client, project: Project) -> None:
    make_absence(project, "no-header", views=500, reports=5)
    make_absence(project, "csp", views=100)
    make_absence(project, "status", views=200, status=413)
    text = text_of(reader, PAGE)
    assert "about 800 page views, estimated from 7 reports" in text
    assert "80.0 % of about 1 000 page views that loaded the snippet" in text
    assert "has no Document-Policy header. Add this line to the response of the page, not of the script:" in text
    assert "Document-Policy: js-profiling" in text
    assert "connect-src http://testserver" in text
    assert "with status 413. Record for a shorter time." in text


def test_the_slice_narrows_days_pages_and_browsers(reader: Client, project: Project) -> None:
    yesterday = now().date() - timedelta(days=1)
    make_absence(project, "no-header", views=1)
    make_absence(project, "no-header", views=10, day_on=yesterday)
    make_absence(project, "no-header", views=100, page="/other")
    make_absence(project, "no-header", views=1_000, browser="edge")
    assert ask(reader)["views"] == 1_111
    assert ask(reader, page="/other")["views"] == 100
    assert ask(reader, browser="edge")["views"] == 1_000
    assert ask(reader, release="no such", device="mobile")["views"] == 1_111
    noon = f"{now().date()}T12:00:00Z"
    assert ask(reader, **{"from": noon})["views"] == 1_101
    assert ask(reader, **{"to": f"{now().date()}T00:00:00Z"})["views"] == 10
    assert ask(reader, **{"from": f"{yesterday}T05:00:00Z", "to": f"{yesterday}T06:00:00Z"})["views"] == 10


def test_recorded_views_before_the_first_report_do_not_count(project: Project) -> None:
    make_absence(project, "no-header", views=300, day_on=now().date() + timedelta(days=1))
    absences = select_absences(Slice(project_id=project.pk))
    assert (absences.recorded, absences.share) == (0, 1.0)


def test_many_pages_are_counted_and_some_listed(project: Project) -> None:
    for number in range(MAX_PAGES + 3):
        make_absence(project, "no-header", page=f"/{number}", views=number + 1)
    absences = select_absences(Slice(project_id=project.pk))
    assert (absences.page_count, len(absences.by_page)) == (MAX_PAGES + 3, MAX_PAGES)
    assert absences.by_page[0].name == f"/{MAX_PAGES + 2}"


def test_a_new_report_changes_the_page_for_who_has_it_already(reader: Client, project: Project) -> None:
    make_absence(project, "no-header")
    reader.get(PAGE)
    first = reader.get(PAGE)
    again = {"If-None-Match": first["ETag"]}
    assert reader.get(PAGE, headers=again).status_code == 304
    make_absence(project, "csp")
    assert reader.get(PAGE, headers=again).status_code == 200
