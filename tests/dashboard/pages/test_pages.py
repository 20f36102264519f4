"""The dashboard's pages: what a person sees, with hostile names, empty projects and bad addresses."""

import html
import json
import re
import shlex
from datetime import timedelta

import pytest
from django.test import Client

from ingest.models import Receipt
from profcore.formats.registry import EXPORTERS
from profcore.trace.wire import Limits, decode_envelope
from projects.models import IngestKey, Project
from tests.builders import MONDAY, count_receipts, make_cell, make_func, make_group, make_hotspot, make_receipt
from tests.dashboard.conftest import People
from tests.dashboard.pages.reading import HOSTILE, text_of

PAGE = "/projects/shop/functions/?page=/cart"


def test_the_root_leads_to_the_projects(member: Client) -> None:
    assert member.get("/", follow=True).redirect_chain == [("/projects/", 302)]


def test_a_project_lists_its_pages_with_js_per_view_and_freshness(member: Client, shop: Project) -> None:
    make_cell(shop, page="/list", views=1_234, js_us=12_345_678_900)
    make_receipt(shop, state=Receipt.State.PENDING, age=timedelta(minutes=5))
    text = text_of(member, "/projects/shop/")
    assert "The shop" in text
    assert re.search(r"Last received [-0-9]+ [0-9:]+ UTC · 1 pending", text)
    assert "/list 10.0 s 1 234 " in text
    assert re.search(r"/cart 0\.010 s 1", text)


def test_a_project_shows_its_releases_and_days_from_the_roll_up(member: Client, shop: Project) -> None:
    tuesday = MONDAY + timedelta(days=1)
    make_cell(shop, release="2.0.0", views=4, truncated_views=1, starts_at=tuesday, js_us=100_000, hidden_us=20_000)
    text = text_of(member, "/projects/shop/")
    assert "2.0.0 30 ms 4 1 truncated (25.0 %)" in text
    assert "1.0.0 9.5 ms 1 " in text
    assert "by UTC day: 2026-11-16 to 2026-11-17" in text
    assert "2026-11-17: 25 ms script, 5 ms hidden, 4 views" in text
    assert "2026-11-16 9 ms 0.5 ms 1 0.0 % 2026-11-17 25 ms 5 ms 4 25.0 %" in text
    only = text_of(member, "/projects/shop/?release=2.0.0&device=desktop")
    assert "by UTC day: 2026-11-17 to 2026-11-17" in only
    assert "2026-11-16" not in only


def test_a_page_lists_its_functions_with_their_times(member: Client) -> None:
    text = text_of(member, PAGE)
    assert re.search(r"draw app.js:1:20 .*? 7 ms 73.7 % 7 ms 0 ms 7 ms – 1 ", text)
    assert re.search(r"main app.js:1:10 .*? 2 ms 21.1 % 2 ms 0 ms 9 ms – 1 ", text)
    assert text.index("draw app.js") < text.index("main app.js")
    for part in ("Script 90.0 %", "Hidden 5.0 %", "Idle 3.0 %", "Unobserved 1.5 %", "Profiler 0.5 %"):
        assert part in text


def test_a_page_can_be_sorted_by_total(member: Client) -> None:
    text = text_of(member, PAGE + "&sort=total_ms")
    assert text.index("main app.js") < text.index("draw app.js")


def test_a_release_can_be_picked_and_stays_picked(member: Client, shop: Project) -> None:
    cell = make_cell(shop, release="2.0.0", js_us=5_000)
    make_hotspot(cell, make_func(shop, "newcomer"), self_us=5_000, total_us=5_000)
    assert "newcomer" not in text_of(member, PAGE + "&release=1.0.0")
    page = member.get(PAGE + "&release=2.0.0").content.decode()
    assert "newcomer" in page
    assert 'name="release" value="2.0.0" checked' in page
    assert "sort=total_ms" in page
    assert "release=2.0.0&amp;page=/cart&amp;sort=total_ms" in page
    assert "release=2.0.0&amp;page=/cart&amp;format=firefox" in page
    assert "draw" in text_of(member, PAGE + "&release=")  # "All releases" of the form


@pytest.mark.parametrize("address", ["/projects/shop/", PAGE + "%3Cb%3E"])
def test_hostile_names_are_text_and_nothing_else(member: Client, shop: Project, address: str) -> None:
    cell = make_cell(shop, release=HOSTILE, page="/cart<b>", js_us=5_000)
    make_hotspot(cell, make_func(shop, HOSTILE, uri="javascript:" + HOSTILE), self_us=5_000, total_us=5_000)
    response = member.get(address)
    page = response.content.decode()
    assert "<script>alert" not in page
    assert "/cart<b>" not in page
    assert "&amp;lt;" not in page  # escaped once, not twice
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "⟨U+202E⟩x␇" in page
    assert re.search(r"<bdi[^>]*>[^<]*\u202e", page) is None
    assert "'unsafe" not in response["Content-Security-Policy"]


