"""Pages that hung: on the page "Hangs" and in the API, by function, as far as it is known."""

import json
from collections.abc import Mapping
from datetime import timedelta
from typing import Any
from urllib.parse import quote

import pytest
from django.test import Client

from aggregate.models import Func
from aggregate.selectors.hangs import table as hangs
from projects.models import Project
from tests.aggregate.posting import fold_all, post
from tests.builders import make_hang, make_project, now
from tests.dashboard.pages.reading import HOSTILE, html_of, text_of
from tests.envelopes import make_envelope
from tests.profcore.hangs.recorded import stack_of

PAGE = "/projects/shop/hangs/"
APP = "https://shop.example/app.js"
STACK = f"at draw ({APP}?v=2:1:500)\n    at Array.map (<anonymous>)\n    at main ({APP}?v=2:1:40)"


@pytest.fixture
def project(db: None) -> Project:
    """Four page views of /cart, recorded at a rate of a tenth: `main` calls `draw`, which takes 20 ms."""
    project = make_project("shop")
    for view in "abcd":
        fields = {"page": "/cart", "sampleRate": 0.1, "timeOrigin": now().timestamp() * 1_000}
        post("KEY-shop", make_envelope(view, "main\nmain draw\nmain draw\n-", **fields))
    fold_all()
    make_hang(make_project("elsewhere"), STACK, count=20)
    return project


def ask(client: Client, query: str = "") -> Mapping[str, Any]:  # Any: JSON
    answer: Mapping[str, Any] = json.loads(client.get(f"/api/v1/projects/shop/hangs{query}").content)
    return answer


def test_without_reports_the_page_says_what_to_switch_on(reader: Client, project: Project) -> None:
    page = html_of(reader, PAGE)
    assert 'Reporting-Endpoints: default="http://testserver/ingest/v1/reports?key=KEY-shop&release=1.0.0"' in page
    assert "Document-Policy: js-profiling, js-profiling-mode=lazy, include-js-call-stacks-in-crash-reports" in page
    assert (answer := ask(reader))["reports"] == 0
    assert (answer["hangs"], answer["views"], answer["since"]) == ([], None, None)


def test_a_function_that_traces_know_is_linked_with_its_usual_cost(reader: Client, project: Project) -> None:
    make_hang(project, STACK, count=2)
    make_hang(project, STACK.replace("1:500", "1:502"), release="1.1.0", page="/")
    [row] = ask(reader)["hangs"]
    draw = Func.objects.get(project=project, name="draw")
    assert (row["function"], row["label"], row["reports"]) == (str(draw.id), "draw", 3)
    assert row["cost_ms_per_view"] == pytest.approx(20, abs=5)
    assert row["per_10000_views"] == 750  # of the 40 views that four recorded ones stand for
    assert (row["first_release"], row["last_release"]) == ("1.0.0", "1.1.0")
    assert row["pages"] == [{"page": "/cart", "reports": 2}, {"page": "/", "reports": 1}]
    assert (row["stack_count"], row["page_count"]) == (2, 2)
    assert [frame["label"] for frame in row["frames"]] == ["draw", "Array.map", "main"]
    text = text_of(reader, PAGE)
    assert "3 did not answer (750.0 per 10,000 page views)" in text
    assert "app.js:1:500" in text
    assert f'href="/projects/shop/functions/{draw.id}/"' in html_of(reader, PAGE)


@pytest.mark.parametrize(
    "call",
    [
        f"draw ({APP}:1:5)",  # before it begins
        f"other ({APP}:1:500)",
        "draw (https://shop.example/b.js:1:500)",
        f"{APP}:1:500",
        f"draw (eval at main ({APP}:1:500), <anonymous>:1:1)",
    ],
)
def test_another_function_is_no_guess(reader: Client, project: Project, call: str) -> None:
    make_hang(project, f"at {call}")
    [row] = ask(reader)["hangs"]
    assert (row["function"], row["cost_ms_per_view"]) == (None, None)
    assert row["frames"][0]["column"] in (5, 500)


