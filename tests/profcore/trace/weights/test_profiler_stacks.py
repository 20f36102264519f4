"""Which stacks are the profiler's own work: its built-ins, the snippet's functions, and what these call."""

import msgspec
import pytest

from profcore.sums.fold import fold_trace
from profcore.trace.funcs import SNIPPET_NAME, FuncTable, find_profiler_work
from profcore.trace.wire import Frame, Limits, Sample, Snippet, Stack, Trace, decode_envelope
from tests.envelopes import make_envelope
from tests.profcore.trace.weights.snippets import ADDRESS, APP, COLUMN, LINE, VERSION

OTHER = "https://other.example/t.js"
SNIPPET = Snippet(VERSION, ADDRESS)
BUNDLED = Snippet(VERSION)
RESOURCES = [APP, f"{ADDRESS}?v=1", OTHER]
FRAMES = {
    "app": Frame("render", 0, 1, 10),
    "app's first line": Frame("", 0, 1, 1),
    "app where the snippet is": Frame("render", 0, LINE, COLUMN),
    "other": Frame("track", 2, 1, 10),
    "own": Frame("n", 1, LINE, COLUMN),
    "own's first line": Frame("", 1, 1, 1),
    "unknown": Frame("n", 1, LINE, COLUMN + 1),
    "run": Frame(SNIPPET_NAME, 0, 1, 500),
    "inner": Frame("n", 0, 1, 520),
    "run of own": Frame(SNIPPET_NAME, 1, 1, 7),
    "run of other": Frame(SNIPPET_NAME, 2, 1, 7),
    "fetch": Frame("fetch"),
    "eval": Frame("work", None, 1, 5),
    "Profiler": Frame("Profiler"),
    "stop": Frame("stop"),
    "Stop": Frame("Stop"),
    "stop of the page": Frame("stop", 0, 1, 2),
    "stop somewhere": Frame("stop", None, 0, 0),
}


def make_trace(*stacks: str, samples: int = 1, others: int = 0) -> Trace:
    """Returns a trace with the frames of some stacks, each with `samples`, and with other samples without a stack."""
    frames: dict[str, int] = {}
    nodes: list[Stack] = []
    times: list[int | None] = []
    for stack in stacks:
        parent = None
        for name in map(str.strip, stack.split(">")):
            nodes.append(Stack(frames.setdefault(name, len(frames)), parent))
            parent = len(nodes) - 1
        times += [parent] * samples
    sampled = [Sample(float(number), leaf) for number, leaf in enumerate([*times, *[None] * others])]
    return Trace(RESOURCES, [FRAMES[name] for name in frames], nodes, sampled)


def is_own(stack: str, *more: str, snippet: Snippet | None = SNIPPET, samples: int = 1, others: int = 0) -> bool:
    """Returns whether the first stack, from its root to its leaf, is the profiler's own work."""
    trace = make_trace(stack, *more, samples=samples, others=others)
    return find_profiler_work(trace, snippet).stacks[stack.count(">")]


@pytest.mark.parametrize(
    "stack", ["Profiler", "stop", "app > Profiler", "own", "app > own", "own > own's first line", "own > fetch > fetch"]
)
def test_what_ends_in_the_profiler_or_the_snippet_or_what_it_called_is_own(stack: str) -> None:
    assert is_own(stack)


@pytest.mark.parametrize(
    "stack",
    [
        *("app", "Stop", "stop of the page", "stop somewhere", "app > fetch", "fetch"),
        *("own > app", "own > app > fetch", "own > other", "own > eval", "own > fetch > eval", "run > eval"),
    ],
)
def test_what_the_page_does_stays_its_own_also_when_the_snippet_calls_it(stack: str) -> None:
    assert not is_own(stack)


@pytest.mark.parametrize(
    "snippet", [None, BUNDLED, Snippet(VERSION, ""), Snippet("0.0.1", ADDRESS), Snippet(VERSION, APP)]
)
def test_a_function_is_the_snippets_only_in_the_script_that_the_envelope_names(snippet: Snippet | None) -> None:
    assert not is_own("own", "app", snippet=snippet)


