"""A function that a release only renamed is one row of a comparison: on the page, in the API and in the CSV file."""

import csv
import html
import io
import json

import pytest
from django.contrib.auth.models import User
from django.test import Client

from projects.models import Project
from tests.aggregate.bundled_views import HASHED, func, view
from tests.aggregate.posting import fold_all, post
from tests.builders import make_label, make_project
from tests.dashboard.pages.reading import text_of

BODY = "function {name}(values) {{\n  return values.length ? values.map(each => each * 2) : {name}([1, 2, 3]);\n}}\n"
SIDES = "base_release=1.0.0&head_release=2.0.0"


@pytest.fixture
def renamed(client: Client, db: None) -> Project:
    """`percentile` of 1.0.0 is `quantile` of 2.0.0, and takes twice as long there."""
    project = make_project()
    for release, name, original, stacks in (("1.0.0", "a", "percentile", "a"), ("2.0.0", "b", "quantile", "b\nb")):
        for start in (0, 15):
            views = [view(f"{release}-{n}", stacks, release, HASHED[release]) for n in range(start, start + 15)]
            post("KEY-shop", *views)
        fold_all()
        made = func(project, name, HASHED[release])
        text = BODY.format(name=original)
        make_label(
            made, release, "src/stats.ts", original, line=1, column=10, content=text, body=b"equal body", is_shared=True
        )
    client.force_login(User.objects.create_superuser("root"))
    return project


def test_the_api_has_one_row_with_the_old_name(client: Client, renamed: Project) -> None:
    (row,) = json.loads(client.get(f"/api/v1/projects/shop/compare?{SIDES}").content)["functions"]
    assert (row["label"], row["status"], row["renamed_from"]["label"]) == ("quantile", "changed", "percentile")
    assert row["renamed_from"]["id"].startswith("m")
    assert (row["base_views_ran"], row["head_views_ran"], row["is_significant"]) == (30, 30, True)
    assert row["delta_ms_per_view"] == pytest.approx(10)


def test_the_page_and_the_csv_file_name_it(client: Client, renamed: Project) -> None:
    page = text_of(client, f"/projects/shop/compare/?{SIDES}&plain=1")
    assert "Renamed from percentile" in page
    source = html.unescape(client.get(f"/projects/shop/compare/?{SIDES}&plain=1").content.decode())
    assert "source_base=1.0.0" in source
    body = client.get(f"/projects/shop/compare/csv/?{SIDES}").content.decode()
    (row,) = csv.DictReader(io.StringIO(body))
    assert (row["label"], row["renamed_from"], row["status"]) == ("quantile", "percentile", "changed")


def test_the_trend_of_either_name_has_both_releases(client: Client, renamed: Project) -> None:
    for name, release, other in (("a", "1.0.0", "quantile"), ("b", "2.0.0", "percentile")):
        page = text_of(client, f"/projects/shop/functions/{func(renamed, name, HASHED[release]).id}/parts/trend/")
        assert f"its name is {other}" in page
        assert "20 ms" in page
        assert "10 ms" in page
