"""How a state follows from the last one and new evidence, as pictures: one letter per look or day."""

import pytest

from profcore.alerts.states import DAYS_TO_CONFIRM, Evidence, Standing, State, has_grown, step, step_accepted, weigh_day

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


@pytest.mark.parametrize(
    ("value", "evidence"), [(None, Evidence.NONE), (50.0, Evidence.QUIET), (51.0, Evidence.DOUBTFUL)]
)
def test_what_few_views_ran_is_weighed_by_its_mean(value: float | None, evidence: Evidence) -> None:
    assert weigh_day(None, None, 100.0, value=value) is evidence
    assert weigh_day(101.0, 130.0, 100.0, value=value) is Evidence.BAD  # with an interval, that decides


def test_only_what_a_person_ended_counts_as_accepted() -> None:
    assert Standing(State.RESOLVED).is_accepted
    assert not Standing().is_accepted
    quiet = step(step(Standing(State.CONFIRMED), Evidence.QUIET), Evidence.QUIET)
    assert quiet.state is State.RESOLVED
    for standing in (quiet, step(quiet, Evidence.DOUBTFUL), step(quiet, Evidence.QUIET)):
        assert (standing.state, standing.is_accepted) == (State.RESOLVED, False)


def test_what_was_accepted_has_grown_if_it_is_certainly_twice_as_far_over_its_limit() -> None:
    assert not has_grown(25.9, 13.0, 0.0)
    assert has_grown(26.1, 13.0, 0.0)
    assert not has_grown(219.0, 150.0, 80.0)
    assert has_grown(221.0, 150.0, 80.0)
    assert not has_grown(251.0, 210.0, 200.0)  # a small excess is doubled by chance
    assert has_grown(253.0, 210.0, 200.0)
    assert not has_grown(None, 13.0, 0.0)
    assert not has_grown(30.0, None, 0.0)


def accepted_after(*answers: Evidence, low: float | None = 13.0) -> Standing | None:
    standing: Standing | None = Standing(State.RESOLVED)
    for evidence in answers:
        assert standing is not None
        standing = step_accepted(standing, evidence, low=low, accepted=13.0, limit=0.0)
    return standing


def test_what_was_accepted_is_over_after_two_quiet_answers_in_a_row() -> None:
    quiet, bad, doubtful = Evidence.QUIET, Evidence.BAD, Evidence.DOUBTFUL
    assert accepted_after(quiet, quiet) is None
    assert accepted_after(quiet, doubtful, quiet) is None  # it does not count in either direction
    assert accepted_after(quiet, bad, quiet) == Standing(State.RESOLVED, quiet=1)
    assert accepted_after(Evidence.CERTAIN, bad, Evidence.NONE) == Standing(State.RESOLVED)
    assert accepted_after(bad, low=27.0) is None
    assert step_accepted(Standing(State.CONFIRMED), bad, low=1.0, accepted=13.0, limit=0.0) is None
