"""For any tree and texts: no faults, no lost time, equal totals, equal bytes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from profcore.formats.firefox.writer import write_profile
from profcore.formats.slice import ExportFunc, ExportOriginal, SliceExport
from profcore.sums.calltree import CallTree
from profcore.sums.fold import sum_by_func
from profcore.trace.weights import TimeParts
from tests.profcore.formats.firefox.lint import load_good, read_tree

pytestmark = pytest.mark.slow(6)

texts = st.text(st.characters(), max_size=8)  # lone surrogates too
positions = st.none() | st.integers(min_value=1, max_value=2**31)
originals = st.builds(ExportOriginal, texts, st.integers(1, 9), st.integers(1, 9))
funcs = st.builds(
    ExportFunc,
    label=st.sampled_from(["", "f", "(hidden)"]) | texts,
    name=texts,
    uri=st.none() | st.sampled_from(["https://a.test/x.js", "https://a.test/y.js", "data:"]) | texts,
    line=positions,
    column=positions,
    category=st.none() | st.sampled_from(["first-party", "built-in", "no such"]),
    original=st.none() | originals,
)


@st.composite
def exports(draw: st.DrawFn) -> SliceExport:
    """Draws a slice; its tree may repeat paths and have empty branches."""
    all_funcs = draw(st.lists(funcs, min_size=1, max_size=6))
    count = draw(st.integers(0, 30))
    prefix = [draw(st.integers(-1, node - 1)) for node in range(count)]
    func = [draw(st.integers(0, len(all_funcs) - 1)) for _ in range(count)]
    self_us = [draw(st.just(0) | st.integers(0, 10**10)) for _ in range(count)]
    hidden_us, idle_us = draw(st.integers(0, 10**10)), draw(st.integers(0, 10**10))
    time = TimeParts(
        js_us=sum(self_us),
        hidden_us=hidden_us,
        idle_us=idle_us,
        unobserved_us=0,
        profiler_us=0,
        span_us=sum(self_us) + hidden_us + idle_us,
        js_samples=count,
        hidden_samples=1,
        idle_samples=1,
        profiler_samples=0,
    )
    # what call nodes say of hidden time changes nothing: all of it is one func, however much was given to nodes
    given_us = [draw(st.just(0) | st.integers(0, 10**10)) for _ in range(count)]
    tree = CallTree(prefix, func, self_us, [1] * count, given_us)
    return SliceExport(
        project=draw(texts),
        query=draw(texts),
        funcs=all_funcs,
        tree=tree,
        time=time,
        views=1,
        traces=1,
        samples=count,
        interval_ms=10.0,
        started_at_ms=0,
        ended_at_ms=1,
    )


@given(exports())
def test_no_profile_has_a_fault(export: SliceExport) -> None:
    load_good(b"".join(write_profile(export)))


@given(exports())
def test_all_time_of_js_hidden_and_idle_is_in_the_samples_and_no_more(export: SliceExport) -> None:
    samples = load_good(b"".join(write_profile(export)))["threads"][0]["samples"]

    time = export.time
    assert sum(round(weight * 1000) for weight in samples["weight"]) == time.js_us + time.hidden_us + time.idle_us


@given(exports())
def test_self_and_total_of_each_func_are_those_of_the_tree(export: SliceExport) -> None:
    """Funcs are compared by the facts that readers use; total counts once per sample under recursion."""
    profile = load_good(b"".join(write_profile(export)))
    tree, names = read_tree(profile)
    assert len(set(zip(tree.prefix, tree.func, strict=True))) == len(tree.func), "a call path occurs twice"
    read = sum_by_func(tree.prefix, tree.func, tree.self_us, tree.self_us, [0] * len(tree.func))
    table = profile["shared"]["funcTable"]

    first_like: dict[tuple[object, ...], int] = {}
    same = [first_like.setdefault(identify(func), index) for index, func in enumerate(export.funcs)]
    whole = export.tree
    ours = sum_by_func(whole.prefix, [same[func] for func in whole.func], whole.self_us, whole.self_us, whole.hidden_us)

    def times(self_us: dict[int, int], total_us: dict[int, int]) -> list[tuple[int, int]]:
        return sorted((self_us.get(func, 0), total) for func, total in total_us.items() if total)

    hidden = [row for row in range(len(names)) if is_hidden(table, row)]
    for row in hidden:
        assert read.total_us.pop(row) == export.time.hidden_us
    assert times(read.self_us, read.total_us) == times(ours.self_us, ours.total_us)


def identify(func: ExportFunc) -> tuple[object, ...]:
    """Returns the visible facts of a func, for the generated texts."""

    def shown(text: str | None) -> str | None:
        return (
            None if text is None else "".join("\ufffd" if c == "\0" or "\ud800" <= c <= "\udfff" else c for c in text)
        )

    return (shown(func.label) or "(anonymous)", shown(func.uri), func.line, func.column)


def is_hidden(table: dict[str, list[object]], row: int) -> bool:
    return not table["isJS"][row] and not table["relevantForJS"][row]
