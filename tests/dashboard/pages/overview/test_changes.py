"""What changed from release to release: the functions of the verdict, pages with their state, all changed functions."""

import html
import re
from typing import Any

import pytest
from django.test import Client

from projects.models import Project
from tests.aggregate.posting import fold_all, post
from tests.builders import make_project
from tests.dashboard.pages.reading import html_of, text_of
from tests.envelopes import make_envelope


def view(name: str, samples: int, release: str, page: str = "/cart") -> dict[str, Any]:
    """Returns a view in which `slow` runs for so many samples of 10 ms, and `steady` for two."""
    columns = "\n".join(["main slow"] * samples + ["main steady"] * 2)
    envelope = make_envelope(name, columns, release=release, page=page)
    for frame in envelope["trace"]["frames"]:
        frame["column"] = {"main": 10, "slow": 11, "steady": 12}[frame["name"]]
    return envelope


@pytest.fixture
def folded(member: Client) -> Project:
    """The lab's releases 5.0.0 and 6.0.0, with contributions: `slow` takes 30 ms more a view in the second."""
    lab = make_project("lab")
    lab.memberships.create(user_id=member.session["_auth_user_id"])
    for release, more, views in (("5.0.0", 0, 30), ("6.0.0", 3, 30), ("7.0.0", 0, 1)):
        post("KEY-lab", *(view(f"{release}-{n}", 1 + n % 3 + more, release) for n in range(views)))
    fold_all()
    return lab


def test_the_verdict_names_its_culprits_with_intervals_one_click_away(member: Client, folded: Project) -> None:
    text = text_of(member, "/projects/lab/")
    assert re.search(r"slow \+30 ms \d+(?:\.\d)? to \d+(?:\.\d)? ms seen in its own code", text), text
    page = html_of(member, "/projects/lab/")
    card = page[page.index('class="card verdict') : page.index("</section>")]
    (link,) = re.findall(r'<a class="culprit" href="([^"]+)"', card)
    assert re.fullmatch(r"/projects/lab/functions/\d+/\?release=6\.0\.0&page=/cart", link)
    assert member.get(link).status_code == 200
    assert 'class="figure is-rise"' in card
    (late,) = re.findall(r'hx-get="([^"?]+)', card)  # the functions are named already
    assert late == "/projects/lab/change-forced/"
    assert page.index('class="card verdict') < page.index('id="changes"') < page.index('id="trend"')


def forced_link(client: Client) -> str:
    """Returns where the overview asks whether the change is mostly forced layout."""
    (link,) = re.findall(r'hx-get="(/projects/lab/change-forced/[^"]+)"', html_of(client, "/projects/lab/"))
    return html.unescape(link)


def test_a_function_that_only_computes_is_not_said_to_force_layout(member: Client, folded: Project) -> None:
    assert html_of(member, forced_link(member)).strip() == ""


def test_a_function_that_mostly_forces_layout_is_said_to(member: Client) -> None:
    lab = make_project("lab")
    lab.memberships.create(user_id=member.session["_auth_user_id"])
    for release, more in (("5.0.0", 0), ("6.0.0", 4)):
        for n in range(30):
            took_ms = 10 * (1 + n % 3 + more)
            script = {"start": 0, "duration": took_ms, "forced": 0.8 * took_ms, "url": "https://shop.example/app.js"}
            marks = [{"type": "long-animation-frame", "start": 0, "duration": 100, "scripts": [script]}]
            post("KEY-lab", {**view(f"{release}-{n}", 1 + n % 3 + more, release), "marks": marks})
    fold_all()
    assert (
        text_of(member, forced_link(member)).strip() == "Mostly forced layout: +32 ms of it, in a sample of page views."
    )


def test_pages_stand_below_the_verdict_with_their_own_state(member: Client, folded: Project) -> None:
    text = text_of(member, "/projects/lab/")
    assert re.search(r"Views /cart slower 40 ms 70 ms \+30 ms [\d.]+ to [\d.]+ ms < 0\.001 30 / 30 ", text), text
    link = "/projects/lab/compare/?base_release=5.0.0&head_release=6.0.0&measure=self%2Bhidden&page=/cart"
    assert f'href="{link}"' in html_of(member, "/projects/lab/")
    assert text.count("slow +30 ms") == 1  # what the verdict says is not repeated


