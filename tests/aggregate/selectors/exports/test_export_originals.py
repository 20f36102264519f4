"""Exports carry originals: names, places, and where it is asked for, texts."""

import csv
import gzip
import io
import json
from typing import Any
from uuid import UUID

import pytest
from pytest_django import Settings

from aggregate.label_models import ReleaseScript
from aggregate.selectors.code.symbols import load_symbols
from aggregate.selectors.slice.slices import Slice, SliceError, SliceQuery
from profcore.formats.registry import EXPORTERS
from projects.models import Project
from tests.aggregate.selectors.exports.labelled_shop import TEXT, make_shop, write
from tests.envelopes import view_id_of
from tests.profcore.formats.readers import texts_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def shop() -> Project:
    return make_shop()


def firefox(project: Project, **query: Any) -> dict[str, Any]:
    profile: dict[str, Any] = json.loads(write(project, "firefox", **query))
    return profile


def originals_of(profile: dict[str, Any]) -> dict[str, tuple[str, int, int] | None]:
    """Returns where each function of a Firefox profile is from, by name: file, line and column."""
    shared = profile["shared"]
    strings, funcs, places, sources = (
        shared[name] for name in ("stringArray", "funcTable", "sourceLocationTable", "sources")
    )
    originals: dict[str, tuple[str, int, int] | None] = {}
    for name, place in zip(funcs["name"], funcs["originalLocation"], strict=True):
        where = None
        if place is not None:
            file = strings[sources["filename"][places["source"][place]]]
            where = (file, places["line"][place], places["column"][place])
        originals[strings[name]] = where
    return originals


def test_firefox_has_names_places_and_on_request_texts(shop: Project) -> None:
    profile = firefox(shop)
    originals = originals_of(profile)
    assert originals["render"] is not None
    assert originals["render"][0] == "src/cart.ts"
    assert originals["total"] is not None
    assert texts_of(profile)["src/cart.ts"] is None
    assert texts_of(firefox(shop, sources="content"))["src/cart.ts"] == TEXT


@pytest.mark.parametrize(
    "query",
    [{"segment": "release"}, {"base": SliceQuery(release=["1.0.0"]), "head": SliceQuery(release=["2.0.0"])}],
    ids=["parts", "difference"],
)
def test_what_is_one_function_is_one_in_segments_and_differences(shop: Project, query: dict[str, Any]) -> None:
    profile = firefox(shop, sources="content", **query)
    strings, funcs = profile["shared"]["stringArray"], profile["shared"]["funcTable"]
    names = [strings[index] for index in funcs["name"]]
    assert (names.count("render"), names.count("total")) == (1, 1)
    assert texts_of(profile)["src/cart.ts"] == TEXT


def test_a_view_on_its_clock_has_originals_too(shop: Project) -> None:
    for name in ("old", "new"):
        slice_ = Slice(project_id=shop.pk, views=(UUID(view_id_of(name)),))
        profile = json.loads(write(shop, "firefox", slice_, sources="content"))
        assert {"render", "total"} <= set(originals_of(profile))
        assert texts_of(profile)["src/cart.ts"] == TEXT


def test_other_formats_name_the_original(shop: Project) -> None:
    collapsed = write(shop, "collapsed").decode()
    assert all(line.startswith("render\u00a0src/cart.ts:") for line in collapsed.splitlines())
    frames = json.loads(write(shop, "speedscope"))["shared"]["frames"]
    assert {(frame["name"], frame["file"]) for frame in frames} == {("render", "src/cart.ts"), ("total", "src/cart.ts")}
    assert b"src/cart.ts" in gzip.decompress(write(shop, "pprof"))
    rows = list(csv.DictReader(io.StringIO(write(shop, "csv").decode())))
    originals = {
        row["label"]: (row["original_source"], row["original_line"]) for row in rows if row["kind"] == "function"
    }
    assert originals["render"][0] == originals["total"][0] == "src/cart.ts"
    assert all(int(line) >= 1 for _, line in originals.values())


def test_texts_are_bounded_and_those_of_costly_functions_come_first(shop: Project, settings: Settings) -> None:
    settings.SOURCE_TEXTS_MAX_BYTES = len(TEXT) - 1
    assert texts_of(firefox(shop, sources="content"))["src/cart.ts"] is None


def test_a_format_without_a_place_for_texts_says_so(shop: Project) -> None:
    for name, exporter in EXPORTERS.items():
        if not exporter.has_source_texts:
            with pytest.raises(SliceError, match="no place for sources' texts"):
                write(shop, name, sources="content")


def test_the_fingerprint_of_an_export_changes_with_its_labels(shop: Project) -> None:
    before = load_symbols(shop.pk).version
    ReleaseScript.objects.filter(project=shop, release="1.0.0").update(labelled_func_id=99)
    assert load_symbols(shop.pk).version != before
