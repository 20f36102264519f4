"""From a number to groups, callers, views and traces: checked by hand on small views, posted and folded."""

from uuid import UUID

import pytest
from pytest_django import Settings

from aggregate.selectors.exports.slice_export import select_slice_export
from aggregate.selectors.functions.breakdown import EXPRESSIONS, select_function_breakdown
from aggregate.selectors.functions.calls import select_call_tree, select_calls, select_neighbours
from aggregate.selectors.functions.groups import select_group_table
from aggregate.selectors.functions.table import FunctionTable, select_functions
from aggregate.selectors.page_views.picked_views import select_views
from aggregate.selectors.page_views.traces import TracePage, select_trace_page, select_traces
from aggregate.selectors.slice.reading import Reading
from aggregate.selectors.slice.slices import Slice, SliceError
from profcore.formats.slice import SliceExport
from profcore.sums.calltree import picture
from projects.models import Project
from tests.aggregate.posting import fold_all, post, rows
from tests.builders import make_project
from tests.corpus import corpus_envelopes
from tests.envelopes import make_envelope, view_id_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def shop() -> Project:
    """Three views of 10 ms a sample: A calls B (a), B recurs through A (b), only C (c, on a phone, tagged)."""
    project = make_project()
    post(
        "KEY-shop",
        make_envelope("a", "A\nA B\nA B"),
        make_envelope("b", "A B A B\nA B", release="2.0.0"),
        make_envelope("c", "C", page="/list", device={"mobile": True}, tags={"cache": "warm"}),
    )
    fold_all()
    return project


def func_id(name: str) -> int:
    return int(rows("SELECT id FROM aggregate_func WHERE name = %s", name)[0][0])


