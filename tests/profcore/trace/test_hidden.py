"""Hidden time as pictures: columns of stacks in, the attribution of samples without a stack out."""

from random import Random
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from profcore.sums.blobs import Contribution
from profcore.sums.calltree import CallTree, total_us
from profcore.sums.fold import CellFold, TraceFold, contribution_of, fold_trace, merge_contributions
from profcore.trace.funcs import FuncTable
from profcore.trace.mark_types import MAX_FRAME_SCRIPTS
from profcore.trace.weights import script_ranges
from profcore.trace.wire import Envelope, Limits, Mark, Sample, Trace, decode_envelope
from tests.envelopes import make_envelope
from tests.profcore.pictures import by_path, envelope_of, fold_of, names_of, tree_of_fold
from tests.profcore.strategies import PROPERTY, mark_lists, traces
from tests.profcore.trace.wire.refusals import body_of

VIEW = UUID(int=1)


TICK_MS = 1.0


def task(first: int, last: int) -> dict[str, object]:
    """Returns the mark of a long task that holds the samples `first` to `last` of a picture, no others."""
    return {"type": "longtask", "start": first * TICK_MS, "duration": (last - first + 1) * TICK_MS}


def given_to(columns: str, *marks: dict[str, object]) -> dict[str, int]:
    """Returns the hidden samples by call path (`A > B`); `A?` has those uncertain of a func, `?` those without one.

    `engine` has those that are the engine's.
    """
    funcs = FuncTable()
    return given_by_path(fold_of(columns, funcs, tick_ms=TICK_MS, marks=list(marks)), funcs)


