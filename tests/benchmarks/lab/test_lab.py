"""The shop of `bench lab`: its releases, its visits, and the table of what was predicted and measured."""

import re
from collections import Counter
from pathlib import Path

from benchmarks.lab.lab import read_recorded, write_recorded
from benchmarks.lab.prediction import Outcome, Prediction
from benchmarks.lab.report import describe_outcome
from tests.packages.lab.recording import LAB_SIZE, plan_visits
from tests.packages.lab.shop import RELEASES, name_script, write_script


def test_a_release_changes_only_what_it_says() -> None:
    scripts = [write_script(number) for number in range(len(RELEASES))]
    assert len({name_script(number) for number in range(len(RELEASES))}) == len(RELEASES)
    lines = {len(script.splitlines()) for script in scripts}
    assert len(lines) == 1  # functions keep their places, so that they are the same without source maps
    for release, before, after in zip(RELEASES[1:], scripts, scripts[1:], strict=False):
        assert before != after
        for name in release.changed:
            assert f"function {name}(" in after
        for name in release.rounds:
            rounds = [re.search(rf"\b{name}: (\d+)", script) for script in (before, after)]
            assert all(rounds)
            assert len({match[1] for match in rounds if match}) == 2


def test_visits_of_the_lab_are_alike_and_those_of_users_differ() -> None:
    visits = plan_visits({"lab": 5, "phones": 20}, [0, 3])
    assert Counter((visit.side, visit.release) for visit in visits) == {
        ("lab", 0): 5,
        ("lab", 3): 5,
        ("phones", 0): 20,
        ("phones", 3): 20,
    }
    assert {(visit.size, visit.slowdown) for visit in visits if visit.side == "lab"} == {(LAB_SIZE, 1)}
    phones = [visit for visit in visits if visit.side == "phones"]
    assert len({visit.size for visit in phones}) > 20
    assert {visit.slowdown for visit in phones} == {4, 6}
    assert visits == plan_visits({"lab": 5, "phones": 20}, [0, 3])


def predicted(kind: str, estimate: float | None, measured: float | None) -> Prediction:
    return Prediction(
        release="1.1",
        function="f",
        kind=kind,
        side="phones",
        lab=(10.0, 20.0),
        estimate=estimate,
        ci95=None if estimate is None else (estimate / 2, estimate * 2),
        is_own=True,
        measured=measured,
        measured_ci95=None,
    )


def test_the_table_says_how_far_estimates_were_off() -> None:
    rows = [predicted("factor", 10.0, 15.0), predicted("square", 10.0, 30.0), predicted("", 10.0, -5.0)]
    lines = list(describe_outcome(Outcome(predictions=[*rows, predicted("new", None, 9.0)], missed=[])))
    assert "| 1.1 | f | phones | 10 → 20 | +10 (5 to 20) | +15 | 1.50 |" in lines
    assert "| 1.1 | f | phones | 10 → 20 | – | +9 | – |" in lines
    assert "| its work by a factor | 1 | 1 | 1.50 | 1.50 to 1.50 | 1 of 1 |" in lines
    assert "| nothing: the lab was wrong | 1 | 0 | -0.50 | -0.50 to -0.50 | 0 of 1 |" in lines
    assert "| all | 3 | 2 | 1.50 | 0.50 to 2.25 | 1 of 3 |" in lines


def test_a_recording_is_kept_as_it_is(tmp_path: Path) -> None:
    recorded = {("lab", 0): [{"seq": 0}], ("phones", 1): [{"seq": 0}, {"seq": 1}]}
    write_recorded(tmp_path / "kept", recorded)  # type: ignore[arg-type]  # the keys' sides are plain text here
    assert read_recorded(tmp_path / "kept") == recorded
