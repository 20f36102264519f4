"""The page "Compare" without its script: the answer, the table, what leads on, and what is refused."""

import csv
import html
import io
import re
from datetime import date, timedelta
from urllib.parse import parse_qs, urlsplit

import pytest
from django.test import Client

from aggregate.models import Func
from projects.models import Membership, Project
from tests.aggregate.posting import fold_all, post
from tests.builders import make_cell, make_func, make_hotspot, make_label
from tests.dashboard.conftest import People
from tests.dashboard.pages.compare.lab import make_lab, post_views
from tests.dashboard.pages.reading import HOSTILE, attribute, text_of
from tests.envelopes import make_envelope

PAGE = "/projects/lab/compare/"
SIDES = "base_release=1.0.0&head_release=1.1.0"


@pytest.fixture
def lab(people: People) -> Project:
    project = make_lab()
    Membership.objects.create(project=project, user=people.member)
    Membership.objects.create(project=project, user=people.owner, role=Membership.Role.ADMIN)
    return project


def test_a_change_offers_an_issue_with_its_functions_and_this_page(lab: Project, member: Client) -> None:
    assert "Create an issue" not in text_of(member, PAGE + "?plain=1")
    Project.objects.filter(pk=lab.pk).update(issue_link_template="https://git.example/new?title={title}&body={body}")
    page = member.get(PAGE + "?plain=1").content.decode()
    link = html.unescape(re.search(r'href="(https://git\.example/[^"]+)"', page)[1])  # type: ignore[index]
    (title,), (body,) = parse_qs(urlsplit(link).query).values()
    assert title == "1.1.0 made /cart slower"
    assert "- `slow` (`app.js:1:4`): +50" in body
    assert f"{PAGE}?{SIDES}" in body


@pytest.mark.usefixtures("lab")
class TestAnswer:
    def test_without_a_word_the_last_release_is_compared_with_the_one_before(self, member: Client) -> None:
        text = text_of(member, PAGE + "?plain=1")
        assert re.search(r"1\.1\.0 made /cart slower : \+50 ms per view \([\d.]+ to [\d.]+ ms\)", text)
        assert re.search(r"slow \+50 ms [\d.]+ to [\d.]+ ms seen in its own code", text)
        assert "From 30 and 30 page views." in text
        assert "Both sides use one mix of devices, the mean of both: desktop-high 66.7 %, mobile-high 33.3 %" in text

    def test_the_other_way_round_it_is_less(self, member: Client) -> None:
        text = text_of(member, PAGE + "?plain=1&base_release=1.1.0&head_release=1.0.0")
        assert "1.0.0 made /cart faster : −50 ms per view" in text

    def test_what_did_not_change_is_called_noise_and_shows_no_row(self, member: Client) -> None:
        post_views("1.2.0", "/cart", 30, is_slow=True)
        fold_all()
        text = text_of(member, PAGE + "?plain=1")
        assert re.search(r"No clear change from 1\.1\.0 to 1\.2\.0 : ±0 ms per view \(−[\d.]+ to [\d.]+ ms\)", text)
        assert "per view four times in five" in text
        assert "From 30 and 30 page views." in text
        assert "No significant changes. Show uncertain (3)" in text

    def test_too_few_page_views_get_no_number(self, member: Client) -> None:
        post_views("2.0.0", "/cart", 5, is_slow=True)
        fold_all()
        text = text_of(member, PAGE + "?plain=1&release=2.0.0")
        assert "Too few page views to compare 2.0.0 with 1.1.0" in text
        assert "Each needs at least 20" in text
        assert "Download CSV" not in text

    def test_a_mean_that_a_few_heavy_views_moved_is_called_unsure(self, member: Client) -> None:
        for number in range(30):
            columns = "main slow\n" * (400 + number if number % 5 == 0 else 1 + number % 2) + "main steady"
            device = {"mobile": number % 3 == 0, "cores": 8}
            post("lab-key", make_envelope(f"heavy-{number}", columns, release="2.0.0", page="/cart", device=device))
        post_views("1.9.0", "/cart", 30, is_slow=False)
        fold_all()
        text = text_of(member, PAGE + "?plain=1&measure=self&base_release=1.9.0&head_release=2.0.0")
        assert "2.0.0 is slower than 1.9.0 by" in text
        assert "By script time alone: " in text
        assert "But fewer than half of the views clearly changed: a few heavy views may have caused this." in text


