"""Page routes: checked line by line, previewed by the pages known now, and kept."""

from datetime import UTC, datetime, timedelta

from django.test import Client

from aggregate.selectors.previews.route_preview import preview_addresses, preview_routes
from ingest.models import RawTrace
from ingest.storage.groups import allocate_ids
from projects.models import Project
from tests.aggregate.posting import post
from tests.builders import make_cell, make_project
from tests.dashboard.pages.settings.conftest import follow, read, send, text_in
from tests.envelopes import make_envelope


def test_rules_are_kept_in_their_order_without_empty_lines(owner: Client, shop: Project) -> None:
    assert "The rules are saved" in follow(owner, "routes/", rules=" /help/* \n\n/product/:sku")
    assert Project.objects.get(pk=shop.pk).route_rules == ["/help/*", "/product/:sku"]
    assert "/help/* /product/:sku" in read(owner, "routes/")
    follow(owner, "routes/", rules="")
    assert Project.objects.get(pk=shop.pk).route_rules == []


def test_wrong_lines_are_named_by_their_numbers(owner: Client, shop: Project) -> None:
    response = send(owner, "routes/", rules="/fine\n\nhelp\n/x-*")
    assert response.status_code == 400
    assert "Line 3: it must begin with /" in text_in(response)
    assert "Line 4: in x-* the * has no meaning" in text_in(response)
    assert Project.objects.get(pk=shop.pk).route_rules == []


def test_a_preview_tells_what_would_be_named_how_and_saves_nothing(owner: Client, shop: Project) -> None:
    for page, views in (("/product/red", 30), ("/product/blue", 12), ("/product/:sku", 1), ("/about", 5)):
        make_cell(shop, page=page, views=views)
    response = send(owner, "routes/", rules="/product/:sku\n/product/new", preview="1")
    text = text_in(response)
    assert response.status_code == 200
    assert "5 known pages would have 3 names" in text
    assert "/product/:sku an existing page: these join it /product/red /product/blue 2 42" in text
    assert "/about" not in text
    assert "/product/new is never used: /product/:sku comes before it" in text
    assert Project.objects.get(pk=shop.pk).route_rules == []


def test_a_preview_tries_the_addresses_of_raw_traces_and_shows_none_of_them(owner: Client, shop: Project) -> None:
    allocate_ids(shop.pk, "group", 100)  # the shop's builders gave ids without it
    Project.objects.update(route_rules=["/old/*"])
    urls = ["/product/1?token=secret", "/product/new", "/product/new", "/old/x", "/about"]
    for number, path in enumerate(urls):
        post("KEY-shop", make_envelope(f"v{number}", "A", page=None, url=f"https://shop.example{path}"))
    post("KEY-shop", make_envelope("named", "A", page="/product/new"))
    response = send(owner, "routes/", rules="/product/new\n/product/:sku", preview="1")
    text = text_in(response)
    # The fixture's own trace has an address too, /cart, which stays as it is.
    assert "2 of 7 traces of the last 2 days would move to another page; 1 sets its own page name" in text
    assert "/product/:id /product/:sku 1" in text
    assert "/old/* /old/x 1" in text
    assert "secret" not in response.content.decode()


def test_addresses_are_tried_of_one_project_and_bad_bodies_are_passed_over(shop: Project) -> None:
    other = make_project("other")
    post("KEY-other", make_envelope("a", "A", page=None, url="https://x.example/product/1"))
    RawTrace.objects.filter(project_id=shop.pk).update(body=b"\x1f\x8bno")
    since = datetime.now(UTC) - timedelta(days=1)
    assert preview_addresses(shop.pk, [], ["/*"], since=since).trace_count == 0
    assert preview_addresses(other.pk, [], ["/*"], since=since).moved_count == 1
    assert preview_addresses(other.pk, [], ["/*"], since=since + timedelta(days=2)).trace_count == 0


def test_a_preview_without_a_change_says_so(owner: Client) -> None:
    assert "No known page would be renamed." in text_in(send(owner, "routes/", rules="/x", preview="1"))


def test_previews_are_of_one_project_and_leave_names_of_other_kinds_alone(shop: Project) -> None:
    other = make_project("other")
    make_cell(other, page="/product/red", views=3)
    make_cell(other, page="checkout", views=2)
    make_cell(other, page="/a/81724", views=1)  # named by the client itself: it would become :id by its address
    preview = preview_routes(other.pk, ["/product/:sku", "/:one"])
    assert [(row.name, row.page_count, row.views, row.is_known) for row in preview.renamed] == [
        ("/product/:sku", 1, 3, False),
        ("/a/:id", 1, 1, False),
    ]
    assert (preview.page_count, preview.name_count, preview.views, preview.renamed_views) == (3, 3, 6, 4)
