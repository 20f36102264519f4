"""The page "Views": histogram, orders, ranges and pages of a slice's views, and what it says where there are none."""

import html
import re

import pytest
from django.test import Client

from aggregate.models import Func, PageView
from aggregate.selectors.page_views.view_lists import ListQuery
from dashboard.pages.page_views.list_page import Listing
from ingest.models import RawTrace
from profcore.stats.summaries import MIN_VIEWS
from projects.models import Membership, Project
from tests.aggregate.posting import fold_all, post
from tests.builders import make_project
from tests.dashboard.conftest import People
from tests.dashboard.pages.reading import text_of
from tests.envelopes import TIME_ORIGIN_MS, make_envelope, view_id_of

LIST = "/projects/web/views/"
PART = LIST + "list/"
COUNT = 30


@pytest.fixture
def web(people: People) -> Project:
    """A project of the member's with thirty views of /a: view n took n+1 samples of JS, and began n minutes before."""
    project = make_project("web", name="The web")
    Membership.objects.create(project=project, user=people.member)
    for n in range(COUNT):
        trace = "\n".join(["A B"] * (n + 1))
        fields = {"page": "/a", "timeOrigin": TIME_ORIGIN_MS - 60_000 * n, "sampleRate": 0.5 if n == 3 else 1}
        post("KEY-web", make_envelope(f"v{n}", trace, **fields))
    fold_all()
    return project


def views_in(client: Client, query: str) -> list[str]:
    """Returns the names of the views that the part lists, in its order."""
    page = client.get(f"{PART}?{query}").content.decode()
    word_of = {view_id_of(f"v{n}"): f"v{n}" for n in range(COUNT)}
    rows = re.findall(r'<th scope="row"><a href="/projects/web/views/([0-9a-f-]{36})/', page)
    return [word_of[view_id] for view_id in rows]


