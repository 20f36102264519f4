"""What the doctor says of the snippet's tag, its key and the page's Content-Security-Policy."""

from collections.abc import Callable

import pytest

from aggregate.doctor.findings import Finding, State
from projects.creation import create_project
from projects.keys import revoke_key
from projects.models import Project
from tests.aggregate.doctor.site import POLICY, VisitedSite

Look = Callable[..., dict[str, Finding]]
TAG = "<script src=/snippet.js data-key=shop-key data-release=1.0.0></script>"
STUB = "<script>window.fieldflame = new Profiler({})</script>"
ALL_OK = {"tag", "snippet", "key", "origin", "release", "csp"}

pytestmark = pytest.mark.usefixtures("shop")


def head(inside: str) -> str:
    return f"<!doctype html><html><head><meta charset=utf-8><title>Shop</title>{inside}</head><body><p>Hello</body>"


def test_a_page_as_it_should_be_has_no_problems(doctor: Look, site: VisitedSite) -> None:
    site.set_page(head(TAG))
    findings = doctor(key="shop-key")
    assert {check for check in ALL_OK if findings[check].state is State.OK} == ALL_OK
    assert not [finding for finding in findings.values() if finding.state is State.PROBLEM]


def test_the_key_may_be_in_the_address_of_the_snippet(doctor: Look, site: VisitedSite) -> None:
    site.set_script("/snippet/shop-key.js")
    site.set_page(head("<script src=/snippet/shop-key.js data-release=1.0.0></script>"))
    findings = doctor()
    assert findings["tag"].state is findings["key"].state is State.OK


@pytest.mark.parametrize(
    ("inside", "state", "sentence"),
    [
        ("", State.PROBLEM, "no tag"),
        (f"<!-- {TAG} -->", State.PROBLEM, "no tag"),
        (f"<noscript>{TAG}</noscript>", State.PROBLEM, "no tag"),
        (f"<template>{TAG}</template>", State.PROBLEM, "no tag"),
        (TAG.replace("<script ", "<script type=application/json "), State.PROBLEM, "no tag"),
        (TAG.replace("<script ", "<script type=module "), State.WARNING, "module"),
        (TAG.replace("<script ", "<script async "), State.WARNING, "no stub"),
        (TAG.replace("<script ", "<script defer "), State.WARNING, "no stub"),
        (STUB + TAG.replace("<script ", "<script async "), State.OK, "stub is first"),
        ("<script>one()</script>" + TAG, State.WARNING, "Another script runs before"),
        ("<script>1</script><script>2</script>" + TAG, State.WARNING, "2 other scripts run before"),
        ("<script type=application/json>{}</script>" + TAG, State.OK, "first in <head>"),
        ("<link rel=stylesheet href=/a.css>" + TAG, State.WARNING, "stylesheet"),
        ("<p>text</p>" + TAG, State.WARNING, "in <body>"),
    ],
)
def test_the_place_of_the_tag_is_judged(
    doctor: Look, site: VisitedSite, inside: str, state: State, sentence: str
) -> None:
    site.set_page(head(inside))
    finding = doctor()["tag"]
    assert finding.state is state
    assert sentence in finding.sentence
    assert bool(finding.line) == (state is not State.OK)


def test_the_line_for_a_late_tag_is_the_same_tag_without_async(doctor: Look, site: VisitedSite) -> None:
    site.set_page(head(TAG.replace("<script ", "<script async ")))
    line = doctor()["tag"].line
    assert line == (
        f'<script src="{site.origin}/snippet.js" data-key="shop-key" data-release="1.0.0" crossorigin></script>'
    )


def test_the_line_for_a_missing_tag_has_a_key_of_the_project(doctor: Look, site: VisitedSite, shop: Project) -> None:
    site.set_page(head(""))
    assert 'data-key="shop-key"' in doctor(project=shop)["tag"].line
    assert 'data-key="PUBLIC_KEY"' in doctor()["tag"].line


def test_two_tags_are_a_problem(doctor: Look, site: VisitedSite) -> None:
    site.set_page(head(TAG + TAG))
    assert doctor()["tag-count"].state is State.PROBLEM


def test_a_snippet_that_cannot_be_loaded_is_a_problem(doctor: Look, site: VisitedSite) -> None:
    del site.replies["/snippet.js"]
    site.set_page(head(TAG))
    assert "404" in doctor()["snippet"].sentence


def test_an_unknown_or_revoked_key_is_a_problem(doctor: Look, site: VisitedSite, shop: Project) -> None:
    site.set_page(head(TAG.replace("shop-key", "nobodys")))
    assert doctor()["key"].state is State.PROBLEM
    revoke_key(shop.keys.get())
    site.set_page(head(TAG))
    assert doctor()["key"].state is State.PROBLEM