@pytest.mark.usefixtures("lab")
class TestTable:
    def test_what_may_be_noise_is_left_out_unless_it_is_asked_for(self, member: Client) -> None:
        text = text_of(member, f"{PAGE}?plain=1&{SIDES}")
        assert re.search(r"slow app.js:1:4 \+50 ms \+333 % [\d.]+ to [\d.]+ ms 15 ms 65 ms Clear q < 0.001", text)
        assert "steady" not in text
        noisy = member.get(f"{PAGE}?plain=1&{SIDES}&noise=1").content.decode()
        row = noisy[noisy.rindex("<tr", 0, noisy.index("steady")) : noisy.index("</tr>", noisy.index("steady"))]
        assert 'class="may-be-noise"' in row
        assert 'fill="url(#hatch)"' in row
        assert "Could be noise" in row

    def test_new_and_gone_without_source_maps_may_have_moved(self, member: Client) -> None:
        text = text_of(member, f"{PAGE}?plain=1&{SIDES}")
        assert re.search(r"came new .*May have moved", text)
        assert "1 new and 1 gone function have no source map" in text

    def test_what_the_source_maps_of_one_release_alone_know_may_have_moved_too(
        self, lab: Project, member: Client
    ) -> None:
        make_label(Func.objects.get(project=lab, name="went"), "1.0.0", "src/went.ts", "leave")
        text = text_of(member, f"{PAGE}?plain=1&{SIDES}")
        assert re.search(r"came new .*May have moved", text)
        assert re.search(r"leave gone .*May have moved", text)
        assert "1 new and 1 gone function have no source map on at least one side" in text

    def test_what_the_source_maps_of_both_releases_know_came_and_went_for_certain(
        self, lab: Project, member: Client
    ) -> None:
        make_label(Func.objects.get(project=lab, name="went"), "1.0.0", "src/went.ts", "leave")
        make_label(Func.objects.get(project=lab, name="came"), "1.1.0", "src/came.ts", "arrive")
        text = text_of(member, f"{PAGE}?plain=1&{SIDES}")
        assert re.search(r"arrive new .*Clear", text)
        assert "May have moved" not in text

    @pytest.mark.parametrize(
        ("only", "names"),
        [("increases", {"slow"}), ("decreases", set()), ("new", {"came"}), ("gone", {"went"})],
    )
    def test_it_can_be_narrowed(self, member: Client, only: str, names: set[str]) -> None:
        page = member.get(f"{PAGE}?plain=1&{SIDES}&only={only}").content.decode()
        assert set(re.findall(r'<a class="name"[^>]*><bdi>(\w+)', page)) == names

    def test_functions_lead_to_their_page_on_the_side_that_has_them(self, member: Client) -> None:
        page = html.unescape(member.get(f"{PAGE}?plain=1&{SIDES}&page=/cart").content.decode())
        links = {name: link for link, name in re.findall(r'<a class="name" href="([^"]*)"[^>]*><bdi>(\w+)', page)}
        assert links["slow"].endswith("?release=1.1.0&page=/cart")
        assert links["went"].endswith("?release=1.0.0&page=/cart")
        assert {member.get(link).status_code for link in links.values()} == {200}

    def test_it_can_be_searched_and_says_when_nothing_is_found(self, member: Client) -> None:
        assert "slow" in text_of(member, f"{PAGE}?plain=1&{SIDES}&q=SLO")
        assert "No function matches the filters. Show all" in text_of(member, f"{PAGE}?plain=1&{SIDES}&q=nowhere")

    def test_a_long_table_shows_more_and_then_leads_to_the_csv(self, member: Client) -> None:
        many = f"{PAGE}?plain=1&{SIDES}&noise=1"
        assert "Show more" in text_of(member, many + "&limit=1")
        assert "Show more" not in text_of(member, many)
        assert text_of(member, many + "&limit=1").count("Could be noise") < text_of(member, many).count(
            "Could be noise"
        )

    def test_it_can_be_ordered_by_how_sure_it_is(self, member: Client) -> None:
        page = member.get(f"{PAGE}?plain=1&{SIDES}&noise=1&sort=q").content.decode()
        assert re.search(r'aria-sort="descending"><a id="sort-q"', page)
        assert page.index(">slow<") < page.index(">steady<")

    def test_groups_have_no_totals(self, member: Client) -> None:
        page = member.get(f"{PAGE}?plain=1&{SIDES}&group_by=file&noise=1").content.decode()
        assert "https://shop.example/app.js" in page
        assert "Total</a>" not in page
        assert "measure=total works only with group_by=function" in text_of(
            member, f"{PAGE}?{SIDES}&group_by=file&measure=total", 400
        )

    def test_totals_have_no_sum(self, member: Client) -> None:
        text = text_of(member, f"{PAGE}?plain=1&{SIDES}&measure=total")
        assert "Totals overlap, so they have no sum." in text
        assert "main" in text

    def test_it_comes_as_csv_with_all_that_is_asked_for(self, member: Client) -> None:
        answer = member.get(f"/projects/lab/compare/csv/?{SIDES}&noise=1")
        rows = list(csv.DictReader(io.StringIO(answer.content.decode())))
        assert [row["name"] for row in rows][:1] == ["slow"]
        assert {row["name"] for row in rows} == {"slow", "steady", "came", "went"}
        assert float(rows[0]["delta_ms_per_view"]) == pytest.approx(50.0)
        assert (rows[0]["status"], rows[0]["sureness"]) == ("changed", "clear")
        assert answer["Content-Disposition"] == 'attachment; filename="compare-lab-1.0.0-lab-1.1.0.csv"'


