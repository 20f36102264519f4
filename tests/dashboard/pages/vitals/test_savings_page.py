"""The page "What to fix first", the same by the API, and the part of a function's page."""

import re

from django.test import Client

from aggregate.models import Func
from projects.models import Project
from tests.dashboard.pages.reading import text_of

PAGE = "/projects/shop/savings/"
TABLE = "/projects/shop/savings/table/"
API = "/api/v1/projects/shop/savings"


def test_the_api_orders_by_what_is_sure_and_gives_bounds(reader: Client) -> None:
    answer = reader.get(f"{API}?limit=50").json()
    rows = answer["savings"]
    assert len(rows) == 50
    assert answer["window_views"] == answer["views"] > 40
    assert [row["sure_ms_per_view"] for row in rows] == sorted((row["sure_ms_per_view"] for row in rows), reverse=True)
    for row in rows:
        assert row["sure_ms_per_view"] <= row["own_ms_per_view"] <= row["with_calls_ms_per_view"]
        assert row["ms_where_it_ran"] is None or row["ms_where_it_ran"] >= row["own_ms_per_view"]
    assert {window["window"] for row in rows for window in row["windows"]} == {"lcp", "interaction"}
    forced = reader.get("/api/v1/projects/shop/forced-layout?limit=1000").json()["forced_layout"]["functions"]
    per_view = {row["id"]: row["ms_per_view"] for row in forced}
    assert all(row["forced_ms_per_view"] == per_view.get(row["id"], 0) for row in rows)
    assert any(row["forced_ms_per_view"] for row in rows)


def test_groups_and_categories_narrow_it(reader: Client) -> None:
    parties = reader.get(f"{API}?group_by=party").json()["savings"]
    assert 1 <= len(parties) < 20
    savings = reader.get(f"{API}?category=third-party").json()["savings"]
    assert {row["category"] for row in savings} <= {"third-party"}
    assert reader.get(f"{API}?limit=101").json()["field"] == "limit"
    assert reader.get(f"{API}?view=x").json()["field"] == "view"


def test_the_page_fetches_the_same_rows(reader: Client) -> None:
    page = reader.get(f"{PAGE}?group_by=package").content.decode()
    assert f'hx-get="{TABLE}?group_by=package"' in page
    first = reader.get(API).json()["savings"][0]
    text = text_of(reader, TABLE)
    assert text.index(first["name"]) < text.index("25 of")
    assert "LCP, INP and forced layout are of" in text
    assert "With calls" in text_of(reader, f"{PAGE}?plain=1")


def test_filters_by_tag_leave_vitals_out(reader: Client) -> None:
    text = text_of(reader, f"{TABLE}?tag=a:b")
    assert "LCP, INP and forced layout are not known" in text or "No function of this slice" in text


def test_a_functions_page_says_what_it_would_save(reader: Client, kept: Project) -> None:
    first = reader.get(API).json()["savings"][0]
    text = text_of(reader, f"/projects/shop/functions/{first['id']}/parts/savings/")
    assert "number 1 of what to fix first" in text
    assert re.search(r"Forced layout ([\d.]+ ms|–) All functions", text)
    assert re.search(r"At least, its own time [\d.]+ ms [\d.]+ to [\d.]+ ms At most, with all it called [\d.]+", text)
    rare = Func.objects.filter(project=kept).exclude(
        id__in=[int(row["id"]) for row in reader.get(f"{API}?limit=100").json()["savings"]]
    )
    assert "What would it save?" in text_of(reader, f"/projects/shop/functions/{first['id']}/")
    shown = text_of(reader, f"/projects/shop/functions/{rare[0].id}/parts/savings/")
    assert "little would be saved" in shown or "At least, its own time" in shown


def test_the_overview_and_the_functions_lead_there(reader: Client) -> None:
    for address in ("/projects/shop/", "/projects/shop/functions/"):
        assert "What to fix first" in text_of(reader, f"{address}?release=1.2.0")
