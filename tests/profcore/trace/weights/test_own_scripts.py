"""Scripts of the snippet in long animation frames: what is hidden in them is the profiler's own work."""

from typing import Any

import msgspec
import pytest

from profcore.formats.firefox.markers import find_markers
from profcore.formats.observed import observe
from profcore.formats.timeline import ViewTrace, build_timeline
from profcore.sums.fold import TraceFold, fold_trace
from profcore.trace.funcs import FuncTable
from profcore.trace.marks import PROFILER_SCRIPT, describe_script, read_marks
from profcore.trace.weights import KIND_PROFILER
from profcore.trace.wire import Limits, decode_envelope
from tests.envelopes import make_envelope
from tests.profcore.trace.weights.snippets import ADDRESS, APP, COLUMN, LINE, VERSION

SNIPPET = {"version": VERSION, "url": ADDRESS}


def script(start: float, duration: float, url: object = ADDRESS, **facts: object) -> dict[str, object]:
    return {"start": start, "duration": duration, "url": url, **facts}


def fold(columns: str, *scripts: dict[str, object], snippet: Any = None, **frame: Any) -> TraceFold:
    """Folds a trace of one long task and frame. Both twins of its samples' kinds agree on them."""
    lasts = 10 * len(columns.split("\n"))
    marks = [
        {"type": "longtask", "start": 0, "duration": lasts},
        {"type": "loaf", "start": 0, "duration": lasts, "scripts": list(scripts)},
    ]
    envelope = make_envelope(columns=columns, snippet=snippet or SNIPPET, marks=marks)
    envelope["trace"]["resources"].append(ADDRESS)
    if "own" in columns:
        at = [row["name"] for row in envelope["trace"]["frames"]].index("own")
        envelope["trace"]["frames"][at] |= {"resourceId": 1, "line": LINE, "column": COLUMN} | frame
    decoded = decode_envelope(msgspec.json.encode(envelope), Limits())
    seen = observe(decoded, page="/", funcs=FuncTable())
    assert seen.kind.count(KIND_PROFILER) == seen.time.profiler_samples
    return fold_trace(decoded, page="/", funcs=FuncTable())


@pytest.mark.parametrize("url", [ADDRESS, f"{ADDRESS}?v=2#x"])
def test_samples_without_a_stack_in_the_snippets_script_are_the_profilers(url: str) -> None:
    parts = fold("A\n-\n-\n-\nA\n-", script(20, 20, url), script(40, 20, APP)).parts
    assert (parts.profiler_us, parts.hidden_us, parts.js_us) == (20_000, 10_000, 20_000)
    assert (parts.engine_us, parts.idle_us, parts.profiler_samples) == (10_000, 0, 2)


def test_they_are_nobodys_side() -> None:
    """The snippet's script parts the task: what is before it does not lie between two functions of the page."""
    folded = fold("A\n-\n-\n-\nA", script(0, 20, APP), script(20, 10))
    assert folded.parts.profiler_samples == 1
    assert (folded.parts.hidden_us, folded.parts.engine_us) == (10_000, 10_000)
    assert folded.sums.hidden_us == {0: 10_000}


def test_the_browsers_own_word_for_the_address_is_read_too() -> None:
    sent = {"startTime": 10, "duration": 10, "sourceURL": ADDRESS}
    assert fold("A\n-\nA", sent).parts.profiler_samples == 1


@pytest.mark.parametrize("url", ["https://shop.example/app.js", "", None, 7, f"{ADDRESS}x"])
def test_scripts_elsewhere_stay_the_pages(url: object) -> None:
    assert fold("A\n-\nA", script(10, 10, url)).parts.profiler_samples == 0


def test_a_version_that_nobody_knows_and_a_bundle_called_the_snippet_hide_nothing() -> None:
    columns, scripts = "A\n-\nA", script(10, 10)
    assert fold(columns, scripts, snippet={"version": "9.9.9", "url": ADDRESS}).parts.profiler_samples == 0
    assert fold(columns, script(10, 10, APP), snippet={"version": VERSION, "url": APP}).parts.profiler_samples == 0
    assert fold("own\n-\nA", scripts, column=COLUMN + 1).parts.profiler_samples == 0


def test_more_than_half_of_a_trace_is_no_snippets_script() -> None:
    many = "A\n" + "\n".join(["own"] * 10 + ["-"] * 10)
    assert fold(many, script(110, 100)).parts.profiler_samples == 20
    assert fold(f"{many}\n-", script(110, 110)).parts.profiler_samples == 0


def test_of_the_snippets_scripts_marks_say_only_when_they_ran() -> None:
    own = script(10, 40, f"{ADDRESS}?k=1", function="n", invoker="Window.fetch.then", forced=2)
    marks = [{"type": "loaf", "start": 10, "duration": 60, "scripts": [own, script(50, 15, APP, function="go")]}]
    body = msgspec.json.encode(make_envelope(snippet=SNIPPET, marks=marks))
    trace = ViewTrace(decode_envelope(body, Limits()), read_marks(body, page_url=None, page="/"))
    view = build_timeline([trace], page="/", funcs=FuncTable())
    (mark,) = view.marks
    assert list(map(describe_script, mark.scripts)) == [
        f"{PROFILER_SCRIPT} 40 ms, forced layout 2 ms",
        f"go {APP} 15 ms",
    ]
    (marker,) = (marker for marker in find_markers(view, []) if marker.name == "Long animation frame")
    assert marker.values["heaviest"] == f"go {APP} 15 ms"
