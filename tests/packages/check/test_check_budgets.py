"""`fieldflame check --fail-on budget`: what fails a build, what is waited for, and what can never be judged."""

from pathlib import Path

import pytest

from tests.packages.check.made_server import ALERTS, MadeServer, make_verdict, unclear, views_of


def test_a_budget_that_is_exceeded_fails_the_build(capsys: pytest.CaptureFixture[str]) -> None:
    server = MadeServer({"verdict": make_verdict(), "alerts": ALERTS})
    assert server.check("--fail-on", "budget") == 1
    out = capsys.readouterr().out
    assert "Budget: Script on phones: over its limit (412 ms)" in out
    assert "1 of 1 budget is exceeded." in out
    assert "Result: over budget (exit code 1)." in out
    assert "Ads" not in out
    assert server.check("--fail-on", "slower,budget") == 1
    assert "Result: slower and over budget" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("counts", "problem", "code", "message"),
    [
        ({"ok": 1}, None, 0, ": ok"),
        ({"ok": 1, "suspected": 1}, None, 0, ": ok"),
        ({"resolved": 1}, None, 0, ": ok"),
        ({"unknown": 1}, None, 2, "too few page views so far"),
        ({}, "OperationalError", 2, "could not be judged the last time: OperationalError"),
        ({"confirmed": 1}, None, 1, "over budget"),
    ],
)
def test_only_a_certain_excess_fails_the_build(
    capsys: pytest.CaptureFixture[str], counts: dict[str, int], problem: str | None, code: int, message: str
) -> None:
    alert = {**ALERTS["alerts"][1], "counts": counts, "problem": problem}
    server = MadeServer({"verdict": make_verdict(), "alerts": {"alerts": [alert], "open": []}})
    assert server.check("--fail-on", "budget") == code
    assert message in capsys.readouterr().out


def test_a_alert_on_new_third_parties_that_found_nothing_new_is_judged(capsys: pytest.CaptureFixture[str]) -> None:
    alert = {**ALERTS["alerts"][1], "kind": "new_third_parties", "counts": {}, "problem": None}
    for evaluated_at, problem, code, message in (
        ("2026-11-23T03:00:00Z", None, 0, ": nothing new"),
        ("2026-11-23T03:00:00Z", "OperationalError", 2, "could not be judged the last time: OperationalError"),
        (None, None, 2, "too few page views so far"),
    ):
        alerts = {"alerts": [{**alert, "evaluated_at": evaluated_at, "problem": problem}], "open": []}
        assert MadeServer({"verdict": make_verdict(), "alerts": alerts}).check("--fail-on", "budget") == code
        assert message in capsys.readouterr().out


@pytest.mark.parametrize(
    ("days", "problem", "code", "message"),
    [
        (6, None, 2, "1 budget is not judged yet."),
        (7, None, 0, "1 budget cannot be judged: too few page views for a week or more."),
        (
            7,
            None,
            0,
            "cannot be judged: too few page views for 7 days. The last day has 12, at least 25 are needed",
        ),
        (7, "No raw traces.", 2, "Script on phones: could not be judged the last time: No raw traces."),
    ],
)
@pytest.mark.parametrize("kind", ["budget", "new_third_parties"])
def test_a_budget_that_never_has_enough_page_views_does_not_stop_the_build_for_ever(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    kind: str,
    days: int,
    problem: str | None,
    code: int,
    message: str,
) -> None:
    unjudged = {"since": "2026-11-17", "until": "2026-11-23", "days": days, "views": 12, "least_views": 25}
    rest = {"kind": kind, "counts": {"unknown": 1}, "evaluated_at": "2026-11-23T03:00:00Z", "problem": problem}
    alert = {**ALERTS["alerts"][1], **rest, "unjudged": unjudged}
    answers = {"verdict": unclear(), "overview": views_of((400, 40)), "alerts": {"alerts": [alert], "open": []}}
    server, report = MadeServer(answers), tmp_path / "report.xml"
    assert server.check("--fail-on", "budget", "--wait", "1h", "--junit", str(report)) == code
    assert (server.pauses_s == []) is (code == 0)  # nothing is to be waited for
    assert message in capsys.readouterr().out
    assert '<skipped message="Script on phones: ' in report.read_text()
    over = {**ALERTS["alerts"][1], "id": 9, "name": "Ads"}
    server = MadeServer({"verdict": unclear(), "alerts": {"alerts": [alert, over], "open": []}})
    assert server.check("--fail-on", "budget") == 1


def test_a_budget_on_interactions_lacks_page_views_with_an_interaction(capsys: pytest.CaptureFixture[str]) -> None:
    unjudged = {"since": "2026-11-17", "until": "2026-11-23", "days": 7, "views": 12, "least_views": 25}
    rest = {"counts": {"unknown": 1}, "problem": None, "question": {"measure": "inp_script", "limit": 200.0}}
    alert = {**ALERTS["alerts"][1], **rest, "unjudged": unjudged}
    server = MadeServer({"verdict": make_verdict(), "alerts": {"alerts": [alert], "open": []}})
    assert server.check("--fail-on", "budget") == 0
    assert "too few page views with an interaction for 7 days. The last day has 12" in capsys.readouterr().out


def test_the_name_of_a_budget_is_printed_once(capsys: pytest.CaptureFixture[str]) -> None:
    alert = {**ALERTS["alerts"][1], "id": 5, "name": "Ads", "counts": {"confirmed": 1}, "problem": None}
    open_state = {**ALERTS["open"][0], "state": "confirmed", "text": "Ads: over its limit (7.6 %)"}
    open_state["alert"] = {"id": 5, "kind": "budget", "name": "Ads"}
    server = MadeServer({"verdict": make_verdict(), "alerts": {"alerts": [alert], "open": [open_state]}})
    assert server.check("--fail-on", "budget") == 1
    assert "Budget: Ads: over its limit (7.6 %)" in capsys.readouterr().out


def test_without_budgets_it_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    server = MadeServer({"verdict": make_verdict(), "alerts": {"alerts": [], "open": []}})
    assert server.check("--fail-on", "budget") == 0
    out = capsys.readouterr().out
    assert "The project has no budgets that are switched on." in out
    assert out.startswith("Fieldflame, shop: 1.1.0 made /report slower")
    assert "  Slower pages do not count: --fail-on names budgets only.\n" in out
    assert out.endswith("Result: no budget exceeded (exit code 0).\n")
