"""What is exported, and of what it is made: views on their clocks, segments, differences. Posted, folded, selected."""

from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from pytest_django import Settings

from aggregate.selectors.exports.requests import (
    ExportQuery,
    ExportRequest,
    fingerprint_export,
    resolve_export,
    select_export,
)
from aggregate.selectors.exports.slice_export import select_slice_export
from aggregate.selectors.slice.slices import VALUE_FIELDS, Slice, SliceError, SliceQuery
from profcore.formats.registry import EXPORTERS
from profcore.formats.slice import DifferenceExport, SegmentedExport, SliceExport, TimelineExport
from profcore.sums.calltree import picture
from projects.creation import create_project
from projects.models import Project
from tests.aggregate.posting import fold_all, post, rows
from tests.builders import make_project
from tests.envelopes import TIME_ORIGIN_MS, make_envelope, view_id_of
from tests.profcore.formats.firefox.lint import load_good

pytestmark = pytest.mark.django_db

FIREFOX = EXPORTERS["firefox"]
TRACE = "6f1d9d0e-6a43-5b53-9f5e-0d3b6c1c2a10"
PHONE = "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/155.0.0.0 Mobile Safari/537.3"
LATER = {"timeOrigin": TIME_ORIGIN_MS + 1_000, "viewStart": TIME_ORIGIN_MS}


@pytest.fixture
def shop() -> Project:
    """Four views of 10 ms a sample; view a came in two traces, d is of another browser and device."""
    project, _ = create_project(slug="shop", key="KEY-shop", origins=["https://shop.example"])
    marks = [
        {"type": "longtask", "start": 0, "duration": 30},
        {"type": "lcp", "start": 4, "url": "https://shop.example/hero.webp?user=7"},
    ]
    post(
        "KEY-shop",
        make_envelope("a", "A\n-\nA B", marks=marks),
        make_envelope("a", "A B\nA B", seq=1, traceId=TRACE, **LATER),
        make_envelope("b", "A B\nA C\nA B", release="2.0.0"),
        make_envelope("c", "C\nC", page="/list", release="2.0.0"),
        make_envelope("d", "D", page="/list", userAgent=PHONE, device={"mobile": True}),
    )
    fold_all()
    return project


def view_of(project: Project, *names: str) -> Slice:
    return Slice(project_id=project.pk, views=tuple(UUID(view_id_of(word)) for word in names))


def releases(base: str, head: str) -> dict[str, SliceQuery]:
    """Returns the sides of a difference between two releases."""
    return {"base": SliceQuery(release=[base]), "head": SliceQuery(release=[head])}


def resolve(slice_: Slice, **fields: Any) -> ExportRequest:
    return resolve_export(slice_, FIREFOX, ExportQuery(**fields))


def timeline(slice_: Slice, **fields: Any) -> TimelineExport:
    export = select_export(resolve(slice_, **fields), project="Shop", link="https://flame.example/")
    assert isinstance(export, TimelineExport)
    load_good(b"".join(FIREFOX.write(export)))
    return export


def segmented(slice_: Slice, by: str) -> SegmentedExport:
    export = select_export(resolve(slice_, segment=by), project="Shop")
    assert isinstance(export, SegmentedExport)
    load_good(b"".join(FIREFOX.write(export)))
    return export


def test_a_view_is_on_its_clock_with_all_its_traces_and_marks(shop: Project) -> None:
    export = timeline(view_of(shop, "a"))
    (view,) = export.views
    assert (view.view_id, view.release, view.page) == (view_id_of("a"), "1.0.0", "/cart")
    assert view.samples.time_us == [0, 10_000, 20_000, 1_000_000, 1_010_000]
    assert [trace.seq for trace in view.traces] == [0, 1]
    assert [export.funcs[func].label for func in view.func] == ["A", "B"]
    assert {func.category for func in export.funcs} == {"first-party"}
    details = {mark.type: dict(mark.facts) for mark in view.marks}
    assert details == {"longtask": {}, "largest-contentful-paint": {"url": "https://shop.example/hero.webp"}}
    assert (view.time.js_us, view.time.hidden_us, view.long_tasks) == (40_000, 10_000, [(0, 30_000)])


def test_a_views_clock_adds_up_to_its_sums(shop: Project) -> None:
    for word in "abcd":
        slice_ = view_of(shop, word)
        (view,) = timeline(slice_).views
        summed = select_slice_export(slice_, project="Shop")
        assert view.time == summed.time
        assert sum(view.samples.weight_us) + view.time.unobserved_us == summed.time.span_us


def test_one_trace_of_a_view_is_on_the_views_clock(shop: Project) -> None:
    (view,) = timeline(Slice(project_id=shop.pk, traces=(UUID(TRACE),))).views
    assert (view.view_id, view.samples.time_us) == (view_id_of("a"), [1_000_000, 1_010_000])
    assert view.traces[0].trace_id == TRACE


def test_a_view_has_the_browser_and_device_of_its_cell(shop: Project) -> None:
    (view,) = timeline(view_of(shop, "d")).views
    unknown = dict.fromkeys(("navigation", "cache"), "unknown")
    recorded = {"environment": "production", "sdk": "fieldflame", "capture": "whole"}
    assert view.dimensions == {"device": "mobile", "browser": "chrome", **unknown, **recorded}


