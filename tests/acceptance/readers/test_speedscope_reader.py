"""speedscope itself opens our files for it and for other tools, and gets the same counts."""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Final

import jsonschema  # type: ignore[import-untyped]  # it has no types of its own
import pytest
from playwright.sync_api import Browser, Page

from profcore.formats.registry import EXPORTERS
from profcore.formats.slice import Export, SliceExport, TimelineExport
from tests.acceptance.exports import export_view, fold_sums, hostile_export
from tests.acceptance.recorded import Group, export_group, groups, recorded_traces
from tests.e2e.browser import open_page
from tests.format_judges import read_by_speedscope, read_schema
from tests.profcore.formats.builders import BY_RELEASE, DIFFERENCE, export_of
from tests.profcore.formats.readers import READERS, Key, Sums, format_sums

GROUPS: Final = groups()[:: max(len(groups()) // 2, 1)][:2]  # an app each: a browser takes seconds
FORMATS: Final = ("speedscope", "cpuprofile", "trace-event stacks", "collapsed", "pprof")


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    with open_page(chromium, accept_downloads=True) as page:
        yield page


def read_one(page: Page, name: str, export: SliceExport | TimelineExport) -> Sums:
    exporter = EXPORTERS[name]
    (sums,) = read_by_speedscope(page, f"file{exporter.suffix}", b"".join(exporter.write(export))).values()
    return sums


def check_schema(export: Export) -> None:
    jsonschema.validate(json.loads(b"".join(EXPORTERS["speedscope"].write(export))), read_schema())


@pytest.mark.parametrize("format_name", FORMATS)
@pytest.mark.parametrize("group", GROUPS, ids=" ".join)
def test_it_counts_a_recorded_slice_as_we_do(page: Page, group: Group, format_name: str) -> None:
    export, reader = export_group(group), READERS[format_name]
    expected = format_sums(export, reader)

    sums = read_one(page, reader.exporter, export)

    if format_name == "collapsed":
        sums.self_us = {unescaped(key): us for key, us in sums.self_us.items()}
        sums.total_us = {unescaped(key): us for key, us in sums.total_us.items()}
    if format_name == "pprof":  # of which it reads no columns: functions of a minified line are one to it
        assert without_columns(sums.self_us) == without_columns(expected.self_us)
        return
    assert sums.self_us == expected.self_us
    assert sums.total_us == expected.total_us


def unescaped(key: Key) -> Key:
    return key._replace(label=key.label.replace("\u00a0", " "))


def without_columns(times: dict[Key, float]) -> Counter[Key]:
    merged: Counter[Key] = Counter()
    for key, us in times.items():
        merged[key._replace(column=None)] += round(us)
    return merged


def test_its_own_files_keep_hostile_names(page: Page) -> None:
    export = hostile_export()

    sums = read_one(page, "speedscope", export)

    expected = format_sums(export, READERS["speedscope"])
    assert (sums.self_us, sums.total_us) == (expected.self_us, expected.total_us)


def test_a_view_is_read_on_its_clock(page: Page) -> None:
    group = GROUPS[0]
    traces = recorded_traces()[group][:1]

    sums = read_one(page, "speedscope", export_view(traces, page=group[2]))

    expected = fold_sums(traces, READERS["speedscope"], page=group[2])
    assert (sums.self_us, sums.total_us) == (expected.self_us, expected.total_us)


def test_segments_and_sides_are_profiles_of_their_own(page: Page) -> None:
    segments = read_by_speedscope(page, "a.json", b"".join(EXPORTERS["speedscope"].write(BY_RELEASE)))
    assert {name: sum(sums.self_us.values()) for name, sums in segments.items()} == {
        "All: /checkout": 10_000,
        "1.0.0": 4_500,
        "2.0.0": 5_500,
    }

    sides = read_by_speedscope(page, "b.json", b"".join(EXPORTERS["speedscope"].write(DIFFERENCE)))
    assert {name: sum(sums.self_us.values()) for name, sums in sides.items()} == {"base": 1_200, "head": 2_600}


@pytest.mark.parametrize("group", groups(), ids=" ".join)
def test_a_recorded_slice_and_view_keep_to_the_published_schema(group: Group) -> None:
    check_schema(export_group(group))
    check_schema(export_view(recorded_traces()[group][:1], page=group[2]))


def test_hostile_and_empty_slices_keep_to_the_published_schema() -> None:
    check_schema(hostile_export())
    check_schema(export_of({}))
    check_schema(BY_RELEASE)
    check_schema(DIFFERENCE)


def test_the_schema_notices_a_fault() -> None:
    document = json.loads(b"".join(EXPORTERS["speedscope"].write(export_of({"main": 1}))))
    document["profiles"][0]["unit"] = "fortnights"

    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, read_schema())
