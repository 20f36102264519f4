"""The fold: what one trace, and then many traces, add to a view, a cell and its call tree."""

from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from profcore.sums.blobs import Contribution
from profcore.sums.fold import (
    CellFold,
    FuncSums,
    TraceFold,
    ViewFold,
    add_markers,
    contribution_of,
    fold_trace,
    map_tree,
    merge_contributions,
    sum_by_func,
)
from profcore.trace.funcs import FuncTable
from profcore.trace.weights import TIME_PART_NAMES
from profcore.trace.wire import Envelope, Trace
from tests.profcore.pictures import by_path, envelope_of, fold_of, names_of, sums_by_name, tree_of, tree_of_fold
from tests.profcore.strategies import PROPERTY, prefix_trees, traces

VIEW, OTHER_VIEW = UUID(int=1), UUID(int=2)


def totals_in(columns: str) -> dict[str, tuple[int, int]]:
    """Returns (total, self) by name, in samples of one µs."""
    funcs = FuncTable()
    return sums_by_name(fold_of(columns, funcs).sums, names_of(funcs))


def test_self_is_the_leafs_and_total_is_every_callers() -> None:
    columns = """
        A  A  A  D
        B  B  C
           C
    """
    assert totals_in(columns) == {"A": (3, 0), "B": (2, 1), "C": (2, 2), "D": (1, 1)}


def test_a_func_that_calls_itself_counts_once_a_sample() -> None:
    columns = """
        A  A  A
        A  A
        A
    """
    assert totals_in(columns) == {"A": (3, 3)}


def test_funcs_that_call_each_other_count_once_a_sample() -> None:
    columns = """
        A  A  B
        B  B  A
        A  A
        B
    """
    assert totals_in(columns) == {"A": (3, 2), "B": (3, 1)}


def test_recursion_through_others_counts_once_a_sample() -> None:
    columns = """
        R  R
        A  A
        x  y
        A  A
        z  A
    """
    assert totals_in(columns) == {"R": (2, 0), "A": (2, 1), "x": (1, 0), "y": (1, 0), "z": (1, 1)}


def test_a_func_never_sampled_is_not_listed() -> None:
    sums = sum_by_func([-1, 0, 0], [0, 1, 2], [0, 5, 0], [0, 1, 0], [0, 0, 0])
    assert sums == FuncSums(self_us={1: 5}, total_us={0: 5, 1: 5}, self_samples={1: 1}, total_samples={0: 1, 1: 1})


def test_a_func_sampled_without_weight_is_listed_with_its_sample() -> None:
    sums = sum_by_func([-1], [0], [0], [1], [0])
    assert sums == FuncSums(self_us={0: 0}, total_us={0: 0}, self_samples={0: 1}, total_samples={0: 1})


def test_two_frames_of_one_identity_are_one_func() -> None:
    envelope = envelope_of("A  A\nB")
    envelope.trace.frames.append(envelope.trace.frames[0])
    envelope.trace.stacks[1].frameId = 2  # `B` becomes a second frame that says the same as `A`
    funcs = FuncTable()
    fold = fold_trace(envelope, page="/cart", funcs=funcs)
    assert sums_by_name(fold.sums, names_of(funcs)) == {"A": (2, 2)}


def test_a_stack_that_ends_in_the_profiler_adds_nothing_to_its_callers() -> None:
    envelope = envelope_of("A  A\nP")
    frame = next(frame for frame in envelope.trace.frames if frame.name == "P")
    frame.name, frame.resourceId, frame.line, frame.column = "Profiler", None, None, None
    funcs = FuncTable()
    fold = fold_trace(envelope, page="/cart", funcs=funcs)
    assert sums_by_name(fold.sums, names_of(funcs)) == {"A": (1, 1)}
    assert (fold.parts.profiler_us, fold.parts.js_us) == (1, 1)


def test_a_function_of_the_site_named_stop_is_js() -> None:
    assert totals_in("A\nstop") == {"A": (1, 0), "stop": (1, 1)}


def test_long_tasks_of_the_envelope_hide_what_has_no_stack() -> None:
    funcs = FuncTable()
    marks = [{"type": "longtask", "start": 10, "duration": 10}]
    parts = fold_of("A  -  -", funcs, tick_ms=10.0, marks=marks).parts
    assert (parts.js_us, parts.hidden_us, parts.idle_us) == (10_000, 10_000, 10_000)


def test_a_page_of_inline_scripts_has_one_uri_for_its_route() -> None:
    envelope = envelope_of("A", url="https://shop.example/product/7?ref=mail")
    envelope.trace.resources[0] = "https://shop.example/product/7?ref=mail"
    funcs = FuncTable()
    fold_trace(envelope, page="/product/:id", funcs=funcs)
    assert funcs.keys[0].uri == "https://shop.example/product/:id"


