"""The demo tells its story: the verdict names the page and the function, the mend is seen, and so is the tag's cost."""

from datetime import UTC, datetime
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from config.demo.loading import date_groups, ensure_demo_project, store_views, upload_maps
from tests.aggregate.posting import fold_all

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow(60)]
VIEWS = 1_000  # a third of what is loaded: the changes are clear long before


@pytest.fixture
def client(admin_client: Client) -> Client:
    project = ensure_demo_project()
    upload_maps(project)
    sum(store_views(project, datetime.now(UTC), VIEWS))
    fold_all()
    date_groups(project)
    call_command("symbolicate", project="demo")
    return admin_client


def read(client: Client, path: str) -> dict[str, Any]:  # Any: JSON of the API
    answer = client.get(f"/api/v1/projects/demo/{path}")
    assert answer.status_code == 200, answer.content
    found: dict[str, Any] = answer.json()
    return found


def test_the_demo_tells_its_story(client: Client) -> None:
    slower = read(client, "verdict?base_release=1.0.0&head_release=1.1.0")
    assert "1.1.0 made /product/:id slower" in slower["sentence"]
    assert "mainly rankRecommendations" in slower["sentence"]

    mended = {page["page"]: page for page in read(client, "verdict")["pages"]}
    assert mended["/product/:id"]["state"] == "faster"

    rows = read(client, "functions?release=1.2.0&limit=400")["functions"]
    assert {"takeSnapshot", "buildSearchIndex"} <= {(row["original"] or row)["name"] for row in rows}