def sums(table: FunctionTable) -> dict[str, tuple[int, int, int | None]]:
    """Returns self ms, total ms and views by name."""
    return {row.name: (row.self_us // 1000, row.total_us // 1000, row.views) for row in table.functions}


def test_cells_contributions_and_raw_traces_tell_the_same(shop: Project) -> None:
    views = tuple(UUID(view_id_of(word)) for word in "abc")
    by_cells = select_functions(Slice(project_id=shop.pk), limit=10)
    by_views = select_functions(Slice(project_id=shop.pk, views=views), limit=10)
    traces = tuple(row.trace_id for row in select_traces(Slice(project_id=shop.pk), limit=10) if row.trace_id)
    by_raw = select_functions(Slice(project_id=shop.pk, traces=traces), limit=10)
    assert (by_cells.source, by_views.source, by_raw.source) == ("cells", "contributions", "raw")
    assert sums(by_cells) == {"B": (40, 40, 2), "A": (10, 50, 2), "C": (10, 10, 1)}
    assert by_views.functions == by_cells.functions == by_raw.functions
    assert by_views.time == by_cells.time == by_raw.time
    assert (by_views.views, by_views.traces) == (by_cells.views, by_cells.traces) == (by_raw.views, by_raw.traces)


def test_one_view_one_tag_and_costly_views_narrow(shop: Project) -> None:
    one = Slice(project_id=shop.pk, views=(UUID(view_id_of("a")),))
    assert sums(select_functions(one, limit=10)) == {"B": (20, 20, 1), "A": (10, 30, 1)}
    tagged = Slice(project_id=shop.pk, tags=(("cache", "warm"),))
    assert sums(select_functions(tagged, limit=10)) == {"C": (10, 10, 1)}
    assert select_functions(Slice(project_id=shop.pk, tags=(("cache", "cold"),)), limit=10).views == 0
    costly = Slice(project_id=shop.pk, func_over=((func_id("A"), 20_000),))
    assert sums(select_functions(costly, limit=10)) == {"B": (20, 20, 1), "A": (10, 30, 1)}
    assert select_functions(Slice(project_id=shop.pk, func_over=((func_id("A"), 30_000),)), limit=10).views == 0


def test_a_fine_slices_tree_and_export_come_from_raw_traces(shop: Project) -> None:
    export = select_slice_export(Slice(project_id=shop.pk, views=(UUID(view_id_of("b")),)), project="Shop")
    drawn = picture(export.tree, [func.name for func in export.funcs])
    assert drawn.splitlines() == [
        "- A (total: 20000, self: 0)",
        "  - B (total: 20000, self: 10000)",
        "    - A (total: 10000, self: 0)",
        "      - B (total: 10000, self: 10000)",
    ]
    assert (export.views, export.traces, export.time.js_us, export.releases) == (1, 1, 20_000, ["2.0.0"])


def test_too_many_or_expired_raw_traces_are_refused_with_what_to_do(shop: Project, settings: Settings) -> None:
    slice_ = Slice(project_id=shop.pk, tags=(("cache", "warm"),))
    settings.READ_MAX_RAW_TRACES = 2
    with pytest.raises(SliceError, match="More than 2 raw traces would be folded"):
        select_functions(slice_, limit=1)
    settings.READ_MAX_RAW_TRACES = 3
    settings.READ_MAX_RAW_BYTES = 10
    with pytest.raises(SliceError, match="More than 10 bytes"):
        select_functions(slice_, limit=1)
    settings.READ_MAX_RAW_BYTES = 10**6
    settings.READ_MAX_VIEWS = 2
    with pytest.raises(SliceError, match="more than 2 views"):
        select_functions(slice_, limit=1)
    settings.READ_MAX_VIEWS = 3
    rows("DELETE FROM ingest_rawtrace RETURNING 1")
    with pytest.raises(SliceError, match="raw bodies of 3 of 3 traces have expired"):
        select_functions(slice_, limit=1)


def test_a_groups_total_counts_once_a_sample_and_its_views_are_a_union(shop: Project, settings: Settings) -> None:
    by_file = select_group_table(Slice(project_id=shop.pk), "file", limit=10)
    assert sums(by_file) == {"https://shop.example/app.js": (60, 60, 3)}
    assert sums(select_group_table(Slice(project_id=shop.pk), "origin", limit=10)) == {
        "https://shop.example": (60, 60, 3)
    }
    assert sums(select_group_table(Slice(project_id=shop.pk), "package", limit=10)) == {"(none)": (60, 60, 3)}
    one = Slice(project_id=shop.pk, views=(UUID(view_id_of("b")),))
    assert sums(select_group_table(one, "file", limit=10)) == {"https://shop.example/app.js": (20, 20, 1)}
    settings.READ_MAX_VIEWS = 2
    assert sums(select_group_table(Slice(project_id=shop.pk), "file", limit=10)) == {
        "https://shop.example/app.js": (60, 60, None)
    }


def test_callers_and_callees_count_a_sample_once_under_recursion(shop: Project) -> None:
    def list_calls(name: str, direction: str) -> list[tuple[str | None, int, int]]:
        calls = select_calls(Slice(project_id=shop.pk), func_id(name), direction)  # type: ignore[arg-type]  # one of two words
        return [(row.func.name if row.func else None, row.self_us // 1000, row.total_us // 1000) for row in calls.rows]

    assert list_calls("B", "callers") == [("A", 40, 40)]
    assert list_calls("A", "callers") == [(None, 10, 50), ("B", 0, 10)]
    assert list_calls("A", "callees") == [("B", 40, 40)]
    assert list_calls("B", "callees") == [("A", 0, 10)]
    assert list_calls("C", "callees") == []
    neighbours = select_neighbours(Slice(project_id=shop.pk), func_id("A"))
    assert (neighbours.self_us, neighbours.total_us) == (10_000, 50_000)  # that of its own recursion once
    assert neighbours.callers == select_calls(Slice(project_id=shop.pk), func_id("A"), "callers")
    assert neighbours.callees == select_calls(Slice(project_id=shop.pk), func_id("A"), "callees")
    nowhere = select_neighbours(Slice(project_id=shop.pk, releases=("9",)), func_id("A"))
    assert (nowhere.total_us, nowhere.callers.rows, nowhere.callees.rows) == (0, [], [])


def test_a_pruned_tree_says_what_was_pruned(shop: Project) -> None:
    whole = select_call_tree(Slice(project_id=shop.pk), min_share=0, max_nodes=100)
    assert (len(whole.tree), whole.left_out_nodes, whole.left_out_us) == (5, 0, 0)
    pruned = select_call_tree(Slice(project_id=shop.pk), min_share=0.5, max_nodes=100)
    assert [pruned.funcs[index].name for index in pruned.tree.func] == ["A", "B"]
    assert (list(pruned.totals_us), pruned.tree.prefix) == ([50_000, 40_000], [-1, 0])
    assert (pruned.left_out_nodes, pruned.left_out_us) == (3, 20_000)
    assert len(select_call_tree(Slice(project_id=shop.pk), min_share=0, max_nodes=1).tree) == 1


def test_a_breakdown_breaks_one_funcs_sums_down_and_shows_where_it_took_none(shop: Project) -> None:
    def break_down(by: str) -> list[tuple[str, int, int | None, int]]:
        return [
            (row.value, row.views, row.func_views, row.self_us // 1000)
            for row in select_function_breakdown(Slice(project_id=shop.pk), func_id("B"), by).rows
        ]

    assert break_down("release") == [("1.0.0", 2, 1, 20), ("2.0.0", 1, 1, 20)]
    assert break_down("page") == [("/cart", 2, 2, 40), ("/list", 1, 0, 0)]
    assert break_down("device") == [("unknown", 2, 2, 40), ("mobile", 1, 0, 0)]
    assert [row[1:] for row in break_down("day")] == [(3, 2, 40)]


def test_views_are_picked_by_what_the_func_took_with_their_traces(shop: Project) -> None:
    post("KEY-shop", make_envelope("d", "B"), make_envelope("e", "B\n" * 9))
    fold_all()
    table = select_views(Slice(project_id=shop.pk), func_id=func_id("C"), order="worst", limit=9)
    assert [str(row.view.view_id) for row in table.views] == [view_id_of("c")]
    table = select_views(Slice(project_id=shop.pk), func_id=None, order="worst", limit=1)
    assert (table.view_count, table.median_us) == (5, 20_000)
    assert [str(row.view.view_id) for row in table.views] == [view_id_of("e")]
    assert [(str(trace.view_id), trace.seq) for trace in table.views[0].traces] == [(view_id_of("e"), 0)]
    typical = select_views(Slice(project_id=shop.pk), func_id=None, order="typical", limit=1)
    assert typical.views[0].self_us == 20_000
    once, again = (select_views(Slice(project_id=shop.pk), func_id=None, order="random", limit=3) for _ in range(2))
    assert once == again


def test_a_breakdown_of_a_fine_slice_says_its_source_and_tells_the_same_as_the_cells(shop: Project) -> None:
    views = tuple(UUID(view_id_of(word)) for word in "abc")
    for by in EXPRESSIONS:
        for name in "ABC":
            cells = select_function_breakdown(Slice(project_id=shop.pk), func_id(name), by)
            seen = select_function_breakdown(Slice(project_id=shop.pk, views=views), func_id(name), by)
            assert (cells.source, seen.source) == ("cells", "contributions")
            assert seen.rows == cells.rows
    tagged = select_function_breakdown(Slice(project_id=shop.pk, tags=(("cache", "warm"),)), func_id("C"), "device")
    assert (tagged.source, [(row.value, row.views, row.self_us) for row in tagged.rows]) == (
        "raw",
        [("mobile", 1, 10_000)],
    )
    costly = Slice(project_id=shop.pk, func_over=((func_id("A"), 20_000),))
    assert [(row.value, row.self_us) for row in select_function_breakdown(costly, func_id("B"), "release").rows] == [
        ("1.0.0", 20_000)
    ]


def test_views_of_a_tag_or_a_trace_are_summed_from_those_traces_alone(shop: Project) -> None:
    post(
        "KEY-shop", make_envelope("c", "C\nC\nC", seq=1, page="/list", device={"mobile": True}, tags={"cache": "cold"})
    )
    fold_all()
    whole = select_views(Slice(project_id=shop.pk), func_id=func_id("C"), order="worst", limit=9)
    assert (whole.source, [(row.self_us, len(row.traces)) for row in whole.views]) == ("contributions", [(40_000, 2)])
    for tag, self_us, seqs in (("warm", 10_000, [0]), ("cold", 30_000, [1])):
        table = select_views(
            Slice(project_id=shop.pk, tags=(("cache", tag),)), func_id=func_id("C"), order="worst", limit=9
        )
        assert (table.source, table.view_count) == ("raw", 1)
        (row,) = table.views
        assert (row.self_us, row.view.time.js_us, [trace.seq for trace in row.traces]) == (self_us, self_us, seqs)
        (trace,) = row.traces
        assert trace.trace_id is not None
        by_id = select_views(
            Slice(project_id=shop.pk, traces=(trace.trace_id,)), func_id=None, order="typical", limit=9
        )
        assert [(row.self_us, [trace.seq for trace in row.traces]) for row in by_id.views] == [(self_us, seqs)]
    assert (
        select_views(Slice(project_id=shop.pk, tags=(("cache", "x"),)), func_id=None, order="worst", limit=9).view_count
        == 0
    )


def test_traces_of_a_tag_come_page_by_page_within_bounds(shop: Project, settings: Settings) -> None:
    tags = [{"n": str(n % 3)} for n in range(10)] + [["n"]]
    post("KEY-shop", *(make_envelope(f"t{n}", "A", tags=view_tags) for n, view_tags in enumerate(tags)))
    for bound in (1, 2, 3, 100):
        settings.READ_MAX_RAW_TRACES, settings.JOB_BATCH_TRACES = bound, min(bound, 2)
        for tag, count in ((("n", "0"), 4), (("n", "2"), 3), (("n", ""), 1), (("n", "3"), 0), (("cache", "warm"), 1)):
            slice_ = Slice(project_id=shop.pk, tags=(tag,))
            page = select_trace_page(slice_, limit=2)
            traces = list(page.traces)
            pages = 1
            while page.after is not None:
                page = select_trace_page(slice_, limit=2, after=page.after)
                traces += page.traces
                pages += 1
            ids = [row.view_id for row in traces]
            assert (len(ids), len(set(ids))) == (count, count)
            assert ids == sorted(ids)
            assert pages >= 14 / bound
    rows("DELETE FROM ingest_rawtrace RETURNING 1")
    assert select_trace_page(Slice(project_id=shop.pk, tags=(("n", "0"),)), limit=2) == TracePage([], None)


def test_a_trace_is_found_in_a_project_of_more_views_than_an_answer_may_look_at(
    shop: Project, settings: Settings
) -> None:
    settings.READ_MAX_VIEWS = 1
    (trace, *_) = select_traces(Slice(project_id=shop.pk), limit=1)
    assert trace.trace_id is not None
    assert select_functions(Slice(project_id=shop.pk, traces=(trace.trace_id,)), limit=9).traces == 1


@pytest.mark.slow(5)
def test_any_paging_of_the_recorded_traces_tells_what_the_cells_tell(shop: Project, settings: Settings) -> None:
    project = make_project("crunch")
    envelopes = [envelope for app, envelope in corpus_envelopes() if app == "crunch"]
    for envelope in envelopes:
        post("KEY-crunch", {**envelope, "tags": {**envelope["tags"], "all": "1"}})
    fold_all()
    cells = select_functions(Slice(project_id=project.pk), limit=10_000)
    tree = sorted_picture(select_slice_export(Slice(project_id=project.pk), project="Crunch"))
    slice_ = Slice(project_id=project.pk, tags=(("all", "1"),))
    settings.FOLD_BATCH_BYTES = 300_000
    for page_views, batch in ((7, 3), (1_000, 50)):
        settings.JOB_PAGE_VIEWS, settings.JOB_BATCH_TRACES = page_views, batch
        looked: list[int] = []
        reading = Reading.in_pages(looked.append)
        raw = select_functions(slice_, limit=10_000, reading=reading)
        assert (raw.source, raw.views, raw.traces, sum(looked)) == ("raw", cells.views, len(envelopes), len(envelopes))
        assert (raw.time, raw.functions) == (cells.time, cells.functions)
        assert max(looked) <= batch
        assert sorted_picture(select_slice_export(slice_, project="Crunch", reading=reading)) == tree


def test_frames_that_no_sample_shows_are_no_fault_of_a_raw_trace(shop: Project) -> None:
    envelope = make_envelope("z", "A\nA B", tags={"odd": "1"})
    envelope["trace"]["frames"].append({"name": "never seen", "resourceId": 0, "line": 9, "column": 9})
    post("KEY-shop", envelope)
    fold_all()
    slice_ = Slice(project_id=shop.pk, tags=(("odd", "1"),))
    assert sums(select_functions(slice_, limit=9)) == {"A": (10, 20, 1), "B": (10, 10, 1)}
    assert len(select_call_tree(slice_, min_share=0, max_nodes=9).tree) == 2


def sorted_picture(export: SliceExport) -> str:
    return picture(export.tree, [f"{func.label} {func.uri}:{func.line}:{func.column}" for func in export.funcs])