def given_by_path(fold: TraceFold, funcs: FuncTable) -> dict[str, int]:
    """Returns a fold's hidden samples of one tick by call path."""
    names = names_of(funcs)
    found = {
        " > ".join(names[func] for func in path): hidden // 1000
        for path, (_, _, hidden) in by_path(tree_of_fold(fold)).items()
        if hidden
    }
    found |= {f"{names[func]}?": us // 1000 for func, us in fold.sums.uncertain_us.items()}
    nobodys = fold.parts.hidden_us // 1000 - sum(found.values())
    rest = {"?": nobodys, "engine": fold.parts.engine_us // 1000}
    return found | {word: count for word, count in rest.items() if count}


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


# --- Long animation frames --------------------------------------------------------------------------------------------
def frame(*scripts: tuple[int, int], word: str = "loaf") -> dict[str, object]:
    """Returns the mark of a long animation frame whose scripts hold the samples `first` to `last` of a picture."""
    sent = [{"start": first * TICK_MS, "duration": (last - first + 1) * TICK_MS} for first, last in scripts]
    return {"type": word, "start": 0, "duration": 100, "scripts": sent}


@pytest.mark.parametrize("word", ["loaf", "LoAF", "long-animation-frame", "Long-Animation-Frame"])
def test_what_is_in_no_script_of_a_frame_is_the_engines(word: str) -> None:
    columns = """
        -  A  -  -  -
           B
    """
    assert given_to(columns, task(0, 4), frame((0, 2), word=word)) == {"A": 2, "engine": 2}


def test_a_run_between_two_stacks_stays_hidden_outside_scripts_too() -> None:
    assert given_to("A  -  A  -", task(0, 3), frame()) == {"A": 1, "engine": 1}


def test_a_task_outside_all_frames_is_the_engines() -> None:
    assert given_to("A  -  -  B  -  -", task(0, 2), task(3, 5), frame((0, 2))) == {"A": 2, "engine": 2}


def test_what_is_idle_without_a_frame_is_idle_with_one() -> None:
    fold = fold_of("A  -  A", FuncTable(), tick_ms=TICK_MS, marks=[frame((0, 2))])
    assert (fold.parts.hidden_us, fold.parts.engine_us, fold.parts.idle_us) == (0, 0, 1000)


def test_the_far_half_of_a_script_is_what_all_its_stacks_share() -> None:
    columns = """
        A  A  -  -  -  -
        B  B
        C  D
    """
    # nearest to A > B > D, which is one call below what A > B > C shares with it
    assert given_to(columns, task(0, 5), frame((0, 5))) == {"A > B": 2, "A > B > D": 2}


def test_a_script_with_one_stack_is_its_roots() -> None:
    columns = """
        -  -  A
              B
              C
              D
    """
    assert given_to(columns, task(0, 2), frame((0, 2))) == {"A": 1, "A > B > C": 1}


def test_a_run_is_cut_at_the_bounds_of_scripts() -> None:
    columns = """
        A  -  -  -  -  -
        B
    """
    # the second script has no stack: the root of the task's is all that is known
    assert given_to(columns, task(0, 5), frame((0, 2), (4, 4))) == {"A": 2, "A > B": 1, "engine": 2}


def test_a_script_without_any_stack_is_nobodys() -> None:
    assert given_to("-  -  -", task(0, 2), frame((0, 1))) == {"?": 2, "engine": 1}


def test_a_markers_work_outside_scripts_is_the_engines() -> None:
    envelope = envelope_of("A  -  -  A", tick_ms=TICK_MS, marks=[frame((2, 3))])
    envelope.trace.samples[1].marker = envelope.trace.samples[2].marker = "style"
    parts = fold_trace(envelope, page="/", funcs=FuncTable()).parts
    assert (parts.hidden_us, parts.engine_us, parts.idle_us) == (1000, 1000, 0)


def test_a_frame_that_does_not_tell_its_scripts_tells_nothing() -> None:
    assert given_to("A  -  -", task(0, 2), {"type": "loaf", "start": 0, "duration": 100}) == {"A?": 2}
    assert given_to("A  -  -", task(0, 2), {"type": "loaf", "start": 0, "scripts": []}) == {"engine": 2}


ODD_SCRIPTS = [
    "x",
    7,
    None,
    {"start": 0, "duration": 9},
    [None, 1, "x", [], [[]], {}],
    [{"start": "0", "duration": 9}],
    [{"start": None, "duration": 9}],
    [{"start": True, "duration": 9}],
    [{"start": 0, "duration": -9}],
    [{"start": 0, "duration": 1e18}],
    [{"start": -1e300, "duration": 9}],
    [{"start": 0}],
    [{"duration": 9}],
    [{"start": 0, "duration": 10**400}],
]


@pytest.mark.parametrize("scripts", ODD_SCRIPTS, ids=lambda scripts: repr(scripts)[:30])
def test_scripts_without_a_range_are_left_out(scripts: object) -> None:
    marks = [task(0, 2), {"type": "loaf", "start": 0, "scripts": scripts}]
    assert given_to("A  -  -", *marks) == {"A?": 2}, "as without the frame"
    if isinstance(scripts, list):  # and harm no other
        good = {"startTime": 1, "duration": 1}
        assert given_to("A  -  -", task(0, 2), {"type": "loaf", "start": 0, "scripts": [*scripts, good]}) == {
            "A": 1,
            "engine": 1,
        }


@pytest.mark.parametrize("odd", [b'[{"start":1e999,"duration":9}]', b"[1e999]", b"[-1e400,[1e999]]"])
def test_numbers_that_json_has_and_floats_have_not_are_left_out(odd: bytes) -> None:
    body = body_of(make_envelope(columns="A\n-\n-", marks=[{"type": "loaf", "start": 0, "scripts": "@"}]))
    assert script_ranges(decode_envelope(body.replace(b'"@"', odd), Limits()).marks) is None


def test_a_frame_may_have_ten_thousand_scripts_and_no_more() -> None:
    many = [(first, first) for first in range(MAX_FRAME_SCRIPTS + 5)]
    envelope = envelope_of("A  -  -", tick_ms=TICK_MS, marks=[task(0, 2), frame(*many)])
    ranges = script_ranges(envelope.marks)
    assert ranges is not None
    assert len(ranges) == MAX_FRAME_SCRIPTS
    assert ranges[1] == (1000, 2000)


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


def fold_marked(trace: Trace, marks: list[Mark], funcs: FuncTable) -> TraceFold:
    """Folds a generated trace with generated marks."""
    return fold_trace(
        Envelope(
            viewId=VIEW,
            seq=0,
            release="1.0.0",
            timeOrigin=1.7e12,
            sampleInterval=10.0,
            trace=trace,
            page="/",
            marks=marks,
        ),
        page="/",
        funcs=funcs,
    )


@PROPERTY
@given(traces(), mark_lists)
def test_hidden_time_of_nodes_and_funcs_is_a_part_of_the_traces(trace: Trace, marks: list[Mark]) -> None:
    fold = fold_marked(trace, marks, FuncTable())
    attributed = sum(fold.stack_hidden_us)
    uncertain = sum(fold.sums.uncertain_us.values())
    assert 0 <= attributed <= attributed + uncertain <= fold.parts.hidden_us
    assert not uncertain or script_ranges(marks) is None
    assert sum(fold.sums.hidden_us.values()) == sum(tree_of_fold(fold).hidden_us) == attributed
    assert fold.sums.hidden_us.keys() <= fold.sums.hidden_total_us.keys()
    for index, total in fold.sums.hidden_total_us.items():
        assert 0 <= fold.sums.hidden_us.get(index, 0) <= total <= attributed


@PROPERTY
@given(traces(), mark_lists)
def test_hidden_time_never_changes_self_or_total(trace: Trace, marks: list[Mark]) -> None:
    told, silent = fold_marked(trace, marks, FuncTable()), fold_marked(trace, [], FuncTable())
    for column in ("self_us", "total_us", "self_samples", "total_samples"):
        assert getattr(told.sums, column) == getattr(silent.sums, column)
    assert timed_paths(tree_of_fold(told)) == timed_paths(tree_of_fold(silent))


def timed_paths(tree: CallTree) -> dict[tuple[int, ...], tuple[int, int]]:
    """Returns (total, self samples) by path of the nodes that are JS or lead to it."""
    samples = total_us(CallTree(tree.prefix, tree.func, tree.self_samples))
    return {
        path: (total, count) for path, total, count in zip(by_path(tree), total_us(tree), samples, strict=True) if count
    }


@PROPERTY
@given(traces(), mark_lists)
def test_hidden_totals_are_what_a_plain_walk_to_the_roots_finds(trace: Trace, marks: list[Mark]) -> None:
    fold = fold_marked(trace, marks, FuncTable())
    plain: dict[int, int] = {}
    for stack, hidden in enumerate(fold.stack_hidden_us):
        on_stack, node = set(), stack
        while node >= 0:
            on_stack.add(fold.func[node])
            node = fold.prefix[node]
        for index in on_stack:
            plain[index] = plain.get(index, 0) + hidden
    assert fold.sums.hidden_total_us == {index: hidden for index, hidden in plain.items() if hidden}


@PROPERTY
@given(traces(), mark_lists, st.randoms(use_true_random=False))
def test_the_order_of_samples_in_the_trace_changes_nothing(trace: Trace, marks: list[Mark], chance: Random) -> None:
    apart: dict[float, Sample] = {sample.timestamp: sample for sample in trace.samples}  # equal times keep their order
    trace.samples = list(apart.values())
    funcs = FuncTable()
    first = fold_marked(trace, marks, funcs)
    chance.shuffle(trace.samples)
    assert fold_marked(trace, marks, funcs) == first


@PROPERTY
@given(st.lists(st.tuples(traces(), mark_lists), max_size=4))
def test_order_and_batching_of_traces_change_nothing(given_traces: list[tuple[Trace, list[Mark]]]) -> None:
    funcs = FuncTable()
    folds = [fold_marked(trace, marks, funcs) for trace, marks in given_traces]
    cells: list[CellFold[str]] = [CellFold("forth"), CellFold("back")]
    for cell, order in zip(cells, (folds, folds[::-1]), strict=True):
        for fold in order:
            cell.add(VIEW, fold, is_truncated=False)
    ids = range(len(funcs.keys))
    merged = Contribution()
    for fold in folds:
        merged = merge_contributions(contribution_of(fold.sums, ids), merged)
    for cell in cells:
        assert by_path(cell.tree.tree) == by_path(cells[0].tree.tree)
        assert not folds or contribution_of(cell.views[VIEW].sums, ids) == merged
