"""How far a replica is behind, from what was seen of both logs: never less than it is."""

from hypothesis import given
from hypothesis import strategies as st

from aggregate.replica.lag import LagRecord

KEPT = 10


def record(*ends: tuple[float, int]) -> LagRecord:
    kept = LagRecord.empty(KEPT)
    for asked_s, end in ends:
        kept.note_end(asked_s, end)
    return kept


def test_a_replica_of_an_idle_database_is_not_behind() -> None:
    kept = record((1.0, 100), (2.0, 100), (3.0, 100))
    kept.note_replayed(100)
    assert kept.lag_s(3.5) == 0.5


def test_the_lag_is_the_age_of_the_newest_end_that_was_replayed() -> None:
    kept = record((1.0, 100), (2.0, 200), (3.0, 300))
    kept.note_replayed(250)
    assert kept.lag_s(3.5) == 1.5


def test_the_lag_grows_while_nothing_is_replayed() -> None:
    kept = record((1.0, 100))
    kept.note_replayed(100)
    for second in range(2, 40):
        kept.note_end(float(second), 200)
        kept.note_replayed(150)
    assert kept.lag_s(40.0) == 39.0


def test_the_lag_is_not_known_before_something_was_replayed() -> None:
    kept = record((1.0, 100))
    assert kept.lag_s(2.0) is None
    kept.note_replayed(99)
    assert kept.lag_s(2.0) is None


def test_a_server_that_is_no_standby_any_more_is_behind_without_end() -> None:
    kept = record((1.0, 100), (2.0, 100))
    kept.note_replayed(100)
    kept.note_replayed(None)
    assert kept.lag_s(2.0) is None


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=40))
def test_everything_that_is_older_than_the_lag_was_replayed(steps: list[tuple[int, int]]) -> None:
    """Each second so many bytes are written, and so many of them are replayed."""
    kept = LagRecord.empty(1_000)
    end = replayed = 0
    ends = []
    for second, (written, read) in enumerate(steps):
        end += written
        replayed = min(replayed + read, end)
        ends.append((second, end))
        kept.note_end(float(second), end)
        kept.note_replayed(replayed)
        lag_s = kept.lag_s(float(second))
        if lag_s is not None:
            assert all(then <= replayed for at, then in ends if at <= second - lag_s)
