"""The texts around the tree: the title, the track, "Profile Info"."""

from typing import Any

import pytest

from profcore.formats.firefox.writer import write_profile
from profcore.formats.slice import SliceExport
from tests.profcore.formats.builders import export_of
from tests.profcore.formats.firefox.lint import load_good


def read_meta(export: SliceExport) -> dict[str, Any]:  # a foreign file, as JSON gave it
    meta: dict[str, Any] = load_good(b"".join(write_profile(export)))["meta"]
    return meta


def read_section(export: SliceExport, label: str) -> dict[str, object]:
    sections = {section["label"]: section["entries"] for section in read_meta(export)["extra"]}
    return {entry["label"]: entry["value"] for entry in sections[label]}


def test_the_title_says_project_and_release() -> None:
    meta = read_meta(export_of({"main": 1}))

    assert (meta["product"], meta["misc"], meta["appBuildID"]) == ("shop", "rv:1.1.0", "1.1.0")


@pytest.mark.parametrize("releases", [(), ("1.0.0", "1.1.0")])
def test_a_slice_of_no_or_several_releases_claims_none_in_its_title(releases: tuple[str, ...]) -> None:
    meta = read_meta(export_of({"main": 1}, releases=releases))

    assert "misc" not in meta
    assert "appBuildID" not in meta


def test_the_slice_tells_what_was_asked_and_what_is_in_it() -> None:
    export = export_of({"main": 1}, releases=("1.0.0", "1.1.0"), pages=("/", "/checkout"))

    assert read_section(export, "Slice") == {
        "Recording length": "The time of 3 page views together. The axis is not a clock.",
        "Asked for": "release=1.1.0&page=/checkout",
        "Releases": "1.0.0, 1.1.0",
        "Pages": "/, /checkout",
        "From": "2026-11-18T11:06+00:00",
        "To": "2026-11-18T12:06+00:00",
        "Browsers": "chrome",
        "Devices": "desktop-high",
        "Interval": "10 ms (of most traces)",
        "Link": "https://flame.example/projects/shop/?page=/checkout",
    }
    assert read_section(export, "Counts") == {"Page views": 3, "Traces": 4, "Samples": 1, "Call paths": 1}


def test_the_caveats_are_written() -> None:
    assert set(read_section(export_of({}), "How to read this")) == {
        "Axis",
        "(hidden)",
        "(engine)",
        "Idle",
        "Other origins",
        "Lines",
    }


def test_browsers_and_devices_are_no_part_of_the_title() -> None:
    # The viewer ends its title with `oscpu` and shows it as the operating system.
    assert "oscpu" not in read_meta(export_of({"main": 1}))


@pytest.mark.parametrize(
    ("release", "misc"),
    [
        ("1.1.0", "rv:1.1.0"),
        ("2024.7", "rv:2024.7"),
        ("7", "rv:7"),
        ("1.1.0-rc1", None),
        ("v12", None),
        ("3fa9c12", None),
    ],
)
def test_a_release_is_the_titles_version_only_if_it_is_digits_and_dots(release: str, misc: str | None) -> None:
    # The viewer shows the digits at the end of `misc`: of "3fa9c12" it would show 12.
    meta = read_meta(export_of({"main": 1}, releases=(release,)))

    assert (meta.get("misc"), meta["appBuildID"]) == (misc, release)


@pytest.mark.parametrize(
    ("pages", "name"), [(("/checkout",), "/checkout"), (("/", "/cart", "/checkout"), "3 pages"), ((), "shop")]
)
def test_the_track_is_named_for_its_page(pages: tuple[str, ...], name: str) -> None:
    profile = load_good(b"".join(write_profile(export_of({"main": 1}, pages=pages))))

    assert [thread["name"] for thread in profile["threads"]] == [name]


def test_the_viewer_is_told_what_does_not_apply() -> None:
    meta = read_meta(export_of({"main": 1}))

    switches = ("symbolicated", "symbolicationNotSupported", "usesOnlyOneStackType", "sourceCodeIsNotOnSearchfox")
    assert [meta[switch] for switch in switches] == [True] * 4
    assert (meta["initialVisibleThreads"], meta["initialSelectedThreads"]) == ([0], [0])


def test_the_first_categories_are_those_the_viewer_treats_apart() -> None:
    categories = read_meta(export_of({"main": 1}))["categories"]

    assert [(category["name"], category["color"]) for category in categories[:2]] == [
        ("Other", "grey"),
        ("First party", "orange"),
    ]
    assert "Idle" not in {category["name"] for category in categories}, (
        "no stack has it: a box to tick would do nothing"
    )


def test_the_axis_is_as_long_as_all_time_with_a_stack_and_one_interval_more() -> None:
    meta = read_meta(export_of({"main": 5_000, "main f": 2_500}, hidden_us=1_000, idle_us=99_000))

    assert (meta["profilingStartTime"], meta["profilingEndTime"], meta["interval"]) == (0, 18.5, 10)
    assert meta["startTime"] == 1_795_000_000_000


def test_the_first_line_of_an_aggregates_facts_says_what_recording_length_means() -> None:
    export = export_of({"main": 5_000_000}, hidden_us=2_000_000)

    first = read_meta(export)["extra"][0]["entries"][0]

    assert (first["label"], first["value"]) == (
        "Recording length",
        "The time of 3 page views together. The axis is not a clock.",
    )
