"""A visit is bounded in time, bytes and redirects, whatever a page does."""

import gzip
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler

import pytest
from pytest_django import Settings

from aggregate.doctor.examining import examine, run_visit
from aggregate.doctor.findings import Finding, State
from tests.aggregate.doctor.site import HTML, POLICY, Reply, VisitedSite, by_check

Look = Callable[..., dict[str, Finding]]


@pytest.fixture
def allowed(settings: Settings, site: VisitedSite) -> Settings:
    """The settings that let a visit, in a process of its own, reach the site."""
    settings.DOCTOR_PORTS = [site.port]
    settings.DOCTOR_ALLOW_PRIVATE = ["127.0.0.1"]
    settings.DOCTOR_TIME_S = 300
    return settings


def test_a_visit_happens_in_a_process_of_its_own(allowed: Settings, site: VisitedSite, db: None) -> None:
    site.set_page("<script src=/a.js></script>")
    site.set_script("/a.js", "run()\n//# sourceMappingURL=a.js.map")
    result = run_visit(f"{site.origin}/")
    assert [hop.status for hop in result.hops] == [200]
    assert [(script.status, script.map_url) for script in result.scripts] == [(200, "a.js.map")]


def drip(request: BaseHTTPRequestHandler) -> None:
    """Sends a header that never ends, one byte at a time."""
    try:
        request.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
        for _ in range(6_000):
            request.wfile.write(b"a")
            request.wfile.flush()
            time.sleep(0.1)
    except OSError:
        pass


def greet(request: BaseHTTPRequestHandler) -> None:
    """Speaks as a mail server does."""
    request.wfile.write(b"220 mail ESMTP\r\n")


def test_a_page_that_comes_byte_by_byte_ends_the_visit_in_time(allowed: Settings, site: VisitedSite, db: None) -> None:
    allowed.DOCTOR_TIME_S = 2
    site.replies["/"] = Reply(speak=drip)
    begun = time.monotonic()
    findings = by_check(examine(f"{site.origin}/").findings)
    assert findings["visit"].state is State.PROBLEM
    assert time.monotonic() - begun < 120  # the page takes ten minutes


@pytest.mark.slow(12)
def test_what_was_read_before_the_time_was_over_is_reported(allowed: Settings, site: VisitedSite, db: None) -> None:
    allowed.DOCTOR_TIME_S = 5
    site.set_page("<script src=/slow.js></script>")
    site.replies["/slow.js"] = Reply(speak=drip)
    findings = by_check(examine(f"{site.origin}/").findings)
    assert findings["header"].state is State.OK
    assert "time" in findings


@pytest.mark.slow(12)
def test_a_page_that_takes_a_parser_minutes_ends_in_time(allowed: Settings, site: VisitedSite, db: None) -> None:
    """Python's HTML parser takes quadratic time for some pages."""
    allowed.DOCTOR_TIME_S = 5
    site.set_page("<p>" + "<!" * 1_000_000)
    begun = time.monotonic()
    examine(f"{site.origin}/")
    assert time.monotonic() - begun < 120


def test_redirects_are_bounded(doctor: Look, site: VisitedSite) -> None:
    site.replies["/"] = Reply(302, [("Location", "/")])
    assert "more than 5 redirects" in doctor()["visit"].sentence
    assert len(site.headers_of("/")) == 6


def test_five_redirects_are_followed(doctor: Look, site: VisitedSite) -> None:
    for number in range(5):
        site.replies[f"/{number}"] = Reply(307, [("Location", f"{number + 1}")])
    site.set_page("<p>", path="/5")
    assert doctor("/0")["header"].state is State.OK


def test_a_site_that_redirects_until_its_cookie_is_there_is_read(doctor: Look, site: VisitedSite) -> None:
    def answer(request: BaseHTTPRequestHandler) -> Reply:
        if "seen" in request.headers.get("Cookie", ""):
            return Reply(200, [HTML, POLICY], b"<p>")
        return Reply(302, [("Location", "/"), ("Set-Cookie", "seen=1")])

    site.replies["/"] = answer
    findings = doctor()
    assert findings["visit"].state is State.PROBLEM
    assert findings["header-cookies"].state is State.OK


def test_a_long_page_is_read_in_part(doctor: Look, site: VisitedSite, settings: Settings) -> None:
    settings.DOCTOR_MAX_PAGE_BYTES = 10_000
    site.set_page("<head>" + "<!-- long -->" * 100_000)
    findings = doctor()
    assert "first 10,000 bytes" in findings["html"].sentence
    assert "part that was read" in findings["tag"].sentence


def test_a_gzip_bomb_is_read_in_part(doctor: Look, site: VisitedSite, settings: Settings) -> None:
    settings.DOCTOR_MAX_PAGE_BYTES = 100_000
    body = gzip.compress(b"<p>" + b" " * 50_000_000)
    site.replies["/"] = Reply(200, [HTML, POLICY, ("Content-Encoding", "gzip")], body)
    assert "first 100,000 bytes" in doctor()["html"].sentence


def test_the_end_of_a_script_is_asked_for_and_bounded(doctor: Look, site: VisitedSite, settings: Settings) -> None:
    settings.DOCTOR_MAX_SCRIPT_BYTES = 100_000
    site.set_page("<script src=/a.js></script>")
    site.set_script("/a.js", "x" * 5_000_000 + "\n//# sourceMappingURL=a.js.map")
    findings = doctor()
    assert site.headers_of("/a.js")[0]["range"] == "bytes=-16384"
    assert "no source map" in findings["source-maps"].sentence


@pytest.mark.parametrize(
    ("reply", "sentence"),
    [
        (Reply(speak=lambda request: None), "not valid HTTP"),
        (Reply(speak=greet), "not valid HTTP"),
        (Reply(200, [HTML, ("Content-Encoding", "br")], b"x"), "'br', which was not asked for"),
        (Reply(200, [HTML, ("Content-Encoding", "gzip")], b"no gzip"), "not valid HTTP"),
        (Reply(302, [("Location", "http://[x/")]), "not an address"),
    ],
)
def test_an_answer_that_cannot_be_read_is_a_problem(
    doctor: Look, site: VisitedSite, reply: Reply, sentence: str
) -> None:
    site.replies["/"] = reply
    finding = doctor()["visit"]
    assert finding.state is State.PROBLEM
    assert sentence in finding.sentence


def test_a_page_with_an_error_status_is_reported(doctor: Look, site: VisitedSite) -> None:
    assert "404" in doctor("/missing")["visit"].sentence


def test_something_other_than_html_is_reported(doctor: Look, site: VisitedSite) -> None:
    site.set_script("/")
    assert "text/javascript" in doctor()["html"].sentence


def test_an_address_without_a_scheme_is_taken_for_https(settings: Settings, db: None) -> None:
    report = examine("127.0.0.1/")
    assert report.url == "https://127.0.0.1/"
    assert "not a public address" in report.findings[0].sentence