def test_of_functions_with_one_name_the_last_before_the_call_counts(reader: Client, project: Project) -> None:
    draw = Func.objects.get(project=project, name="draw")
    for number, (line, column) in enumerate(((1, 200), (1, 501), (2, 1))):
        Func.objects.create(
            project=project, id=900 + number, digest=b"%d" % number, name="draw", uri=APP, line=line, column=column
        )
    for position, func_id in (("1:150", draw.id), ("1:500", 900), ("1:501", 901), ("7:1", 902)):
        make_hang(project, f"at Cart.draw ({APP}:{position})", release=position)
        [row] = ask(reader, f"?release={position}")["hangs"]
        assert row["function"] == str(func_id)


def test_functions_that_no_trace_has_are_told_apart_by_their_calls(reader: Client, project: Project) -> None:
    make_hang(project, stack_of("plain"), count=2)
    make_hang(project, stack_of("eval"))
    make_hang(project, stack_of("regex"))
    rows = [(row["label"], row["reports"], row["stack_count"]) for row in ask(reader)["hangs"]]
    assert rows == [("search", 3, 2), ("match", 1, 1)]
    assert "RegExp.test built-in" in text_of(reader, PAGE)


def test_reports_without_a_stack_say_why(reader: Client, project: Project) -> None:
    make_hang(project, stack_of("not opted in"), release="", count=3)
    make_hang(project, stack_of("waiting"), count=2)
    make_hang(project, None, reason="oom")
    make_hang(project, STACK, page="/other")
    answer = ask(reader, "?page=/cart")
    assert len(ask(reader)["hangs"]) == len(answer["hangs"]) + 1
    assert [(row["reason"], row["stack_state"], row["label"]) for row in answer["hangs"]] == [
        ("unresponsive", "not-opted-in", None),
        ("unresponsive", "uncollected", None),
        ("oom", "absent", None),
    ]
    assert answer["by_reason"] == [{"reason": "unresponsive", "reports": 5}, {"reason": "oom", "reports": 1}]
    text = text_of(reader, f"{PAGE}?page=/cart")
    assert "The page does not send the policy that allows stacks" in text
    assert "1 ran out of memory" in text
    assert "not named" in text


def test_release_page_and_whole_days_narrow_it(reader: Client, project: Project) -> None:
    make_hang(project, STACK, count=2)
    make_hang(project, STACK, release="2.0.0", page="/p?")
    make_hang(project, STACK, page="/old", at=now() - timedelta(days=3), count=5)
    today = now().strftime("%Y-%m-%dT00:00:00Z")
    for query, reports in (
        ("?release=2.0.0", 1),
        (f"?page={quote('/cart')}", 2),
        (f"?from={today}", 3),
        (f"?to={today}", 5),
        ("?release=none", 0),
        ("?device=mobile", 8),
    ):
        assert ask(reader, query)["reports"] == reports, query
    assert "other filters are ignored here" in text_of(reader, f"{PAGE}?device=mobile")
    assert len(ask(reader, "?limit=1")["hangs"]) == 1


def test_rarer_stacks_are_counted_and_not_read(
    reader: Client, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hangs, "MAX_READ", 1)
    make_hang(project, STACK, count=4)
    make_hang(project, stack_of("plain"))
    answer = ask(reader)
    assert (answer["reports"], len(answer["hangs"]), answer["unread_reports"]) == (5, 1, 1)
    assert "1 reports of rarer stacks" in text_of(reader, PAGE)


def test_hostile_names_are_text(reader: Client, project: Project) -> None:
    make_hang(project, f"at {HOSTILE} (https://evil.example/{HOSTILE}.js:1:2)", release=HOSTILE, page=HOSTILE)
    assert "<script>alert" not in reader.get(PAGE).content.decode()
    assert "<script>alert(1)</script>" in text_of(reader, PAGE)
