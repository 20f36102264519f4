"""Which stacks are the profiler's own work: its built-ins, the snippet's functions, and what these call."""

import msgspec
import pytest

from profcore.sums.fold import fold_trace
from profcore.trace.funcs import SNIPPET_FUNCTIONS, SNIPPET_NAME, FuncTable, find_profiler_stacks
from profcore.trace.wire import Frame, Limits, Sample, Snippet, Stack, Trace, decode_envelope
from tests.envelopes import make_envelope

VERSION = "1.0.0"
LINE, COLUMN = max(SNIPPET_FUNCTIONS[VERSION])
ADDRESS = "https://profiles.example/snippet.js"
SNIPPET = Snippet(VERSION, ADDRESS)
FRAMES = {
    "app": Frame("render", 0, 1, 10),
    "other": Frame("track", 2, 1, 10),
    "own": Frame("n", 1, LINE, COLUMN),
    "unknown": Frame("n", 1, LINE, COLUMN + 1),
    "run": Frame(SNIPPET_NAME, 0, 1, 500),
    "inner": Frame("n", 0, 1, 520),
    "fetch": Frame("fetch"),
    "Profiler": Frame("Profiler"),
    "stop": Frame("stop"),
    "Stop": Frame("Stop"),
    "stop of the page": Frame("stop", 0, 1, 2),
    "stop somewhere": Frame("stop", None, 0, 0),
}
RESOURCES = ["https://shop.example/app.js", f"{ADDRESS}?v=1", "https://other.example/t.js"]


def is_own(*calls: str, snippet: Snippet | None = SNIPPET, samples: int = 1, others: int = 0) -> bool:
    """Returns whether a stack, from its root to its leaf, is the profiler's own work."""
    names = list(FRAMES)
    stacks = [Stack(names.index(name), None if place == 0 else place - 1) for place, name in enumerate(calls)]
    times = [Sample(float(number), len(stacks) - 1 if number < samples else None) for number in range(samples + others)]
    return find_profiler_stacks(Trace(RESOURCES, list(FRAMES.values()), stacks, times), snippet)[-1]


@pytest.mark.parametrize(
    "calls", ["Profiler", "stop", "app Profiler", "own", "app own", "own unknown own", "own fetch fetch"]
)
def test_what_ends_in_the_profiler_or_the_snippet_or_what_it_called_is_own(calls: str) -> None:
    assert is_own(*calls.split())


@pytest.mark.parametrize(
    "calls",
    [
        *(["app"], ["Stop"], ["stop of the page"], ["stop somewhere"], ["app", "fetch"], ["fetch"]),
        *(["own", "app"], ["own", "app", "fetch"], ["own", "unknown"], ["unknown"], ["own", "other"]),
    ],
)
def test_what_the_page_does_stays_its_own_also_when_the_snippet_calls_it(calls: list[str]) -> None:
    assert not is_own(*calls)


@pytest.mark.parametrize(
    "snippet",
    [
        *(None, Snippet(VERSION), Snippet(VERSION, ""), Snippet("0.0.1", ADDRESS)),
        Snippet(VERSION, "https://shop.example/app.js"),
    ],
)
def test_a_function_is_the_snippets_only_in_the_script_that_the_envelope_names(snippet: Snippet | None) -> None:
    assert not is_own("own", snippet=snippet)


def test_a_page_that_calls_its_own_script_the_snippet_hides_nothing() -> None:
    assert not is_own("app", snippet=Snippet(VERSION, RESOURCES[0]))


def test_queries_and_fragments_of_addresses_do_not_count() -> None:
    assert is_own("own", snippet=Snippet(VERSION, f"{ADDRESS}?other#x"))


@pytest.mark.parametrize("calls", ["run", "app run", "run inner", "run fetch", "run inner fetch inner"])
def test_in_a_bundle_the_snippet_is_known_by_its_name_with_what_it_calls_in_the_same_script(calls: str) -> None:
    assert is_own(*calls.split(), snippet=None)


@pytest.mark.parametrize("calls", ["inner", "run other", "run other inner", "run other fetch"])
def test_what_another_script_does_is_not_the_snippets_in_a_bundle(calls: str) -> None:
    assert not is_own(*calls.split(), snippet=None)


@pytest.mark.parametrize(
    ("samples", "others", "is_believed"),
    [(10, 0, True), (11, 0, False), (11, 98, False), (11, 99, True), (30, 270, True)],
)
def test_the_name_alone_stands_for_few_samples(samples: int, others: int, is_believed: bool) -> None:
    assert is_own("run", "inner", samples=samples, others=others) is is_believed
    assert is_own("own", samples=samples, others=others)


def test_of_a_trace_with_too_many_samples_by_name_the_known_functions_stay_own() -> None:
    names = list(FRAMES)
    stacks = [Stack(names.index("run")), Stack(names.index("own"))]
    trace = Trace(RESOURCES, list(FRAMES.values()), stacks, [Sample(float(number), 0) for number in range(20)])
    assert find_profiler_stacks(trace, SNIPPET) == [False, True]


def test_its_time_is_the_profilers_and_adds_nothing_to_its_callers() -> None:
    envelope = make_envelope(columns="A\nA B\nA B C\n-", snippet={"version": VERSION, "url": ADDRESS})
    envelope["trace"]["resources"].append(ADDRESS)
    envelope["trace"]["frames"][1] |= {"resourceId": 1, "line": LINE, "column": COLUMN}
    fold = fold_trace(decode_envelope(msgspec.json.encode(envelope), Limits()), page="/", funcs=FuncTable())
    assert (fold.parts.js_us, fold.parts.profiler_us, fold.parts.profiler_samples) == (20_000, 10_000, 1)
    assert fold.sums.self_us == {0: 10_000, 2: 10_000}
    assert fold.sums.total_us == {0: 20_000, 1: 10_000, 2: 10_000}, "C is the page's, and the snippet has called it"
