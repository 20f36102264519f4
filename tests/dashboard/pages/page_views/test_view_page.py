"""The page of one view: its facts, its functions beside a usual view's, and what is left when its traces are gone."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from django.test import Client
from django.utils import timezone

from aggregate.models import PageView
from ingest.models import RawTrace, Receipt
from ingest.storage.partitions import create_partitions
from projects.models import Membership, Project
from tests.aggregate.posting import fold_all, post
from tests.builders import make_project
from tests.dashboard.conftest import People
from tests.dashboard.pages.reading import text_of
from tests.envelopes import TIME_ORIGIN_MS, make_envelope, view_id_of

PAGE = f"/projects/web/views/{view_id_of('one')}/"
FUNCTIONS = PAGE + "functions/"


@pytest.fixture
def web(people: People) -> Project:
    """A project of the member's with thirty views of /a that take 10 ms of A, and one of 40 ms of A and 10 of B."""
    project = make_project("web", name="The web")
    Membership.objects.create(project=project, user=people.owner, role=Membership.Role.ADMIN)
    Membership.objects.create(project=project, user=people.member)
    for n in range(30):
        post("KEY-web", make_envelope(f"v{n}", "A\n-", page="/a"))
    post(
        "KEY-web",
        make_envelope(
            "one",
            "A\nA\nA\nA\nA B\n-",
            page="/a",
            userAgent="Some/1.0 <b>",
            device={"memory": 4, "cores": 8},
            tags={"cart": "full"},
            requestedInterval=8,
            reason="timer",
            isolated=True,
            navigation="back_forward",
            marks=[{"type": "lcp", "start": 700}, {"type": "measure", "name": "boot", "start": 1, "duration": 5}],
        ),
        make_envelope("one", "A", seq=3, page="/a", timeOrigin=TIME_ORIGIN_MS + 100, viewStart=TIME_ORIGIN_MS),
    )
    fold_all()
    return project


def test_it_says_what_is_known_of_the_view(member: Client, web: Project) -> None:
    text = text_of(member, PAGE)
    for fact in (
        "release 1.0.0",
        "Some/1.0 <b>",
        "8, 4 GiB",
        "Isolated yes",
        "Navigation back_forward",
        "Sampling rate 100 %",
        "Tags cart:full",
        "LCP 700 ms",
        "Missing: numbers 1, 2 (never received, or refused).",
        "8 ms 10 ms 10 ms the time limit was reached",
        "Folded v",
        "Hidden 0 ms 0.0 %",
    ):
        assert fact in text, fact
    assert "Some/1.0 <b>" not in member.get(PAGE).content.decode()


def test_the_title_of_its_profile_says_when_and_which(member: Client, web: Project) -> None:
    view_id = view_id_of("one")
    title = f"web 1.0.0 /a {datetime.fromtimestamp(TIME_ORIGIN_MS / 1000, UTC):%Y-%m-%d %H:%M} UTC {view_id[:8]}"
    assert f'data-profile-name="{title}"' in member.get(PAGE).content.decode()


def test_its_functions_are_held_against_those_of_other_views(member: Client, web: Project) -> None:
    text = text_of(member, FUNCTIONS)
    assert "compared with 31 views of this page and release" in text
    assert re.search(r"A app\.js:1:10 50 ms 83\.3 % 50 ms 0 ms 60 ms 10 ms ×5\.0 above p95", text)
    assert re.search(r"B app\.js:1:11 10 ms 16\.7 % 10 ms 0 ms 10 ms 0 ms 3\.2 % of views run it above p95", text)


def test_functions_lead_to_their_pages_on_the_same_page_and_release(member: Client, web: Project) -> None:
    assert re.search(r'href="/projects/web/functions/\d+/\?release=1\.0\.0&amp;page=/a"', _part(member))
    assert 'data-function-url="/projects/web/functions/ID/?release=1.0.0&amp;page=/a"' in (
        member.get(PAGE).content.decode()
    )


