"""How a state follows from the last one and new evidence, as pictures: one letter per look or day."""

import pytest

from profcore.guard.states import DAYS_TO_CONFIRM, Evidence, Standing, State, step, weigh_day

EVIDENCE = {
    "-": Evidence.NONE,
    "q": Evidence.QUIET,
    "?": Evidence.DOUBTFUL,
    "b": Evidence.BAD,
    "B": Evidence.CERTAIN,
}
LETTERS = {State.UNKNOWN: "u", State.OK: "o", State.SUSPECTED: "s", State.CONFIRMED: "C", State.RESOLVED: "r"}


def walk(evidence: str, bad_to_confirm: int | None = None) -> str:
    standing, states = Standing(), ""
    for letter in evidence:
        standing = step(standing, EVIDENCE[letter], bad_to_confirm=bad_to_confirm)
        states += LETTERS[standing.state]
    return states


@pytest.mark.parametrize(
    ("evidence", "states"),
    [
        ("---", "uuu"),  # nothing alarms on too few views
        ("-q-q", "uooo"),
        ("?", "o"),
        ("qbbb", "osss"),  # a look that is only bad never confirms, however often
        ("qbB", "osC"),
        ("qB", "oC"),
        ("qb?q", "osso"),  # what is doubtful neither alarms nor calms
        ("B?-b", "CCCC"),
        ("Bqbq", "CCCC"),  # one quiet look is not enough,
        ("Bqq", "CCr"),  # two in a row are
        ("Bq?q", "CCCC"),
        ("Bqqq-?", "CCrrrr"),
        ("BqqbB", "CCrsC"),
        ("Bqqbq", "CCrso"),
    ],
)
def test_a_state_follows_from_the_looks(evidence: str, states: str) -> None:
    assert walk(evidence) == states


@pytest.mark.parametrize(
    ("evidence", "states"), [("qbb", "osC"), ("qbqb", "osos"), ("qb?b", "osss"), ("qb-b", "ossC"), ("bbqq", "sCCr")]
)
def test_a_budget_is_confirmed_by_days_in_a_row(evidence: str, states: str) -> None:
    assert walk(evidence, DAYS_TO_CONFIRM) == states


@pytest.mark.parametrize(
    ("low", "high", "evidence"),
    [
        (None, None, Evidence.NONE),
        (101.0, 130.0, Evidence.BAD),
        (90.0, 101.0, Evidence.DOUBTFUL),
        (80.0, 100.0, Evidence.QUIET),
    ],
)
def test_a_day_is_weighed_by_its_interval(low: float | None, high: float | None, evidence: Evidence) -> None:
    assert weigh_day(low, high, 100.0) is evidence
