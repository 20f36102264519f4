"""Display rules as an administrator works with them in a browser: from an example to the flame graph, and back."""

from collections.abc import Sequence

import pytest
from django.contrib.auth.models import User
from django.test import Client
from playwright.sync_api import Browser, Page, expect
from pytest_django.live_server_helper import LiveServer

from projects.models import Project
from tests.builders import make_call_tree, make_cell, make_func, make_hotspot, make_project, make_receipt
from tests.e2e.axe import find_faults
from tests.e2e.browser import open_page, save_screenshot
from tests.e2e.site import LOOKS, open_as

pytestmark = [pytest.mark.e2e, pytest.mark.slow(20), pytest.mark.django_db(transaction=True)]
PAGE = "/projects/shop/settings/display/"
REACT = "https://shop.example/node_modules/react-dom/index.js"
# One caller for each: app called render, that hooks, that card.
FUNCS: Sequence[tuple[str, str, int]] = (
    ("app", "https://shop.example/app.js", 2_000),
    ("render", REACT, 4_000),
    ("hooks", REACT, 3_000),
    ("card", "https://shop.example/app.js", 6_000),
)


@pytest.fixture
def shop(transactional_db: None) -> Project:
    project = make_project("shop")
    whole = sum(us for _, _, us in FUNCS)
    cell, below = make_cell(project, js_us=whole), whole
    nodes = []
    for number, (name, uri, us) in enumerate(FUNCS):
        func = make_func(project, name, uri=uri, column=10 + number)
        make_hotspot(cell, func, self_us=us, total_us=below)
        nodes.append((number - 1, func, us))
        below -= us
    make_call_tree(cell, nodes)
    make_receipt(project)
    return project


@pytest.fixture
def root(shop: Project) -> User:
    return User.objects.create_superuser("root")


def press(page: Page, name: str) -> None:
    """Presses a button by its name, with the keyboard, and waits for the page that comes."""
    button = page.get_by_role("button", name=name, exact=True)
    button.focus()
    with page.expect_navigation():
        page.keyboard.press("Enter")


def test_an_example_is_previewed_saved_and_seen_everywhere(
    chromium: Browser, live_server: LiveServer, root: User, shop: Project
) -> None:
    with open_as(chromium, live_server.url, root, LOOKS[0]) as (page, errors):
        page.goto(live_server.url + PAGE)
        press(page, "Fold framework internals")
        first = page.locator("#id_rules-0-pattern")
        expect(first).to_be_focused()
        expect(first).to_have_value("react*")
        press(page, "Remove rule 2")
        page.locator("#id_rules-0-colour").select_option("purple")
        page.locator("#id_rules-0-pattern").press("Enter")  # as everywhere: the first thing to do is to look
        expect(page.locator("#preview-title")).to_be_focused()
        expect(page.locator(".effect")).to_contain_text("Decides 2 functions, 46.7")
        after = page.locator(".before-after table").nth(1)
        expect(after.locator("tbody tr").first).to_contain_text("React")
        assert Project.objects.get().display_rules == []
        press(page, "Save rules")
        expect(page.locator(".said")).to_contain_text("The rules are saved.")
        page.get_by_role("link", name="Functions", exact=True).click()
        expect(page.locator(".display-line")).to_contain_text("4 functions shown as 3")
        expect(page.locator(".functions tbody tr").first).to_contain_text("7\u202fms")
        page.get_by_role("link", name="Flame graph", exact=True).click()
        expect(page.locator("#flame-facts")).to_contain_text("3 call nodes")
        expect(page.locator("#flame-legend")).to_contain_text("purple, by display rules")
        page.get_by_role("link", name="show functions as stored").click()
        expect(page.locator("#flame-facts")).to_contain_text("4 call nodes")
        page.get_by_role("link", name="Functions", exact=True).click()
        expect(page.locator(".display-line")).to_contain_text("shown as stored")
        assert errors.complaints == []


def test_rules_move_by_keys_alone_and_the_focus_goes_along(
    chromium: Browser, live_server: LiveServer, root: User, shop: Project
) -> None:
    shop.display_rules = [
        {"action": "retitle", "field": "name", "pattern": name, "title": name.upper()} for name, _, _ in FUNCS[:3]
    ]
    shop.save()
    with open_as(chromium, live_server.url, root, LOOKS[0]) as (page, errors):
        page.goto(live_server.url + PAGE)
        press(page, "Move rule 3 up")
        expect(page.get_by_role("button", name="Move rule 2 up")).to_be_focused()
        with page.expect_navigation():
            page.keyboard.press("Enter")
        expect(page.get_by_role("button", name="Move rule 1 down")).to_be_focused()
        press(page, "Save rules")
        assert [rule["pattern"] for rule in Project.objects.get().display_rules] == ["hooks", "app", "render"]
        assert errors.complaints == []


def test_it_can_be_read_in_every_look(chromium: Browser, live_server: LiveServer, root: User, shop: Project) -> None:
    shop.display_rules = [
        {"action": "fold", "field": "package", "pattern": "react*", "title": "React", "colour": "blue"},
        {"action": "colour", "field": "name", "pattern": "card", "colour": "red"},
    ]
    shop.save()
    with open_as(chromium, live_server.url, root, LOOKS[0]) as (page, errors):
        page.goto(live_server.url + PAGE)
        page.locator("#id_rules-0-title").fill("{line}")
        page.locator("button[value=preview]").last.press("Enter")
        expect(page.locator("#id_rules-0-title_error")).to_contain_text("The title can only have")
        assert find_faults(page) == [], "a wrong rule"
        errors.complaints.clear()  # Chromium tells of every answer 400
        page.locator("#id_rules-0-title").fill("React and a title that is rather long for a row of a table on a phone")
        page.locator("button[value=preview]").last.press("Enter")
        expect(page.locator("#preview-title")).to_be_focused()
        assert find_faults(page) == [], "a preview"
        save_screenshot(page, "display-rules")
        for name in ("functions", "flame-graph"):
            page.goto(f"{live_server.url}/projects/shop/{name}/")
            expect(page.locator(".display-line")).to_contain_text("Display rules are applied")
            assert find_faults(page) == [], name
        assert errors.complaints == []


def test_without_a_script_all_of_it_works(
    chromium: Browser, live_server: LiveServer, root: User, shop: Project, client: Client
) -> None:
    client.force_login(root)
    session = client.cookies["sessionid"]
    with open_page(chromium, java_script_enabled=False) as page:
        page.context.add_cookies([{"name": session.key, "value": session.value, "url": live_server.url}])
        page.goto(live_server.url + PAGE)
        page.locator("button[value=add]").click()
        page.locator("#id_rules-0-pattern").fill("card")
        page.locator("#id_rules-0-title").fill("Cards")
        page.locator("button[value=save]").click()
        expect(page.locator(".said")).to_contain_text("The rules are saved.")
    assert [rule["title"] for rule in Project.objects.get().display_rules] == ["Cards"]