def test_queries_and_fragments_of_addresses_do_not_count() -> None:
    assert is_own("own", snippet=Snippet(VERSION, f"{ADDRESS}?other#x"))


@pytest.mark.parametrize("stack", ["run", "app > run", "run > inner", "run > fetch", "run > inner > fetch > inner"])
def test_in_a_bundle_the_snippet_is_known_by_its_name_with_what_it_calls_in_the_same_script(stack: str) -> None:
    assert is_own(stack, snippet=BUNDLED)
    assert is_own(stack, snippet=None)


@pytest.mark.parametrize("stack", ["inner", "run > other", "run > other > inner", "run > other > fetch"])
def test_what_another_script_does_is_not_the_snippets_in_a_bundle(stack: str) -> None:
    assert not is_own(stack, "run", snippet=BUNDLED)


# What a page, or somebody's script in it, could do to hide its own work.


@pytest.mark.parametrize("stack", ["app", "app's first line", "app where the snippet is"])
def test_a_page_that_calls_its_own_bundle_the_snippet_hides_nothing_of_it(stack: str) -> None:
    """Not even what happens to stand where the snippet has a function: other functions of the bundle do not."""
    assert not is_own(stack, "app", "own", snippet=Snippet(VERSION, APP))


@pytest.mark.parametrize("version", ["9.9.9", "", "1.0.0 "])
def test_a_version_that_nobody_knows_hides_nothing(version: str) -> None:
    assert not is_own("own", snippet=Snippet(version, ADDRESS))
    assert is_own("run of own", snippet=Snippet(version, ADDRESS)), "a newer snippet than the server's has its name"


def test_of_a_script_with_one_unknown_function_nothing_is_the_snippets() -> None:
    assert not is_own("own", "unknown")
    assert is_own("own", "run of own", snippet=Snippet(VERSION, ADDRESS)) is False


def test_where_the_snippet_is_a_script_of_its_own_no_other_script_has_its_name() -> None:
    assert not is_own("run", "own")
    assert not is_own("run of other > other")


def test_of_two_scripts_with_the_name_neither_is_believed() -> None:
    for stack, more in (("run", "run of other"), ("run of other", "run")):
        assert not is_own(stack, more, snippet=BUNDLED)
    assert is_own("run > Profiler", "run of other", snippet=BUNDLED), "the built-ins are known without"


@pytest.mark.parametrize(
    ("samples", "others", "is_believed"),
    [(10, 0, True), (11, 0, False), (11, 98, False), (11, 99, True), (30, 270, True)],
)
def test_the_name_alone_stands_for_few_samples(samples: int, others: int, is_believed: bool) -> None:
    assert is_own("run > inner", snippet=BUNDLED, samples=samples, others=others) is is_believed


@pytest.mark.parametrize(
    ("samples", "others", "is_believed"), [(20, 0, True), (21, 0, False), (21, 20, False), (21, 21, True)]
)
def test_a_script_at_known_places_stands_for_half_of_the_samples(samples: int, others: int, is_believed: bool) -> None:
    assert is_own("own", samples=samples, others=others) is is_believed
    assert is_own("own > Profiler", samples=samples, others=others)


def test_its_time_is_the_profilers_and_it_is_nobodys_caller() -> None:
    envelope = make_envelope(columns="A\nA B\nA B C\n-", snippet={"version": VERSION, "url": ADDRESS})
    envelope["trace"]["resources"].append(ADDRESS)
    envelope["trace"]["frames"][1] |= {"resourceId": 1, "line": LINE, "column": COLUMN}
    fold = fold_trace(decode_envelope(msgspec.json.encode(envelope), Limits()), page="/", funcs=FuncTable())
    assert (fold.parts.js_us, fold.parts.profiler_us, fold.parts.profiler_samples) == (20_000, 10_000, 1)
    assert fold.sums.self_us == {0: 10_000, 2: 10_000}
    assert fold.sums.total_us == {0: 20_000, 2: 10_000}, "C is the page's, and the snippet has called it"
    assert fold.prefix == [-1, 0, 0]