def _part(client: Client) -> str:
    return client.get(FUNCTIONS).content.decode()


def test_too_few_other_views_say_nothing(member: Client, web: Project) -> None:
    PageView.objects.filter(project=web).exclude(view_id=view_id_of("one")).delete()
    text = text_of(member, FUNCTIONS)
    assert "too few, at least 25 are needed" in text
    assert "too few, at least 25 are needed" in text
    assert "vs median" not in text  # 25 rows that say "too few" say nothing
    assert "×" not in text


def test_the_timeline_and_functions_come_by_themselves_or_with_the_page(member: Client, web: Project) -> None:
    page = member.get(PAGE).content.decode()
    assert f'data-url="/api/v1/projects/web/views/{view_id_of("one")}/timeline?release=1.0.0&amp;page=/a"' in page
    assert f'hx-get="{FUNCTIONS}?' in page
    plain = text_of(member, PAGE + "?plain=1")
    assert "measure boot 1 ms 5 ms" in plain
    assert "×5.0" in plain
    assert "hx-get" not in member.get(PAGE + "?plain=1").content.decode()


def test_it_says_how_many_marks_the_page_left_out(member: Client, web: Project) -> None:
    assert "than it sends" not in text_of(member, PAGE)
    post("KEY-web", *(make_envelope("many", "A", seq=n, page="/a", marksDropped=700 + 500 * n) for n in range(2)))
    post("KEY-web", make_envelope("odd", "A", page="/a", marksDropped="<b>"))
    fold_all()
    for query in ("", "?plain=1"):
        text = text_of(member, f"/projects/web/views/{view_id_of('many')}/{query}")
        assert "The page had 1 200 more marks than it sends." in text
    assert "than it sends" not in text_of(member, f"/projects/web/views/{view_id_of('odd')}/")


def test_members_are_told_who_may_download_and_admins_may(client: Client, people: People, web: Project) -> None:
    client.force_login(people.member)
    text = text_of(client, PAGE)
    assert "Only admins and tokens with raw access can download raw traces" in text
    assert "/raw" not in client.get(PAGE).content.decode()
    client.force_login(people.owner)
    links = re.findall(r'href="(/api/v1/projects/web/traces/[^"]*/raw)"', client.get(PAGE).content.decode())
    assert len(links) == 2
    assert client.get(links[0]).status_code == 200


def test_where_traces_have_expired_it_says_what_is_gone_and_which_setting_decides(member: Client, web: Project) -> None:
    RawTrace.objects.filter(project_id=web.pk).delete()
    then = timezone.now() - timedelta(days=40)
    create_partitions(then.date(), 1)
    Receipt.objects.filter(project=web).update(received_at=then)
    text = text_of(member, PAGE)
    assert "The recording has expired" in text
    assert "Raw traces are kept for 30 days, by the server’s setting FIELDFLAME_KEEP_RAW_DAYS" in text
    assert f"deleted on {then + timedelta(days=30):%Y-%m-%d}" in text
    page = member.get(PAGE).content.decode()
    for gone in ("timeline/page.js", "Open in Firefox Profiler", "/projects/web/flame-graph/?release"):
        assert gone not in page, gone
    assert "×5.0" in text_of(member, FUNCTIONS)
    assert "Script 60 ms" in text
    web.keep_raw_days = 7
    web.save()
    text = text_of(member, PAGE)
    assert "Raw traces are kept for 7 days, by this project’s setting keep_raw_days" in text
    assert f"deleted on {then + timedelta(days=7):%Y-%m-%d}" in text


def test_a_body_that_should_still_be_kept_is_not_said_to_be_gone_since_a_day_to_come(
    member: Client, web: Project
) -> None:
    RawTrace.objects.filter(project_id=web.pk).delete()
    text = text_of(member, PAGE)
    assert "deleted early" in text
    assert "deleted on" not in text