@pytest.mark.usefixtures("lab")
class TestPart:
    PART = f"/projects/lab/compare/table/?{SIDES}"

    def test_the_page_comes_without_the_comparison_and_names_its_part(self, member: Client) -> None:
        page = member.get(f"{PAGE}?{SIDES}&noise=1&page=/cart").content.decode()
        assert f'hx-get="{html.escape(f"/projects/lab/compare/table/?page=/cart&{SIDES}&noise=1")}"' in page
        assert "costs" not in page
        aside = page[page.index("<noscript>") : page.index("</noscript>")]
        assert f"/projects/lab/compare/?page=/cart&amp;{html.escape(SIDES)}&amp;noise=1&amp;plain=1" in aside

    def test_an_unchanged_part_is_not_sent_again(self, member: Client) -> None:
        first = member.get(self.PART)
        assert first["HX-Replace-Url"] == f"{PAGE}?{SIDES}"
        known = {"If-None-Match": first["ETag"]}
        assert member.get(self.PART, headers=known).status_code == 304
        assert member.get(self.PART + "&noise=1", headers=known).status_code == 200
        post_views("1.1.0", "/cart", 31, is_slow=True)
        fold_all()
        assert member.get(self.PART, headers=known).status_code == 200

    def test_the_next_release_of_the_server_sends_the_part_anew(
        self, member: Client, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        known = {"If-None-Match": member.get(self.PART)["ETag"]}
        monkeypatch.setattr(
            "dashboard.pages.compare.view.fingerprint_server", lambda: "of the next release", raising=False
        )
        assert member.get(self.PART, headers=known).status_code == 200

    def test_links_in_the_part_ask_for_the_part_and_name_the_page(self, member: Client) -> None:
        part = html.unescape(member.get(self.PART).content.decode())
        assert f'href="{PAGE}?{SIDES}&noise=1" hx-get="/projects/lab/compare/table/?{SIDES}&noise=1"' in part

    def test_a_wrong_parameter_is_named_in_its_place(self, member: Client) -> None:
        answer = member.get("/projects/lab/compare/table/?base_page=/cart")
        assert answer.status_code == 200
        assert "Choose a page for the “after” side too, or for neither side." in answer.content.decode()


@pytest.mark.usefixtures("lab")
class TestChooser:
    def test_both_sides_can_be_chosen_and_swapped(self, member: Client) -> None:
        page = html.unescape(member.get(f"{PAGE}?{SIDES}&page=/cart&measure=self").content.decode())
        form = page[page.index('id="chooser-form"') : page.index("</form>", page.index('id="chooser-form"'))]
        assert '<input type="hidden" name="page" value="/cart">' in form
        assert '<input type="hidden" name="measure" value="self">' in form
        assert re.search(
            r'name="base_release">.*?value="1.0.0" selected.*?name="head_release">.*?value="1.1.0" selected', form, re.S
        )
        assert f'href="{PAGE}?page=/cart&head_release=1.0.0&base_release=1.1.0&measure=self"' in page

    def test_the_form_is_one_row_that_names_both_sides_until_it_is_opened(self, member: Client) -> None:
        page = member.get(f"{PAGE}?{SIDES}").content.decode()
        assert '<details class="sides">' in page
        row = page[page.index('<details class="sides">') :]
        summary = re.sub(r"(<[^>]+>|\s)+", " ", row[row.index("<summary>") : row.index("</summary>")])
        assert summary.strip() == "Before Release 1.0.0 After Release 1.1.0"
        assert page.index('class="sides"') < page.index('id="compared"')

    def test_the_form_is_open_where_there_is_no_answer(self, member: Client) -> None:
        assert '<details class="sides" open>' in member.get(f"{PAGE}?base_page=/cart").content.decode()

    def test_what_is_asked_for_often_is_a_link_away(self, member: Client) -> None:
        page = html.unescape(member.get(f"{PAGE}?page=/cart&device=mobile&measure=self").content.decode())
        links = {word: link for link, word in re.findall(r'<a href="([^"]+)"[^>]*>(L[^<]+|Phones[^<]+)</a>', page)}
        weeks, phones = links["Last 7 days and the 7 before"], links["Phones and desktops"]
        day = r"(\d{4}-\d\d-\d\d)T00:00:00Z"
        match = re.search(
            rf"\?page=/cart&device=mobile&base_from={day}&base_to={day}&head_from={day}&measure=self$", weeks
        )
        assert match is not None
        first, middle, again = (date.fromisoformat(text) for text in match.groups())
        assert (middle - first, again) == (timedelta(days=7), middle)
        assert "&device=" not in phones  # the sides have their own
        assert "base_device=desktop&base_device=desktop-low&base_device=desktop-high&head_device=mobile&" in phones
        for link in (weeks, phones):
            there = html.unescape(member.get(link).content.decode())
            assert f'<a href="{link}" aria-current="true">' in there

    def test_what_the_sides_name_is_not_in_the_slice_bar(self, member: Client) -> None:
        page = member.get(f"{PAGE}?base_to=2026-11-20T12:00Z&head_from=2026-11-20T12:00Z").content.decode()
        bar = page[page.index('<form class="slice-bar"') : page.index("</form>", page.index("slice-bar"))]
        assert 'name="release"' in bar
        assert 'name="from"' not in bar
        assert 'name="tag"' not in bar
        assert '<input type="hidden" name="base_to" value="2026-11-20T12:00:00Z">' in bar

    def test_a_value_that_no_view_has_stays_chosen(self, member: Client) -> None:
        answer = member.get(f"{PAGE}?base_page=/cart&head_page=/nowhere")
        assert answer.status_code == 200
        assert '<option value="/nowhere" selected>' in answer.content.decode()

    def test_a_contradiction_is_named_next_to_the_form_and_keeps_what_was_chosen(self, member: Client) -> None:
        answer = member.get(f"{PAGE}?base_page=/cart")
        assert answer.status_code == 400
        page = answer.content.decode()
        assert "Choose a page for the “after” side too, or for neither side." in page
        assert '<option value="/cart" selected>' in page

    def test_what_is_finer_than_page_views_is_left_out_and_named(self, member: Client) -> None:
        assert "Ignored filters, because only whole page views can be compared: tag=a:b ." in text_of(
            member, f"{PAGE}?tag=a:b"
        )

    def test_equal_sides_and_a_lonely_release_are_explained(self, member: Client, people: People) -> None:
        assert "Both sides are the same" in text_of(member, f"{PAGE}?base_release=1.0.0&head_release=1.0.0")
        assert "Only one release so far" in text_of(member, "/projects/shop/compare/")


def test_pages_of_both_sides_lead_to_their_own_comparison(client: Client, people: People) -> None:
    Membership.objects.create(project=make_lab(pages=("/cart", "/list")), user=people.member)
    client.force_login(people.member)
    page = html.unescape(client.get(f"{PAGE}?plain=1&{SIDES}").content.decode())
    text = text_of(client, f"{PAGE}?plain=1&{SIDES}")
    # Each page has its interval, as on the overview.
    assert re.search(r"/cart slower 65 ms 115 ms \+50 ms [\d.]+ to [\d.]+ ms < 0\.001 30 / 30", text), text
    assert re.search(r"/list no clear change 65 ms 65 ms ±0 ms −[\d.]+ to [\d.]+ ms 1\.00 30 / 30", text), text
    links = re.findall(r'<a class="route" href="([^"]+)"><bdi>([^<]+)', page)
    assert links == [(f"{PAGE}?page={name}&{SIDES}&plain=1", name) for name in ("/cart", "/list")]
    assert "By page" not in client.get(links[0][0]).content.decode()


@pytest.mark.usefixtures("lab")
def test_the_difference_is_exported_and_drawn(member: Client) -> None:
    page = html.unescape(member.get(f"{PAGE}?{SIDES}&page=/cart").content.decode())
    assert attribute(page, "data-profile-url").endswith(
        f"profile?page=/cart&{SIDES}&format=firefox&compress=gzip&sources=content"
    )
    assert 'id="open-comparison"' in page
    part = html.unescape(member.get(f"/projects/lab/compare/table/?{SIDES}&page=/cart").content.decode())
    assert f'href="/projects/lab/flame-graph/?page=/cart&{SIDES}"' in part


def test_names_are_text_and_nothing_else(member: Client, shop: Project) -> None:
    for release in ("<b>1", "<b>2"):
        cell = make_cell(shop, release=release, page="/cart<b>", js_us=5_000)
        make_hotspot(cell, make_func(shop, HOSTILE, uri="javascript:" + HOSTILE), self_us=5_000, total_us=5_000)
    for how in ("", "plain=1&noise=1"):
        page = member.get(f"/projects/shop/compare/?{how}&page=/cart<b>&q=<b>").content.decode()
        assert "<b>1" not in page
        assert "/cart<b>" not in page
        assert re.search(r"<style|\sstyle=|\son[a-z]+=|javascript:|<script(?![^>]*\ssrc=)", page) is None


@pytest.mark.usefixtures("lab")
def test_a_cached_comparison_is_not_shown_for_another_one(member: Client) -> None:
    part = f"/projects/lab/compare/table/?{SIDES}"
    before = text_of(member, part)
    assert "From 30 and 30 page views." in before
    post_views("1.1.0", "/cart", 31, is_slow=True)
    fold_all()
    assert "From 30 and 31 page views." in text_of(member, part)
    assert "Totals overlap" in text_of(member, part + "&measure=total")