def test_several_views_are_in_order_of_their_start(shop: Project) -> None:
    post("KEY-shop", make_envelope("early", "A", timeOrigin=TIME_ORIGIN_MS - 5_000))
    fold_all()
    views = timeline(view_of(shop, "a", "early", "c")).views
    assert views[0].view_id == view_id_of("early")
    assert len(views) == 3


def test_a_view_of_another_project_is_not_found(shop: Project) -> None:
    other = make_project("other")
    with pytest.raises(SliceError, match="has no folded trace"):
        timeline(view_of(other, "a"))
    with pytest.raises(SliceError, match="has no folded trace"):
        timeline(Slice(project_id=other.pk, traces=(UUID(TRACE),)))


def test_other_fields_of_the_slice_narrow_views_too(shop: Project) -> None:
    with pytest.raises(SliceError, match="has no folded trace"):
        timeline(replace(view_of(shop, "a"), releases=("2.0.0",)))


def test_what_waits_is_on_no_clock(shop: Project) -> None:
    post("KEY-shop", make_envelope("late", "A"))
    with pytest.raises(SliceError, match="has no folded trace"):
        timeline(view_of(shop, "late"))


def test_too_many_views_traces_or_bytes_are_refused(shop: Project, settings: Settings) -> None:
    slice_ = view_of(shop, "a", "b")
    settings.EXPORT_MAX_VIEWS = 1
    with pytest.raises(SliceError, match="More than 1 views"):
        timeline(slice_)
    settings.EXPORT_MAX_VIEWS = 2
    settings.READ_MAX_RAW_TRACES = 2
    with pytest.raises(SliceError, match="More than 2 traces"):
        timeline(slice_)
    settings.READ_MAX_RAW_TRACES = 3
    settings.READ_MAX_RAW_BYTES = 10
    with pytest.raises(SliceError, match="More than 10 bytes"):
        timeline(slice_)


def test_expired_bodies_leave_no_clock(shop: Project) -> None:
    rows("DELETE FROM ingest_rawtrace WHERE seq = 1 RETURNING 1")
    with pytest.raises(SliceError, match="raw bodies of 1 of 2 traces have expired"):
        timeline(view_of(shop, "a"))


def named(export: SegmentedExport) -> dict[str, tuple[int, int]]:
    return {label: (part.views, part.time.js_us) for label, part in export.segments}


@pytest.mark.parametrize(
    ("by", "parts"),
    [
        ("release", {"1.0.0": (2, 50_000), "2.0.0": (2, 50_000)}),
        ("page", {"/cart": (2, 70_000), "/list": (2, 30_000)}),
        ("device", {"unknown": (3, 90_000), "mobile": (1, 10_000)}),
        ("browser", {"unknown": (3, 90_000), "chrome": (1, 10_000)}),
    ],
)
def test_segments_are_the_slices_of_their_words_the_heaviest_first(
    shop: Project, by: str, parts: dict[str, tuple[int, int]]
) -> None:
    export = segmented(Slice(project_id=shop.pk), by)
    assert list(named(export).items()) == list(parts.items())


@pytest.mark.parametrize("by", VALUE_FIELDS)
def test_the_whole_is_the_slice_itself(shop: Project, by: str) -> None:
    whole, plain = (
        segmented(Slice(project_id=shop.pk), by).whole,
        select_slice_export(Slice(project_id=shop.pk), project="Shop"),
    )
    assert pictured(whole) == pictured(plain)
    assert (whole.time, whole.views, whole.traces, whole.samples) == (
        plain.time, plain.views, plain.traces, plain.samples,
    )  # fmt: skip
    assert (whole.releases, whole.pages, whole.query) == (plain.releases, plain.pages, plain.query)
    assert {name: set(values) for name, values in whole.dimensions.items()} == {
        name: set(values) for name, values in plain.dimensions.items()
    }
    assert (whole.started_at_ms, whole.ended_at_ms) == (plain.started_at_ms, plain.ended_at_ms)


def pictured(export: SliceExport) -> str:
    return picture(export.tree, [func.label for func in export.funcs])


def test_categories_segment_the_time_on_top_of_the_stack(shop: Project) -> None:
    export = segmented(Slice(project_id=shop.pk), "category")
    assert named(export) == {"First party": (4, 100_000)}


def test_the_lightest_segments_beyond_the_bound_are_one(shop: Project, settings: Settings) -> None:
    settings.EXPORT_MAX_SEGMENTS = 1
    post("KEY-shop", make_envelope("e", "A", page="/third"))
    fold_all()
    assert named(segmented(Slice(project_id=shop.pk), "page")) == {"/cart": (2, 70_000), "2 others": (3, 40_000)}


def test_segments_of_a_fine_slice_are_those_it_has_views_in(shop: Project) -> None:
    assert named(segmented(view_of(shop, "a", "c"), "page")) == {"/cart": (1, 40_000), "/list": (1, 20_000)}


