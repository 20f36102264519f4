"""The source of a function in two releases and what changed, in a real browser, of an app with its own source maps."""

from functools import partial

import pytest
from playwright.sync_api import Browser, expect
from pytest_django.live_server_helper import LiveServer

from aggregate.selectors.functions.groups import select_function_table
from aggregate.selectors.slice.slices import Slice
from aggregate.sourcemaps.archives import BuildFile
from aggregate.sourcemaps.labelling import label_all
from aggregate.sourcemaps.uploading import store_build
from ingest.models import Project
from tests.builds import build_files, manifest, needs_builds
from tests.e2e.axe import find_violations
from tests.e2e.browser import save_screenshot
from tests.e2e.site import LOOKS, SLUG, Look, fill_site, open_as

pytestmark = [pytest.mark.e2e, pytest.mark.slow(60), pytest.mark.django_db(transaction=True), needs_builds]


def upload_maps(project: Project) -> None:
    """Uploads the builds of both releases, and labels all functions."""
    for release in ("1.0.0", "1.1.0"):
        files = []
        for url, script in manifest().items():
            if script["app"] == SLUG and script["release"] == release:
                path = url.removeprefix(f"https://{SLUG}.corpus.test/")
                for name, stored in ((path, script["file"]), (path + ".map", script["map"])):
                    if stored is not None:
                        content = build_files()[stored]
                        files.append(BuildFile(name, len(content), partial(bytes, content)))
        store_build(project.pk, release=release, url_prefixes=[f"https://{SLUG}.corpus.test"], files=files)
    label_all(project.pk)


def test_each_release_shows_its_own_text_and_the_changes(chromium: Browser, live_server: LiveServer) -> None:
    user = fill_site()
    project = Project.objects.get(slug=SLUG)
    upload_maps(project)
    project.group_set.filter(release="1.0.0").update(first_seen_at="2026-01-01T00:00Z")
    rows = select_function_table(Slice(project_id=project.pk, releases=("1.1.0",))).functions
    func = next(row for row in rows if row.label == "measureColumns")
    address = f"{live_server.url}/projects/{SLUG}/functions/{func.id}/?release=1.1.0"
    for look in (*LOOKS, Look("dark", 390)):
        with open_as(chromium, live_server.url, user, look) as (page, watch):
            page.goto(address)
            source = page.locator("pre.source")
            versions = page.get_by_role("navigation", name="Release of the source")
            expect(versions.get_by_role("link", name="1.1.0")).to_have_attribute("aria-current", "true")
            newer = source.inner_text()
            save_screenshot(page, f"source/{look.name}-new")
            versions.get_by_role("link", name="changes").click()
            expect(page.locator("pre.source.changes .is-added").first).to_be_visible()
            added = page.locator("pre.source.changes .is-added").all_inner_texts()
            expect(page.locator("[aria-busy=true]")).to_have_count(0)
            assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
            assert find_violations(page) == []
            save_screenshot(page, f"source/{look.name}-changes")
            versions.get_by_role("link", name="1.0.0").click()
            expect(versions.get_by_role("link", name="1.0.0")).to_have_attribute("aria-current", "true")
            older = source.inner_text()
            assert added
            for line in added:
                text = line.partition("+")[2].strip()
                assert text in newer
            assert newer != older
            assert watch.complaints == []
