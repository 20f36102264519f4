"""Hidden time of generated traces: a part of the whole, apart from self and total, and the same in any order."""

from random import Random
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from profcore.sums.blobs import Contribution
from profcore.sums.calltree import CallTree, total_us
from profcore.sums.fold import CellFold, TraceFold, contribution_of, fold_trace, merge_contributions
from profcore.trace.funcs import FuncTable
from profcore.trace.mark_types import read_frames
from profcore.trace.wire import Envelope, Mark, Sample, Trace
from tests.profcore.pictures import by_path, tree_of_fold
from tests.profcore.strategies import PROPERTY, mark_lists, traces

VIEW = UUID(int=1)


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
    assert not uncertain or read_frames(marks) is None
    assert sum(fold.sums.hidden_us.values()) == sum(tree_of_fold(fold).hidden_us) == attributed
    assert fold.sums.hidden_us.keys() <= fold.sums.hidden_total_us.keys()
    for index, total in fold.sums.hidden_total_us.items():
        assert 0 <= fold.sums.hidden_us.get(index, 0) <= total <= attributed


@PROPERTY
@given(traces(), mark_lists)
def test_hidden_time_never_changes_self_or_total(trace: Trace, marks: list[Mark]) -> None:
    marked, silent = fold_marked(trace, marks, FuncTable()), fold_marked(trace, [], FuncTable())
    for column in ("self_us", "total_us", "self_samples", "total_samples"):
        assert getattr(marked.sums, column) == getattr(silent.sums, column)
    assert timed_paths(tree_of_fold(marked)) == timed_paths(tree_of_fold(silent))


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
