"""Which function a sample without a stack is given to, in pictures."""

from profcore.sums.fold import TraceFold, contribution_of, fold_trace
from profcore.trace.funcs import FuncTable
from tests.profcore.pictures import envelope_of, fold_of, names_of
from tests.profcore.trace.hidden.pictures import TICK_MS, given_by_path, given_to, task


def test_each_sample_between_two_stacks_is_the_nearer_ones() -> None:
    columns = """
        A  -  -  A
        B        B
        C        D
    """
    assert given_to(columns, task(0, 3)) == {"A > B > C": 1, "A > B > D": 1}


def test_a_sample_as_near_to_both_stacks_is_the_shallower_ones() -> None:
    columns = """
        A  -  -  -  A
        B           C
        D
    """
    assert given_to(columns, task(0, 4)) == {"A > B > D": 1, "A > C": 2}


def test_hidden_time_is_at_most_two_calls_below_what_two_stacks_share() -> None:
    columns = """
        A  -  -  A
        B        B
        C        E
        D        F
        X        X
        Y        Y
    """
    assert given_to(columns, task(0, 3)) == {"A > B > C > D": 1, "A > B > E > F": 1}


def test_a_run_between_equal_stacks_is_their_leafs() -> None:
    columns = """
        A  -  A
        B     B
    """
    assert given_to(columns, task(0, 2)) == {"A > B": 1}


def test_a_run_between_a_caller_and_its_callee_is_the_callers() -> None:
    columns = """
        A  -  A  -  A
              B
    """
    assert given_to(columns, task(0, 4)) == {"A": 2}


def test_a_run_with_a_stack_before_it_alone_is_uncertain_of_the_root_most_func() -> None:
    columns = """
        A  -  -
        B
    """
    assert given_to(columns, task(0, 2)) == {"A?": 2}


def test_a_run_with_a_stack_after_it_alone_is_uncertain_of_the_root_most_func() -> None:
    columns = """
        -  -  A
              B
    """
    assert given_to(columns, task(0, 2)) == {"A?": 2}


def test_a_task_without_any_stack_is_nobodys() -> None:
    assert given_to("-  -  -", task(0, 2)) == {"?": 3}


def test_stacks_that_share_no_root_leave_the_run_to_nobody() -> None:
    columns = """
        A  -  B
        C     C
    """
    assert given_to(columns, task(0, 2)) == {"?": 1}


def test_stacks_outside_the_task_say_nothing() -> None:
    assert given_to("A  -  A", task(1, 1)) == {"?": 1}
    assert given_to("A  -  A", task(0, 1)) == {"A?": 1}
    assert given_to("A  -  A", task(1, 2)) == {"A?": 1}


def test_a_run_ends_with_its_task() -> None:
    columns = """
        A  -  -  -  B
        X           Y
    """
    assert given_to(columns, task(0, 1), task(2, 4)) == {"A?": 1, "B?": 2}


def test_the_stacks_of_one_task_do_not_reach_into_the_next() -> None:
    columns = """
        A  -  A
        B     B
    """
    assert given_to(columns, task(0, 1), task(2, 2)) == {"A?": 1}


def test_idle_samples_between_two_tasks_part_their_runs() -> None:
    columns = """
        A  -  -  -  A
        B           B
    """
    assert given_to(columns, task(0, 1), task(3, 4)) == {"A?": 2}


def test_each_run_of_a_task_is_judged_by_its_own_neighbours() -> None:
    columns = """
        -  A  -  A  -
           B     B
           C     C
    """
    assert given_to(columns, task(0, 4)) == {"A?": 2, "A > B > C": 1}


def test_a_recursive_func_gets_the_run_at_the_depth_both_stacks_share() -> None:
    columns = """
        A  -  A
        A     A
        A
    """
    funcs = FuncTable()
    fold = fold_of(columns, funcs, tick_ms=TICK_MS, marks=[task(0, 2)])
    assert given_by_path(fold, funcs) == {"A > A": 1}
    assert fold.sums.hidden_us == fold.sums.hidden_total_us == {0: 1000}  # once, not once a level