def test_an_interval_of_less_than_half_a_microsecond_is_still_one() -> None:
    envelope = envelope_of("A")
    envelope.sampleInterval = 0.0001
    assert fold_trace(envelope, page="/", funcs=FuncTable()).parts.span_us == 1


def test_a_batch_shares_its_funcs() -> None:
    funcs = FuncTable()
    first, second = fold_of("A\nB", funcs), fold_of("B  B\nC", funcs)
    assert names_of(funcs) == ["A", "B", "C"]
    assert (first.func, second.func) == ([0, 1], [1, 2])


def fold_of_trace(trace: Trace, funcs: FuncTable) -> TraceFold:
    """Folds a generated trace."""
    return fold_trace(
        Envelope(
            viewId=VIEW, seq=0, release="1.0.0", timeOrigin=1.7e12, sampleInterval=10.0, trace=trace, page="/cart"
        ),
        page="/cart",
        funcs=funcs,
    )


@PROPERTY
@given(traces())
def test_self_time_is_the_time_of_js(trace: Trace) -> None:
    fold = fold_of_trace(trace, FuncTable())
    assert sum(fold.sums.self_us.values()) == fold.parts.js_us
    assert sum(fold.sums.self_samples.values()) == fold.parts.js_samples
    for index, self_us in fold.sums.self_us.items():
        assert self_us <= fold.sums.total_us[index] <= fold.parts.js_us
        assert fold.sums.self_samples[index] <= fold.sums.total_samples[index] <= fold.parts.js_samples


@PROPERTY
@given(traces())
def test_totals_are_what_a_plain_count_over_samples_finds(trace: Trace) -> None:
    funcs = FuncTable()
    fold = fold_of_trace(trace, funcs)
    plain: dict[int, int] = {}
    for stack, count in enumerate(fold.stack_samples):
        on_stack, node = set(), stack
        while node >= 0:
            on_stack.add(fold.func[node])
            node = fold.prefix[node]
        for index in on_stack:
            plain[index] = plain.get(index, 0) + count
    assert fold.sums.total_samples == {index: count for index, count in plain.items() if count}


@PROPERTY
@given(prefix_trees())
def test_sums_do_not_depend_on_how_funcs_are_numbered(columns: tuple[list[int], list[int]]) -> None:
    prefix, func = columns
    ones = [1] * len(func)
    small = sum_by_func(prefix, func, ones, ones, ones)
    large = sum_by_func(prefix, [index + 10**9 for index in func], ones, ones, ones)
    assert {index + 10**9: total for index, total in small.total_us.items()} == large.total_us


def contribution_of_traces(given_traces: list[Trace], funcs: FuncTable) -> Contribution:
    """Returns the contribution of one view's traces to its cell, with batch indexes as ids."""
    view = ViewFold()
    for trace in given_traces:
        view.add(fold_of_trace(trace, funcs), is_truncated=False)
    return contribution_of(view.sums, range(len(funcs.keys)))


@PROPERTY
@given(st.lists(traces(), max_size=3), st.lists(traces(), max_size=3))
def test_folding_all_traces_of_a_view_is_merging_contributions(first: list[Trace], second: list[Trace]) -> None:
    funcs = FuncTable()
    one, two = contribution_of_traces(first, funcs), contribution_of_traces(second, funcs)
    assert contribution_of_traces(first + second, funcs) == merge_contributions(one, two)


@PROPERTY
@given(traces(), traces(), traces())
def test_merging_contributions_is_commutative_and_associative(one: Trace, two: Trace, three: Trace) -> None:
    funcs = FuncTable()
    a, b, c = (contribution_of_traces([trace], funcs) for trace in (one, two, three))
    assert merge_contributions(a, b) == merge_contributions(b, a)
    assert merge_contributions(merge_contributions(a, b), c) == merge_contributions(a, merge_contributions(b, c))
    assert merge_contributions(a, Contribution()) == a


@PROPERTY
@given(st.lists(traces(), max_size=4))
def test_a_cell_does_not_depend_on_the_order_of_its_traces(given_traces: list[Trace]) -> None:
    funcs = FuncTable()
    folds = [fold_of_trace(trace, funcs) for trace in given_traces]
    places = list(enumerate(folds))
    cells = []
    for _ in range(2):
        cell: CellFold[str] = CellFold("cell")
        for position, fold in places:
            cell.add((VIEW, OTHER_VIEW)[position % 2], fold, is_truncated=position == 1)
        cells.append((by_path(cell.tree.tree), cell.views))
        places.reverse()
    assert cells[0] == cells[1]