@pytest.mark.usefixtures("web")
class TestList:
    def test_the_page_comes_at_once_and_the_list_by_itself(self, member: Client) -> None:
        page = member.get(LIST + "?order=worst").content.decode()
        assert 'hx-get="/projects/web/views/list/?by=js&amp;order=worst"' in page
        assert re.search(r'aria-current="page"[^>]*>Views<', page)
        assert "<noscript>" in page
        assert "histogram" not in page
        whole = member.get(LIST + "?order=worst&plain=1").content.decode()
        assert "histogram" in whole
        assert "hx-get" not in whole

    def test_the_worst_come_first_page_by_page(self, member: Client) -> None:
        assert views_in(member, "order=worst") == [f"v{n}" for n in range(29, 4, -1)]
        assert views_in(member, "order=worst&skip=25") == [f"v{n}" for n in range(4, -1, -1)]
        first, second = (text_of(member, f"{PART}?order=worst{more}") for more in ("", "&skip=25"))
        assert "1 to 25 of 30" in first
        assert "26 to 30 of 30" in second
        page = member.get(PART + "?order=worst").content.decode()
        (link,) = re.findall(r'rel="next" href="([^"]*)"', page)
        assert views_in(member, html.unescape(link).partition("?")[2])[0] == "v4"
        assert 'rel="prev"' not in page
        assert 'rel="next"' not in member.get(PART + "?order=worst&skip=25").content.decode()

    def test_a_row_says_what_the_view_was(self, member: Client) -> None:
        text = text_of(member, PART + "?order=worst&low=40&high=45")
        assert re.search(r"/a 1\.0\.0 · 1 trace · sampled 50\.0 % 40 ms 0 ms .*Script 100 %", text)
        assert "1 to 1 of 1" in text

    def test_percentiles_and_their_base_are_shown(self, member: Client) -> None:
        text = text_of(member, PART)
        assert "p50 150 ms" in text
        assert "p75 230 ms" in text
        assert "p99 300 ms" in text
        assert "All 30 views." in text
        assert "Sampling rates differ; here each recorded view counts once." in text
        assert "Sampling rates differ" not in text_of(member, PART + f"?view={view_id_of('v1')}")

    def test_too_few_views_have_no_percentiles(self, member: Client) -> None:
        post("KEY-web", make_envelope("few", "A", page="/few"))
        fold_all()
        text = text_of(member, PART + "?page=/few")
        assert f"1 view: percentiles need at least {MIN_VIEWS}." in text
        assert "p50" not in text

    def test_vitals_have_columns_where_some_view_tells(self, member: Client) -> None:
        assert "LCP" not in text_of(member, PART).replace("LCP and INP", "")
        marks = [{"type": "lcp", "start": 1500}, {"type": "inp", "start": 9, "duration": 120}]
        post("KEY-web", make_envelope("v0", "A", seq=1, page="/a", marks=marks))
        fold_all()
        RawTrace.objects.filter(view_id=view_id_of("v1")).delete()
        text = text_of(member, PART + "?order=newest")
        assert "1.50 s 120 ms" in text
        assert "– – sums only" in text

    def test_each_bar_leads_to_its_views(self, member: Client) -> None:
        page = member.get(PART + "?scale=linear&order=worst").content.decode()
        bars = re.findall(r'<th scope="row"><a href="/projects/web/views/\?([^"]*low=[^"]*)">', page)
        counts = re.findall(r'data-label="Views">(\d+)<', page)
        assert sum(map(int, counts)) == COUNT
        names: list[str] = []
        for link, count in zip(bars, counts, strict=True):
            views = views_in(member, html.unescape(link))
            assert len(views) == int(count)
            names += views
        assert sorted(names) == sorted(f"v{n}" for n in range(COUNT))

    def test_links_keep_the_slice_and_the_order(self, member: Client) -> None:
        page = html.unescape(member.get(PART + "?page=/a&device=unknown&by=js&order=newest").content.decode())
        links = re.findall(r'href="(/projects/web/views/[^"]*)"', page)
        assert len(links) > 30
        assert all("page=/a" in link and "device=unknown" in link for link in links if "order=" in link)
        assert sum("order=newest" in link for link in links) > 25

    def test_by_a_function_only_views_that_ran_it(self, member: Client) -> None:
        post("KEY-web", make_envelope("v0", "C\nC", seq=1, page="/a"))
        fold_all()
        func_id = Func.objects.get(project__slug="web", name="C").id
        assert views_in(member, f"func={func_id}&order=worst") == ["v0"]
        text = text_of(member, f"{PART}?func={func_id}")
        assert "Self time of C per view" in text
        assert "1 of 30 views ran the function" in text

    def test_the_nth_view_is_found_without_knowing_it(self, member: Client) -> None:
        response = member.get(LIST + "?order=worst&go=2&page=/a")
        assert response.status_code == 302
        assert response["Location"].startswith(f"/projects/web/views/{view_id_of('v28')}/?")
        assert "at=2" in response["Location"]
        beyond = member.get(LIST + "?order=worst&go=31")
        assert beyond["Location"] == "/projects/web/views/?by=js&order=worst"

    def test_where_raw_bodies_are_gone_there_is_no_button(self, member: Client, web: Project) -> None:
        assert member.get(PART).content.decode().count("open-profile") == 25
        RawTrace.objects.filter(project_id=web.pk).delete()
        page = member.get(PART).content.decode()
        assert "open-profile" not in page
        assert "kept for 30 days (setting keep_raw_days)" in page

    def test_empty_lists_say_why_and_lead_on(self, member: Client, web: Project) -> None:
        assert "No page views here." in text_of(member, PART + "?page=/none")
        assert "No view has this time." in text_of(member, PART + "?low=5000")
        assert "The list ends before this page." in text_of(member, PART + "?skip=500")
        PageView.objects.filter(project=web).delete()
        assert "These views have expired." in text_of(member, PART)

    @pytest.mark.parametrize(
        "query",
        ["by=nothing", "by=self", "order=best", "low=x", "low=-1", "high=1e99", "skip=-1", "skip=10001", "func=x",
         "func=999", "func=1&by=js", "scale=cubic", "device=toaster", "low=nan"],
    )  # fmt: skip
    def test_bad_addresses_are_answered_with_a_plain_sentence(self, member: Client, query: str) -> None:
        if query.startswith("func=1&"):
            query = query.replace("1", str(Func.objects.filter(project__slug="web").first().id))  # type: ignore[union-attr]  # there is one
        assert "This address is not valid" in text_of(member, f"{LIST}?{query}", 400)
        part = member.get(f"{PART}?{query}")
        assert part.status_code == 200
        assert 'role="alert"' in part.content.decode()


def test_bounds_are_written_to_the_microsecond() -> None:
    listing = Listing(ListQuery(low_us=1_778_279, high_us=9_876_543_211), None, "log")
    pairs = dict(listing.pairs())
    assert (pairs["low"], pairs["high"]) == ("1778.279", "9876543.211")


@pytest.fixture
def hostile(web: Project) -> Project:
    post("KEY-web", make_envelope("bad", "<b>x</b>", release="<script>alert(1)</script>", page="/<i>\u202e"))
    fold_all()
    return web


def test_hostile_names_are_text_and_nothing_else(member: Client, hostile: Project) -> None:
    page = member.get(PART + "?order=newest").content.decode()
    assert "<script>alert" not in page
    assert "/<i>" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page


def test_an_empty_project_leads_to_its_first_steps(member: Client, people: People) -> None:
    project = make_project("fresh")
    Membership.objects.create(project=project, user=people.member)
    assert member.get("/projects/fresh/views/")["Location"] == "/projects/fresh/"