def test_a_tag_without_a_key_is_a_problem(doctor: Look, site: VisitedSite) -> None:
    site.set_page(head(TAG.replace("data-key=shop-key", "data-key")))
    assert doctor()["key"].line == 'data-key="PUBLIC_KEY"'


def test_another_key_than_asked_for_is_a_problem(doctor: Look, site: VisitedSite) -> None:
    site.set_page(head(TAG.replace("shop-key", "other-key")))
    finding = doctor(key="shop-key")["key"]
    assert finding.state is State.PROBLEM


def test_a_key_of_another_project_looks_like_one_that_does_not_exist(
    doctor: Look, site: VisitedSite, shop: Project
) -> None:
    create_project(slug="other", key="other-key", origins=["*"])
    answers = []
    for key in ("other-key", "missing-k"):
        site.set_page(head(TAG.replace("shop-key", key)))
        findings = doctor(project=shop)
        answers.append(
            [(finding.check, finding.state, finding.sentence.replace(key, "KEY")) for finding in findings.values()]
        )
    assert answers[0] == answers[1]


def test_an_origin_that_the_key_does_not_have_is_a_problem(doctor: Look, site: VisitedSite, shop: Project) -> None:
    shop.keys.update(origins=["https://shop.example"])
    site.set_page(head(TAG))
    finding = doctor()["origin"]
    assert finding.state is State.PROBLEM
    assert finding.line == site.origin


def test_the_release_is_of_the_tag_or_announced(doctor: Look, site: VisitedSite) -> None:
    bare = TAG.replace("data-release=1.0.0", "")
    site.set_page(head(bare))
    assert doctor()["release"].state is State.PROBLEM
    announced = ("Server-Timing", 'ff;desc="rate=1;on=1;release=2.0%20beta"')
    site.set_page(head(bare), [POLICY, announced])
    assert "2.0 beta" in doctor()["release"].sentence
    site.set_page(head(TAG), [POLICY, announced])
    assert doctor()["release"].state is State.WARNING


@pytest.mark.parametrize(
    ("policy", "blocked"),
    [
        ("default-src 'self'", set()),
        ("default-src 'none'", {"csp-script", "csp-connect"}),
        ("script-src 'self'; connect-src 'none'", {"csp-connect"}),
        ("script-src https://elsewhere.example; connect-src *", {"csp-script"}),
        ("script-src 'self', connect-src https:", {"csp-connect"}),
        ("script-src 'strict-dynamic' 'nonce-abc'", {"csp-script"}),
        ("img-src 'none'", set()),
    ],
)
def test_a_policy_that_blocks_the_snippet_is_a_problem(
    doctor: Look, site: VisitedSite, policy: str, blocked: set[str]
) -> None:
    for headers, inside in (
        ([POLICY, ("Content-Security-Policy", policy)], TAG),
        (
            [POLICY],
            "".join(f'<meta http-equiv=Content-Security-Policy content="{value}">' for value in policy.split(", "))
            + TAG,
        ),
    ):
        site.set_page(head(inside), headers)
        findings = doctor()
        assert {
            check for check, finding in findings.items() if "csp" in check and finding.state is State.PROBLEM
        } == blocked
        assert all(findings[check].line for check in blocked)


def test_a_report_only_policy_blocks_nothing(doctor: Look, site: VisitedSite) -> None:
    site.set_page(head(TAG), [POLICY, ("Content-Security-Policy-Report-Only", "default-src 'none'")])
    assert doctor()["csp"].state is State.OK


def test_a_nonce_lets_the_tag_run_and_the_stub_needs_it_too(doctor: Look, site: VisitedSite) -> None:
    policy = ("Content-Security-Policy", "script-src 'strict-dynamic' 'nonce-abc'")
    site.set_page(head(STUB + TAG.replace("<script ", "<script nonce=abc ")), [POLICY, policy])
    findings = doctor()
    assert findings["csp-script"].state is State.OK
    assert findings["csp-stub"].state is State.PROBLEM
    site.set_page(head((STUB + TAG).replace("<script", "<script nonce=abc")), [POLICY, policy])
    assert "csp-stub" not in doctor()


def test_the_line_for_the_stub_is_its_hash(doctor: Look, site: VisitedSite) -> None:
    site.set_page(head(STUB + TAG), [POLICY, ("Content-Security-Policy", "script-src 'self'")])
    line = doctor()["csp-stub"].line
    sources = line.removeprefix("script-src ")
    site.set_page(head(STUB + TAG), [POLICY, ("Content-Security-Policy", f"script-src 'self' {sources}")])
    assert "csp-stub" not in doctor()
