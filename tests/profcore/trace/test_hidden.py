"""Hidden time as pictures: columns of stacks in, the attribution of samples without a stack out."""

from random import Random
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from profcore.sums.blobs import Contribution
from profcore.sums.calltree import CallTree, total_us
from profcore.sums.fold import CellFold, TraceFold, contribution_of, fold_trace, merge_contributions
from profcore.trace.funcs import FuncTable
from profcore.trace.wire import Envelope, Mark, Sample, Trace
from tests.profcore.pictures import by_path, envelope_of, fold_of, names_of, tree_of_fold
from tests.profcore.strategies import PROPERTY, mark_lists, traces

VIEW = UUID(int=1)


TICK_MS = 1.0


def task(first: int, last: int) -> dict[str, object]:
    """Returns the mark of a long task that holds the samples `first` to `last` of a picture, no others."""
    return {"type": "longtask", "start": first * TICK_MS, "duration": (last - first + 1) * TICK_MS}


def given_to(columns: str, *marks: dict[str, object]) -> dict[str, int]:
    """Returns the hidden samples by call path (`A > B`); `?` has those without a func."""
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
    nobodys = fold.parts.hidden_us // 1000 - sum(found.values())
    return {**found, "?": nobodys} if nobodys else found


def test_what_two_stacks_share_was_at_work_between_them() -> None:
    columns = """
        A  -  -  A
        B        B
        C        D
    """
    assert given_to(columns, task(0, 3)) == {"A > B": 2}


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


def test_a_run_with_a_stack_before_it_alone_is_the_root_most_funcs() -> None:
    columns = """
        A  -  -
        B
    """
    assert given_to(columns, task(0, 2)) == {"A": 2}


def test_a_run_with_a_stack_after_it_alone_is_the_root_most_funcs() -> None:
    columns = """
        -  -  A
              B
    """
    assert given_to(columns, task(0, 2)) == {"A": 2}


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
    assert given_to("A  -  A", task(0, 1)) == {"A": 1}
    assert given_to("A  -  A", task(1, 2)) == {"A": 1}


def test_a_run_ends_with_its_task() -> None:
    columns = """
        A  -  -  -  B
        X           Y
    """
    assert given_to(columns, task(0, 1), task(2, 4)) == {"A": 1, "B": 2}


def test_the_stacks_of_one_task_do_not_reach_into_the_next() -> None:
    columns = """
        A  -  A
        B     B
    """
    assert given_to(columns, task(0, 1), task(2, 2)) == {"A": 1}


def test_idle_samples_between_two_tasks_part_their_runs() -> None:
    columns = """
        A  -  -  -  A
        B           B
    """
    assert given_to(columns, task(0, 1), task(3, 4)) == {"A": 2}


def test_each_run_of_a_task_is_judged_by_its_own_neighbours() -> None:
    columns = """
        -  A  -  A  -
           B     B
           C     C
    """
    assert given_to(columns, task(0, 4)) == {"A": 2, "A > B > C": 1}


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
    # A > B > A got one, A (before and after C) two
    assert sums.hidden_us == {a: 3000}
    assert sums.hidden_total_us == {a: 3000, b: 1000}
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
    assert given_by_path(fold_trace(envelope, page="/", funcs=funcs), funcs) == {"A": 1}


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


def test_a_func_seen_at_the_profilers_call_alone_has_hidden_time_and_no_js() -> None:
    columns = """
        A  -
        B
        P
    """
    fold, funcs = fold_with_profiler(columns)
    assert given_by_path(fold, funcs) == {"A": 1}
    assert (fold.sums.total_us, fold.sums.total_samples) == ({}, {})
    contribution = contribution_of(fold.sums, range(len(funcs.keys)))
    assert (contribution.total_samples, contribution.hidden_us) == ([0], [1000])


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
    assert 0 <= attributed <= fold.parts.hidden_us
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