def test_an_empty_slice_has_no_segments(shop: Project) -> None:
    export = segmented(Slice(project_id=shop.pk, pages=("/none",)), "release")
    assert (export.segments, export.whole.views) == ((), 0)


def test_a_difference_has_both_sides_under_the_same_filter(shop: Project) -> None:
    request = resolve(Slice(project_id=shop.pk, pages=("/cart",)), **releases("1.0.0", "2.0.0"))
    export = select_export(request, project="Shop")
    assert isinstance(export, DifferenceExport)
    load_good(b"".join(FIREFOX.write(export)))
    assert (export.base.views, export.base.time.js_us, list(export.base.releases)) == (1, 40_000, ["1.0.0"])
    assert (export.head.views, export.head.time.js_us, list(export.head.releases)) == (1, 30_000, ["2.0.0"])
    assert export.query == request.query == "base_release=1.0.0&head_release=2.0.0&page=/cart"


def test_a_function_of_a_renamed_script_is_one_on_both_sides_of_a_difference(shop: Project) -> None:
    for word, release, name in (("old", "3.0.0", "main-QK26TYEB.js"), ("new", "3.1.0", "main-ALYJKYDD.js")):
        envelope = make_envelope(word, "A\nA B", release=release)
        envelope["trace"]["resources"] = [f"https://shop.example/{name}"]
        post("KEY-shop", envelope)
    fold_all()
    export = select_export(resolve(Slice(project_id=shop.pk), **releases("3.0.0", "3.1.0")), project="Shop")
    assert isinstance(export, DifferenceExport)
    assert set(export.base.funcs) == set(export.head.funcs)
    assert {func.uri for func in export.base.funcs} == {"https://shop.example/main-ALYJKYDD.js"}


def test_exports_are_pruned_to_the_bound_both_sides_of_a_difference_alike(shop: Project, settings: Settings) -> None:
    settings.EXPORT_MAX_CALL_NODES = 2
    export = select_slice_export(Slice(project_id=shop.pk), project="Shop")
    assert pictured(export).splitlines()[:3] == [
        "- A (total: 70000, self: 10000)",
        "  - B (total: 50000, self: 50000)",
        "  - (pruned) (total: 10000, self: 10000)",
    ]
    difference = select_export(
        resolve(Slice(project_id=shop.pk, pages=("/cart",)), **releases("1.0.0", "2.0.0")),
        project="Shop",
    )
    assert isinstance(difference, DifferenceExport)
    assert pictured(difference.head).splitlines()[-1] == "  - (pruned) (total: 10000, self: 10000)"
    assert "(pruned)" not in pictured(difference.base)


def test_what_is_asked_for_decides_what_is_exported(shop: Project) -> None:
    view = view_of(shop, "a")
    assert resolve(Slice(project_id=shop.pk)).kind == "slice"
    assert resolve(view).kind == "timeline"
    assert resolve(view, axis="sum").kind == "slice"
    assert resolve(replace(view, tags=(("k", "v"),))).kind == "slice"
    assert resolve(view, segment="page").kind == "segments"
    assert resolve(view, **releases("1", "2")).kind == "difference"


def test_a_format_without_a_clock_sums_views_up_unless_told(shop: Project) -> None:
    plain = replace(FIREFOX, write_timeline=None, write_segments=None, write_difference=None)
    assert resolve_export(view_of(shop, "a"), plain, ExportQuery()).kind == "slice"
    for query, field in (
        (ExportQuery(axis="time"), "axis"),
        (ExportQuery(segment="page"), "segment"),
        (ExportQuery(base=SliceQuery(release=["1"]), head=SliceQuery(release=["2"])), "base_release"),
    ):
        with pytest.raises(SliceError, match="has no way to write") as refused:
            resolve_export(view_of(shop, "a"), plain, query)
        assert refused.value.field == field


def test_engine_leaves_are_a_part_of_what_is_asked_for(shop: Project) -> None:
    export = timeline(view_of(shop, "a"), engine="leaves")
    assert export.engine_leaves
    assert resolve(view_of(shop, "a"), engine="leaves").query.endswith("&engine=leaves")


def test_a_format_without_engine_leaves_refuses_them(shop: Project) -> None:
    plain = replace(FIREFOX, has_engine_leaves=False)
    assert resolve_export(view_of(shop, "a"), plain, ExportQuery(engine="none")).kind == "timeline"
    with pytest.raises(SliceError, match="no leaves"):
        resolve_export(view_of(shop, "a"), plain, ExportQuery(engine="leaves"))


def test_the_fingerprint_changes_with_a_trace_of_the_view_and_with_no_others(shop: Project) -> None:
    view, both = (
        resolve(view_of(shop, "a")),
        resolve(Slice(project_id=shop.pk), **releases("1.0.0", "2.0.0")),
    )
    before = fingerprint_export(view), fingerprint_export(both)
    post("KEY-shop", make_envelope("b", "A", seq=1, release="2.0.0"))
    fold_all()
    assert fingerprint_export(view) == before[0]
    assert fingerprint_export(both) != before[1]
    post("KEY-shop", make_envelope("a", "A", seq=2))
    fold_all()
    assert fingerprint_export(view) != before[0]