def test_a_typical_and_a_worst_view_of_the_verdicts_page_are_a_click_away(member: Client, folded: Project) -> None:
    page = html_of(member, "/projects/lab/")
    links = dict(re.findall(r'<a class="button" href="([^"]+)" title="[^"]+">(\w+) view</a>', page))
    assert sorted(links.values()) == ["Typical", "Worst"]
    for link in links:
        answer = member.get(link)
        assert answer.status_code == 302
        assert re.match(r"/projects/lab/views/[0-9a-f-]{36}/\?release=6\.0\.0&page=/cart", answer["Location"])
        assert member.get(answer["Location"]).status_code == 200


def test_where_no_page_changed_clearly_functions_that_did_come_later(member: Client, folded: Project) -> None:
    for release in ("8.0.0", "9.0.0"):
        more = 3 if release == "9.0.0" else 0
        for page, shift in (("/home", 90), ("/list", 80)):
            post("KEY-lab", *(view(f"{page} {release} {n}", 5 + n % shift, release, page) for n in range(99)))
        post("KEY-lab", *(view(f"c {release} {n}", 1 + n % 3 + more, release) for n in range(12)))
    fold_all()
    page = html_of(member, "/projects/lab/")
    assert "No clear change" in text_of(member, "/projects/lab/")
    assert 'hx-get="/projects/lab/changes/?base_release=8.0.0&head_release=9.0.0' in page


def test_changed_functions_have_intervals_and_lead_to_them(member: Client, folded: Project) -> None:
    address = "/projects/lab/changes/?base_release=5.0.0&head_release=6.0.0"
    text = text_of(member, address)
    assert re.search(r"slow \+30 ms \d+(?:\.\d)? to \d+(?:\.\d)? ms", text)
    assert "1 function with significant changes; " in text
    assert "steady" not in text
    page = html_of(member, address)
    assert re.search(r'href="/projects/lab/functions/\d+/\?release=6\.0\.0"', page)
    assert 'class="figure is-rise"' in page
    assert "compare/?base_release=5.0.0&head_release=6.0.0&measure=self%2Bhidden" in page


def test_what_one_page_alone_has_lost_is_looked_for_there(member: Client, folded: Project) -> None:
    # On a page with most of the views and times that vary, nothing changed.
    for release in ("8.0.0", "9.0.0"):
        post("KEY-lab", *(view(f"h {release} {n}", 5 + n % 90, release, "/home") for n in range(99)))
        more = 3 if release == "9.0.0" else 0
        post("KEY-lab", *(view(f"c {release} {n}", 1 + n % 3 + more, release) for n in range(24)))
    fold_all()
    text = text_of(member, "/projects/lab/changes/?base_release=8.0.0&head_release=9.0.0")
    assert "1 function with significant changes on /cart ;" in text
    assert re.search(r"slow \+30 ms", text)
    page = html_of(member, "/projects/lab/changes/?base_release=8.0.0&head_release=9.0.0&page=/cart&page=/home")
    (link,) = re.findall(r'<a href="([^"]+)">All functions</a>', page)
    assert link.endswith("?base_release=8.0.0&head_release=9.0.0&measure=self%2Bhidden&page=/cart")


def test_where_no_function_changed_this_is_said(member: Client, folded: Project) -> None:
    address = "/projects/lab/changes/?base_release=5.0.0&head_release=5.0.0"
    assert "No function changed significantly; 2 uncertain." in text_of(member, address)
    page = html_of(member, address)
    assert "is-rise" not in page


def test_what_a_new_bundle_may_only_have_moved_is_no_finding(member: Client, folded: Project) -> None:
    moved = [view(f"moved {n}", 1 + n % 3, "8.0.0") for n in range(30)]
    for envelope in moved:
        for frame in envelope["trace"]["frames"]:
            frame["column"] += 100
    post("KEY-lab", *moved)
    fold_all()
    address = "/projects/lab/changes/?base_release=5.0.0&head_release=8.0.0"
    text = text_of(member, address)
    assert "No function changed significantly" in text
    assert "2 new and 2 gone without source maps: they may only have moved." in text
    assert "is-rise" not in html_of(member, address)


def test_changes_of_too_few_views_are_not_shown(member: Client, folded: Project) -> None:
    text = text_of(member, "/projects/lab/changes/?base_release=7.0.0&head_release=6.0.0")
    assert "Too few page views to compare functions: 30 of 6.0.0 and 1 of 7.0.0 ." in text


def test_changes_without_sides_say_what_is_missing(member: Client, folded: Project) -> None:
    assert "base_release" in text_of(member, "/projects/lab/changes/")