def test_a_callers_hidden_total_holds_what_its_callees_were_given() -> None:
    columns = """
        A  -  A  -  A  -
        B     B     C
        A     A
    """
    funcs = FuncTable()
    sums = fold_of(columns, funcs, tick_ms=TICK_MS, marks=[task(0, 5)]).sums
    a, b, c = (names_of(funcs).index(name) for name in "ABC")
    # A > B > A got one, A > C one as the shallower side, and one after it is uncertain
    assert sums.hidden_us == {a: 1000, c: 1000}
    assert sums.hidden_total_us == {a: 2000, b: 1000, c: 1000}
    assert sums.uncertain_us == {a: 1000}
    assert sums.total_us == {a: 3000, b: 2000, c: 1000}


def test_backward_timestamps_are_put_in_order_first() -> None:
    columns = """
        A  A  -
        B  C
    """
    envelope = envelope_of(columns, tick_ms=TICK_MS, marks=[task(0, 2)])
    for sample, time in zip(envelope.trace.samples, (0.0, 2.0, 1.0), strict=True):
        sample.timestamp = time
    funcs = FuncTable()
    assert given_by_path(fold_trace(envelope, page="/", funcs=funcs), funcs) == {"A > B": 1}


def test_what_a_marker_alone_shows_is_nobodys() -> None:
    envelope = envelope_of("A  -  A", tick_ms=TICK_MS)
    envelope.trace.samples[1].marker = "gc"
    fold = fold_trace(envelope, page="/", funcs=FuncTable())
    assert (fold.parts.hidden_us, fold.sums.hidden_us) == (1000, {})


def test_a_marker_inside_a_long_task_changes_nothing() -> None:
    envelope = envelope_of("A  -  A", tick_ms=TICK_MS, marks=[task(0, 2)])
    envelope.trace.samples[1].marker = "gc"
    assert fold_trace(envelope, page="/", funcs=FuncTable()).sums.hidden_us == {0: 1000}


def fold_with_profiler(columns: str) -> tuple[TraceFold, FuncTable]:
    """Folds a picture that is one long task; `P` is the profiler's own built-in."""
    envelope = envelope_of(columns, tick_ms=TICK_MS, marks=[task(0, 9)])
    frame = next(frame for frame in envelope.trace.frames if frame.name == "P")
    frame.name, frame.resourceId, frame.line, frame.column = "Profiler", None, None, None
    funcs = FuncTable()
    return fold_trace(envelope, page="/", funcs=funcs), funcs


def test_the_profilers_own_stack_stands_for_its_caller() -> None:
    columns = """
        A  -  A
        B     B
        P     C
    """
    fold, funcs = fold_with_profiler(columns)
    assert given_by_path(fold, funcs) == {"A > B": 1}


def test_the_profilers_own_stack_stands_for_its_caller_after_a_run_too() -> None:
    columns = """
        A  -  A
        B     P
    """
    fold, funcs = fold_with_profiler(columns)
    assert given_by_path(fold, funcs) == {"A": 1}
    fold, funcs = fold_with_profiler("-  P")
    assert given_by_path(fold, funcs) == {"?": 1}


def test_a_func_seen_at_the_profilers_call_alone_has_uncertain_time_and_no_js() -> None:
    columns = """
        A  -
        B
        P
    """
    fold, funcs = fold_with_profiler(columns)
    assert given_by_path(fold, funcs) == {"A?": 1}
    assert (fold.sums.total_us, fold.sums.total_samples) == ({}, {})
    contribution = contribution_of(fold.sums, range(len(funcs.keys)))
    assert (contribution.total_samples, contribution.hidden_us, contribution.uncertain_us) == ([0], [0], [1000])


def test_the_profiler_called_by_nobody_is_no_neighbour() -> None:
    fold, funcs = fold_with_profiler("P  -  -")
    assert given_by_path(fold, funcs) == {"?": 2}