def test_where_its_sums_have_expired_too_receipts_still_tell(member: Client, web: Project) -> None:
    RawTrace.objects.filter(project_id=web.pk).delete()
    PageView.objects.filter(project=web).delete()
    text = text_of(member, PAGE)
    assert "The view’s own times are deleted too" in text
    assert "the time limit was reached" in text
    assert "Parts of time" not in text
    assert member.get(FUNCTIONS).status_code == 200


def test_a_view_that_waits_or_was_rejected_says_so(member: Client, web: Project) -> None:
    post("KEY-web", make_envelope("waits", "A", page="/a"))
    address = f"/projects/web/views/{view_id_of('waits')}/"
    assert "Its traces are pending." in text_of(member, address)
    Receipt.objects.filter(view_id=view_id_of("waits")).update(
        state=Receipt.State.REJECTED, reason="too_deep", path="$.trace", detail="It <is> too deep."
    )
    text = text_of(member, address)
    assert "were rejected" in text
    assert "too_deep at $.trace: It <is> too deep." in text
    assert "timeline/page.js" not in member.get(address).content.decode()


def test_a_view_with_two_pages_leads_to_the_other(member: Client, web: Project) -> None:
    post("KEY-web", make_envelope("one", "Z", seq=9, page="/z", timeOrigin=TIME_ORIGIN_MS + 900))
    fold_all()
    page = member.get(PAGE).content.decode()
    assert 'href="' + PAGE + '?on_release=1.0.0&amp;on_page=/z"' in page
    assert "/z" in text_of(member, PAGE + "?on_release=1.0.0&on_page=/z").split("What is known")[0]


def test_neighbours_in_the_list_are_a_step_away(member: Client, web: Project) -> None:
    page = member.get(PAGE + "?page=/a&order=worst&at=1").content.decode()
    assert 'rel="prev"' not in page
    assert 'rel="next" href="/projects/web/views/?page=/a&amp;by=js&amp;order=worst&amp;go=2"' in page
    second = member.get("/projects/web/views/?page=/a&by=js&order=worst&go=2", follow=True)
    assert second.status_code == 200
    assert 'go=1"' in second.content.decode()
    assert "Worst view (#1)" in text_of(member, PAGE + "?order=worst&at=1")


@pytest.mark.parametrize("name", ["nobody", "theirs"])
def test_unknown_and_foreign_views_are_404(member: Client, web: Project, name: str) -> None:
    make_project("third")
    post("KEY-third", make_envelope("theirs", "A", page="/a"))
    fold_all()
    for address in (PAGE, FUNCTIONS):
        assert "Page not found" in text_of(member, address.replace(view_id_of("one"), view_id_of(name)), 404)


@pytest.mark.parametrize("text", ["x", "1", "%00", "%3Cb%3E", "view.one", "0" * 40])
def test_what_is_no_id_is_404(member: Client, web: Project, text: str) -> None:
    assert "Page not found" in text_of(member, f"/projects/web/views/{text}/", 404)


def test_a_view_without_a_stack_says_that_no_function_was_seen(member: Client, web: Project) -> None:
    post("KEY-web", make_envelope("still", "-\n-\n-", page="/still"))
    fold_all()
    text = text_of(member, f"/projects/web/views/{view_id_of('still')}/?plain=1")
    assert "No function was seen in this view" in text


def test_timeline_and_functions_come_first_and_details_are_folded(member: Client, web: Project) -> None:
    page = member.get(PAGE).content.decode()
    order = ['id="timeline"', 'id="timeline-details"', 'id="stacks-canvas"', 'id="view-functions"', 'id="facts"']
    places = [page.index(part) for part in [*order, 'id="traces"']]
    assert places == sorted(places)
    assert '<details class="card folded">' in page
    assert '<details class="card folded" open>' in member.get(PAGE + "?plain=1").content.decode()
    assert re.search(r"<b>[^<]+</b> script \+ hidden \(", page)
