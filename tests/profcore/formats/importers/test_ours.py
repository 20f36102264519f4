"""Our own exports, in formats that others read too: their additional facts, and time that is not the page's."""

import pytest

from profcore.formats.registry import EXPORTERS
from profcore.sums.fold import fold_trace
from profcore.trace.funcs import FuncTable
from profcore.trace.wire import Mark
from tests.profcore.formats.builders import export_of
from tests.profcore.formats.importers.reading import read, read_envelope, sample, sample_json, self_us_by_func

APP, LIB = "https://shop.example/app.js", "https://cdn.example/lib.js"
EXPORTS = ["export.cpuprofile", "export.trace.json", "export.speedscope.json"]


@pytest.mark.parametrize("name", EXPORTS)
def test_every_weight_comes_back_in_full(name: str) -> None:
    funcs = FuncTable()
    fold = fold_trace(read_envelope(sample(name)), page="/cart", funcs=funcs)

    assert self_us_by_func(fold, funcs) == {
        ("main", APP, 1, 20): 500_500,
        ("(anonymous)", APP, 5, 12): 1_000_000,
        ("(idle)", LIB, 2, 3): 1_900_000,
        ("setTimeout", None, None, None): 100_000,
    }
    parts = fold.parts
    assert (parts.js_us, parts.hidden_us, parts.idle_us) == (3_500_500, 800_000, 2_000_000)
    assert (parts.unobserved_us, parts.span_us) == (0, 6_300_500)
    assert {key.name for key in funcs.keys} == {"main", "", "(idle)", "setTimeout"}


@pytest.mark.parametrize("name", EXPORTS)
def test_the_facts_tell_release_page_time_and_interval(name: str) -> None:
    (imported,) = read(sample(name))

    envelope = imported.completed.envelope
    assert imported.completed.missing == ("viewId",)
    assert (envelope.release, envelope.page, envelope.sampleInterval) == ("2.1.0", "/cart", 10)
    assert envelope.timeOrigin == 1_795_255_200_000
    assert envelope.marks == [Mark("longtask", 3_500.5, 800)]


def test_an_export_of_several_releases_names_no_release() -> None:
    export = sample_json("export.cpuprofile")
    export["fieldflame"] |= {"releases": ["1", "2"], "pages": [], "from": ["2026-11-21T10:00+00:00", "x"]}

    (imported,) = read(export)
    assert imported.completed.missing == ("release", "timeOrigin", "page", "viewId")


@pytest.mark.parametrize("interval_ms", [-1e308, 0, 1e308, 5e-324])
def test_an_interval_that_is_not_one_harms_no_weight(interval_ms: float) -> None:
    export = sample_json("export.cpuprofile")
    export["fieldflame"]["interval_ms"] = interval_ms

    parts = fold_trace(read_envelope(export), page="/", funcs=FuncTable()).parts
    assert (parts.js_us, parts.hidden_us, parts.unobserved_us) == (3_500_500, 800_000, 0)


def test_the_same_words_of_another_writer_are_functions() -> None:
    export = sample_json("export.cpuprofile")
    del export["fieldflame"]

    names = {frame.name for frame in read_envelope(export).trace.frames}
    assert {"(hidden)", "(idle) [page]", "(anonymous) app.js:5:12"} <= names


@pytest.mark.parametrize("name", sorted(EXPORTERS.keys() - {"collapsed", "pprof", "csv"}))
@pytest.mark.parametrize("hidden_us", [0, 700_000])
def test_the_engines_time_comes_back_apart_from_hidden_time(name: str, hidden_us: int) -> None:
    export = export_of({"main": 50_000}, hidden_us=hidden_us, engine_us=900_000, idle_us=30_000)
    parts = fold_trace(read_envelope(b"".join(EXPORTERS[name].write(export))), page="/", funcs=FuncTable()).parts
    assert (parts.js_us, parts.hidden_us, parts.engine_us) == (50_000, hidden_us, 900_000)
