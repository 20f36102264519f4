"""What the doctor says of the header: missing, wrong, in the wrong place, with cookies, and announced."""

from collections.abc import Callable
from http.server import BaseHTTPRequestHandler

import pytest

from aggregate.doctor.findings import HEADER_LINE, Finding, State
from tests.aggregate.doctor.site import HTML, POLICY, Reply, VisitedSite

Look = Callable[..., dict[str, Finding]]

# As Chromium 156 reads them: each was sent to one.
GOOD = [
    "js-profiling",
    "js-profiling, js-profiling-mode=lazy",
    "js-profiling=?1",
    "js-profiling;report-to=x",
    "js-profiling; js-profiling-mode=lazy",
    "js-profiling, unknown-thing",
    "unknown-thing=7, js-profiling",
    "js-profiling=?0, js-profiling",
    "*;report-to=x, js-profiling",
    "js-profiling, js-profiling-mode=bogus",
    'js-profiling, lossy-images-max-bpp="x"',
    "js-profiling-mode=lazy, js-profiling",
    'js-profiling, js-profiling-mode="lazy"',
]
BAD = [
    "js-profiling=?0",
    "JS-Profiling",
    "js-profiling, broken=",
    "js-profiling,",
    "js-profiling=1",
    "js-profiling=*",
    "js-profiling=()",
    "'js-profiling'",
    "js-profiling=true",
    '"js-profiling"',
    "js-profiling js-profiling-mode=lazy",
    "js-profiling, Bad=1",
    "js-profiling-mode=lazy",
    "(js-profiling)",
    'js-profiling=""',
]


@pytest.mark.parametrize("text", GOOD)
def test_a_header_that_a_browser_accepts_is_ok(doctor: Look, site: VisitedSite, text: str) -> None:
    site.set_page("<p>", [("Document-Policy", text)])
    assert doctor()["header"].state is State.OK


@pytest.mark.parametrize("text", BAD)
def test_a_header_that_a_browser_drops_is_a_problem(doctor: Look, site: VisitedSite, text: str) -> None:
    site.set_page("<p>", [("Document-Policy", text)])
    finding = doctor()["header"]
    assert finding.state is State.PROBLEM
    assert finding.line == HEADER_LINE


def test_several_lines_are_one_header(doctor: Look, site: VisitedSite) -> None:
    site.set_page("<p>", [("Document-Policy", "force-load-at-top"), ("Document-Policy", "js-profiling")])
    assert doctor()["header"].state is State.OK
    site.set_page("<p>", [("Document-Policy", "js-profiling"), ("Document-Policy", "bad=")])
    assert doctor()["header"].state is State.PROBLEM


def test_a_missing_header_is_a_problem_and_the_line_to_add_is_given(doctor: Look, site: VisitedSite) -> None:
    site.set_page("<p>", [])
    finding = doctor()["header"]
    assert finding.state is State.PROBLEM
    assert finding.line == HEADER_LINE


def test_a_header_of_a_redirect_does_not_count(doctor: Look, site: VisitedSite) -> None:
    site.replies["/old"] = Reply(301, [("Location", "/"), POLICY])
    site.set_page("<p>", [])
    finding = doctor("/old")["header"]
    assert finding.state is State.PROBLEM
    assert "redirect" in finding.sentence


def test_a_page_that_loses_the_header_with_its_cookies_is_found(doctor: Look, site: VisitedSite) -> None:
    def answer(request: BaseHTTPRequestHandler) -> Reply:
        if "seen=1" in request.headers.get("Cookie", ""):
            return Reply(200, [HTML], b"<p>")
        return Reply(200, [HTML, POLICY, ("Set-Cookie", "seen=1; Path=/; HttpOnly")], b"<p>")

    site.replies["/"] = answer
    findings = doctor()
    assert findings["header"].state is State.OK
    assert findings["header-cookies"].state is State.PROBLEM


def test_cookies_go_back_to_their_own_site_only(doctor: Look, site: VisitedSite, cdn: VisitedSite) -> None:
    site.replies["/"] = Reply(302, [("Location", cdn.origin + "/"), ("Set-Cookie", "mine=1")])
    cdn.set_page("<script src=/a.js></script>")
    doctor()
    assert [headers.get("cookie") for headers in site.headers_of("/")] == [None, "mine=1"]
    assert all("cookie" not in headers for _, headers in cdn.seen)


@pytest.mark.parametrize("name", ["Permissions-Policy", "Feature-Policy", "Document-Policy-Report-Only"])
def test_the_word_in_another_header_is_a_mistake(doctor: Look, site: VisitedSite, name: str) -> None:
    site.set_page("<p>", [(name, "js-profiling")])
    assert doctor()["header-place"].state is State.PROBLEM
    site.set_page("<p>", [(name, "js-profiling"), POLICY])
    assert doctor()["header-place"].state is State.WARNING


def test_the_policy_in_a_meta_element_is_a_mistake(doctor: Look, site: VisitedSite) -> None:
    site.set_page("<meta http-equiv=Document-Policy content=js-profiling><p>", [])
    assert "<meta>" in doctor()["header-place"].sentence


def announce(desc: str) -> tuple[str, str]:
    return ("Server-Timing", f'db;dur=4, ff;desc="{desc}", total;dur=9')


@pytest.mark.parametrize(
    ("headers", "state", "sentence"),
    [
        ([POLICY], State.OK, "no share"),
        ([POLICY, announce("rate=0.1;on=1")], State.WARNING, "without https"),
        ([announce("rate=0.1;on=1")], State.PROBLEM, "removes it"),
        ([POLICY, announce("rate=0.1;on=0")], State.PROBLEM, "on=0"),
        ([POLICY, announce("rate=0.1")], State.PROBLEM, "on=0 or on=1"),
        ([POLICY, announce("rate=7;on=1")], State.PROBLEM, "rate from 0 to 1"),
        ([POLICY, announce("on")], State.PROBLEM, "no value"),
        ([POLICY, announce("rate=0.1;on=1"), ("Age", "7")], State.WARNING, "cache"),
        ([POLICY, announce("rate=0.1;on=1"), ("Cache-Control", "public, max-age=60")], State.WARNING, "cache"),
    ],
)
def test_the_announcement_must_fit_the_header(
    doctor: Look, site: VisitedSite, headers: list[tuple[str, str]], state: State, sentence: str
) -> None:
    site.set_page("<p>", headers)
    finding = doctor()["server-timing"]
    assert finding.state is state
    assert sentence in finding.sentence


def test_a_page_outside_the_share_lacks_the_header_rightly(doctor: Look, site: VisitedSite) -> None:
    site.set_page("<p>", [announce("rate=0.1;on=0")])
    assert doctor()["header"].state is State.OK


def test_isolation_is_reported(doctor: Look, site: VisitedSite) -> None:
    isolated = [("Cross-Origin-Opener-Policy", "same-origin"), ("Cross-Origin-Embedder-Policy", "require-corp")]
    site.set_page("<p>", [POLICY, *isolated])
    assert "is cross-origin isolated" in doctor()["isolation"].sentence
    site.set_page("<p>", [POLICY, isolated[0]])
    assert "is not cross-origin isolated" in doctor()["isolation"].sentence