def test_a_view_adds_up_its_traces() -> None:
    funcs, cell = FuncTable(), CellFold("cell")
    cell.add(VIEW, fold_of("A  -", funcs), is_truncated=False)
    cell.add(VIEW, fold_of("A  A\nB", funcs), is_truncated=True)
    cell.add(OTHER_VIEW, fold_of("-", funcs), is_truncated=False)
    view, other = cell.views[VIEW], cell.views[OTHER_VIEW]
    assert (view.traces, view.is_truncated, other.traces, other.is_truncated) == (2, True, 1, False)
    assert (view.parts.js_us, view.parts.idle_us, view.parts.span_us, view.parts.samples) == (3, 1, 4, 4)
    assert sums_by_name(view.sums, names_of(funcs)) == {"A": (3, 2), "B": (1, 1)}
    assert by_path(cell.tree.tree) == {(0,): (2, 2, 0), (0, 1): (1, 1, 0)}


def test_a_fold_that_was_added_stays_as_it_was() -> None:
    funcs, view, again = FuncTable(), ViewFold(), ViewFold()
    fold = fold_of("A  A\nB", funcs)
    view.add(fold, is_truncated=False)
    view.add(fold, is_truncated=False)
    again.add(fold, is_truncated=False)
    assert sums_by_name(fold.sums, names_of(funcs)) == {"A": (2, 1), "B": (1, 1)}
    assert again.sums == fold.sums


@PROPERTY
@given(traces(), traces())
def test_the_tree_of_two_traces_is_the_merge_of_their_trees(one: Trace, two: Trace) -> None:
    funcs, cell = FuncTable(), CellFold("cell")
    folds = [fold_of_trace(trace, funcs) for trace in (one, two)]
    for fold in folds:
        cell.add(VIEW, fold, is_truncated=False)
    merged = by_path(tree_of_fold(folds[0]))
    for path, values in by_path(tree_of_fold(folds[1])).items():
        known = merged.get(path, (0, 0, 0))
        merged[path] = (known[0] + values[0], known[1] + values[1], known[2] + values[2])
    assert by_path(cell.tree.tree) == merged
    for name in TIME_PART_NAMES:
        assert getattr(cell.views[VIEW].parts, name) == sum(getattr(fold.parts, name) for fold in folds)


def test_a_contribution_has_ascending_ids_whatever_the_batch_called_them() -> None:
    sums = FuncSums(self_us={2: 5}, total_us={0: 9, 1: 9, 2: 5}, self_samples={2: 1}, total_samples={0: 2, 1: 2, 2: 1})
    assert contribution_of(sums, id_of=[40, 0, 7]) == Contribution(
        func=[0, 7, 40],
        self_us=[0, 5, 0],
        total_us=[9, 5, 9],
        hidden_us=[0, 0, 0],
        self_samples=[0, 1, 0],
        total_samples=[2, 1, 2],
        hidden_total_us=[0, 0, 0],
        uncertain_us=[0, 0, 0],
    )


def test_merged_contributions_hold_every_column_of_both() -> None:
    one = Contribution(
        func=[0, 5],
        self_us=[1, 2],
        total_us=[3, 4],
        hidden_us=[5, 6],
        self_samples=[7, 8],
        total_samples=[9, 10],
        hidden_total_us=[11, 12],
        uncertain_us=[13, 14],
    )
    two = Contribution(
        func=[5, 9],
        self_us=[10, 20],
        total_us=[30, 40],
        hidden_us=[50, 60],
        self_samples=[70, 80],
        total_samples=[90, 100],
        hidden_total_us=[110, 120],
        uncertain_us=[130, 140],
    )
    assert merge_contributions(one, two) == Contribution(
        func=[0, 5, 9],
        self_us=[1, 12, 20],
        total_us=[3, 34, 40],
        hidden_us=[5, 56, 60],
        self_samples=[7, 78, 80],
        total_samples=[9, 100, 100],
        hidden_total_us=[11, 122, 120],
        uncertain_us=[13, 144, 140],
    )


def test_a_tree_of_a_batch_is_mapped_to_the_projects_ids() -> None:
    funcs = FuncTable()
    tree = tree_of("A  A\nB", funcs)
    assert by_path(map_tree(tree, [70, 0])) == {(70,): (1, 1, 0), (70, 0): (1, 1, 0)}
    assert by_path(tree) == {(0,): (1, 1, 0), (0, 1): (1, 1, 0)}


def test_markers_add_up_and_none_is_not_zero() -> None:
    assert add_markers(None, None) is None
    assert add_markers(None, [1, 2]) == add_markers([1, 2], None) == [1, 2]
    assert add_markers([1, 2], [10, 20]) == [11, 22]
