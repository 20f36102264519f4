"""A person looks into one function, in a real browser: from the table to its page, over releases, and on from there."""

import re
from functools import partial

import pytest
from playwright.sync_api import Browser, Page, expect
from pytest_django.live_server_helper import LiveServer

from aggregate.models import Func
from aggregate.selectors.functions.groups import select_function_table
from aggregate.selectors.slice.slices import Slice
from aggregate.sourcemaps.archives import BuildFile
from aggregate.sourcemaps.labelling import label_all
from aggregate.sourcemaps.uploading import store_build
from projects.models import Project
from tests.builds import build_files, manifest, needs_builds
from tests.e2e.axe import find_faults
from tests.e2e.browser import save_screenshot
from tests.e2e.site import LOOKS, SLUG, fill_site, open_as

pytestmark = [pytest.mark.e2e, pytest.mark.slow(25), pytest.mark.django_db(transaction=True)]

MISSING = "[hx-get] > .part-wait, [hx-get] > .skeleton"
COSTLY = "Xt"  # what measureColumns is called in the recorded bundle


def see_all(page: Page) -> None:
    """Scrolls down until all parts have come."""
    for part in page.locator("main h2, main .slot").all():
        part.scroll_into_view_if_needed()
        page.wait_for_timeout(50)
    expect(page.locator(".slot .skeleton")).to_have_count(0)
    expect(page.locator("[aria-busy=true]")).to_have_count(0)


def test_a_function_from_the_table_to_its_views(chromium: Browser, live_server: LiveServer) -> None:
    user = fill_site(views=100)
    with open_as(chromium, live_server.url, user, LOOKS[0]) as (page, errors):
        page.goto(f"{live_server.url}/projects/{SLUG}/functions/?page=/products")
        name = page.locator(".functions a.function", has_text=re.compile(f"^{COSTLY}$")).first
        address = name.get_attribute("href")
        name.click()
        expect(page.get_by_role("heading", level=1)).to_have_text(COSTLY)
        assert page.url == f"{live_server.url}{address}"
        assert page.url.endswith("/?page=/products")
        expect(page.locator(".costs").first).to_contain_text("Self per view")
        see_all(page)
        expect(page.locator(".step-way")).to_be_visible()
        assert find_faults(page) == []
        save_screenshot(page, "function/page")
        # The measure is a link, for the keyboard too, and stays in the address.
        page.get_by_role("link", name="Total", exact=True).focus()
        page.keyboard.press("Enter")
        expect(page.get_by_role("link", name="Total", exact=True)).to_have_attribute("aria-current", "true")
        expect(page.locator("table.trend thead")).to_contain_text("Total per view")
        assert "page=/products&measure=total" in page.url
        # One release alone: the trend still shows all and marks it.
        page.locator("table.trend tbody a").last.click()
        expect(page.locator("table.trend tbody tr.marked")).to_have_count(1)
        assert page.locator("table.trend tbody tr").count() > 1
        see_all(page)
        expect(page.get_by_role("button", name=re.compile("^Open in Firefox Profiler"))).to_have_count(11)
        there = page.url.partition("?")[0]  # in another bundle the same function has another id
        page.get_by_role("link", name="Show all callers and callees").click()
        expect(page.locator(".halves h3")).to_contain_text(COSTLY)
        # And from the flame graph back to the function, in the same slice.
        page.locator(".halves h3 a").click()
        expect(page.locator(".costs").first).to_contain_text("Self per view")
        assert re.search(r"\?release=[^&]+&page=/products$", page.url)
        assert page.url.partition("?")[0] == there
        assert errors.complaints == []


def test_a_part_can_be_asked_again_and_paper_has_those_that_nobody_scrolled_to(
    chromium: Browser, live_server: LiveServer
) -> None:
    user = fill_site(views=60)
    func = Func.objects.latest("id")
    with open_as(chromium, live_server.url, user, LOOKS[0]) as (page, _):
        page.route("**/parts/trend/**", lambda route: route.abort(), times=1)
        page.goto(f"{live_server.url}/projects/{SLUG}/functions/{func.id}/")
        expect(page.get_by_text("This part could not be loaded. The server did not answer.")).to_be_visible()
        page.get_by_role("button", name="Try again").click()
        expect(page.locator("table.trend")).to_be_visible()
        views = page.get_by_role("heading", name="Page views that ran it")
        expect(views).to_be_visible()
        page.emulate_media(media="print")
        expect(page.locator("table.trend")).to_be_visible()
        part = page.locator("section", has=views).locator("[hx-get]")
        assert "not loaded" in part.evaluate("part => getComputedStyle(part, '::before').content")
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        expect(page.locator(MISSING)).to_have_count(0)
        expect(part.locator("svg, table").first).to_be_visible()
        assert part.evaluate("part => getComputedStyle(part, '::before').content") == "none"
        assert page.pdf().startswith(b"%PDF")


def test_without_scripts_all_of_it_is_one_link_away(chromium: Browser, live_server: LiveServer) -> None:
    user = fill_site(views=60)
    func = Func.objects.latest("id")
    with open_as(chromium, live_server.url, user, LOOKS[0], java_script_enabled=False) as (page, _):
        page.goto(f"{live_server.url}/projects/{SLUG}/functions/{func.id}/")
        page.get_by_role("link", name="Show the whole page").click()
        for heading in ("Cost", "Trend by release", "Callers and callees", "Page views that ran it"):
            expect(page.get_by_role("heading", name=heading)).to_be_visible()
        expect(page.locator("table.trend")).to_be_visible()
        page.emulate_media(media="print")
        save_screenshot(page, "function/print")


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


@needs_builds
def test_each_release_shows_its_own_text_and_the_changes(chromium: Browser, live_server: LiveServer) -> None:
    user = fill_site()
    project = Project.objects.get(slug=SLUG)
    upload_maps(project)
    project.group_set.filter(release="1.0.0").update(first_seen_at="2026-01-01T00:00Z")
    rows = select_function_table(Slice(project_id=project.pk, releases=("1.1.0",))).functions
    func = next(row for row in rows if row.label == "measureColumns")
    address = f"{live_server.url}/projects/{SLUG}/functions/{func.id}/?release=1.1.0"
    with open_as(chromium, live_server.url, user, LOOKS[0]) as (page, errors):
        page.goto(address)
        source = page.locator("pre.source")
        versions = page.get_by_role("navigation", name="Release of the source")
        expect(versions.get_by_role("link", name="1.1.0")).to_have_attribute("aria-current", "true")
        newer = source.inner_text()
        versions.get_by_role("link", name="changes").click()
        expect(page.locator("pre.source.changes .is-added").first).to_be_visible()
        added = page.locator("pre.source.changes .is-added").all_inner_texts()
        see_all(page)
        assert find_faults(page) == []
        save_screenshot(page, "source/changes")
        versions.get_by_role("link", name="1.0.0").click()
        expect(versions.get_by_role("link", name="1.0.0")).to_have_attribute("aria-current", "true")
        older = source.inner_text()
        assert added
        for line in added:
            text = line.partition("+")[2].strip()
            assert text in newer
        assert newer != older
        assert errors.complaints == []
