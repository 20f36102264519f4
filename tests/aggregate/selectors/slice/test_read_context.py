"""What is asked twice in one context is selected once; everywhere else anew."""

import pytest

from aggregate.selectors.slice.read_context import keep_answer, once_a_read, read_context


def make_selector() -> tuple[list[int], object]:
    calls: list[int] = []

    @once_a_read
    def double(number: int, *, more: int = 0) -> int:
        calls.append(number)
        return 2 * number + more

    return calls, double


def test_equal_calls_in_a_context_are_selected_once() -> None:
    calls, double = make_selector()
    assert callable(double)
    with read_context():
        assert [double(1), double(1), double(2), double(1, more=5), double(1, more=5)] == [2, 2, 4, 7, 7]
    assert calls == [1, 2, 1]


def test_without_a_context_each_call_is_selected() -> None:
    calls, double = make_selector()
    assert callable(double)
    assert [double(1), double(1)] == [2, 2]
    assert calls == [1, 1]


def test_a_context_within_another_begins_anew_and_leaves_the_outer_one() -> None:
    calls, double = make_selector()
    assert callable(double)
    with read_context():
        double(1)
        with read_context():
            double(1)
        double(1)
    assert calls == [1, 1]


def test_an_answer_can_be_kept_for_a_selector() -> None:
    calls, double = make_selector()
    assert callable(double)
    with read_context():
        keep_answer(double, 99, 1)
        assert [double(1), double(2)] == [99, 4]
    keep_answer(double, 99, 1)  # there is no context to keep it in
    assert double(1) == 2
    assert calls == [2, 1]


def test_a_failed_selection_is_tried_again() -> None:
    outcomes = [ValueError, None]

    @once_a_read
    def select() -> str:
        if (fault := outcomes.pop(0)) is not None:
            raise fault
        return "rows"

    with read_context():
        with pytest.raises(ValueError):  # noqa: PT011
            select()
        assert select() == "rows"