def test_a_long_name_is_cut_and_whole_behind_a_click(member: Client, shop: Project) -> None:
    name = "x" * 1_000 + "END"
    make_hotspot(make_cell(shop, page="/long", js_us=5), make_func(shop, name), self_us=5, total_us=5)
    page = member.get("/projects/shop/functions/?page=/long").content.decode()
    assert re.search(r"<a [^>]*><bdi[^>]*>x{95}…</bdi></a><details[^>]*><summary>Full name</summary>", page)
    assert page.count(name) == 1


def test_pages_have_no_inline_style_or_script(member: Client, shop: Project) -> None:
    for address in ("/projects/", "/projects/shop/", PAGE, "/projects/elsewhere/", "/api/v1/docs", "/nowhere"):
        page = member.get(address).content.decode()
        assert re.search(r"<style|\sstyle=|\son[a-z]+=|javascript:|<script(?![^>]*\ssrc=)", page) is None, address


def test_an_empty_project_shows_tag_header_and_a_curl_line_that_the_endpoint_takes(
    client: Client, member: Client, shop: Project
) -> None:
    from ingest.snippet.views import STUB_PATH
    from tests.builders import make_project

    project = make_project("fresh")
    project.memberships.create(user_id=member.session["_auth_user_id"])
    codes = [
        html.unescape(code) for code in re.findall(r"<pre[^>]*><code[^>]*>(.*?)</code>", _page(member, "fresh"), re.S)
    ]
    header, tag, curl = codes
    assert header == "Document-Policy: js-profiling, js-profiling-mode=lazy"
    assert tag == (
        f"<script>{STUB_PATH.read_text().strip()}</script>\n"
        '<script async src="http://testserver/snippet/KEY-fresh.js" data-key="KEY-fresh" data-release="1.0.0" '
        "crossorigin></script>"
    )
    arguments = shlex.split(curl)
    assert "http://testserver/ingest/v1/traces?key=KEY-fresh" in arguments
    body = arguments[arguments.index("--data") + 1]
    limits = Limits()
    assert decode_envelope(body.encode(), limits).page == "/hello"
    assert json.loads(body)["trace"]["frames"][0]["name"] == "hello"


def _page(client: Client, slug: str) -> str:
    return client.get(f"/projects/{slug}/").content.decode()


def test_a_project_without_a_key_says_so(member: Client, shop: Project) -> None:
    from tests.builders import make_project

    project = make_project("keyless")
    project.memberships.create(user_id=member.session["_auth_user_id"])
    IngestKey.objects.filter(project=project).delete()
    assert "no active public key" in text_of(member, "/projects/keyless/")


def test_pending_traces_are_shown_apart_from_no_traces(member: Client, shop: Project) -> None:
    from tests.builders import make_project

    project = make_project("waiting")
    project.memberships.create(user_id=member.session["_auth_user_id"])
    make_receipt(project, state=Receipt.State.PENDING)
    assert "Traces are pending." in text_of(member, "/projects/waiting/")
    Receipt.objects.filter(project=project).update(state=Receipt.State.REJECTED, reason="too_deep", detail="300 frames")
    count_receipts()
    text = text_of(member, "/projects/waiting/")
    assert "All traces were rejected." in text
    assert "A stack is too deep." in text
    assert "300 frames" in text


def test_a_slice_without_views_leads_back(member: Client, shop: Project) -> None:
    make_group(shop, "9", "/cart")
    assert "No page views here" in text_of(member, PAGE + "&release=9")
    assert "No page views here" in text_of(member, "/projects/shop/?release=9")


def test_functions_can_be_those_of_all_pages(member: Client, shop: Project) -> None:
    cell = make_cell(shop, page="/list", js_us=5_000)
    make_hotspot(cell, make_func(shop, "newcomer"), self_us=5_000, total_us=5_000)
    text = text_of(member, "/projects/shop/functions/")
    assert "Functions all pages" in text
    assert text.index("draw app.js") < text.index("newcomer")


