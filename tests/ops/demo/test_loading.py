"""Loading the demo: through the endpoint's own statement, at the times of the month, and never twice."""

import gzip
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from pytest_django import Settings

from aggregate.selectors.project.pages import select_releases
from ingest.models import Receipt
from ingest.storage.storing import store_arrivals
from ops.demo.loading import DemoError, date_groups, ensure_demo_project, make_arrivals, store_views
from ops.demo.recordings import FOLDER, read_recordings
from ops.demo.resampling import Resampled
from ops.demo.story import KEY, RELEASES
from projects.creation import create_project
from projects.lifecycle import mark_for_deletion
from projects.models import Project
from tests.aggregate.posting import fold_all, is_held

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow(20)]
NOW = datetime.now(UTC)
VIEWS = 60


def test_loading_twice_adds_nothing() -> None:
    project = ensure_demo_project()
    stored = sum(store_views(project, NOW, VIEWS))
    assert Receipt.objects.count() == stored > VIEWS

    sum(store_views(ensure_demo_project(), NOW + timedelta(days=2), VIEWS))
    assert Receipt.objects.count() == stored
    fold_all()
    assert Receipt.objects.filter(state=Receipt.State.FOLDED).count() == stored


def test_views_lie_where_they_were_put_and_releases_were_first_seen_then() -> None:
    project = ensure_demo_project()
    sum(store_views(project, NOW, VIEWS))
    fold_all()
    date_groups(project)

    starts = Receipt.objects.filter(project=project).values_list("view_started_at", flat=True)
    assert min(starts) < NOW - timedelta(days=28)
    assert max(starts) > NOW - timedelta(days=1)
    releases = select_releases(project.pk)
    assert [row.release for row in releases] == list(reversed(RELEASES))
    assert NOW - timedelta(days=6) < releases[0].first_seen_at < NOW - timedelta(days=3)


def test_a_trace_itself_is_left_as_it_was_recorded() -> None:
    lines = gzip.decompress((FOLDER / "1.0.0.ndjson.gz").read_bytes()).splitlines()
    recording, recorded = read_recordings()[0], json.loads(lines[0])
    view = Resampled(0, uuid4(), NOW, "an agent")

    arrival = make_arrivals(recording, view)[0]
    stored = json.loads(gzip.decompress(arrival.body))
    assert len(gzip.decompress(arrival.body)) == arrival.expanded_bytes
    assert stored.pop("userAgent") == "an agent"
    changed = {name for name in stored if stored[name] != recorded[name]}
    assert changed == {"viewId", "timeOrigin", "viewStart"}
    assert stored["viewStart"] - stored["timeOrigin"] == pytest.approx(recorded["viewStart"] - recorded["timeOrigin"])


def test_a_project_of_somebody_else_with_its_name_is_left_alone() -> None:
    create_project(slug="demo")
    with pytest.raises(DemoError, match=r"is not the demo.*[Dd]elete it"):
        ensure_demo_project()
    assert not Receipt.objects.exists()


def test_a_key_of_somebody_else_is_named(tmp_path: Path, settings: Settings) -> None:
    settings.DATA_DIR = tmp_path
    create_project(slug="other", key=KEY)
    with pytest.raises(CommandError, match="key 'demo'"):
        call_command("load_demo")
    assert not Project.objects.filter(slug="demo").exists()


def test_a_demo_that_is_not_marked_is_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed in between, it would have left a project that no load takes for the demo."""
    save = Project.save

    def die(project: Project, *given: Any, **named: Any) -> None:  # Any: as in Django's stubs
        if named.get("update_fields") == ["is_sample"]:
            raise KeyboardInterrupt
        save(project, *given, **named)

    monkeypatch.setattr(Project, "save", die)
    with pytest.raises(KeyboardInterrupt):
        ensure_demo_project()
    assert not Project.objects.exists()


def test_the_pages_say_that_it_is_sample_data(admin_client: Client) -> None:
    ensure_demo_project()
    create_project(slug="other")
    assert "Sample data." in admin_client.get("/projects/demo/").content.decode()
    other_page = admin_client.get("/projects/demo/functions/").content.decode()
    assert "Sample data." not in other_page  # its mark leads to the overview, which says what that means
    assert 'href="/projects/demo/#sample-data"' in other_page
    assert "Sample data" not in admin_client.get("/projects/other/").content.decode()


def test_a_demo_that_is_deleted_meanwhile_takes_no_more_views(monkeypatch: pytest.MonkeyPatch) -> None:
    project = ensure_demo_project()
    held: list[bool] = []

    def look_and_store(**options: Any) -> None:  # Any: what the real one takes
        held.append(is_held(project.pk))
        store_arrivals(**options)

    monkeypatch.setattr("ops.demo.loading.store_arrivals", look_and_store)
    batches = store_views(project, NOW, VIEWS)
    stored = next(batches)
    assert held == [True]
    assert not is_held(project.pk)
    mark_for_deletion(project)
    with pytest.raises(DemoError, match="being deleted"):
        next(batches)
    assert Receipt.objects.count() == stored