def test_the_slice_bar_says_what_is_shown_and_offers_the_rest(member: Client) -> None:
    address = "/projects/shop/functions/?release=1.0.0&release=9&device=mobile&from=2026-11-16T09:20Z&sort=total_ms"
    page = member.get(address).content.decode()
    bar = html.unescape(page[page.index('<form class="slice-bar"') : page.index("</form>", page.index("slice-bar"))])
    assert re.findall(r'name="(\w+)" value="([^"]*)" checked', bar) == [
        ("release", "1.0.0"),
        ("release", "9"),  # that nobody knows: an address may name any
        ("device", "mobile"),
    ]
    assert '<input type="checkbox" name="page" value="/cart" aria-label="Select /cart">' in bar
    assert 'name="from" value="2026-11-16T09:00Z"' in bar
    assert '<input type="hidden" name="sort" value="total_ms">' in bar
    assert 'href="/projects/shop/functions/?sort=total_ms">Clear filters' in bar
    week = re.search(r'href="([^"]+)"[^>]*>7 days', bar)
    assert week is not None
    assert re.search(r"release=9&device=mobile&from=\S+&sort=total_ms", week.group(1))
    assert "9 ms" not in text_of(member, week.group(1))
    tabs = page[page.index('<nav class="tabs"') : page.index("</nav>", page.index('class="tabs"'))]
    here = (
        'functions/?release=1.0.0&amp;release=9&amp;from=2026-11-16T09:00:00Z&amp;device=mobile" data-slice data-go="f"'
    )
    assert f"{here} aria-current" in tabs


def test_the_slice_bar_takes_tags_apart_by_spaces(member: Client) -> None:
    bar = member.get("/projects/shop/?tag=cache:full+theme:dark&release=").content.decode()
    assert 'name="tag" value="cache:full theme:dark"' in bar


@pytest.mark.parametrize("address", [PAGE + "&sort=x", PAGE + "&limit=0", PAGE + "&from=x", "/projects/shop/?device=x"])
def test_a_bad_address_is_answered_in_words(member: Client, address: str) -> None:
    assert "This address is not valid" in text_of(member, address, 400)


def test_the_buttons_lead_to_the_profile_and_the_viewer(member: Client) -> None:
    page = member.get(PAGE + "&release=1.0.0").content.decode()
    links = re.findall(r'<a href="([^"]+)" download><b>([^<]+)</b>', page)
    assert [title for _, title in links] == [exporter.title for exporter in EXPORTERS.values()]
    assert {member.get(html.unescape(link)).status_code for link, _ in links} == {200}
    assert 'data-viewer-origin="https://profiler.firefox.com"' in page
    opened = html.unescape(re.findall(r'id="open-profile"[^>]*data-profile-url="([^"]+)"', page, re.DOTALL)[0])
    assert opened == f"{html.unescape(links[0][0])}&sources=content"
    assert member.get(opened).status_code == 200
    # A link for anyone has no texts of sources.
    assert f'data-links-url="/api/v1/projects/shop/links" data-profile-url="{links[0][0]}"' in page
    assert 'data-profile-name="shop 1.0.0 /cart"' in page
    assert 'data-profile-search=""' in page


def test_pages_may_open_windows_and_are_kept_out_of_caches(member: Client) -> None:
    response = member.get(PAGE)
    assert response["Cross-Origin-Opener-Policy"] == "same-origin-allow-popups"
    assert response["Cache-Control"] == "private, no-cache"


def test_an_unknown_address_is_a_page_too(client: Client, member: Client) -> None:
    assert "Page not found" in text_of(member, "/nowhere", 404)
    assert "Page not found" in text_of(member, "/projects/elsewhere/", 404)


def test_a_failure_is_a_page_without_details(member: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("a secret of the server")

    monkeypatch.setattr("dashboard.pages.functions.select_status", fail)
    member.raise_request_exception = False
    text = text_of(member, PAGE, 500)
    assert "Something went wrong" in text
    assert "secret" not in text


def test_pages_beside_the_tabs_have_them_too(client: Client, people: People) -> None:
    client.force_login(people.owner)
    page = client.get("/projects/shop/import/").content.decode()
    assert '<nav class="tabs"' in page
    assert 'href="/projects/shop/flame-graph/"' in page
    assert 'class="slice-bar"' not in page


def test_functions_link_to_their_pages_by_name_within_the_slice(member: Client) -> None:
    for address in (PAGE + "&release=1.0.0", "/projects/shop/flame-graph/?plain=1&page=/cart&release=1.0.0"):
        page = member.get(address).content.decode()
        link = '<a class="function" href="/projects/shop/functions/2/?release=1.0.0&amp;page=/cart">'
        assert f'{link}<bdi class="name">draw' in page, address
